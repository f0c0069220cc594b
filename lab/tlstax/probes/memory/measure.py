"""Connections kept on private servers, and what their processes hold of memory meanwhile."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.observers import process
from tlstax.observers.turn import turn
from tlstax.plan.jobs import job_for
from tlstax.probes.memory.document import Held, MemoryDocument, Tls
from tlstax.probes.memory.slopes import kinds, tls_adds
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.gathering import ready_within_s
from tlstax.specimens.resolve import named_server, named_tls_library
from tlstax.specimens.server_settings import check_connections
from tlstax.study import Level
from tlstax.study.level_names import DEFAULT_CERTIFICATE
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.support.text import counted

KINDS: tuple[Tls, ...] = ("off", "1.3", "1.2")
ROWS = 100
SPARE_CONNECTIONS = 50
WORK_S = 0.5
"""For so long all connections work, so that each has had what it needs for a statement."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class MemoryRequest:
    """Which server, and how many connections are kept in each round; `server` None is the default one."""

    sizes: tuple[int, ...]
    rounds: int
    server: str | None = None
    tls_library: str | None = None
    certificate: str = DEFAULT_CERTIFICATE
    beside_others: bool = False


@dataclass
class _SoFar:
    held: list[Held]
    server: str = ""
    version: str = ""


def memory(request: MemoryRequest, say: Say, warn: Say) -> MemoryDocument:
    """What connections cost. Ctrl-C keeps what is known by then.

    UserMistake where this machine's limits do not allow that many, MachineFault where server or client
    failed.
    """
    check_connections(f"--connections {max(request.sizes)}", max(request.sizes), SPARE_CONNECTIONS)
    so_far = _SoFar([])
    status: Literal["complete", "interrupted"] = "complete"
    with turn(warn, beside_others=request.beside_others):
        try:
            for number in range(request.rounds):
                for tls in KINDS:
                    _process(request, tls, number, so_far, say)
        except Interrupted:
            status = "interrupted"
    return _document(request, so_far, status)


def _process(request: MemoryRequest, tls: Tls, number: int, so_far: _SoFar, say: Say) -> None:
    """One process of the server: its memory does not come back between kinds of connections."""
    needs = Needs(rows=ROWS, connections=max(request.sizes), seed=secrets.randbelow(2**32), duration_s=WORK_S)
    wanted = Wanted(
        build=named_server(request.server, say) if request.server else None,
        tls_library=named_tls_library(request.tls_library, say) if request.tls_library else None,
        certificate=request.certificate,
        max_connections=max(request.sizes) + SPARE_CONNECTIONS,
    )
    with open_private_bench(needs, _unsaid, wanted) as bench:
        so_far.server, so_far.version = bench.server.specimen.name, bench.server.version
        for size in sorted(request.sizes):
            kind = "in the clear" if tls == "off" else f"over TLS {tls}"
            say(f"round {number + 1} of {request.rounds}: {counted(size, 'connection')} {kind}")
            so_far.held.append(_held(bench, tls, size, number))


def _held(bench: Bench, tls: Tls, size: int, number: int) -> Held:
    levels: dict[str, Level] = {"workload": "point-select", "connections": size, "tls": tls}
    job = job_for(levels, bench.terms, sequence=number)
    try:
        with LoadClient(bench.command, job) as client:
            client.wait_ready(ready_within_s(job))
            client.slice(WORK_S, WORK_S + job.timeout_s + ready_within_s(job))
            found = _memory(bench.server.pid)
            client.finish(job.timeout_s)
    except ClientFailure as failure:
        raise MachineFault(f"{counted(size, 'connection')} could not be kept: {failure}") from failure
    if found is None:
        raise MachineFault("the server's memory cannot be read")
    rss_bytes, pss_bytes, threads = found
    return Held(
        tls=tls, round=number, connections=size, rss_bytes=rss_bytes, pss_bytes=pss_bytes, threads=threads
    )


def _memory(pid: int | None) -> tuple[int, int | None, int] | None:
    rss_bytes = process.read_rss_bytes(pid) if pid is not None else None
    if pid is None or not rss_bytes:
        return None
    try:
        return rss_bytes, read_pss_bytes(pid), psutil.Process(pid).num_threads()
    except psutil.Error:
        return None


def read_pss_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Proportional set size of a process (proc(5), smaps_rollup); None where the kernel does not tell."""
    try:
        text = (root / f"proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return None
    lines = (line.split() for line in text.splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[:1] == ["Pss:"]), None)


def _document(
    request: MemoryRequest, so_far: _SoFar, status: Literal["complete", "interrupted"]
) -> MemoryDocument:
    return MemoryDocument(
        status=status,
        server=so_far.server,
        server_version=so_far.version,
        tls_library=request.tls_library,
        certificate=request.certificate,
        sizes=tuple(sorted(request.sizes)),
        rounds=request.rounds,
        kinds=kinds(so_far.held),
        tls_adds=tls_adds(so_far.held),
        held=tuple(so_far.held),
    )


def _unsaid(_: str) -> None:
    """Steps of each server's start are not shown: there are many of them."""


def sizes_of(texts: Sequence[str]) -> tuple[int, ...]:
    """Numbers of connections from text, each once. Raises UserMistake for fewer than two, or for none."""
    if not all(text.strip().isdigit() and int(text) > 0 for text in texts):
        raise UserMistake("--connections: write numbers like 100,1000,4000")
    found = tuple(dict.fromkeys(int(text) for text in texts))
    if len(found) < 2:
        raise UserMistake("--connections: what each further one costs takes two numbers at the least")
    return found
