"""One trial by itself: the server awake, the client through its job, both sides read, all in one window.

What is watched and learned of it meanwhile is made into its record, however it ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from tlstax.checks import judged
from tlstax.clients.process import Client, ClientFailure
from tlstax.contract import Done, ErrorEvent, Job, Ready, TlsOff
from tlstax.network.paths.design import Route
from tlstax.network.tap.opening import Captured, capturing
from tlstax.observers import process
from tlstax.observers.counters import Counters
from tlstax.observers.profiler import Profiler, Sampled
from tlstax.observers.window import Side, Watch, Watched
from tlstax.plan.jobs import comes_and_goes, longest_warmup_s
from tlstax.plan.turns import STORM_ROUND_S
from tlstax.records.trial import (
    ConnectionsSeen,
    DistanceObservation,
    Evidence,
    LibraryClaim,
    MappedLibrary,
    PathObservation,
    ServerClaim,
    ServerCpu,
    ServerObservation,
    TableState,
    Trial,
    TrialRecord,
)
from tlstax.records.window import Burned, Load, LockCounts, PortUse, Slices, Together, Window
from tlstax.run import server_variables
from tlstax.run.bench import Bench
from tlstax.run.server_pages import Burning, LockCounting
from tlstax.specimens.server import Logins
from tlstax.sql import answers, recorded_connections
from tlstax.sql.database import SqlError
from tlstax.sql.facts import changed_counters
from tlstax.study import configuration, cpu_features
from tlstax.study.case_workload import sets_values
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.tls_levels import POOLS
from tlstax.study.workloads import writes
from tlstax.support.errors import MachineFault

if TYPE_CHECKING:  # few studies have one
    from tlstax.network.distance.opening import Span

LINK_DIED = "the link that makes the distance ended in the trial"


@dataclass
class Travelled:
    """What was seen of the way between client and server; kept however the trial ends."""

    path: PathObservation | None = None
    distance: DistanceObservation | None = None


@contextmanager
def travelling(route: Route, travelled: Travelled) -> Iterator[None]:
    """The route as the case has it while the block runs. MachineFault where it is not available."""
    span, path, distance = route.span, route.path, route.distance
    if span is not None:
        span.set(distance)
        travelled.distance = DistanceObservation(
            rtt_ms=distance.rtt_ms,
            jitter_ms=distance.jitter_ms,
            rate_mbit=distance.rate_mbit,
            made_by=span.made_by,
            before=span.measure(),
            after=None,
        )
    if path is not None:
        path.begin()
    try:
        yield
    except Exception as failure:
        if _died(span):
            raise MachineFault(LINK_DIED) from failure
        raise
    finally:
        if path is not None:
            travelled.path = path.observe()
    if _died(span):
        raise MachineFault(LINK_DIED)
    if span is not None and travelled.distance is not None:
        seen = {"link": span.used(), "after": span.measure()}
        travelled.distance = travelled.distance.model_copy(update=seen)


def _died(span: Span | None) -> bool:
    return span is not None and not span.is_alive()


def watched(case: CaseLevels, job: Job, bench: Bench, client: Side, others: int) -> Watched:
    """The sides of a trial and what is watched of them, beside `others` who are connected to the server."""
    path = bench.route(case).path
    sides = Watched(
        client=client,
        server=bench.server_side,
        path=tuple(path.pids) if path else (),
    )
    if not case.is_observed:
        return sides
    kept = _kept(job, bench.connects_in_window(case))
    if case.path in POOLS:
        # What it lends stays connected: no number of them is waited for.
        kept = (ANY_NUMBER, ANY_NUMBER)
    return _all_observers(sides, kept, others, bench)


def counters_of(case: CaseLevels, bench: Bench) -> Counters:
    """What is counted of the case's client; nothing where it is not observed."""
    return Counters(bench.equipment.counted_events if case.is_observed else ())


