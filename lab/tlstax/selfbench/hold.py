"""One engine holding many connections to a server, each asking now and then; servers one after another."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import psutil

from tlstax import __version__
from tlstax.clients.engine import engine_specimen
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Job, OpenLoop
from tlstax.mysql import row_samples, status
from tlstax.observers import process
from tlstax.observers.sides import Side
from tlstax.observers.turn import turn
from tlstax.observers.window import Watch, Watched
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.jobs import job_for
from tlstax.probes.specimen_list import listing
from tlstax.records.trial import Machine
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.cpus import machine_of
from tlstax.run.gathering import GRACE_S, ready_within_s
from tlstax.run.room import check_room
from tlstax.selfbench.hold_records import (
    Held,
    HeldPair,
    HeldServer,
    HeldTls,
    HoldHeader,
    HoldRun,
    Memory,
    NotHeld,
)
from tlstax.selfbench.plan import Cell, Trial
from tlstax.selfbench.proof import TLS_1_3
from tlstax.selfbench.records import Observation, Status
from tlstax.selfbench.session import server_facts
from tlstax.selfbench.words import TLS_WORDS
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_build import ServerBuild
from tlstax.study.server_abilities import CATALOGUED
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError, UserMistake
from tlstax.support.text import counted, enumerated

DEFAULT_SERVER = "mariadb-11.8"
"""It has a thread pool, which MySQL's community server has not: the engine is what is limited there."""

HOLD_S, ONE_S = 10.0, 2.0
"""How long all connections are held, and how long one alone, of which only the memory is wanted."""

RATE_OF_ONE_PER_S = 20.0
"""Enough that it works until the end: an open loop with nothing due any more is done."""

ROWS = 10_000
SPARE_CONNECTIONS = 50
LEVELS: tuple[HeldTls, ...] = ("off", "1.3")

Say = Callable[[str], None]


@dataclass(frozen=True)
class HoldRequest:
    """How many connections, how many queries a second over all of them, for how long, on which servers."""

    connections: int
    rate_per_s: float
    servers: tuple[str, ...] = (DEFAULT_SERVER,)
    seed: int | None = None
    duration_s: float = HOLD_S
    beside_others: bool = False
    cpus: AskedCpus = field(default_factory=AskedCpus)


@dataclass
class _SoFar:
    servers: list[HeldServer] = field(default_factory=list)
    not_held: list[NotHeld] = field(default_factory=list)


def hold(request: HoldRequest, say: Say, warn: Say) -> HoldRun:
    """Hold the connections in plaintext and under TLS 1.3, on each server. Ctrl-C keeps what is complete.

    `say` hears the steps, `warn` what the user should know although the work goes on, or waits.
    Where one server is asked for, UserMistake if this machine's limits do not allow that many or it has no
    TLS 1.3, MachineFault if the client or the server failed; of several it is noted why one cannot.
    UserMistake for a name that is unknown.
    """
    machine = machine_of(request.cpus)
    header = HoldHeader(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tlstax_version=__version__,
        connections=request.connections,
        rate_per_s=request.rate_per_s,
        duration_s=request.duration_s,
        machine=machine,
    )
    so_far = _SoFar()
    status: Status = "complete"
    builds = _obtained(request, so_far, say)
    with turn(warn, beside_others=request.beside_others) as mine:
        try:
            for build in builds:
                with _excused(build.specimen.name, request, so_far):
                    _levels(request, build, machine, so_far, say)
        except Interrupted:
            status = "interrupted"
        held = tuple(one for one in so_far.servers if one.pairs)
        if status == "interrupted" and not held:
            raise Interrupted
        return HoldRun(
            header=header,
            servers=held,
            not_held=tuple(so_far.not_held),
            status=status,
            beside_another=mine.others(),
        )


def _obtained(request: HoldRequest, so_far: _SoFar, say: Say) -> list[ServerBuild]:
    """The servers that can be asked, fetched where they are not there yet; none is started."""
    builds = []
    for name in request.servers:
        with _excused(name, request, so_far, but=UserMistake):
            build = named_server(name, say)
            with _excused(name, request, so_far):
                _check(request, build)
                builds.append(build)
    return builds


@contextmanager
def _excused(
    name: str, request: HoldRequest, so_far: _SoFar, but: type[TlstaxError] | None = None
) -> Iterator[None]:
    """Notes why a server cannot, where there are others; `but` is raised all the same."""
    try:
        yield
    except TlstaxError as error:
        if len(request.servers) == 1 or (but is not None and isinstance(error, but)):
            raise
        so_far.not_held.append(NotHeld(server=name, reason=error.message))


def _check(request: HoldRequest, build: ServerBuild) -> None:
    """UserMistake where the server has no TLS 1.3, or this machine no room for that many connections."""
    name = build.specimen.name
    able = CATALOGUED.get(name)
    if able is not None and "1.3" not in able.tls_versions:
        versions = enumerated([f"TLS {version}" for version in able.tls_versions])
        raise UserMistake(f"{name} has no TLS 1.3, it has {versions}", remedy="name another server")
    asked = f"--hold {request.connections}"
    check_room(asked, request.connections, SPARE_CONNECTIONS, pooled=has_pool(build))


