"""What connections cost an external server in memory, whose process nobody may start anew.

A process keeps what it was given: once connections are closed, the next ones use their memory again. So here
nothing is closed before the end. Every step opens some connections more, of one kind, and what the process
has grown by is theirs. The kinds take turns in random order, and a round has a step of each. The first
connections of each kind may use what was free before, and have what is made once: those are opened
beforehand, and are in no figure. What each costs is then told as of servers of our own (topics/memory.py).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Frozen
from tlstax.external.access import ExternalAccess
from tlstax.observers.turn import turn
from tlstax.plan.admission import most_that_fits, words_of
from tlstax.plan.elsewhere import OWN_CONNECTIONS, Promise
from tlstax.plan.jobs import job_for
from tlstax.report.formats.terminal import printed_sections
from tlstax.results.rows import Told
from tlstax.run.bench import Bench, Needs
from tlstax.run.external import QuietBench, open_quiet_bench
from tlstax.run.progress import Watcher
from tlstax.run.trial import ready_within_s
from tlstax.stats.pooling import Pooling
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import label_levels
from tlstax.study.needs import DataNeeds
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.support.text import counted
from tlstax.topics import memory
from tlstax.topics.core.section import Block, Section, Words

LEAST_STEP = 2
"""Connections of a step at the least: with fewer a page or two that others take would be most of it."""

WORK_S = 0.2
"""For so long the connections of a step work, so that each has had what it needs for a statement."""

NOTHING = DataNeeds(tables=())

Tls = Literal["off", "1.2", "1.3"]
KINDS: tuple[Tls, ...] = ("off", "1.3", "1.2")
"""The kinds of connection that are compared."""

CONFIDENCE = 0.95

READING = (
    "What each further connection costs: how much the server grew by in steps that were opened one "
    "after another and kept, up to {most}; means over {rounds}, each a step of each kind, with 95 % "
    "intervals. Others who connect or leave meanwhile are in them. RSS: resident memory; PSS: pages that are "
    "shared count by their share."
)
REUSED = (
    "The server has had {used} connections at once before, and keeps the memory of those that have gone: "
    "what is shown is the least that a connection costs. A server that was started anew, or a "
    "--max-connections far above {used}, shows all of it."
)


@dataclass(frozen=True)
class ExternalRequest:
    """How many rounds, how many connections the server may be given (None: a share of those free), a seed."""

    rounds: int
    max_connections: int | None = None
    seed: int | None = None
    beside_others: bool = False


class Held(Frozen):
    """Connections of all kinds that were up and had worked, before a step of a kind or after it.

    `rss_bytes` is resident memory of the server's process, `pss_bytes` the same with pages that are shared
    counted by their share (proc(5), smaps_rollup), None where that was not read; `threads` are all of it.
    """

    tls: Tls
    round: NonNegativeInt
    connections: PositiveInt
    rss_bytes: PositiveInt
    pss_bytes: PositiveInt | None
    threads: PositiveInt


class ExternalMemory(Frozen):
    """What connections cost an external server in memory: a round is a step of further ones of each kind.

    It was promised that it gets `promised` connections at once at the most, and had `used_before` at once
    before, whose memory these may use again, so that the figures are the least; null where it had no more
    than a few. `refused` are the versions of TLS that it does not take. `told` has the rows that a run of the
    study `memory` has, of which a block is a round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[2] = Field(default=2, alias="schema")
    status: Literal["complete", "interrupted"]
    server: str
    server_version: str
    rounds: PositiveInt
    promised: PositiveInt
    used_before: PositiveInt | None = None
    refused: tuple[Tls, ...]
    told: Told
    held: tuple[Held, ...]


def memory_text(found: ExternalMemory, *, width: int, colour: bool) -> str:
    """What each kind of connection costs, and how it is to be read."""
    section = Section(tuple(_blocks(found)), memory.TOPIC.title)
    return printed_sections([section], width=width, colour=colour) + "\n"


def _blocks(found: ExternalMemory) -> Iterator[Block]:
    yield from memory.cost_tables(found.told, _label(KINDS[0]))
    if not found.told.rows:
        yield Words("Nothing is known yet: no round is complete.")
    for tls in found.refused:
        yield Words(f"It does not take {_label(tls)}.")
    most = max((own.connections for own in found.held), default=0)
    if found.used_before is not None:
        yield Words(REUSED.format(used=f"{found.used_before:,}"))
    yield Words(READING.format(most=f"{most:,}", rounds=counted(found.rounds, "round")), aside=True)
    if found.status == "interrupted":
        yield Words("It was interrupted; this is what was known by then.")


def _label(tls: Tls) -> str:
    return label_levels({"tls": tls})


