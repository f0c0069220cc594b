"""One client of a sitting: started and proved, watched at work, then a slice at a time, then its result."""

from __future__ import annotations

import time
from contextlib import ExitStack

from tlstax.clients.process import LoadClient
from tlstax.contract import Counts, Handshakes, Job, Slice
from tlstax.mysql import row_samples, status
from tlstax.observers import process
from tlstax.observers.clock import CpuClock
from tlstax.observers.window import Side, Watch
from tlstax.plan.jobs import longest_warmup_s
from tlstax.plan.sittings import Sitting
from tlstax.records.slices import Slices
from tlstax.records.trial import ServerCpu, Trial
from tlstax.run.bench import Bench
from tlstax.run.burning import Burning
from tlstax.run.gathering import Gathered, made_ready, observed_of_server
from tlstax.run.route_guard import travelling
from tlstax.run.trial import GRACE_S
from tlstax.run.watching import counters_of, watched
from tlstax.study.case_levels import CaseLevels
from tlstax.study.workloads import writes

SETTLING_S, SETTLED_US, LONGEST_SETTLING_S = 0.0001, 20.0, 0.05
"""After a slice in which connections came and went the server may go on for a moment with those that the
client has left, which belongs to the slice. Its clock is read when it has used less than this in this time,
or at the latest then."""


