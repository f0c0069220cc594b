"""Storms carried out for a search: every one a client of its own, on one private server."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Done
from tlstax.findings.core.histograms import decode
from tlstax.findings.core.outcomes import storm_rates
from tlstax.mysql import server_facts
from tlstax.observers.turn import turn
from tlstax.plan.jobs import job_for
from tlstax.probes.storms.document import StormDocument, StormLimit
from tlstax.probes.storms.search import Search
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.gathering import ready_within_s
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_settings import check_connections
from tlstax.study import Level
from tlstax.study.labels import label_levels
from tlstax.support.errors import Interrupted, MachineFault

SMALLEST = 16
ROWS = 10
SPARE_CONNECTIONS = 50
VARIABLES = ("back_log", "max_connections", "thread_cache_size", "thread_handling")
"""What a server has for storms, by its own names (reference manual, "Server System Variables")."""

PATIENCE = 10.0
"""A storm that is not up after so many times what is wanted is given up."""

LEAST_PATIENCE_S = 5.0

Say = Callable[[str], None]
Kind = Mapping[str, Level]

KINDS: tuple[Kind, ...] = (
    {"tls": "off", "resumption": "off"},
    {"tls": "1.3", "resumption": "off"},
    {"tls": "1.3", "resumption": "on"},
    {"tls": "1.2", "resumption": "off"},
)
"""What is searched: in the clear, both versions of TLS, and a session resumed."""


@dataclass(frozen=True)
class StormRequest:
    """What a storm has to do: `share` of its connections up within `within_s`; `largest` is never exceeded.

    `back_log` None leaves the server's own; `server` None is the default one.
    """

    within_s: float
    share: float
    largest: int
    server: str | None = None
    back_log: int | None = None
    confidence: float = 0.95
    seed: int | None = None
    beside_others: bool = False


def storm_limits(request: StormRequest, say: Say, warn: Say) -> StormDocument:
    """The limit of each kind of connection. Ctrl-C keeps what is known by then.

    UserMistake where this machine's limits do not allow that many, MachineFault where the server failed.
    """
    check_connections(f"--most {request.largest}", request.largest, SPARE_CONNECTIONS)
    needs = Needs(
        rows=ROWS,
        connections=request.largest,
        seed=secrets.randbelow(2**32) if request.seed is None else request.seed,
        duration_s=max(LEAST_PATIENCE_S, PATIENCE * request.within_s),
    )
    back_log = () if request.back_log is None else (f"--back-log={request.back_log}",)
    wanted = Wanted(
        build=named_server(request.server, say) if request.server else None,
        options=back_log,
        max_connections=request.largest + SPARE_CONNECTIONS,
    )
    with turn(warn, beside_others=request.beside_others), open_private_bench(needs, say, wanted) as bench:
        status, limits = _searched(request, bench, say)
        return StormDocument(
            status=status,
            server=bench.server.specimen.name,
            server_version=bench.server.version,
            within_s=request.within_s,
            share=request.share,
            confidence=request.confidence,
            variables=server_facts.variables(bench.admin, VARIABLES),
            limits=limits,
        )


def _searched(
    request: StormRequest, bench: Bench, say: Say
) -> tuple[Literal["complete", "interrupted"], tuple[StormLimit, ...]]:
    limits: list[StormLimit] = []
    for kind in KINDS:
        storms = _Storms(kind, request, bench, say)
        search = Search(SMALLEST, request.largest, request.confidence)
        try:
            search.run(storms.attempt)
        except Interrupted:
            if search.tried:
                limits.append(_limit(kind, search, storms))
            return "interrupted", tuple(limits)
        limits.append(_limit(kind, search, storms))
    return "complete", tuple(limits)


def _limit(kind: Kind, search: Search, storms: _Storms) -> StormLimit:
    last = storms.last.get(search.does or 0)
    return StormLimit(
        tls=str(kind["tls"]),
        resumed=kind["resumption"] == "on",
        label=label_levels(kind),
        connections=search.does,
        too_many=search.too_many,
        connections_per_s=storm_rates(last)[0] if last is not None else None,
        client_share=max(last.threads_cpu_us, default=last.cpu.total_us) / (last.elapsed_s * 1e6)
        if last is not None
        else None,
        tried=tuple(search.tried),
    )


class _Storms:
    """Storms of one kind; `last` has the last one of each size that was up in time."""

    def __init__(self, kind: Kind, request: StormRequest, bench: Bench, say: Say) -> None:
        self._kind, self._request, self._bench, self._say = kind, request, bench, say
        self._number = 0
        self.last: dict[int, Done] = {}

    def attempt(self, connections: int) -> bool:
        """One storm of so many connections; whether it was up in time."""
        self._number += 1
        self._say(f"{label_levels(self._kind)}: {connections:,} connections at once")
        try:
            done = self._storm(connections)
        except ClientFailure as failure:
            if not self._bench.server.is_alive():
                raise MachineFault(
                    f"{self._bench.server.specimen.name} ended in a storm of {connections:,}: {failure}"
                ) from failure
            return False
        does = self._is_up_in_time(done, connections)
        if does:
            self.last[connections] = done
        return does

    def _storm(self, connections: int) -> Done:
        levels = {**self._kind, "workload": "storm", "connections": connections, "rounds": 1}
        patience_s = max(LEAST_PATIENCE_S, PATIENCE * self._request.within_s)
        job = job_for(levels, self._bench.terms, sequence=self._number).model_copy(
            update={"timeout_s": patience_s}
        )
        with LoadClient(self._bench.command, job) as client:
            client.wait_ready(ready_within_s(job))
            client.go()
            return client.wait_done(2 * patience_s + LEAST_PATIENCE_S)

    def _is_up_in_time(self, done: Done, connections: int) -> bool:
        if done.operations < self._request.share * connections:
            return False
        up_us = decode(done.histograms_ns["connect"])
        # Of those that never came up nothing is in the histogram: they count as late.
        percent = min(100.0, 100 * self._request.share * connections / up_us.count)
        return up_us.percentiles_us((percent,))[0] <= self._request.within_s * 1e6