def external_memory(request: ExternalRequest, access: ExternalAccess, watcher: Watcher) -> ExternalMemory:
    """What connections cost there, in the rounds of `request`. Ctrl-C keeps those that are complete by then.

    UserMistake where its memory cannot be read, or it has no room; MachineFault where server or client
    failed.
    """
    needs = Needs(rows=1, connections=1, seed=0, duration_s=WORK_S, data=NOTHING)
    with (
        turn(watcher.warn, beside_others=request.beside_others),
        open_quiet_bench(access, needs, watcher.step, watcher.warn, request.max_connections) as opened,
    ):
        _check_readable(opened, access)
        if opened.no_plaintext:
            watcher.step(f"{opened.no_plaintext}: plaintext is left out")
        own = tuple(tls for tls in KINDS if tls != "off" or not opened.no_plaintext)
        rounds, seed = request.rounds, request.seed
        steps = len(own) * (rounds + 1)
        of = partial(_promise, steps=steps)
        room, address = opened.room, str(access.address)
        step = most_that_fits(of, room, least=LEAST_STEP, most=room.free)
        watcher.step(f"{address} gets {words_of(of(step), room)}")
        order = Random(secrets.randbelow(2**32) if seed is None else seed)  # noqa: S311
        server, growth = opened.bench.server, _Growth(opened.bench, step, steps, watcher)
        before = server.product.server_facts.most_used_connections(opened.bench.admin)
        status: Literal["complete", "interrupted"] = "complete"
        stays = server.connected()
        try:
            with growth.clients:
                taken = [tls for tls in own if growth.is_taken(tls)]
                for number in range(rounds):
                    for tls in order.sample(taken, len(taken)):
                        growth.grow(tls, number)
        except Interrupted:
            status = "interrupted"
        server.wait_until_gone(stays)
        # The first steps, which are in no figure, use what others left as far as it goes. A server that does
        # not count them has a process for each, whose memory goes with it.
        left = room.in_use + OWN_CONNECTIONS + len(own) * step
        reuses = before if before is not None and before > left else None
        return growth.document(status, rounds, of(step).total, reuses)


def _promise(step: int, *, steps: int) -> Promise:
    """What is promised for as many steps of N connections each."""
    return Promise(kept=step * steps, used_by=f"{steps} steps of {counted(step, 'kept connection')}")


def _check_readable(opened: QuietBench, access: ExternalAccess) -> None:
    """UserMistake, with what would help, where the server's memory is out of reach."""
    if opened.bench.server_clock.is_known:
        return
    why, remedy = "it runs on another machine", "give --server-host ssh://HOST, where it runs"
    if opened.near is not None:
        why, remedy = opened.near.why_not, opened.near.remedy or "name the server's own address"
    raise UserMistake(f"the memory of {access.address} cannot be read: {why}", remedy=remedy)


class _Growth:
    """Connections that are opened step by step and kept, and what the server's process has grown to."""

    def __init__(self, bench: Bench, step: int, steps: int, watcher: Watcher) -> None:
        self.clients = ExitStack()
        self._bench, self._step, self._steps, self._watcher = bench, step, steps, watcher
        self._opened = 0
        self._held: list[Held] = []
        self._refused: list[Tls] = []

    def is_taken(self, tls: Tls) -> bool:
        """Open the first step of a kind, which is in no figure; whether the server takes that kind at all."""
        try:
            self._open(tls)
        except ClientFailure as failure:
            if tls == "off" or not failure.tls_was_refused():
                raise self._fault(failure) from failure
            self._refused.append(tls)
            return False
        return True

    def grow(self, tls: Tls, number: int) -> None:
        """A step of this kind in the round with this number. MachineFault where it is not to be had."""
        before = self._read(tls, number)
        try:
            self._open(tls)
        except ClientFailure as failure:
            raise self._fault(failure) from failure
        self._held += [before, self._read(tls, number)]

    def document(
        self, status: Literal["complete", "interrupted"], rounds: int, promised: int, reuses: int | None
    ) -> ExternalMemory:
        """What is known by now."""
        server = self._bench.server
        return ExternalMemory(
            status=status,
            server=server.specimen.name,
            server_version=server.version,
            rounds=rounds,
            promised=promised,
            used_before=reuses,
            refused=tuple(self._refused),
            told=told(self._held, f"{server.specimen.name} ({server.version})"),
            held=tuple(self._held),
        )

    def _open(self, tls: Tls) -> None:
        self._watcher.now(
            f"{self._opened + self._step} connections, the last {self._step} "
            f"{'in the clear' if tls == 'off' else f'over TLS {tls}'}",
            share=self._opened / self._step / self._steps,
        )
        if tls == "off":
            self._bench.server.know_account()
        case = CaseLevels.of({"workload": "ping", "connections": self._step, "tls": tls})
        job = job_for(case, self._bench.terms, sequence=self._opened)
        client = self.clients.enter_context(LoadClient(engine_command(), job))
        client.wait_ready(ready_within_s(job))
        client.slice(WORK_S, WORK_S + job.timeout_s + ready_within_s(job))
        self._opened += self._step

    def _read(self, tls: Tls, number: int) -> Held:
        bench = self._bench
        read = bench.server_side.read_memory()
        if read is None:
            raise MachineFault("the server's memory can no longer be read")
        return Held(
            tls=tls,
            round=number,
            connections=self._opened,
            rss_bytes=read.rss_bytes,
            pss_bytes=read.pss_bytes,
            threads=read.threads,
        )

    def _fault(self, failure: ClientFailure) -> MachineFault:
        more = counted(self._step, "connection")
        name = self._bench.server.specimen.name
        return MachineFault(f"{more} beside {self._opened} could not be kept at {name}: {failure}")


def told(held: Sequence[Held], subject: str) -> Told:
    """The rows of what was held: a round's slope is what the process grew by in its step, a connection."""
    kinds = {_label(tls): {"tls": tls} for tls in KINDS}
    readings = [
        memory.Reading(
            kind=_label(own.tls),
            block=own.round,
            connections=own.connections,
            amounts={memory.RSS: own.rss_bytes, memory.PSS: own.pss_bytes, memory.THREADS: own.threads},
        )
        for own in held
    ]
    rows = tuple(memory.costs(readings, kinds, subject, Pooling(CONFIDENCE)))
    return Told(title=memory.TOPIC.title, sentences=tuple(memory.sentences(rows)), rows=rows)