def _kept(job: Job, in_window: bool) -> tuple[int, int]:
    """How many connections the client keeps before the window in which it makes its own, and after it."""
    if in_window:
        return 1, 0
    kept = 0 if job.workload.reconnect else job.connections
    return kept, kept


def _all_observers(sides: Watched, kept: tuple[int, int], others: int, bench: Bench) -> Watched:
    """What is watched beside the CPU clocks and memory, which results need.

    Beside `others`, `kept` of the client's connections are there before the window and after it; at an
    external server those of others come and go.
    """
    expected = iter(kept)

    def read_status() -> dict[str, int]:
        return bench.server.settled_status(bench.admin, others + next(expected))

    return replace(
        sides,
        server=replace(sides.server, counters=bench.counters),
        read_status=read_status,
        machine=True,
        server_cpus=bench.machine.server_cpus,
    )


GRACE_S = 20.0
ANY_NUMBER = 1 << 30
"""How much longer than the job says a client may take before it is given up."""

CONNECT_S = 0.05
"""A connection may take so long to be made: sysbench reads its certificates anew for each."""

FAILURES = (ClientFailure, MachineFault, SqlError, OSError)
"""What may go wrong at a client or a server, and is no defect."""


class Gathered:
    """What has been learned of a trial so far. Not everything is learned of every trial."""

    def __init__(self, trial: Trial, job: Job) -> None:
        self.trial = trial
        self.captured = Captured(job)
        self.ready: Ready | None = None
        self.done: Done | None = None
        self.server: ServerObservation | None = None
        self.window: Window | None = None
        self.claim: ServerClaim | None = None
        self.client_mapped_tls_libraries: tuple[MappedLibrary, ...] = ()
        self.client_ia32cap: str | None = None
        self.client_errors: tuple[ErrorEvent, ...] = ()
        self.client_log = ""
        self.row_mismatches: tuple[str, ...] = ()
        self.data: tuple[TableState, ...] = ()
        self.travelled = Travelled()
        self.sampled = Sampled(None)
        self.slices: Slices | None = None
        self.together: Together | None = None
        self.burned: Burned | None = None
        self.load: Load | None = None
        self.ports: PortUse | None = None
        self.locks: LockCounts | None = None
        self.client_locks: LockCounts | None = None
        self.failure = ""
        self._started, self._started_at = time.monotonic(), datetime.now(UTC)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Keeps what fails at the client or the server while the block runs, and ends the block with it."""
        try:
            yield
        except FAILURES as failure:
            self.failure = why_it_broke_off(failure)
            if isinstance(failure, ClientFailure):
                self.client_errors = failure.errors

    def wait_ready(self, client: Client) -> None:
        """Wait until the client is ready, and keep what it says and which libraries it has."""
        self.ready = client.wait_ready(ready_within_s(self.captured.job))
        self.client_mapped_tls_libraries = client.mapped_tls_libraries()
        pid = client.watched_pid
        self.client_ia32cap = process.environment_of(pid, cpu_features.VARIABLE) if pid else None

    def of_client(self, client: Client) -> None:
        """Keep what the client has said of its errors and written down, its machines and their ports."""
        self.client_errors, self.client_log = client.errors, client.log()
        self.load, self.ports = client.load(), client.ports()

    def look_back(
        self, bench: Bench, cpu: ServerCpu | None, status_delta: dict[str, int], logins: LoggedLogins
    ) -> None:
        """Keep what the server's side shows of a client that is done and has gone."""
        job, levels = self.captured.job, self.trial.case.levels
        if self.window is None or self.done is None:
            raise RuntimeError("a trial is looked back at that was not measured")
        self.server = logins.beside(observed_of_server(levels, bench, self.window, cpu, status_delta))
        # Rows that the trial itself may have changed since prove nothing.
        if not writes(job.workload):
            before = sets_values(levels, job.workload)
            self.row_mismatches = answers.mismatches(bench.admin, self.done.row_samples, before)

    def record(self, bench: Bench, took_s: float | None = None) -> TrialRecord:
        """All of it, judged. `took_s` is the trial's part of the run's time, None for all since it began."""
        took_s = time.monotonic() - self._started if took_s is None else took_s
        # What evidence has under the same name is that.
        kept = {name: own for name, own in vars(self).items() if name in Evidence.model_fields}
        return judged(
            Evidence(
                **kept,
                started_at=self._started_at.isoformat(timespec="milliseconds"),
                took_s=round(took_s, 3),
                job=self.captured.job.without_password(),
                profile=self.sampled.profile,
                why_no_profile=self.sampled.why_none,
                client_claim=_client_claim(self.captured.job, self.trial, bench),
                server_log=bench.server.log_tail() if self.failure else "",
                path=self.travelled.path,
                distance=self.travelled.distance,
                capture=self.captured.capture,
                guest=bench.server.is_external,
            )
        )


