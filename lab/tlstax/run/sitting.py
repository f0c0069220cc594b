"""A sitting: the clients of all cases that are compared with each other, taking turns in short slices."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from tlstax.checks import rows_changed, statements, together
from tlstax.contract import Job
from tlstax.mysql import status
from tlstax.plan import sittings
from tlstax.plan.sittings import Sitting
from tlstax.records.slices import Together
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.bench import Bench
from tlstax.run.gathering import Passed
from tlstax.run.seat import Seat
from tlstax.support import interruption
from tlstax.support.grouping import grouped


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
    sitting: Sitting,
    places: Mapping[int, tuple[Job, Bench]],
    seed: int,
    watcher: Watcher,
    *,
    share: float = 1.0,
) -> tuple[TrialRecord, ...]:
    """Run the trials of a sitting and judge them; what fails at a client ends its own turns alone.

    `places` has each trial's job and bench by its position. Of the time of the turns somebody works for
    `share`.
    """
    began = time.monotonic()
    servers = {id(bench): bench.server for _, bench in places.values()}
    stays = {place: server.connected() for place, server in servers.items()}
    with ExitStack() as stack:
        seats = [
            Seat(trial, *places[trial.position], stack, full_load=sitting.full_load)
            for trial in sitting.trials
        ]
        known = _sit_down(sitting, seats, watcher)
        with _counted_together(seats, known) as counted:
            watcher.turns_begin()
            _take_turns(sitting, seats, seed, share)
        playing = [seat for seat in seats if not seat.is_out]
        for seat in playing:
            seat.wind_up()
        for seat in playing:
            seat.finish()
        for of_server, delta in counted:
            _set_against_claims(of_server, delta)
        for seat in seats:
            seat.hang_up()
    for place, server in servers.items():
        server.wait_until_gone(stays[place])
    took_s = time.monotonic() - began
    for seat in seats:
        seat.look_back(sitting, took_s)
    took_s = time.monotonic() - began
    return tuple(seat.gathered.record(seat.bench, took_s / len(seats)) for seat in seats)


def _sit_down(sitting: Sitting, seats: Sequence[Seat], watcher: Watcher) -> Mapping[int, Mapping[str, int]]:
    """Have the clients sit down one after another; what each server had counted then, by its bench."""
    passed = Passed()
    for seat in seats:
        if seat.launches_quickly:
            seat.launch()
    for seat in seats:
        interruption.check()
        watcher.begins(seat.trial)
        seat.sit_down(sitting.watched_s, passed)
        if seat.is_out:
            watcher.failed(seat.gathered.record(seat.bench))
    return passed.counters


def _take_turns(sitting: Sitting, seats: Sequence[Seat], seed: int, share: float) -> None:
    at = {seat.trial.position: seat for seat in seats}
    with undisturbed():
        for number, trials in enumerate(sittings.order(sitting, seed)):
            interruption.check()
            for trial in trials:
                seat = at[trial.position]
                if not seat.is_out:
                    began = time.monotonic()
                    seat.take_turn(number, sitting.slice_s)
                    if share < 1:
                        time.sleep((time.monotonic() - began) * (1 / share - 1))


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
def _counted_together(
    seats: Sequence[Seat], known: Mapping[int, Mapping[str, int]]
) -> Iterator[list[tuple[list[Seat], dict[str, int]]]]:
    """Reads each server's counters before and after the block; the seats of each, and what changed there.

    What is `known` of those before it, by bench, is not read again.
    """
    playing = [seat for seat in seats if not seat.is_out]
    servers = grouped(playing, lambda seat: id(seat.bench)).values()
    before = [known.get(id(of_server[0].bench)) or _status(of_server) for of_server in servers]
    counted: list[tuple[list[Seat], dict[str, int]]] = []
    yield counted
    for of_server, was in zip(servers, before, strict=True):
        after = _status(of_server, status.connected(was))
        counted.append((list(of_server), status.status_delta(was, after)))


def _set_against_claims(seats: Sequence[Seat], delta: Mapping[str, int]) -> None:
    """Keep what the server of these seats counted in the turns beside what the clients claim of it.

    What a client did that failed is not known: then there is no most of anything.
    """
    opened = [seat.opened_in_turns for seat in seats]
    made = zip((seat.trial.case.levels for seat in seats), opened, strict=True)
    written = [_written(seat) for seat in seats]
    claims = {**together.claims(made), **rows_changed.claims(written)}
    if seats[0].bench.server.counts_us_alone:
        claims |= statements.claims(written)
    if any(seat.is_out for seat in seats):
        claims = {name: (least, None) for name, (least, _) in claims.items()}
    for seat, own in zip(seats, opened, strict=True):
        seat.gathered.together = Together(
            clients=len(seats),
            status_delta={name: delta.get(name, 0) for name in claims},
            claims=claims,
            own=own,
        )


def _written(seat: Seat) -> rows_changed.Written:
    """What a client says that it did in its turns."""
    done = seat.gathered.done
    return rows_changed.Written(
        case=seat.trial.case.levels,
        workload=seat.gathered.captured.job.workload,
        version=seat.bench.server.version,
        operations=seat.operations_in_turns,
        failed=sum(error.count for error in done.errors) if done else 0,
    )


def _status(seats: Sequence[Seat], connected: int | None = None) -> dict[str, int]:
    """The counters of the server of these seats; where it does not report them, all of them are out.

    They are read once no more are `connected`, where that is known: what a session counted may come late.
    """
    found: dict[str, int] = {}
    for seat in seats:
        if not seat.is_out and not found:
            with seat.gathered.failures():
                bench = seat.bench
                found = (
                    status.read_status(bench.admin)
                    if connected is None
                    else bench.server.settled_status(bench.admin, connected)
                )
    return found
