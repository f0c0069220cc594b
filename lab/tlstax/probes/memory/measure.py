"""Connections kept on private servers, and what their processes hold of memory meanwhile."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Literal

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.observers import process
from tlstax.observers.turn import turn
from tlstax.plan.jobs import job_for
from tlstax.probes.memory.document import KINDS, Held, MemoryDocument, MemoryOfServer, Tls
from tlstax.probes.memory.slopes import kinds, tls_adds
from tlstax.probes.watcher import Watcher
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.gathering import ready_within_s
from tlstax.run.room import check_room
from tlstax.specimens.resolve import (
    check_library_name,
    check_server_name,
    default_server,
    named_server,
    named_tls_library,
)
from tlstax.study import Level
from tlstax.study.factors import ServerChoice
from tlstax.study.level_names import DEFAULT_CERTIFICATE, OWN
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.support.text import counted, natural

ROWS = 100
SPARE_CONNECTIONS = 50
STATEMENTS_BESIDE = 1000
WORK_S = 0.5
"""For so long all connections work, so that each has had what it needs for a statement."""


@dataclass(frozen=True)
class MemoryRequest:
    """Which servers, with which libraries and certificates, each with each; how many connections are kept.

    A server None is the default one, a library None what a server comes with.
    """

    sizes: tuple[int, ...]
    rounds: int
    servers: tuple[str | None, ...] = (None,)
    tls_libraries: tuple[str | None, ...] = (None,)
    certificates: tuple[str, ...] = (DEFAULT_CERTIFICATE,)
    seed: int | None = None
    beside_others: bool = False


@dataclass
class _Subject:
    """One server that is measured, and what is known of it."""

    choice: ServerChoice
    wanted: Wanted
    version: str = ""
    refused: list[Tls] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)

    def found(self) -> MemoryOfServer:
        build = self.wanted.build
        library = self.wanted.tls_library
        assert build is not None  # noqa: S101 (`_subjects` names one for each)
        return MemoryOfServer(
            server=build.specimen.name,
            server_version=self.version or build.specimen.version,
            tls_library=library.specimen.name if library is not None else None,
            certificate=self.wanted.certificate,
            kinds=kinds(self.held),
            tls_adds=tls_adds(self.held),
            refused=tuple(self.refused),
            held=tuple(self.held),
        )


def memory(request: MemoryRequest, watcher: Watcher) -> MemoryDocument:
    """What connections cost. Ctrl-C keeps what is known by then.

    UserMistake where this machine's limits do not allow that many, or a name is unknown; MachineFault where
    server or client failed.
    """
    check_room(f"--connections {max(request.sizes)}", max(request.sizes), SPARE_CONNECTIONS)
    status: Literal["complete", "interrupted"] = "complete"
    subjects = _subjects(request, watcher)
    with turn(watcher.warn, beside_others=request.beside_others):
        try:
            _rounds(request, subjects, watcher)
        except Interrupted:
            status = "interrupted"
    return MemoryDocument(
        status=status,
        sizes=request.sizes,
        rounds=request.rounds,
        servers=tuple(subject.found() for subject in subjects),
    )


def _subjects(request: MemoryRequest, watcher: Watcher) -> tuple[_Subject, ...]:
    """All that is named, fetched where it is not there yet; nothing is started."""
    say = watcher.step
    for name in filter(None, request.servers):
        check_server_name(name)
    for name in filter(None, request.tls_libraries):
        check_library_name(name)
    builds = [named_server(name, say) if name else default_server(say) for name in request.servers]
    libraries = [named_tls_library(name, say) if name else None for name in request.tls_libraries]
    most = max(request.sizes)
    return tuple(
        _Subject(
            ServerChoice(
                server=build.specimen.name,
                tls_library=library.specimen.name if library is not None else OWN,
                certificate=certificate,
            ),
            Wanted(
                build=build,
                tls_library=library,
                certificate=certificate,
                options=(f"--max-prepared-stmt-count={most + STATEMENTS_BESIDE}",),
                max_connections=most + SPARE_CONNECTIONS,
            ),
        )
        for build, library, certificate in product(builds, libraries, request.certificates)
    )


def _rounds(request: MemoryRequest, subjects: Sequence[_Subject], watcher: Watcher) -> None:
    """Every kind of connection on every server, in each round in another order.

    So what changes at the machine meanwhile does not look like a difference between them.
    """
    order = Random(secrets.randbelow(2**32) if request.seed is None else request.seed)  # noqa: S311
    all_processes = request.rounds * len(subjects) * len(KINDS)
    begun_s, done = time.monotonic(), 0
    for number in range(request.rounds):
        processes = list(product(subjects, KINDS))
        order.shuffle(processes)
        for subject, tls in processes:
            if tls not in subject.refused:
                took_s = time.monotonic() - begun_s
                left_s = took_s / done * (all_processes - done) if done else None
                progress = _Progress(watcher, f"round {number + 1}", done / all_processes, left_s)
                _process(request, subject, tls, number, progress)
            done += 1


@dataclass(frozen=True)
class _Progress:
    """Where a process of a server stands among all, to be shown with what it does."""

    watcher: Watcher
    place: str
    share: float
    left_s: float | None

    def now(self, words: str) -> None:
        self.watcher.now(f"{self.place}: {words}", share=self.share, left_s=self.left_s)


def _process(request: MemoryRequest, subject: _Subject, tls: Tls, number: int, progress: _Progress) -> None:
    """One process of the server: its memory does not come back between kinds of connections.

    It is noted what it held, or that the server does not take that version of TLS.
    """
    needs = Needs(rows=ROWS, connections=max(request.sizes), seed=number, duration_s=WORK_S)
    words = subject.choice.words()
    progress.now(f"starting {words}")
    with open_private_bench(needs, _unsaid, subject.wanted) as bench:
        subject.version = bench.server.version
        for size in request.sizes:
            kind = "in the clear" if tls == "off" else f"over TLS {tls}"
            progress.now(f"{words}, {counted(size, 'connection')} {kind}")
            try:
                subject.held.append(_held(bench, tls, size, number))
            except ClientFailure as failure:
                if tls != "off" and failure.tls_was_refused():
                    subject.refused.append(tls)
                    return
                raise MachineFault(
                    f"{counted(size, 'connection')} could not be kept on {words}: {failure}"
                ) from failure


def _held(bench: Bench, tls: Tls, size: int, number: int) -> Held:
    levels: dict[str, Level] = {"workload": "point-select", "connections": size, "tls": tls}
    job = job_for(levels, bench.terms, sequence=number)
    with LoadClient(bench.command, job) as client:
        client.wait_ready(ready_within_s(job))
        client.slice(WORK_S, WORK_S + job.timeout_s + ready_within_s(job))
        read = process.read_memory(bench.server.pid)
        client.finish(job.timeout_s)
    if read is None:
        raise MachineFault("the server's memory cannot be read")
    return Held(tls=tls, round=number, connections=size, **read._asdict())


def _unsaid(_: str) -> None:
    """Steps of each server's start are not shown: there are many of them."""


def sizes_of(texts: Sequence[str]) -> tuple[int, ...]:
    """Numbers of connections from text, each once, ascending. UserMistake for fewer than two, or for none."""
    known = [natural(text.strip()) for text in texts]
    numbers = tuple(sorted({number for number in known if number}))
    if not all(known):
        raise UserMistake("--connections: write numbers like 100,1000,4000")
    if len(numbers) < 2:
        raise UserMistake("--connections: what each further one costs takes two numbers at the least")
    return numbers
