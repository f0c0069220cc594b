"""One trial: the server awake, the client through its job, both sides read, the evidence gathered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import UTC, datetime

from tlstax.checks import judged
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Done, ErrorEvent, Job, Ready, TlsOff
from tlstax.mysql import connection_log, row_samples, status
from tlstax.mysql.database import SqlError
from tlstax.observers import process
from tlstax.observers.counters import Counters
from tlstax.observers.profiler import Profiler, Sampled
from tlstax.observers.window import Side, Watch, Watched
from tlstax.plan.jobs import longest_warmup_s
from tlstax.records.trial import (
    Evidence,
    LibraryClaim,
    MappedLibrary,
    ServerClaim,
    ServerObservation,
    TableState,
    Trial,
    TrialRecord,
)
from tlstax.records.window import Window
from tlstax.run import server_variables
from tlstax.run.bench import Bench
from tlstax.run.route_guard import Travelled, travelling
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server import Server
from tlstax.study import Levels
from tlstax.study.case_levels import CaseLevels
from tlstax.study.workloads import writes
from tlstax.support.errors import MachineFault
from tlstax.tap.capturing import Captured, capturing

GRACE_S = 20.0
"""How much longer than the job says a client may take before it is given up."""


class _Gathered:
    """What has been learned so far; kept when a later step fails."""

    def __init__(self, job: Job) -> None:
        self.captured = Captured(job)
        self.ready: Ready | None = None
        self.done: Done | None = None
        self.server: ServerObservation | None = None
        self.window: Window | None = None
        self.claim: ServerClaim | None = None
        self.client_libraries: tuple[MappedLibrary, ...] = ()
        self.client_errors: tuple[ErrorEvent, ...] = ()
        self.client_log = ""
        self.row_mismatches: tuple[str, ...] = ()
        self.data: tuple[TableState, ...] = ()
        self.travelled = Travelled()
        self.sampled = Sampled(None)
        self.failure = ""


def run_trial(trial: Trial, job: Job, bench: Bench) -> TrialRecord:
    """Run one trial and judge it. What fails at the client or the server ends up in the record."""
    started, started_at = time.monotonic(), datetime.now(UTC)
    gathered = _Gathered(job)
    try:
        with server_variables.applied(trial.case.levels, bench):
            _measure(trial, bench, gathered)
    except ClientFailure as failure:
        gathered.failure = str(failure)
        gathered.client_errors = failure.errors
    except (MachineFault, SqlError, OSError) as fault:
        gathered.failure = (
            fault.message if isinstance(fault, MachineFault) else f"the trial broke off ({fault})"
        )
    return judged(
        Evidence(
            trial=trial,
            started_at=started_at.isoformat(timespec="milliseconds"),
            took_s=round(time.monotonic() - started, 3),
            job=gathered.captured.job.without_password(),
            ready=gathered.ready,
            done=gathered.done,
            client_errors=gathered.client_errors,
            client_log=gathered.client_log,
            client_mapped_tls_libraries=gathered.client_libraries,
            server=gathered.server,
            window=gathered.window,
            profile=gathered.sampled.profile,
            why_no_profile=gathered.sampled.why_none,
            claim=gathered.claim,
            client_claim=_client_claim(job, trial, bench),
            server_log=bench.server.log_tail() if gathered.failure else "",
            row_mismatches=gathered.row_mismatches,
            data=gathered.data,
            path=gathered.travelled.path,
            distance=gathered.travelled.distance,
            capture=gathered.captured.capture,
            failure=gathered.failure,
            guest=bench.guest,
        )
    )


def _measure(trial: Trial, bench: Bench, gathered: _Gathered) -> None:
    """The steps of a trial. Both sides are read while nothing is in flight, so over exact work."""
    server, admin, captured = bench.server, bench.admin, gathered.captured
    if isinstance(server, PrivateServer):
        gathered.claim = server.claim()
    if bench.data is not None:
        gathered.data = bench.data.ready(admin, trial.case.levels)
    if bench.guest and isinstance(captured.job.tls, TlsOff):
        _fill_authentication_cache(server)
    status_before = status.read_status(admin)
    levels = trial.case.levels
    observed, asks = CaseLevels.of(levels).is_observed, bench.client_asks(levels)
    if not asks:
        connection_log.clear(admin)
    route = bench.route(levels)
    command = [*route.entering, *bench.command_of(levels)]
    with (
        travelling(route, gathered.travelled),
        capturing(captured) if trial.captured else nullcontext(),
        Counters(bench.counted_events if observed else ()) as counters,
        LoadClient(command, job := captured.job, counters.open_before_exec if observed else None) as client,
        ExitStack() as watching,
    ):
        try:
            gathered.ready = client.wait_ready(job.timeout_s + longest_warmup_s(job) + GRACE_S)
            gathered.client_libraries = process.mapped_tls_libraries(gathered.ready.pid)
            watched = Watched(
                client=Side(gathered.ready.pid, counters),
                server=Side(server.pid),
                profiler=_profiler(trial, bench, gathered.ready.pid, watching),
                path=tuple(route.path.pids) if route.path else (),
            )
            if observed:
                watched = _all_observers(watched, _kept(job, asks), status.connected(status_before), bench)
            watch = watching.enter_context(Watch(watched))
            watch.begin()
            captured.begin_window()
            client.go()
            gathered.done = client.wait_done(job.duration_s + job.timeout_s + GRACE_S)
            captured.end_window(gathered.done.operations)
            gathered.window, gathered.sampled = watch.end(), watch.sampled
            if not asks:
                gathered.window = _without_ended_threads(gathered.window)
        finally:
            gathered.client_errors = client.errors
            gathered.client_log = client.log()
    status_delta = status.status_delta(status_before, _read_status_after(bench, status_before))
    gathered.server = _observed_of_server(levels, bench, gathered.window, status_delta)
    # Rows that the trial itself may have changed since prove nothing.
    if not writes(job.workload):
        gathered.row_mismatches = row_samples.mismatches(admin, gathered.done.row_samples)


def _fill_authentication_cache(server: Server) -> None:
    """Log in over TLS, so that the server needs no more than a challenge's answer from a client in the clear.

    With caching_sha2_password it keeps a hash of the password from any login in which it saw the whole of it,
    until FLUSH PRIVILEGES or a restart (reference manual, "Caching SHA-2 Pluggable Authentication"). Where
    this login fails, the load client's own is what is reported.
    """
    server.is_alive()


def _observed_of_server(
    levels: Levels, bench: Bench, window: Window, status_delta: dict[str, int]
) -> ServerObservation:
    """What the server's side shows when the client has gone."""
    server, admin, used = bench.server, bench.admin, window.server
    answering = server.observed_identity(admin) if isinstance(server, PrivateServer) else None
    in_force = server_variables.in_force(levels, bench)
    return ServerObservation(
        version=answering.version if answering else server.version,
        tls_library_version=server.tls_library_version,
        status_delta=status_delta,
        cpu=process.server_cpu(used),
        rss_bytes=used.rss_bytes if used else None,
        mapped_tls_libraries=process.mapped_tls_libraries(server.pid) if server.pid else (),
        mapped_faults=process.mapped_faults(server.pid) if server.pid else None,
        answering_pid=answering.pid if answering else None,
        program=answering.program if answering else None,
        listening_port=answering.listening_port if answering else None,
        data_directory=answering.data_directory if answering else None,
        tls_versions=in_force.tls_versions,
        durability=in_force.durability,
        connections=None if bench.client_asks(levels) else connection_log.read(admin),
    )


