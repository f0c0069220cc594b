"""What connections cost an external server in memory, whose process nobody may start anew.

A process keeps what it was given: once connections are closed, the next ones use their memory again. So here
nothing is closed before the end. Every step opens some connections more, of one kind, and what the process
has grown by is theirs. The kinds take turns in random order, and a round has a step of each. The first
connections of each kind may use what was free before, and have what is made once: those are opened
beforehand, and are in no figure.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import Literal

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.guests.access import GuestAccess
from tlstax.mysql import server_facts
from tlstax.observers import process
from tlstax.observers.process import ProcessMemory
from tlstax.observers.turn import turn
from tlstax.plan.admission import most_that_fits, words_of
from tlstax.plan.elsewhere import OWN_CONNECTIONS, Promise
from tlstax.plan.jobs import job_for
from tlstax.probes.memory.document import KINDS, Held, MemoryDocument, MemoryOfServer, Tls
from tlstax.probes.memory.measure import MemoryRequest
from tlstax.probes.memory.slopes import kinds, tls_adds
from tlstax.probes.watcher import Watcher
from tlstax.run.bench import Bench, Needs
from tlstax.run.external import QuietBench, open_quiet_bench
from tlstax.run.gathering import ready_within_s
from tlstax.study import Level
from tlstax.study.workload_level import DataNeeds
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.support.text import counted

LEAST_STEP = 2
"""Connections of a step at the least: with fewer a page or two that others take would be most of it."""

WORK_S = 0.2
"""For so long the connections of a step work, so that each has had what it needs for a statement."""

NOTHING = DataNeeds(tables=())


def external_memory(
    request: MemoryRequest, access: GuestAccess, max_connections: int | None, watcher: Watcher
) -> MemoryDocument:
    """What connections cost there, in the rounds of `request`. Ctrl-C keeps those that are complete by then.

    UserMistake where its memory cannot be read, or it has no room; MachineFault where server or client
    failed.
    """
    needs = Needs(rows=1, connections=1, seed=0, duration_s=WORK_S, data=NOTHING)
    with (
        turn(watcher.warn, beside_others=request.beside_others),
        open_quiet_bench(access, needs, watcher.step, watcher.warn, max_connections) as opened,
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
        growth = _Growth(opened.bench, step, steps, watcher)
        before = server_facts.most_used_connections(opened.bench.admin)
        status: Literal["complete", "interrupted"] = "complete"
        stays = opened.bench.server.connected()
        try:
            with growth.clients:
                taken = [tls for tls in own if growth.is_taken(tls)]
                for number in range(rounds):
                    for tls in order.sample(taken, len(taken)):
                        growth.grow(tls, number)
        except Interrupted:
            status = "interrupted"
        opened.bench.server.wait_until_gone(stays)
        # The first steps, which are in no figure, use what others left as far as it goes.
        reuses = before if before > room.in_use + OWN_CONNECTIONS + len(own) * step else None
        return growth.document(status, rounds, of(step).total, reuses)


def _promise(step: int, *, steps: int) -> Promise:
    """What is promised for as many steps of so many connections each."""
    return Promise(kept=step * steps, used_by=f"{steps} steps of {counted(step, 'kept connection')}")


def _check_readable(opened: QuietBench, access: GuestAccess) -> None:
    """UserMistake, with what would help, where the server's memory is out of reach."""
    if opened.bench.far is not None or opened.bench.near is not None:
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
    ) -> MemoryDocument:
        """What is known by now."""
        server = self._bench.server
        found = MemoryOfServer(
            server=server.specimen.name,
            server_version=server.version,
            tls_library=None,
            certificate=None,
            kinds=kinds(self._held),
            tls_adds=tls_adds(self._held),
            refused=tuple(self._refused),
            held=tuple(self._held),
        )
        sizes = tuple(sorted({own.connections for own in self._held}))
        return MemoryDocument(
            status=status,
            sizes=sizes,
            rounds=rounds,
            promised=promised,
            used_before=reuses,
            servers=(found,),
        )

    def _open(self, tls: Tls) -> None:
        self._watcher.now(
            f"{self._opened + self._step} connections, the last {self._step} "
            f"{'in the clear' if tls == 'off' else f'over TLS {tls}'}",
            share=self._opened / self._step / self._steps,
        )
        if tls == "off":
            # The server's cache knows the account then, and asks for no password in the clear.
            self._bench.server.is_alive()
        levels: dict[str, Level] = {"workload": "ping", "connections": self._step, "tls": tls}
        job = job_for(levels, self._bench.terms, sequence=self._opened)
        client = self.clients.enter_context(LoadClient(self._bench.command, job))
        client.wait_ready(ready_within_s(job))
        client.slice(WORK_S, WORK_S + job.timeout_s + ready_within_s(job))
        self._opened += self._step

    def _read(self, tls: Tls, number: int) -> Held:
        bench = self._bench
        read = _far_memory(bench) if bench.far is not None else process.read_memory(bench.near)
        if read is None:
            raise MachineFault("the server's memory can no longer be read")
        return Held(tls=tls, round=number, connections=self._opened, **read._asdict())

    def _fault(self, failure: ClientFailure) -> MachineFault:
        more = counted(self._step, "connection")
        name = self._bench.server.specimen.name
        return MachineFault(f"{more} beside {self._opened} could not be kept at {name}: {failure}")


def _far_memory(bench: Bench) -> ProcessMemory | None:
    if bench.far is None:
        return None
    return ProcessMemory(bench.far.rss_bytes(), None, len(bench.far.use().threads.context_switches))
