"""Fake runs with profiled trials, which are slower than the others by a known factor."""

from __future__ import annotations

from itertools import islice

from fake_trials import Truth, fake_record, fake_run, tax_truth, whole_tax
from tlstax.plan.order import blocks
from tlstax.records.profiles.stacks import Profile, SideProfile
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.study import Study

SLOWED = 0.8
PROFILE = Profile(
    event="cpu-clock",
    frequency_hz=999,
    kernel=True,
    server=SideProfile(stacks={"clone [libc.so.6];work [mysqld]": 60, "clone [libc.so.6];read [kernel]": 30}),
    client=SideProfile(stacks={"clone3 [libc.so.6];ask [tlstax-engine]": 10}),
)


def profiled_study() -> Study:
    """The study `tax` with --profile."""
    return whole_tax().model_copy(update={"profile": True})


def profiled_run(profile: Profile | None = PROFILE, *, why_none: str = "", blocks_run: int = 6) -> StoredRun:
    """A run of it, whose profiled trials do 0.8 times the operations for 1.25 times the CPU time each."""
    run = fake_run(profiled_study(), number_of_blocks=0)
    order = [trial for block in islice(blocks(run.header.study, 7), blocks_run) for trial in block]
    return run.model_copy(update={"trials": tuple(_record(trial, profile, why_none) for trial in order)})


def without_profiled(run: StoredRun) -> StoredRun:
    """The same run with the unprofiled trials alone."""
    return run.model_copy(update={"trials": run.measured})


def _record(trial: Trial, profile: Profile | None, why_none: str) -> TrialRecord:
    truth: Truth = tax_truth(trial.case).times(1 + trial.block / 50)
    if not trial.profiled:
        return fake_record(trial, truth)
    return fake_record(trial, truth.times(SLOWED)).model_copy(
        update={"profile": profile, "why_no_profile": why_none}
    )
