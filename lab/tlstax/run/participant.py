"""One client of those that take turns: started and proved, watched at work, then a slice at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tlstax.clients.process import Client
from tlstax.contract import Counts, FullLoad, FullLoadSpan, Job, Slice
from tlstax.contract.event import total
from tlstax.observers import process
from tlstax.observers.counters import Counters
from tlstax.observers.process import CpuClock
from tlstax.observers.window import Side, Watch
from tlstax.plan import turns
from tlstax.plan.jobs import comes_and_goes
from tlstax.plan.sittings import Sitting
from tlstax.records.trial import ServerCpu, Trial
from tlstax.records.window import Slices
from tlstax.run.bench import Bench
from tlstax.run.server_pages import Burning, LockCounting
from tlstax.run.trial import (
    GRACE_S,
    Gathered,
    Passed,
    counters_of,
    logins_of,
    made_ready,
    travelling,
    watched,
)
from tlstax.sql.facts import changed_counters
from tlstax.study.client_kinds import kind_of


@dataclass(frozen=True)
class Turn:
    """A slice in the round with this number: what the client reports, and what was read at its two ends.

    After it the server went on with it for `settling_s`. The CPU times are those of the server and of all
    programs of the path, 0 where they are out of reach. One that `began_apart`, on several machines, counts
    nowhere.
    """

    round: int
    slice: Slice
    settling_s: float
    server_cpu_us: float
    path_cpu_us: float
    began_apart: bool = False


def columns_of(
    turns: Sequence[Turn], lead_in: int | None, *, of_server: bool, of_path: bool, of_storm: bool
) -> dict[str, Any]:
    """The columns of `Slices`, of what was done under full load, after `lead_in` operations, if most tell.

    A slice of which the client does not tell was over before all connections had been at work, which happens
    where other programs have the processors: nothing of it counts. One kind for all: a column that mixed
    whole slices and parts of them would have steps in it. `of_server` and `of_path` say whose CPU time is
    known; under full load the client has read the server's first. The rounds of a storm are never under full
    load.
    """
    parts = [turn.slice.full_load for turn in turns]
    telling = sum(part is not None for part in parts)
    of_parts = lead_in is not None and 2 * telling > len(parts)

    def column(
        of_turn: Callable[[Turn], float], of_part: Callable[[FullLoadSpan], float], digits: int
    ) -> tuple[float, ...]:
        under_load = (of_part(part) if part is not None else 0.0 for part in parts)
        return tuple(round(value, digits) for value in (under_load if of_parts else map(of_turn, turns)))

    server = column(lambda turn: turn.server_cpu_us, lambda part: part.cpu_of_us[0], 3) if of_server else ()
    first = int(of_server)
    path = (
        column(lambda turn: turn.path_cpu_us, lambda part: sum(part.cpu_of_us[first:]), 3) if of_path else ()
    )
    has_rounds = of_storm and not of_parts
    return {
        "rounds": tuple(turn.round for turn in turns),
        "operations": column(lambda turn: turn.slice.operations, lambda part: part.operations, 6),
        "elapsed_s": column(
            lambda turn: turn.slice.elapsed_s + turn.settling_s, lambda part: part.elapsed_s, 9
        ),
        "latency_sum_s": column(lambda turn: turn.slice.latency_sum_s, lambda part: part.latency_sum_s, 9),
        "client_cpu_us": column(lambda turn: turn.slice.cpu_us, lambda part: part.cpu_us, 3),
        "server_cpu_us": server,
        "path_cpu_us": path,
        "rounds_s": tuple(round(sum(turn.slice.rounds_s), 9) for turn in turns) if has_rounds else (),
        "finished": tuple(turn.slice.operations for turn in turns),
        "lead_in": lead_in if of_parts else None,
    }


OVERHEAD_BLOCKS = 3
"""In how many blocks the engine measures what its own loop costs: it takes as long as starting it."""


class Participant:
    """A trial's client, and what has been learned of it.

    Whatever fails ends up in `gathered.failure`, and it `is_out`: it takes no further turns. Leaving
    `stack` ends the client. With `full_load` it reports what it did while all connections were at work.
    """

    def __init__(self, trial: Trial, job: Job, bench: Bench, stack: ExitStack, *, full_load: bool) -> None:
        self.trial, self.bench = trial, bench
        self._stack = stack
        self._client: Client | None = None
        self._counters: Counters | None = None
        self._clock = bench.server_clock
        levels = trial.case.levels
        self._burning, self._locks = Burning(levels, bench), LockCounting(levels, bench)
        self._route = bench.route(trial.case.levels)
        path = self._route.path
        path_pids = path.pids if path is not None else ()
        self._path_clocks = [CpuClock(pid) for pid in path_pids]
        tells = full_load and self._clock.clients_read_it
        self._lead_in = turns.lead_in(trial.case.levels) if tells else None
        self._job = self._telling_full_load(job, path_pids)
        self.gathered = Gathered(trial, self._job)
        self._is_storm = job.workload.storm
        self._comes_and_goes = comes_and_goes(job.workload)
        self._turns: list[Turn] = []
        self._watched_cpu: ServerCpu | None = None
        self._status_delta: dict[str, int] = {}
        self._logins = logins_of(trial, bench, job)

    @property
    def is_out(self) -> bool:
        """Whether it has failed."""
        return bool(self.gathered.failure)

    @property
    def opened_in_turns(self) -> Counts:
        """What its client says that it opened in its slices."""
        return total(turn.slice.counts for turn in self._turns)

    @property
    def launches_quickly(self) -> bool:
        """Whether its process is there within milliseconds: a driver's takes the processors for longer."""
        return not kind_of(self.trial.case.levels.client).is_driver

    def launch(self) -> None:
        """Start the client's process, which loads itself while others sit down; it connects to nobody yet."""
        with self.gathered.failures():
            bench, levels = self.bench, self.trial.case.levels
            self._counters = self._stack.enter_context(counters_of(levels, bench))
            before_exec = self._counters.open_before_exec if levels.is_observed else None
            self._stack.enter_context(travelling(self._route, self.gathered.travelled))
            self._client = bench.client(levels, self._job, before_exec)
            self._stack.push(self._client)

    def sit_down(self, watched_s: float, passed: Passed) -> None:
        """Have the client connect, work for `watched_s` under all observers, and wait for its first turn.

        Nobody else works meanwhile, so the server's counters are of this client alone.
        """
        if self._client is None and not self.is_out:
            self.launch()
        if self.is_out:
            return
        with self.gathered.failures():
            made_ready(self.gathered, self.bench, passed)
            with self._logins:
                self._sit_down(watched_s, passed.counters)
                self._logins.client_has_gone()

    @property
    def operations_in_turns(self) -> int:
        """How many operations its client says that it finished in its slices."""
        return sum(turn.slice.operations for turn in self._turns)

    def take_turn(self, number: int, length_s: float) -> None:
        """One slice, in the round with this number."""
        with self.gathered.failures(), self._burning.turn():
            client, stays = self._seated(), self._others()
            path_before_us, before_us = self._path_us(), self._clock.read_us()
            done = client.slice(length_s, length_s + self._job.timeout_s + GRACE_S)
            after_us, settling_s = self._clock.read_settled(comes_and_goes=self._comes_and_goes)
            path_after_us = self._path_us()
            cpu_us, path_us = after_us - before_us, path_after_us - path_before_us
            self._turns.append(Turn(number, done, settling_s, cpu_us, path_us, client.began_apart))
            self._wait_until_gone(stays)

    def wind_up(self) -> None:
        """Have the client put its result together, while others do as well."""
        with self.gathered.failures():
            self._seated().wind_up()

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
        gathered = self.gathered
        gathered.slices, gathered.burned = self._columns(sitting, took_s), self._burning.record()
        if gathered.done is not None and gathered.window is not None:
            with gathered.failures():
                gathered.look_back(self.bench, self._whole_cpu(), self._status_delta, self._logins)

    def _telling_full_load(self, job: Job, path_pids: Sequence[int]) -> Job:
        """The job with what the client is to tell of each slice, and the loop's own cost in a few blocks."""
        if self._lead_in is None:
            return job
        pid = self.bench.server.watched_pid
        server = () if pid is None else (pid,)
        full_load = FullLoad(after_operations=self._lead_in, cpu_of=(*server, *path_pids))
        overhead = self.trial.block < OVERHEAD_BLOCKS
        return job.model_copy(update={"full_load": full_load, "measure_overhead": overhead})

    def _sit_down(self, watched_s: float, counted: dict[int, Mapping[str, int]]) -> None:
        gathered, bench, job, levels = self.gathered, self.bench, self._job, self.trial.case.levels
        status = bench.server.product.status
        status_before = counted.pop(id(bench), None) or status.read_status(bench.admin)
        client, stays = self._seated(), self._others()
        try:
            client.give_job()
            gathered.wait_ready(client)
            self._logins.client_is_ready()
            self._wait_until_gone(stays)
            side = Side(client.watched_pid, self._counters)
            sides = watched(levels, job, bench, side, status.connected(status_before))
            with Watch(sides) as watch:
                watch.begin()
                with self._burning.turn(), self._locks.watching(client.watched_pid):
                    done = client.slice(watched_s, watched_s + job.timeout_s + GRACE_S)
                window = watch.end()
            self._wait_until_gone(stays)
            gathered.window = window.model_copy(update={"operations": done.operations})
            gathered.locks = self._locks.record(done.operations)
            gathered.client_locks = self._locks.record_of_client(done.operations)
            self._watched_cpu = process.server_cpu(window.server)
            self._status_delta = changed_counters(status_before, watch.status_at_end)
            if bench.server.counts_us_alone:
                counted[id(bench)] = watch.status_at_end
        finally:
            gathered.of_client(client)

    def _seated(self) -> Client:
        if self._client is None:
            raise RuntimeError("a client takes its turn that was not started")
        return self._client

    def _others(self) -> frozenset[int]:
        """The connections at the server that are not this client's, where its own come and go."""
        return self.bench.server.connected() if self._comes_and_goes else frozenset()

    def _wait_until_gone(self, others: frozenset[int]) -> None:
        if self._comes_and_goes:
            self.bench.server.wait_until_gone(others)

    def _path_us(self) -> float:
        return sum(clock.read_us() for clock in self._path_clocks)

    def _whole_cpu(self) -> ServerCpu | None:
        """The server's CPU time over all slices, the watched one among them, split as it was in that one."""
        watched_cpu = self._watched_cpu
        if watched_cpu is None or not watched_cpu.total_us:
            return watched_cpu
        in_turns_us = sum(turn.server_cpu_us for turn in self._turns)
        factor = (watched_cpu.total_us + in_turns_us) / watched_cpu.total_us
        return ServerCpu(
            total_us=watched_cpu.total_us * factor,
            user_us=watched_cpu.user_us * factor,
            system_us=watched_cpu.system_us * factor,
        )

    def _columns(self, sitting: Sitting, took_s: float) -> Slices | None:
        counting = [turn for turn in self._turns if not turn.began_apart]
        if not counting:
            return None
        measured = columns_of(
            counting,
            self._lead_in,
            of_server=self._clock.is_known,
            of_path=bool(self._path_clocks),
            of_storm=self._is_storm,
        )
        return Slices(sitting=sitting.number, length_s=sitting.slice_s, took_s=round(took_s, 3), **measured)