def why_it_broke_off(failure: Exception) -> str:
    """What went wrong in a trial, for the reader; `failure` is one of `FAILURES`."""
    if isinstance(failure, MachineFault):
        return failure.message
    return str(failure) if isinstance(failure, ClientFailure) else f"the trial broke off ({failure})"


class LoggedLogins:
    """What the server's log names of a client's logins: those before its window, or `whole` all of its life.

    A log of each login costs the server time (docs/postgresql.md); so it is written while nothing is
    measured, unless nothing else proves the client's connections, or nothing is compared with the trial.
    Where the client is `behind` a pooler, those at the server are the pooler's, and none is named.
    """

    def __init__(self, bench: Bench, job: Job, *, whole: bool = False, behind: bool = False) -> None:
        self._bench, self._job, self._whole, self._behind = bench, job, whole, behind
        self._stack = ExitStack()
        self._read: Logins | None = None
        self._seen: tuple[ConnectionsSeen, ...] | None = None

    def client_is_ready(self) -> None:
        """Its window is about to begin: nothing more is logged, unless it is all to be."""
        if not self._whole:
            self._end()

    def client_has_gone(self) -> None:
        """It logs in no more, or others will beside it: in turns only what it does alone is logged."""
        if self._whole:
            self._end()

    def beside(self, observed: ServerObservation) -> ServerObservation:
        """What was observed, with the logins that the log named."""
        until_ready = self._seen is not None and not self._whole
        return observed.model_copy(update={"logged": self._seen, "logged_until_ready": until_ready})

    def __enter__(self) -> Self:
        """From here on the server logs them."""
        if self._behind:
            return self
        self._read = self._stack.enter_context(self._bench.server.logins(self._bench.admin, self._job))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _end(self) -> None:
        self._seen = self._read() if self._read is not None else None
        self._stack.close()


def logins_of(trial: Trial, bench: Bench, job: Job) -> LoggedLogins:
    """What the log is to name of this trial's client: all of its life where nothing else proves it."""
    levels, product = trial.case.levels, bench.server.product.name
    whole = trial.captured or product in kind_of(levels.client).logged_at
    return LoggedLogins(bench, job, whole=whole, behind=levels.path in POOLS)


def observed_of_server(
    levels: CaseLevels, bench: Bench, window: Window, cpu: ServerCpu | None, status_delta: dict[str, int]
) -> ServerObservation:
    """What the server's side shows when the client has gone."""
    server, admin, used = bench.server, bench.admin, window.server
    answering = server.observed_identity(admin)
    in_force = server_variables.in_force(levels, bench)
    return ServerObservation(
        version=answering.version if answering else server.version,
        tls_library_version=server.tls_library_version,
        status_delta=status_delta,
        cpu=cpu,
        rss_bytes=used.rss_bytes if used else None,
        mapped_tls_libraries=process.mapped_tls_libraries(server.pid) if server.pid else (),
        mapped_faults=process.mapped_faults(server.pid) if server.pid else None,
        answering_pid=answering.pid if answering else None,
        program=answering.program if answering else None,
        listening_port=answering.listening_port if answering else None,
        data_directory=answering.data_directory if answering else None,
        tls_versions=in_force.tls_versions,
        durability=in_force.durability,
        ia32cap=process.environment_of(server.pid, cpu_features.VARIABLE) if server.pid else None,
        allowed_cpus=process.allowed_cpus(server.pid) if server.pid else None,
        variables=_variables(levels, bench),
        demands_certificate=_demands_certificate(levels, bench),
        connections=recorded_connections.read(admin) if bench.connects_in_window(levels) else None,
    )


