"""One engine holding many connections to a MariaDB with its thread pool, each asking now and then."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
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
from tlstax.records.trial import Machine
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.cpus import machine_of
from tlstax.run.gathering import GRACE_S, ready_within_s
from tlstax.run.room import check_room
from tlstax.selfbench.hold_records import Held, HeldPair, HeldTls, HoldHeader, HoldRun, Memory
from tlstax.selfbench.plan import Cell, Trial
from tlstax.selfbench.proof import TLS_1_3
from tlstax.selfbench.records import Observation
from tlstax.selfbench.session import server_facts
from tlstax.selfbench.words import TLS_WORDS
from tlstax.specimens.resolve import named_server
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.support.text import counted

SERVER = "mariadb-11.8"
"""MySQL's thread pool is not in the community's server; MariaDB's is."""

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
    """How many connections, how many queries a second over all of them, for how long."""

    connections: int
    rate_per_s: float
    seed: int | None = None
    duration_s: float = HOLD_S
    beside_others: bool = False
    cpus: AskedCpus = field(default_factory=AskedCpus)


def hold(request: HoldRequest, say: Say, warn: Say) -> HoldRun:
    """Hold the connections in plaintext and under TLS 1.3. Ctrl-C keeps the levels that are complete.

    `say` hears the steps, `warn` what the user should know although the work goes on, or waits.
    UserMistake where this machine's limits do not allow that many; MachineFault where the client or the
    server failed.
    """
    check_room(f"--hold {request.connections}", request.connections, SPARE_CONNECTIONS)
    machine = machine_of(request.cpus)
    needs = Needs(
        rows=ROWS,
        connections=request.connections,
        seed=secrets.randbelow(2**32) if request.seed is None else request.seed,
        duration_s=request.duration_s,
    )
    wanted = Wanted(
        build=named_server(SERVER, say),
        options=(
            "--thread-handling=pool-of-threads",
            f"--max-prepared-stmt-count={request.connections + 1000}",
            f"--tls-version={TLS_1_3}",
        ),
        max_connections=request.connections + SPARE_CONNECTIONS,
    )
    with turn(warn, beside_others=request.beside_others) as mine:
        run = _levels(request, needs, wanted, machine, say)
        return run.model_copy(update={"beside_another": mine.others()})


def _levels(request: HoldRequest, needs: Needs, wanted: Wanted, machine: Machine, say: Say) -> HoldRun:
    header: HoldHeader | None = None
    pairs: list[HeldPair] = []
    try:
        for tls in LEVELS:
            # A server of its own for each, because one does not give all memory back between them.
            with open_private_bench(needs, say, wanted, machine) as bench:
                header = header or _header(request, bench)
                pairs.append(_pair(tls, request, bench, say))
    except Interrupted:
        if header is None:
            raise
        return HoldRun(header=header, pairs=tuple(pairs), status="interrupted")
    return HoldRun(header=header, pairs=tuple(pairs))


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


def _header(request: HoldRequest, bench: Bench) -> HoldHeader:
    return HoldHeader(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tlstax_version=__version__,
        connections=request.connections,
        rate_per_s=request.rate_per_s,
        duration_s=request.duration_s,
        machine=bench.machine,
        specimens=(bench.server.specimen, engine_specimen()),
        server=server_facts(bench),
    )
