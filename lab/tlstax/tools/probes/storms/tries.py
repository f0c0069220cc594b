"""One try of a load: a storm, or some seconds of one rate; every one a client of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Done, ErrorCount, ErrorEvent, Job, OpenLoop, TlsOff
from tlstax.plan.jobs import job_for, lingering
from tlstax.run.bench import Bench
from tlstax.run.trial_evidence import ready_within_s
from tlstax.stats.histograms import decode
from tlstax.stats.outcomes import storm_rates
from tlstax.study import Level
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import MachineFault

Kind = Mapping[str, Level]

PATIENCE = 10.0
"""A try that is not over after that many times the time that is wanted is given up."""

LEAST_PATIENCE_S = 5.0

AT_ONCE = 256
"""How many connections of a rate are in the making at most; what is due beyond that waits, and its wait
counts. Each is opened once before, to be asked what it has negotiated."""


FALLING_BEHIND = 0.05
"""A server that falls behind by this share of the time or more does not take the rate."""


class Tries(ABC):
    """Tries on one server. Of `share` of the connections it is asked whether they are up `within_s`."""

    def __init__(self, bench: Bench, *, share: float, within_s: float) -> None:
        self._bench, self._share, self._within_s = bench, share, within_s
        self._patience_s = max(LEAST_PATIENCE_S, PATIENCE * within_s)
        self._number = 0

    @abstractmethod
    def words(self, load: int) -> str:
        """The load in words."""

    @abstractmethod
    def per_s(self, done: Done) -> float:
        """How many connections a second came up."""

    @abstractmethod
    def guess(self, per_s: float) -> int:
        """About the highest load of a server that takes that many connections a second in a storm."""

    @abstractmethod
    def _job(self, kind: Kind, load: int) -> Job: ...

    @abstractmethod
    def _does(self, done: Done) -> bool: ...

    def attempt(self, kind: Kind, load: int) -> tuple[bool, Done | None]:
        """Whether the load did, and what its client reported; None where that gave up.

        MachineFault where the server ended, or where it is this machine that does not allow the load.
        """
        done = self._unless_given_up(self._job(kind, load), self.words(load))
        return done is not None and self._does(done), done

    def takes(self, kind: Kind) -> bool:
        """Whether the server takes that version of TLS at all. Raises as `attempt`."""
        try:
            self._run(self._storm(kind, 1))
        except ClientFailure as failure:
            # A login that succeeds has a server forget that one was refused (max_connect_errors).
            self._bench.server.is_alive()
            return not failure.tls_was_refused()
        return True

    def storm_per_s(self, kind: Kind, connections: int) -> float | None:
        """How many connections a second come up in one storm; None where it fails. Raises as `attempt`."""
        done = self._unless_given_up(self._storm(kind, connections), f"{connections:,} connections at once")
        return next(iter(storm_rates(done)), None) if done is not None else None

    def _are_up(self, done: Done, phase: str) -> bool:
        return is_up_in_time(
            done, phase, connections=done.scheduled, share=self._share, within_s=self._within_s
        )

    def _storm(self, kind: Kind, connections: int) -> Job:
        case = CaseLevels.of({**kind, "workload": "storm", "connections": connections, "rounds": 1})
        self._number += 1
        job = job_for(case, self._bench.terms, sequence=self._number)
        return job.model_copy(update={"timeout_s": self._patience_s})

    def _run(self, job: Job) -> Done:
        """What the client reports; an external server is done with all of its connections then."""
        seconds = job.duration_s if isinstance(job.schedule, OpenLoop) else 0.0
        server = self._bench.server
        if isinstance(job.tls, TlsOff):
            server.know_account()
        stays = server.connected()
        try:
            with LoadClient(engine_command(), job) as client:
                client.wait_ready(ready_within_s(job))
                server.wait_until_gone(stays)
                client.go()
                return client.wait_done(2 * (self._patience_s + seconds) + LEAST_PATIENCE_S)
        finally:
            server.wait_until_gone(stays)

    def _unless_given_up(self, job: Job, load: str) -> Done | None:
        try:
            done = self._run(job)
        except ClientFailure as failure:
            if not self._bench.server.is_alive():
                name = self._bench.server.specimen.name
                raise MachineFault(f"{name} ended under {load}: {failure}") from failure
            _check_limits(failure.errors, load)
            return None
        _check_limits(done.errors, load)
        return done


def _check_limits(errors: Iterable[ErrorEvent | ErrorCount], load: str) -> None:
    """MachineFault where a limit of the client's machine is met: it would be taken for the server's."""
    if any(error.kind == "limits" for error in errors):
        raise MachineFault(
            f"this machine has too few ports or open files for {load}", remedy="ask for less with --most"
        )


class StormTries(Tries):
    """Storms: the load is how many connections are opened at once."""

    def words(self, load: int) -> str:
        """The load in words."""
        return f"{load:,} connections at once"

    def per_s(self, done: Done) -> float:
        """How many connections a second came up."""
        return storm_rates(done)[0]

    def guess(self, per_s: float) -> int:
        """As many as come up within the time."""
        return round(per_s * self._within_s)

    def _job(self, kind: Kind, load: int) -> Job:
        return self._storm(kind, load)

    def _does(self, done: Done) -> bool:
        return self._are_up(done, "connect")


class RateTries(Tries):
    """New connections at a constant rate, each closed when it is up: the load is how many a second."""

    def __init__(
        self, bench: Bench, *, share: float, within_s: float, lasting_s: float, at_once: int = AT_ONCE
    ) -> None:
        super().__init__(bench, share=share, within_s=within_s)
        self._lasting_s, self._at_once = lasting_s, at_once

    def words(self, load: int) -> str:
        """The load in words."""
        return f"{load:,} connections a second"

    def per_s(self, done: Done) -> float:
        """How many connections a second came up."""
        return done.operations / done.elapsed_s

    def guess(self, per_s: float) -> int:
        """The same rate."""
        return round(per_s)

    def _job(self, kind: Kind, load: int) -> Job:
        job = self._storm(kind, self._at_once)
        return job.model_copy(
            update={
                "lingering": None if job.lingering is None else lingering(self._at_once),
                "schedule": OpenLoop(rate_per_s=load, arrivals="uniform"),
                "duration_s": self._lasting_s,
                "operations": None,
            }
        )

    def _does(self, done: Done) -> bool:
        return self._are_up(done, "operation") and falls_behind(done, self._lasting_s) < FALLING_BEHIND


def is_up_in_time(done: Done, phase: str, *, connections: int, share: float, within_s: float) -> bool:
    """Whether `share` of that many connections were up within `within_s`, by the histogram of `phase`.

    Of those that never came up nothing is in it: they count as late.
    """
    if done.operations < share * connections:
        return False
    up_us = decode(done.histograms_ns[phase])
    percent = 100 * share * connections / up_us.count
    return percent <= 100 and up_us.percentiles_us((percent,))[0] <= within_s * 1e6


def falls_behind(done: Done, lasting_s: float) -> float:
    """By which share of the time the connections fall further behind at a rate that lasted `lasting_s`.

    At C connections a second of R that are due, what is due at the time t waits t (R / C − 1) longer than the
    first: half of the connections wait longer than half of that at the end. So twice the median's wait beyond
    the shortest, over the time, is R / C − 1, and near 0 where the server keeps up. The median is not moved
    by the few that were lost and sent again.
    """
    up_us = decode(done.histograms_ns["operation"])
    shortest_us, median_us = up_us.percentiles_us((0.0, 50.0))
    return 2 * (median_us - shortest_us) / (lasting_s * 1e6)
