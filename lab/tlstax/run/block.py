"""A block of a run, sitting after sitting: the same work on this machine as on another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from tlstax.contract import Job
from tlstax.plan.elsewhere import Elsewhere, ExternalLimits
from tlstax.plan.jobs import captured, job_for
from tlstax.plan.order import trials_per_block
from tlstax.plan.sittings import Sitting, seated, sittings
from tlstax.plan.timing import window_s
from tlstax.records.trial import RunHeader, Trial, TrialRecord
from tlstax.run.bench import Bench
from tlstax.run.benches import Benches
from tlstax.run.interleaved import run_sitting
from tlstax.run.trial import run_trial
from tlstax.support import interruption


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
                found = run_sitting(
                    sitting, places, header.seed, _OfSitting(follower, sitting), share=where.share
                )
            else:
                (trial,) = sitting.trials
                follower.begins(trial)
                found = (run_trial(trial, *places[trial.position]),)
            found = tuple(_with_others(record, where.benches) for record in found)
            follower.done(found)
            for record in found:
                choice = record.trial.case.levels.server_choice
                where.benches.revive(choice, record.failure, follower.warn)


@dataclass(frozen=True)
class _OfSitting:
    """Passes on what a sitting reports of itself."""

    follower: Follower
    sitting: Sitting

    def begins(self, trial: Trial) -> None:
        self.follower.begins(trial)

    def failed(self, record: TrialRecord) -> None:
        self.follower.failed(record)

    def turns_begin(self) -> None:
        self.follower.turns_begin(self.sitting)


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
