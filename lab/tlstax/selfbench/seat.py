"""One contestant in a sitting: started and proved by itself, its turns or its one window, its result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tlstax.clients.process import LoadClient
from tlstax.contract import Handshakes, Job
from tlstax.mysql import row_samples, status
from tlstax.observers import process
from tlstax.observers.clock import CpuClock
from tlstax.observers.counters import Counters
from tlstax.observers.perf_events import INSTRUCTIONS, Event
from tlstax.observers.sides import Side
from tlstax.observers.window import Watch, Watched
from tlstax.records.slices import Slices
from tlstax.records.window import ProcessUse, Window
from tlstax.run import columns
from tlstax.run.bench import Bench
from tlstax.run.columns import Turn
from tlstax.run.gathering import FAILURES, GRACE_S, ready_within_s, why_it_broke_off
from tlstax.selfbench.plan import Lengths, Trial
from tlstax.selfbench.proof import Work, failed
from tlstax.selfbench.records import Instructions, InTurns, Observation


class Seat:
    """A contestant with its job at a bench, and what has been observed of it.

    Whatever fails at the client or the server ends up in the observation, and the seat `is_out`. `others` is
    how many connections there are beside its own. Leaving `stack` ends the client.
    """

    def __init__(self, trial: Trial, job: Job, bench: Bench, others: int, stack: ExitStack) -> None:
        self.trial, self._job, self._bench, self._stack = trial, job, bench, stack
        self._expected = others + self.kept
        self._client: LoadClient | None = None
        self._pid = 0
        self._counters: Counters | None = None
        self._clock = CpuClock(bench.server.pid)
        self._began_s = 0.0
        self._short: list[Turn] = []
        self._long: list[Turn] = []
        self._seen: dict[str, Any] = {"trial": trial}

    @property
    def failure(self) -> str:
        """Why it is out; empty where it is not."""
        return str(self._seen.get("failure", ""))

    @property
    def is_out(self) -> bool:
        """Whether it has failed."""
        return bool(self.failure)

    @property
    def kept(self) -> int:
        """How many connections it has between operations."""
        return 0 if self._job.workload.reconnect else self._job.connections

    @property
    def in_turns(self) -> Work:
        """What it says that it did in its turns; what failed is not known of one that is out."""
        handshakes: tuple[Handshakes, ...] = ()
        for turn in self._turns:
            handshakes += turn.slice.counts.handshakes
        done = None if self.is_out else self._seen.get("done")
        return Work(
            operations=sum(turn.slice.operations for turn in self._turns),
            handshakes=handshakes,
            failed=None if done is None else failed(done),
        )

    def launch(self, command: Sequence[str]) -> None:
        """Start the client's process, which loads itself meanwhile and connects to nobody yet."""
        with self.failures():
            self._client = LoadClient(command, self._job)
            self._stack.push(self._client)

    def start(self, events: Sequence[Event]) -> None:
        """Give the client its job and wait until it is ready; nobody else works meanwhile."""
        with self.failures():
            admin, client = self._bench.admin, self._seated()
            at_start = status.read_status(admin)
            client.give_job()
            self._seen["ready"] = ready = client.wait_ready(ready_within_s(self._job))
            self._pid = ready.pid
            # Only now: the program that answers may be a child of the one that was started.
            self._counters = self._stack.enter_context(Counters(events))
            self._counters.attach(ready.pid)
            now = status.read_settled_status(admin, self._expected)
            self._seen["setup_delta"] = status.status_delta(at_start, now)

    def work_alone(self, length_s: float) -> None:
        """A first slice, over which the server counts for this client alone."""
        with self.failures(), Watch(self._watched()) as watch:
            watch.begin()
            self._seen["watched"] = self._seated().slice(length_s, self._within_s(length_s))
            self._keep(watch.end())

    def work_whole(self) -> None:
        """All its work as one window, over which the server counts for this client alone, and its result."""
        with self.failures(), Watch(self._watched()) as watch:
            client = self._seated()
            watch.begin()
            client.go()
            self._seen["done"] = client.wait_done(self._within_s(self._job.duration_s))
            self._keep(watch.end())

    def take_turn(self, number: int, length_s: float) -> None:
        """One slice, in the round with this number."""
        with self.failures():
            self._short.append(self._turn(number, length_s))

    def work_beside(self, number: int, window_s: float) -> None:
        """One slice as long as the window that it is next to, before it (0) or after it (1)."""
        with self.failures():
            self._long.append(self._turn(number, window_s))

    def finish(self, lengths: Lengths) -> None:
        """Get the result of its slices, which were of these lengths."""
        with self.failures():
            self._seen["slices"] = self._columns(self._short, lengths.slice_s)
            if self._long:
                self._seen["beside"] = self._columns(self._long, lengths.window_s)
            self._seen["done"] = self._seated().finish(self._job.timeout_s + GRACE_S)

    def hang_up(self) -> None:
        """Have the client end by itself, while others do as well."""
        if self._client is not None:
            self._client.hang_up()

    def observation(self, in_turns: InTurns | None) -> Observation:
        """All that was seen, when all clients have gone."""
        with self.failures():
            if not self.is_out:
                done = self._seen["done"]
                self._seen["row_mismatches"] = row_samples.mismatches(self._bench.admin, done.row_samples)
        together = in_turns if self._turns else None
        return Observation.model_validate({**self._seen, "in_turns": together})

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Keeps what fails while the block runs, the first of all that do, and ends the block with it."""
        try:
            yield
        except FAILURES as failure:
            self._seen.setdefault("failure", why_it_broke_off(failure))

    def _seated(self) -> LoadClient:
        if self._client is None:
            raise RuntimeError("a contestant works that was not started")
        return self._client

    def _within_s(self, length_s: float) -> float:
        return length_s + self._job.timeout_s + GRACE_S

    def _watched(self) -> Watched:
        admin, expected = self._bench.admin, self._expected
        return Watched(
            client=Side(self._pid, self._counters),
            server=Side(self._bench.server.pid),
            read_status=lambda: status.read_settled_status(admin, expected),
        )

    def _keep(self, window: Window) -> None:
        self._seen["instructions"] = _instructions(window.client)
        self._seen["window_delta"] = window.status_delta
        self._seen["server_cpu"] = process.server_cpu(window.server)

    @property
    def _turns(self) -> list[Turn]:
        return [*self._short, *self._long]

    def _turn(self, number: int, length_s: float) -> Turn:
        self._began_s = self._began_s or time.monotonic()
        client, before_us = self._seated(), self._clock.read_us()
        done = client.slice(length_s, self._within_s(length_s))
        # The rate is the client's own: it is compared with that of one in whose window this is not known.
        after_us, _ = self._clock.read_settled(comes_and_goes=self._job.workload.reconnect)
        return Turn(number, done, settling_s=0.0, server_cpu_us=after_us - before_us, path_cpu_us=0.0)

    def _columns(self, turns: Sequence[Turn], length_s: float) -> Slices:
        measured = columns.of(turns, None, of_server=self._clock.is_known, of_path=False, of_storm=False)
        took_s = round(time.monotonic() - self._began_s, 3)
        return Slices(sitting=0, length_s=length_s, took_s=took_s, **measured)


def _instructions(client: ProcessUse | None) -> Instructions | None:
    user, kernel = (client.counters.get(event.name) if client else None for event in INSTRUCTIONS)
    return None if user is None else Instructions(user=user, kernel=kernel)
