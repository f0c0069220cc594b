"""A sitting: the clients of all cases that are compared with each other, taking turns in short slices."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from tlstax.checks import together
from tlstax.contract import Job
from tlstax.mysql import status
from tlstax.plan import sittings
from tlstax.plan.sittings import Sitting
from tlstax.records.slices import Together
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.bench import Bench
from tlstax.run.seat import Seat
from tlstax.support import interruption


class Watcher(Protocol):
    """Who is kept informed of a sitting."""

    def begins(self, trial: Trial) -> None:
        """A client is being started."""
        ...

    def failed(self, record: TrialRecord) -> None:
        """One failed before the turns began; raising ends the sitting."""
        ...

    def turns_begin(self) -> None:
        """All are ready, and the turns begin."""
        ...


def run_sitting(
    sitting: Sitting, places: Mapping[int, tuple[Job, Bench]], seed: int, watcher: Watcher
) -> tuple[TrialRecord, ...]:
    """Run the trials of a sitting and judge them; what fails at a client ends its own turns alone.

    `places` has each trial's job and bench by its position.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        seats = []
        for trial in sitting.trials:
            interruption.check()
            watcher.begins(trial)
            seat = Seat(trial, *places[trial.position], stack, full_load=sitting.full_load)
            seat.sit_down(sitting.watched_s)
            if seat.is_out:
                watcher.failed(seat.gathered.record(seat.bench))
            seats.append(seat)
        with _counted_together(seats):
            watcher.turns_begin()
            _take_turns(sitting, seats, seed)
        for seat in seats:
            if not seat.is_out:
                seat.finish()
        for seat in seats:
            seat.hang_up()
    took_s = time.monotonic() - began
    for seat in seats:
        seat.look_back(sitting, took_s)
    took_s = time.monotonic() - began
    return tuple(seat.gathered.record(seat.bench, took_s / len(seats)) for seat in seats)


def _take_turns(sitting: Sitting, seats: Sequence[Seat], seed: int) -> None:
    at = {seat.trial.position: seat for seat in seats}
    with undisturbed():
        for number, trials in enumerate(sittings.order(sitting, seed)):
            interruption.check()
            for trial in trials:
                seat = at[trial.position]
                if not seat.is_out:
                    seat.take_turn(number, sitting.slice_s)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Python collects no garbage while the block runs: that would take the processor from who is measured."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _counted_together(seats: Sequence[Seat]) -> Iterator[None]:
    """Reads each server's counters before and after the block, and keeps them beside what clients claim.

    What a client opened that failed in its turns is not known: then there is no most of anything.
    """
    playing = [seat for seat in seats if not seat.is_out]
    servers = {id(seat.bench): [other for other in playing if other.bench is seat.bench] for seat in playing}
    before = {key: _status(of_server) for key, of_server in servers.items()}
    yield
    for key, of_server in servers.items():
        delta = status.status_delta(before[key], _status(of_server))
        opened = [seat.opened_in_turns for seat in of_server]
        claims = together.claims(
            (seat.trial.case.typed, own) for seat, own in zip(of_server, opened, strict=True)
        )
        if any(seat.is_out for seat in of_server):
            claims = {name: (least, None) for name, (least, _) in claims.items()}
        for seat, own in zip(of_server, opened, strict=True):
            seat.gathered.together = Together(
                clients=len(of_server),
                status_delta={name: delta.get(name, 0) for name in together.COUNTERS},
                claims=claims,
                own=own,
            )


def _status(seats: Sequence[Seat]) -> dict[str, int]:
    """The counters of the server of these seats; where it does not report them, all of them are out."""
    found: dict[str, int] = {}
    for seat in seats:
        if not seat.is_out and not found:
            with seat.gathered.failures():
                found = status.read_status(seat.bench.admin)
    return found