def _variables(case: CaseLevels, bench: Bench) -> dict[str, str]:
    """The server's variables of the options that the case asks for."""
    asked = configuration.options_of(case.configuration)
    if not asked:
        return {}
    variables = list(map(configuration.variable_of, asked))
    return bench.server.product.server_facts.variables(bench.admin, variables)


def _demands_certificate(case: CaseLevels, bench: Bench) -> bool | None:
    """Whether the account of the case is let in only with a certificate; None where no case names that."""
    if "client_certificate" not in case:
        return None
    proof = bench.terms.client_proof if case.proves_client else None
    user = proof.account.user if proof is not None else bench.terms.account.user
    return bench.server.demands_certificate(bench.admin, user)


@dataclass(frozen=True)
class Passed:
    """What trials of a sitting leave to those after them.

    `tables` is what they held when the first had them put back, by server and workload. `counters` is what a
    server had counted when its last client had been watched, by its bench: nobody has worked since. At those
    in `knows_account` the account has logged in over TLS.
    """

    tables: dict[tuple[int, str], tuple[TableState, ...]] = field(default_factory=dict)
    counters: dict[int, Mapping[str, int]] = field(default_factory=dict)
    knows_account: set[int] = field(default_factory=set)


def made_ready(gathered: Gathered, bench: Bench, passed: Passed) -> None:
    """Make the server ready for the trial: its claim, its data, the account.

    Clients of a sitting change the same data in turn, which is put back once, for the first of them.
    """
    server, levels = bench.server, gathered.trial.case.levels
    gathered.claim = server.claim()
    if bench.data is not None:
        whose = (id(bench), gathered.trial.case.levels.workload)
        if whose not in passed.tables:
            passed.tables[whose] = bench.data.ready(bench.admin, levels)
        gathered.data = passed.tables[whose]
    in_the_clear = isinstance(gathered.captured.job.tls, TlsOff)
    if in_the_clear and id(bench) not in passed.knows_account:
        server.know_account()
        passed.knows_account.add(id(bench))


def _client_claim(job: Job, trial: Trial, bench: Bench) -> LibraryClaim | None:
    """Which TLS library the client was to load; one that loads it itself loads none for plaintext."""
    if isinstance(job.tls, TlsOff) and kind_of(trial.case.levels.client).asks:
        return None
    library = bench.equipment.libraries.get(trial.case.levels.client_tls_library)
    return library.claim() if library is not None else None


def ready_within_s(job: Job) -> float:
    """How long to wait for `ready`: what one connection may take, and some time for each of them."""
    return job.timeout_s + longest_warmup_s(job) + GRACE_S + job.connections * CONNECT_S


def run_trial(trial: Trial, job: Job, bench: Bench) -> TrialRecord:
    """Run one trial and judge it. What fails at the client or the server ends up in the record."""
    gathered, stays = Gathered(trial, job), bench.server.connected()
    logged = logins_of(trial, bench, job)
    with gathered.failures(), server_variables.applied(trial.case.levels, bench), logged as logins:
        _measure(trial, bench, gathered, stays, logins)
    if gathered.failure:
        bench.server.wait_until_gone(stays)
    return gathered.record(bench)