def _without_ended_threads(window: Window) -> Window:
    """The window less the client's changes of threads.

    A client that connects within it has threads that came and went, and what those counted went with them.
    """
    client = window.client
    if client is None:
        return window
    kept = {name: times for name, times in client.counters.items() if name != "context_switches"}
    return window.model_copy(update={"client": client.model_copy(update={"counters": kept})})


def _profiler(trial: Trial, bench: Bench, client_pid: int, watching: ExitStack) -> Profiler | None:
    """What samples a profiled trial, not sampling yet; None for the others."""
    if not trial.profiled or bench.sampling is None:
        return None
    return watching.enter_context(Profiler(bench.server.pid, client_pid, bench.sampling, bench.machine))


def _kept(job: Job, asks: bool) -> tuple[int, int]:
    """How many connections the client keeps before the window, and after it."""
    if not asks:
        return 1, 0
    kept = 0 if job.workload.reconnect else job.connections
    return kept, kept


def _all_observers(watched: Watched, kept: tuple[int, int], others: int, bench: Bench) -> Watched:
    """What is watched beside the CPU clocks and memory, which results need.

    Beside `others`, `kept` of the client's connections are there before the window and after it; at an
    external server those of others come and go.
    """
    expected = iter(kept)

    def read_status() -> dict[str, int]:
        if bench.guest:
            return status.read_status(bench.admin)
        return status.read_settled_status(bench.admin, others + next(expected))

    return replace(
        watched,
        server=replace(watched.server, counters=bench.counters),
        read_status=read_status,
        machine=True,
        server_cpus=bench.machine.server_cpus,
    )


def _client_claim(job: Job, trial: Trial, bench: Bench) -> LibraryClaim | None:
    """Which TLS library the client was to load; none is loaded for plaintext."""
    if isinstance(job.tls, TlsOff):
        return None
    return bench.client_claims.get(trial.case.typed.client_tls_library)


def _read_status_after(bench: Bench, before: Mapping[str, int]) -> dict[str, int]:
    """The server's counters when the client has gone; at an external server others come and go."""
    if bench.guest:
        return status.read_status(bench.admin)
    return status.read_settled_status(bench.admin, status.connected(before))