def has_pool(build: ServerBuild) -> bool:
    """Whether the server has a thread pool: MariaDB has, MySQL's community server has not."""
    return build.flavour == "mariadb"


def ready_servers() -> tuple[str, ...]:
    """Every server that is fetched already, or was added."""
    return tuple(
        listed.name for listed in listing().specimens if listed.kind == "server" and listed.status == "ready"
    )


def _levels(request: HoldRequest, build: ServerBuild, machine: Machine, so_far: _SoFar, say: Say) -> None:
    needs = Needs(
        rows=ROWS,
        connections=request.connections,
        seed=secrets.randbelow(2**32) if request.seed is None else request.seed,
        duration_s=request.duration_s,
    )
    pooled = has_pool(build)
    wanted = Wanted(
        build=build,
        options=(
            *(["--thread-handling=pool-of-threads"] if pooled else []),
            f"--max-prepared-stmt-count={request.connections + 1000}",
            f"--tls-version={TLS_1_3}",
        ),
        max_connections=request.connections + SPARE_CONNECTIONS,
    )
    for place, tls in enumerate(LEVELS):
        # A server of its own for each, because one does not give all memory back between them.
        with open_private_bench(needs, say, wanted, machine) as bench:
            if place == 0:
                so_far.servers.append(
                    HeldServer(
                        specimens=(bench.server.specimen, engine_specimen()),
                        server=server_facts(bench),
                        pooled=pooled,
                        pairs=(),
                    )
                )
            held = so_far.servers[-1]
            pair = _pair(tls, request, bench, say)
            so_far.servers[-1] = held.model_copy(update={"pairs": (*held.pairs, pair)})


def _pair(tls: HeldTls, request: HoldRequest, bench: Bench, say: Say) -> HeldPair:
    words = TLS_WORDS[tls]
    say(f"one connection {words}")
    one = replace(
        request,
        connections=1,
        rate_per_s=RATE_OF_ONE_PER_S,
        duration_s=min(ONE_S, request.duration_s),
    )
    alone = _held(tls, one, bench)
    say(f"{request.connections:,} connections {words}, for {request.duration_s:g} s once they are up")
    return HeldPair(tls=tls, one=alone, all=_held(tls, request, bench))


def _held(tls: HeldTls, request: HoldRequest, bench: Bench) -> Held:
    """Run one job. MachineFault, in the client's own words, where it cannot."""
    cell = Cell(workload="point-select", tls=tls, connections=request.connections)
    schedule = OpenLoop(rate_per_s=request.rate_per_s, arrivals="uniform")
    job = job_for(cell.levels(), bench.terms, sequence=0).model_copy(
        update={"schedule": schedule, "duration_s": request.duration_s}
    )
    try:
        return _observe(cell, job, bench)
    except ClientFailure as failure:
        log = f": {bench.server.log_tail(1)}" if not bench.server.is_alive() else ""
        raise MachineFault(
            f"{counted(cell.connections, 'connection')} could not be held: {failure}{log}"
        ) from failure


def _observe(cell: Cell, job: Job, bench: Bench) -> Held:
    server, admin, seen = bench.server, bench.admin, dict[str, Any]()
    at_start = status.read_status(admin)
    with LoadClient(bench.command, job) as client:
        seen["ready"] = ready = client.wait_ready(ready_within_s(job))
        watched = Watched(
            client=Side(ready.pid), server=Side(server.pid), read_status=lambda: status.read_status(admin)
        )
        with Watch(watched) as watch:
            watch.begin()
            client.go()
            time.sleep(job.duration_s / 2)
            memory = _memory(ready.pid, server.pid)
            seen["done"] = done = client.wait_done(job.duration_s + job.timeout_s + GRACE_S)
            window = watch.end()
    return Held(
        seen=Observation(
            trial=Trial(block=0, position=0, cell=cell, contestant="engine"),
            setup_delta=status.status_delta(at_start, watch.status_at_begin),
            window_delta=window.status_delta,
            server_cpu=process.server_cpu(window.server),
            row_mismatches=row_samples.mismatches(admin, done.row_samples),
            **seen,
        ),
        memory=memory,
        connected=max(0, status.connected(watch.status_at_begin) - 1),
    )


def _memory(client_pid: int, server_pid: int | None) -> Memory | None:
    """What is resident now; None where a process is gone or out of reach."""
    if server_pid is None:
        return None
    client, server = process.read_rss_bytes(client_pid), process.read_rss_bytes(server_pid)
    try:
        threads = psutil.Process(server_pid).num_threads()
    except psutil.Error:
        return None
    if not client or not server:
        return None
    return Memory(client_rss_bytes=client, server_rss_bytes=server, server_threads=threads)