def _measure(
    trial: Trial, bench: Bench, gathered: Gathered, stays: frozenset[int], logins: LoggedLogins
) -> None:
    """The steps of a trial. Both sides are read while nothing is in flight, so over exact work.

    The connections that stay, `stays`, are there before the client is.
    """
    admin, captured, levels = bench.admin, gathered.captured, trial.case.levels
    made_ready(gathered, bench, Passed())
    product = bench.server.product
    status_before = product.status.read_status(admin)
    in_window = bench.connects_in_window(levels)
    if in_window:
        recorded_connections.clear(admin)
    route = bench.route(levels)
    observed, burning, locks = levels.is_observed, Burning(levels, bench), LockCounting(levels, bench)
    with (
        travelling(route, gathered.travelled),
        capturing(captured) if trial.captured else nullcontext(),
        counters_of(levels, bench) as counters,
        bench.client(levels, job := captured.job, counters.open_before_exec if observed else None) as client,
        ExitStack() as watching,
    ):
        try:
            gathered.wait_ready(client)
            logins.client_is_ready()
            if comes_and_goes(job.workload):
                bench.server.wait_until_gone(stays)
            pid = client.watched_pid
            profiler = _profiler(trial, bench, pid, watching)
            others = product.status.connected(status_before)
            sides = watched(levels, job, bench, Side(pid, counters), others)
            keeps = not comes_and_goes(job.workload)
            sides = replace(sides, profiler=profiler, whole_memory=keeps)
            watch = watching.enter_context(Watch(sides))
            watch.begin()
            captured.begin_window()
            with burning.turn(), locks.watching(pid):
                gathered.done = _worked(client, job, bench)
            gathered.burned, gathered.locks = burning.record(), locks.record(gathered.done.operations)
            gathered.client_locks = locks.record_of_client(gathered.done.operations)
            captured.end_window(gathered.done.operations)
            gathered.window, gathered.sampled = watch.end(), watch.sampled
            if in_window:
                gathered.window = _without_ended_threads(gathered.window)
        finally:
            gathered.of_client(client)
    bench.server.wait_until_gone(stays)
    status_after = bench.server.settled_status(admin, product.status.connected(status_before))
    status_delta = changed_counters(status_before, status_after)
    window = gathered.window
    logins.client_has_gone()
    if job.stream is not None:
        product.streams.clear(admin)
    gathered.look_back(bench, process.server_cpu(window.server), status_delta, logins)
    by_path = route.path.logins if route.path is not None else None
    if gathered.server is not None and by_path is not None:
        gathered.server = gathered.server.model_copy(update={"logged": by_path})


def _worked(client: Client, job: Job, bench: Bench) -> Done:
    """The result of the whole window, which is one slice; of a storm at an external server, one a round.

    Of a round's connections it keeps counting some for a moment after it has closed them all.
    """
    within_s = job.duration_s + job.timeout_s + GRACE_S
    if job.lingering is None or not job.workload.storm:
        client.go()
        return client.wait_done(within_s)
    stays = bench.server.connected()
    for _ in range(job.rounds):
        client.slice(STORM_ROUND_S, within_s)
        bench.server.wait_until_gone(stays)
    return client.finish(within_s)


def _without_ended_threads(window: Window) -> Window:
    """The window less the client's changes of threads.

    A client that connects within it has threads that came and went, and what those counted went with them.
    """
    client = window.client
    if client is None:
        return window
    kept = {name: times for name, times in client.counters.items() if name != "context_switches"}
    return window.model_copy(update={"client": client.model_copy(update={"counters": kept})})


def _profiler(trial: Trial, bench: Bench, client_pid: int | None, watching: ExitStack) -> Profiler | None:
    """What samples a profiled trial, not sampling yet; None for the others."""
    sampling = bench.equipment.sampling
    if not trial.profiled or sampling is None:
        return None
    tree = bench.tree.tree if bench.tree is not None else None
    profiler = Profiler(bench.server.pid, client_pid, sampling, bench.machine, server_tree=tree)
    return watching.enter_context(profiler)
