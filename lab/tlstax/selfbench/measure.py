"""One sitting of the self-bench: a cell's contestants take turns, around the window of one that cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from tlstax.contract import Job, TlsOff
from tlstax.mysql import status
from tlstax.observers.perf_events import Event
from tlstax.plan.jobs import WARMUP_S, job_for
from tlstax.run.bench import Bench
from tlstax.run.sitting import undisturbed
from tlstax.selfbench.plan import BESIDE, WATCHED_S, WHOLE, Contestant, Sitting, Trial
from tlstax.selfbench.proof import COUNTERS, claims
from tlstax.selfbench.records import InTurns, Observation
from tlstax.selfbench.seat import Seat
from tlstax.support import interruption


class Measurer:
    """Measures sittings on a bench; called with one, it gives what was observed of each contestant."""

    def __init__(
        self,
        bench: Bench,
        commands: Mapping[Contestant, Sequence[str]],
        events: Sequence[Event],
        warn: Callable[[str], None],
        client_tls_library: str | None = None,
    ) -> None:
        """`events` are the counters that work here, none where there are no counters."""
        self._bench = bench
        self._commands = commands
        self._events = tuple(events)
        self._warn = warn
        self._client_tls_library = client_tls_library
        self._sequence = 0
        self._own = status.connected(status.read_status(bench.admin))

    def __call__(self, sitting: Sitting) -> tuple[Observation, ...]:
        """Run a sitting. What fails at a client or the server is in the observations.

        MachineFault when the server died too often.
        """
        turns, half = Counter[str](), len(sitting.rounds) // 2
        with ExitStack() as stack:
            seats = self._seats(sitting, stack)
            in_turns = [seat for seat in seats if seat.trial.contestant != WHOLE]
            whole = [seat for seat in seats if seat.trial.contestant == WHOLE]
            beside = [seat for seat in in_turns if seat.trial.contestant == BESIDE]
            beside = beside if whole and sitting.lengths.slices_are_shorter else []
            self._sit_down(seats)
            with undisturbed():
                with self._counted(seats, turns):
                    _take_turns(sitting, range(half), in_turns)
                    _work_beside(0, sitting.lengths.window_s, beside)
                for seat in whole:
                    if not seat.is_out:
                        seat.work_whole()
                with self._counted(seats, turns):
                    _work_beside(1, sitting.lengths.window_s, beside)
                    _take_turns(sitting, range(half, len(sitting.rounds)), in_turns)
            for seat in in_turns:
                if not seat.is_out:
                    seat.finish(sitting.lengths)
            for seat in seats:
                seat.hang_up()
        together = InTurns(
            clients=len(in_turns),
            status_delta={name: turns[name] for name in COUNTERS},
            claims=claims(sitting.cell, [seat.in_turns for seat in in_turns]),
        )
        seen = tuple(seat.observation(together) for seat in seats)
        self._bench.revive(next((one.failure for one in seen if one.failure), ""), self._warn)
        return seen

    def _seats(self, sitting: Sitting, stack: ExitStack) -> list[Seat]:
        seats: list[Seat] = []
        for trial in sitting.trials:
            others = self._own + sum(seat.kept for seat in seats)
            seats.append(Seat(trial, self._job(sitting, trial), self._bench, others, stack))
        return seats

    def _sit_down(self, seats: Sequence[Seat]) -> None:
        """Start all, one after another; those that take turns are proved before the next one comes.

        The process of the last one loads itself meanwhile: sysbench's takes as long as all the rest.
        """
        seats[-1].launch(self._commands[seats[-1].trial.contestant])
        for seat in seats:
            interruption.check()
            if seat is not seats[-1]:
                seat.launch(self._commands[seat.trial.contestant])
            if not seat.is_out:
                seat.start(self._events)
            if not seat.is_out and seat.trial.contestant != WHOLE:
                seat.work_alone(WATCHED_S)

    @contextmanager
    def _counted(self, seats: Sequence[Seat], turns: Counter[str]) -> Iterator[None]:
        """Adds to `turns` what the server counts while those that take turns do so in the block."""
        before = self._status(seats)
        yield
        turns.update(status.status_delta(before, self._status(seats)))

    def _status(self, seats: Sequence[Seat]) -> dict[str, int]:
        """The server's counters, with nothing in flight; where it does not report them, all seats are out."""
        expected = self._own + sum(seat.kept for seat in seats)
        for seat in seats:
            if not seat.is_out:
                with seat.failures():
                    return status.read_settled_status(self._bench.admin, expected)
        return {}

    def _job(self, sitting: Sitting, trial: Trial) -> Job:
        terms = self._bench.terms.model_copy(
            update={"source_addresses": (), "client_cpus": self._bench.machine.client_cpus[:1]}
        )
        job = job_for(sitting.cell.levels(), terms, sequence=self._sequence)
        self._sequence += 1
        lengths = sitting.lengths
        if trial.contestant == WHOLE:
            # What the others do alone is no part of their turns either: it warms them further.
            longer = {"warmup_s": WARMUP_S + WATCHED_S, "duration_s": lengths.window_s}
            return job.model_copy(update=longer)
        all_s = WATCHED_S + lengths.rounds * lengths.slice_s + 2 * lengths.window_s
        return _over(job.model_copy(update={"duration_s": all_s}), self._client_tls_library)


def _take_turns(sitting: Sitting, rounds: Iterable[int], seats: Iterable[Seat]) -> None:
    of = {seat.trial.contestant: seat for seat in seats}
    for number in rounds:
        interruption.check()
        for name in sitting.rounds[number]:
            if not of[name].is_out:
                of[name].take_turn(number, sitting.lengths.slice_s)


def _work_beside(number: int, window_s: float, seats: Iterable[Seat]) -> None:
    for seat in seats:
        interruption.check()
        if not seat.is_out:
            seat.work_beside(number, window_s)


def _over(job: Job, library: str | None) -> Job:
    """The job with its client's TLS library chosen, where there is one to choose."""
    if library is None or isinstance(job.tls, TlsOff):
        return job
    return job.model_copy(update={"tls": job.tls.model_copy(update={"library": library})})
