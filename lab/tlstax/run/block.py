"""A block of a run, sitting after sitting: the same work on this machine as on another.

In a sitting the clients of all cases that are compared with each other take turns in short slices.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from tlstax.checks import rows_changed, statements, together
from tlstax.contract import Job
from tlstax.plan.elsewhere import Elsewhere, ExternalLimits
from tlstax.plan.jobs import captured, comes_and_goes, job_for
from tlstax.plan.order import trials_per_block
from tlstax.plan.sittings import Sitting, order, seated, sittings
from tlstax.plan.timing import window_s
from tlstax.records.server_counts import Counting, counting_of
from tlstax.records.trial import RunHeader, Trial, TrialRecord
from tlstax.records.window import Together
from tlstax.run.bench import Bench
from tlstax.run.benches import Benches
from tlstax.run.participant import Participant
from tlstax.run.trial import Passed, run_trial
from tlstax.sql.facts import changed_counters
from tlstax.support import interruption
from tlstax.support.grouping import grouped


def run_sitting(
    sitting: Sitting,
    places: Mapping[int, tuple[Job, Bench]],
    seed: int,
    follower: Follower,
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
        participants = [
            Participant(trial, *places[trial.position], stack, full_load=sitting.full_load)
            for trial in sitting.trials
        ]
        known = _sit_down(sitting, participants, follower)
        with _counted_together(participants, known) as counted:
            follower.turns_begin(sitting)
            _take_turns(sitting, participants, seed, share)
        playing = [participant for participant in participants if not participant.is_out]
        for participant in playing:
            participant.wind_up()
        for participant in playing:
            participant.finish()
        for participant in participants:
            participant.hang_up()
    for place, server in servers.items():
        server.wait_until_gone(stays[place])
    for of_server, before, delta in counted:
        _set_against_claims(of_server, _late(of_server, before) or delta)
    took_s = time.monotonic() - began
    for participant in participants:
        participant.look_back(sitting, took_s)
    took_s = time.monotonic() - began
    return tuple(
        participant.gathered.record(participant.bench, took_s / len(participants))
        for participant in participants
    )


def _sit_down(
    sitting: Sitting, participants: Sequence[Participant], follower: Follower
) -> Mapping[int, Mapping[str, int]]:
    """Have the clients sit down one after another; what each server had counted then, by its bench."""
    passed = Passed()
    for participant in participants:
        if participant.launches_quickly:
            participant.launch()
    for participant in participants:
        interruption.check()
        follower.begins(participant.trial)
        participant.sit_down(sitting.watched_s, passed)
        if participant.is_out:
            follower.failed(participant.gathered.record(participant.bench))
    return passed.counters


def _take_turns(sitting: Sitting, participants: Sequence[Participant], seed: int, share: float) -> None:
    at = {participant.trial.position: participant for participant in participants}
    with undisturbed():
        for number, trials in enumerate(order(sitting, seed)):
            interruption.check()
            for trial in trials:
                participant = at[trial.position]
                if not participant.is_out:
                    began = time.monotonic()
                    participant.take_turn(number, sitting.slice_s)
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
    participants: Sequence[Participant], known: Mapping[int, Mapping[str, int]]
) -> Iterator[list[tuple[list[Participant], Mapping[str, int], dict[str, int]]]]:
    """Reads each server's counters before and after the block; who is at each, and what changed from what.

    What is `known` of those before it, by bench, is not read again.
    """
    playing = [participant for participant in participants if not participant.is_out]
    servers = grouped(playing, lambda participant: id(participant.bench)).values()
    before = [known.get(id(of_server[0].bench)) or _status(of_server) for of_server in servers]
    counted: list[tuple[list[Participant], Mapping[str, int], dict[str, int]]] = []
    yield counted
    for of_server, was in zip(servers, before, strict=True):
        status = of_server[0].bench.server.product.status
        after = _status(of_server, status.connected(was))
        counted.append((list(of_server), was, changed_counters(was, after)))


def _late(participants: Sequence[Participant], before: Mapping[str, int]) -> dict[str, int]:
    """What changed until all clients had gone, at a server that counts late; nothing elsewhere."""
    if not _counting(participants, before).late:
        return {}
    jobs = [participant.gathered.captured.job for participant in participants]
    kept = sum(0 if comes_and_goes(job.workload) else job.connections for job in jobs)
    status = participants[0].bench.server.product.status
    after = _status(participants, status.connected(before) - kept)
    return changed_counters(before, after) if after else {}


def _counting(participants: Sequence[Participant], counters: Mapping[str, int]) -> Counting:
    server = participants[0].bench.server
    return counting_of(server.version, server.tls_library_version, counters)


def _set_against_claims(participants: Sequence[Participant], delta: Mapping[str, int]) -> None:
    """Keep what the server of these participants counted in the turns beside what the clients claim of it.

    What a client did that failed is not known: then there is no most of anything.
    """
    opened = [participant.opened_in_turns for participant in participants]
    made = zip((participant.trial.case.levels for participant in participants), opened, strict=True)
    written = [_written(participant) for participant in participants]
    counting = _counting(participants, delta)
    claims = {**together.claims(made), **rows_changed.claims(written)}
    if participants[0].bench.server.counts_us_alone:
        claims |= statements.claims(written)
    if "transactions" in counting.counters:
        claims |= statements.transactions(written)
    # What a late counter has of the work before the turns is not told from theirs.
    claims = {
        name: (least, None if name in counting.late else most) for name, (least, most) in claims.items()
    }
    if any(participant.is_out for participant in participants):
        claims = {name: (least, None) for name, (least, _) in claims.items()}
    for participant, own in zip(participants, opened, strict=True):
        participant.gathered.together = Together(
            clients=len(participants),
            status_delta={counter: delta.get(counter, 0) for counter in counting.counters_of(claims)},
            claims=claims,
            own=own,
        )


def _written(participant: Participant) -> rows_changed.Written:
    """What a client says that it did in its turns."""
    done = participant.gathered.done
    return rows_changed.Written(
        case=participant.trial.case.levels,
        workload=participant.gathered.captured.job.workload,
        operations=participant.operations_in_turns,
        failed=sum(error.count for error in done.errors) if done else 0,
    )


def _status(participants: Sequence[Participant], connected: int | None = None) -> dict[str, int]:
    """The counters of the server of these participants; where it does not report them, all of them are out.

    They are read once no more are `connected`, where that is known: what a session counted may come late.
    """
    found: dict[str, int] = {}
    for participant in participants:
        if not participant.is_out and not found:
            with participant.gathered.failures():
                bench = participant.bench
                found = (
                    bench.server.product.status.read_status(bench.admin)
                    if connected is None
                    else bench.server.settled_status(bench.admin, connected)
                )
    return found


class Follower(Protocol):
    """Who is kept informed of a block."""

    def sits(self, sitting: Sitting) -> None:
        """A sitting is about to begin, and nobody works."""
        ...

    def begins(self, trial: Trial) -> None:
        """A client is being started."""
        ...

    def failed(self, record: TrialRecord) -> None:
        """One failed before the turns of its sitting began; raising ends the block."""
        ...

    def turns_begin(self, sitting: Sitting) -> None:
        """All clients of a sitting are ready, and take turns."""
        ...

    def done(self, records: tuple[TrialRecord, ...]) -> None:
        """The trials of a sitting, judged; raising ends the block."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...