class Seat:
    """A trial's client, and what has been learned of it.

    Whatever fails ends up in `gathered.failure`, and the seat `is_out`: it takes no further turns. Leaving
    `stack` ends the client.
    """

    def __init__(self, trial: Trial, job: Job, bench: Bench, stack: ExitStack) -> None:
        self.trial, self.bench = trial, bench
        self.gathered = Gathered(trial, job)
        self._job, self._stack = job, stack
        self._client: LoadClient | None = None
        self._clock = CpuClock(bench.server.pid)
        self._burning = Burning(trial.case.levels, bench)
        self._route = bench.route(trial.case.levels)
        path = self._route.path
        self._path_clocks = [CpuClock(pid) for pid in path.pids] if path is not None else []
        self._path_cpu_us: list[float] = []
        self._comes_and_goes = job.workload.reconnect or job.workload.storm
        self._rounds: list[int] = []
        self._slices: list[Slice] = []
        self._elapsed_s: list[float] = []
        self._server_cpu_us: list[float] = []
        self._watched_cpu: ServerCpu | None = None
        self._status_delta: dict[str, int] = {}

    @property
    def is_out(self) -> bool:
        """Whether it has failed."""
        return bool(self.gathered.failure)

    @property
    def opened_in_turns(self) -> Counts:
        """What its client says that it opened in its slices."""
        return _together([slice_.counts for slice_ in self._slices])

    def sit_down(self, watched_s: float) -> None:
        """Start the client, have it work for `watched_s` under all observers, and wait for its first turn.

        Nobody else works meanwhile, so the server's counters are of this client alone.
        """
        with self.gathered.failures():
            self._sit_down(watched_s)

    def take_turn(self, number: int, length_s: float) -> None:
        """One slice, in the round with this number."""
        with self.gathered.failures(), self._burning.turn():
            client, path_before_us, before_us = self._seated(), self._path_us(), self._clock.read_us()
            done = client.slice(length_s, length_s + self._job.timeout_s + GRACE_S)
            after_us, settling_s = self._settled()
            path_after_us = self._path_us()
            self._rounds.append(number)
            self._slices.append(done)
            self._elapsed_s.append(done.elapsed_s + settling_s)
            self._server_cpu_us.append(after_us - before_us)
            self._path_cpu_us.append(path_after_us - path_before_us)

    def finish(self) -> None:
        """Get the result of all slices; the connections stay until the client is ended."""
        with self.gathered.failures():
            client = self._seated()
            self.gathered.done = client.finish(self._job.timeout_s + GRACE_S)
            self.gathered.of_client(client)

    def hang_up(self) -> None:
        """Have the client end by itself, while others do as well."""
        if self._client is not None:
            self._client.hang_up()

    def look_back(self, sitting: Sitting, took_s: float) -> None:
        """Put together what is known when all clients have gone."""
        gathered, done, window = self.gathered, self.gathered.done, self.gathered.window
        gathered.slices, gathered.burned = self._columns(sitting, took_s), self._burning.record()
        if done is None or window is None:
            return
        with gathered.failures():
            cpu = self._whole_cpu()
            levels = self.trial.case.levels
            gathered.server = observed_of_server(levels, self.bench, window, cpu, self._status_delta)
            if not writes(self._job.workload):
                gathered.row_mismatches = row_samples.mismatches(self.bench.admin, done.row_samples)

    def _sit_down(self, watched_s: float) -> None:
        gathered, bench, job, levels = self.gathered, self.bench, self._job, self.trial.case.levels
        made_ready(gathered, bench)
        status_before = status.read_status(bench.admin)
        counters = self._stack.enter_context(counters_of(levels, bench))
        before_exec = counters.open_before_exec if CaseLevels.of(levels).is_observed else None
        # Where other cases have a distance, the server stands at its far end, and this client beside it.
        command = [*self._route.entering, *bench.command_of(levels)]
        self._stack.enter_context(travelling(self._route, gathered.travelled))
        client = self._stack.enter_context(LoadClient(command, job, before_exec))
        self._client = client
        try:
            gathered.ready = client.wait_ready(job.timeout_s + longest_warmup_s(job) + GRACE_S)
            pid = gathered.ready.pid
            gathered.client_libraries = process.mapped_tls_libraries(pid)
            sides = watched(levels, job, bench, Side(pid, counters), status.connected(status_before))
            with Watch(sides) as watch:
                watch.begin()
                with self._burning.turn():
                    done = client.slice(watched_s, watched_s + job.timeout_s + GRACE_S)
                window = watch.end()
            gathered.window = window.model_copy(update={"operations": done.operations})
            self._watched_cpu = process.server_cpu(window.server)
            self._status_delta = status.status_delta(status_before, watch.status_at_end)
        finally:
            gathered.of_client(client)

    def _seated(self) -> LoadClient:
        if self._client is None:
            raise RuntimeError("a client takes its turn that was not started")
        return self._client

    def _path_us(self) -> float:
        return sum(clock.read_us() for clock in self._path_clocks)

    def _settled(self) -> tuple[float, float]:
        """The server's clock when it has done with the slice, and for how long it went on after the slice."""
        now_us, ended = self._clock.read_us(), time.monotonic()
        busy_until = now = ended
        while self._comes_and_goes and now - ended < LONGEST_SETTLING_S:
            then_us = now_us
            time.sleep(SETTLING_S)
            now_us, now = self._clock.read_us(), time.monotonic()
            if now_us - then_us < SETTLED_US:
                break
            busy_until = now
        return now_us, busy_until - ended

    def _whole_cpu(self) -> ServerCpu | None:
        """The server's CPU time over all slices, the watched one among them, split as it was in that one."""
        watched_cpu = self._watched_cpu
        if watched_cpu is None or not watched_cpu.total_us:
            return watched_cpu
        factor = (watched_cpu.total_us + sum(self._server_cpu_us)) / watched_cpu.total_us
        return ServerCpu(
            total_us=watched_cpu.total_us * factor,
            user_us=watched_cpu.user_us * factor,
            system_us=watched_cpu.system_us * factor,
        )

    def _columns(self, sitting: Sitting, took_s: float) -> Slices | None:
        if not self._slices:
            return None
        return Slices(
            sitting=sitting.number,
            length_s=sitting.slice_s,
            took_s=round(took_s, 3),
            rounds=tuple(self._rounds),
            operations=tuple(one.operations for one in self._slices),
            elapsed_s=tuple(round(elapsed_s, 9) for elapsed_s in self._elapsed_s),
            latency_sum_s=tuple(round(one.latency_sum_s, 9) for one in self._slices),
            client_cpu_us=tuple(round(one.cpu_us, 3) for one in self._slices),
            server_cpu_us=tuple(round(us, 3) for us in self._server_cpu_us) if self._clock.is_known else (),
            path_cpu_us=tuple(round(us, 3) for us in self._path_cpu_us) if self._path_clocks else (),
        )


def _together(counts: list[Counts]) -> Counts:
    handshakes: dict[Handshakes, int] = {}
    ways: dict[str, int] = {}
    for one in counts:
        for seen in one.handshakes:
            kind = seen.model_copy(update={"count": 1})
            handshakes[kind] = handshakes.get(kind, 0) + seen.count
        for way, count in one.authentications.items():
            ways[way] = ways.get(way, 0) + count
    return Counts(
        connections=sum(one.connections for one in counts),
        handshakes=tuple(kind.model_copy(update={"count": count}) for kind, count in handshakes.items()),
        authentications=ways,
    )
