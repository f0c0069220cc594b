"""A thread's work: operations on a connection of its own, one after the other, each timed."""

from __future__ import annotations

import random
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from driver_contract.driver import Driver, Settings
from driver_contract.failure import Failure, failure_of, option_refused
from driver_contract.job import Job
from driver_contract.session import Rows, Session
from driver_contract.statements import Exhausted, Statement, Value
from driver_contract.turns import Turns

Call = tuple[Statement, tuple[Value, ...]]


@dataclass
class Tally:
    """What a worker did in one span of time; latencies in nanoseconds, by phase.

    `latency_sum_ns` is the sum over the operations that succeeded, `last_answer_ns` when the last one ended.
    """

    started: int = 0
    operations: int = 0
    latency_sum_ns: int = 0
    last_answer_ns: int = 0
    connections: int = 0
    latencies_ns: dict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    errors: Counter[tuple[str, int | None]] = field(default_factory=Counter)
    samples: list[tuple[str, Rows]] = field(default_factory=list)


class Worker:
    """One connection's operations. `busy_since_ns` is when it began what it waits for, 0 when nothing."""

    def __init__(self, number: int, job: Job, driver: Driver, settings: Settings, turns: Turns) -> None:
        self._job, self._driver, self._settings, self._turns = job, driver, settings, turns
        self._rng = random.Random(f"{job.seed} {number}")  # noqa: S311 - values of a workload, no secret
        self._wanted_samples = _share(0 if job.changes_data else job.row_samples, number, job.connections)
        self._session: Session | None = None
        self.opened = 0
        self.commits = False
        self.tally = Tally()
        self.busy_since_ns = 0

    def open(self) -> Session:
        """A connection, told what is to be said on every one. Raises Failure."""
        try:
            session = Session(self._driver, self._settings)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise option_refused(error, self._driver.title, self._job.password) from error
        except Exception as error:
            raise self.failure(error) from error
        self.opened += 1
        self.tally.connections += 1
        return session

    def greet(self, session: Session) -> None:
        """Say what the job wants to be said on every connection."""
        for sql in self._job.on_connect:
            session.say(sql)

    def keep(self, session: Session) -> None:
        """Work on this connection from now on."""
        self._session = session

    def failure(self, error: BaseException) -> Failure:
        """What the driver raised, in the contract's words."""
        return failure_of(error, self._driver.title, self._job.password)

    def work(self, until_ns: int) -> None:
        """Do operations until then, or until there are no more, or the job has failed."""
        once = self._reconnecting if self._job.reconnect else self._keeping
        size = self._job.batch
        while perf_counter_ns() < until_ns:
            count = self._turns.take(size)
            if not count:
                return
            try:
                calls = self._drawn(count)
            except Exhausted:
                self._turns.end()
                return
            self.tally.started += count
            self.busy_since_ns = perf_counter_ns()
            try:
                once(calls)
            except Exception as error:
                self.tally.last_answer_ns = perf_counter_ns()
                if self._failed(self.failure(error), count):
                    return
            else:
                self.tally.operations += count
                self._turns.succeeded()
            finally:
                self.busy_since_ns = 0

    def close(self) -> None:
        """Hang up on the kept connection."""
        if self._session is not None:
            self._session.drop()

    def _drawn(self, count: int) -> list[Call]:
        """All that an operation (or a batch of them) says. Raises Exhausted."""
        return [
            (statement, statement.draw(self._rng))
            for _ in range(count)
            for statement in self._job.statements
            for _ in range(statement.repeat)
        ]

    def _keeping(self, calls: list[Call]) -> None:
        begun_ns = perf_counter_ns()
        session = self._session
        if session is None:
            session = self._session = self.open()
            self.greet(session)
        if self._job.batch > 1:
            self._say_batch(session, calls)
        else:
            self._say(session, calls)
        self._note(begun_ns, perf_counter_ns(), len(calls) if self._job.batch > 1 else 1)

    def _reconnecting(self, calls: list[Call]) -> None:
        latencies_ns = self.tally.latencies_ns
        begun_ns = perf_counter_ns()
        session = self._session = self.open()
        connected_ns = perf_counter_ns()
        self.greet(session)
        self._say(session, calls)
        said_ns = perf_counter_ns()
        self._session = None
        session.close()
        ended_ns = perf_counter_ns()
        latencies_ns["connect"].append(connected_ns - begun_ns)
        latencies_ns["close"].append(ended_ns - said_ns)
        self._note(begun_ns, ended_ns, 1)

    def _note(self, begun_ns: int, ended_ns: int, count: int) -> None:
        """So many operations began and succeeded at these times."""
        tally, latency_ns = self.tally, ended_ns - begun_ns
        tally.latencies_ns["operation"].extend([latency_ns] * count)
        tally.latency_sum_ns += latency_ns * count
        tally.last_answer_ns = ended_ns

    def _say(self, session: Session, calls: list[Call]) -> None:
        for statement, values in calls:
            rows = self._timed(session, lambda s=statement, v=values: session.run(s, v))  # type: ignore[misc]
            if rows is not None and len(self.tally.samples) < self._wanted_samples:
                self.tally.samples.append((statement.literal(values), rows))
        if self.commits:
            self._timed(session, session.commit)

    def _say_batch(self, session: Session, calls: list[Call]) -> None:
        statement = calls[0][0]
        self._timed(session, lambda: session.run_batch(statement, [values for _, values in calls]))
        if self.commits:
            self._timed(session, session.commit)

    def _timed(self, session: Session, ask: Callable[[], Any]) -> Any:
        begun_ns = perf_counter_ns()
        answer = ask()
        phase = "first_query" if session.fresh else "query"
        session.fresh = False
        self.tally.latencies_ns[phase].append(perf_counter_ns() - begun_ns)
        return answer

    def _failed(self, failure: Failure, count: int) -> bool:
        """Count a failure and leave the connection fit for the next operation; True when the job is over."""
        self.tally.errors[failure.kind, failure.code] += count
        session = self._session
        if session is not None and (failure.lost or self._job.reconnect):
            session.drop()
            self._session = None
        elif session is not None and self.commits:
            session.take_back()
        return self._turns.failed(failure)


def _share(total: int, number: int, connections: int) -> int:
    """Of so many samples in all, those that this connection keeps."""
    return total // connections + (number < total % connections)