@dataclass(frozen=True)
class Where:
    """What blocks of a run are run on; `elsewhere` is what to bear in mind of external servers.

    Of the time in which cases take turns, somebody works for `share` of it, and the server rests otherwise.
    """

    header: RunHeader
    benches: Benches
    elsewhere: ExternalLimits | None = None
    share: float = 1.0


def run_block(block: Sequence[Trial], where: Where, shortest_s: float, follower: Follower) -> None:
    """Run the trials of a block, or what is left of it; `follower` gets the records of each sitting.

    The shortest of its trials measure `shortest_s`. Where the study asks for new processes, each block but
    the first begins with them, or each trial.
    """
    header = where.header
    if header.study.new_processes is True and block[0].block > 0:
        where.benches.renew_all()
    shared_slice_s = where.benches.fleet.least_slice_s if where.benches.fleet is not None else None
    for sitting in sittings(header.study, block, shortest_s, where.elsewhere, shared_slice_s):
        interruption.check()
        follower.sits(sitting)
        where.benches.hold()
        with ExitStack() as stack:
            places = _places(sitting, where, shortest_s, stack)
            if sitting.takes_turns:
                found = run_sitting(sitting, places, header.seed, follower, share=where.share)
            else:
                (trial,) = sitting.trials
                follower.begins(trial)
                found = (run_trial(trial, *places[trial.position]),)
            found = tuple(_with_others(record, where.benches) for record in found)
            follower.done(found)
            for record in found:
                choice = record.trial.case.levels.server_choice
                where.benches.revive(choice, record.failure, follower.warn)


def external(header: RunHeader, benches: Benches) -> ExternalLimits | None:
    """What is to be borne in mind of external servers; None where all are our own."""
    if not header.external:
        return None
    return ExternalLimits(
        {
            own.server: Elsewhere(
                own.at_most, own.round_trip_s, reads_afar=benches.at(own.server).far is not None
            )
            for own in header.external
        }
    )


def _with_others(record: TrialRecord, benches: Benches) -> TrialRecord:
    """The record, marked where another run was measuring since the trial before."""
    others = benches.turn is not None and benches.turn.others()
    return record.model_copy(update={"beside_another": True}) if others else record


def _places(
    sitting: Sitting, where: Where, shortest_s: float, stack: ExitStack
) -> dict[int, tuple[Job, Bench]]:
    """Each trial's job and bench by its position; the servers run until the stack is left."""
    found = {}
    for trial in sitting.trials:
        bench = stack.enter_context(where.benches.awake(trial.case.levels))
        if where.header.study.has_process_for_each_trial:
            bench = where.benches.renew(trial.case.levels.server_choice)
        found[trial.position] = _job(trial, sitting, bench, shortest_s, where.header), bench
    return found


def _job(trial: Trial, sitting: Sitting, bench: Bench, shortest_s: float, header: RunHeader) -> Job:
    """The trial's job; its number in the run depends on its place alone, so a resumed run goes on with it."""
    levels = trial.case.levels
    window = {"duration_s": window_s(levels, shortest_s, header.study)}
    sequence = max(trial.block, 0) * trials_per_block(header.study) + trial.position
    job = job_for(levels, bench.terms_of(levels).model_copy(update=window), sequence=sequence)
    if sitting.takes_turns:
        job = seated(job, trial, sitting)
    job = captured(job) if trial.captured else job
    return bench.reporting(job, levels)
