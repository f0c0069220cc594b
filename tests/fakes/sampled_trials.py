"""Trials one by one, measured or sampled, whose costs per operation and samples a test names itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fake_trials import Truth, fake_header, fake_record
from tlstax.records.profiles.stacks import Profile, SideProfile
from tlstax.records.trial import StoredRun, Trial, TrialRecord, Verdict
from tlstax.study import Case, Study

FREQUENCY_HZ = 1000
OPERATIONS_PER_S = 1000.0
"""In the one second of a trial, unless a test names another rate."""

INVALID = Verdict(value="invalid", reasons=("it is not what it claims",))

Stacks = Mapping[str, int]


def measured(
    case: Case, block: int, server_us: float = 100.0, client_us: float = 10.0, **more: Any
) -> TrialRecord:
    """A trial that nobody sampled: what an operation costs each side; three quarters of it is user time."""
    truth = Truth(more.pop("ops_per_s", OPERATIONS_PER_S), {}, server_us, client_us)
    trial = Trial(block=block, position=more.pop("position", 0), case=case)
    return fake_record(trial, truth).model_copy(update=more)


def profile(server: Stacks | None = None, client: Stacks | None = None, **more: Any) -> Profile:
    """A profile with these samples; of kernel and user space, unless a test says otherwise."""
    sides = {"server": server, "client": client}
    return Profile.model_validate(
        {
            "event": "cycles",
            "frequency_hz": FREQUENCY_HZ,
            "kernel": True,
            **{side: SideProfile(stacks=dict(each)) for side, each in sides.items() if each is not None},
            **more,
        }
    )


def sampled(
    case: Case,
    block: int,
    of: Profile | None,
    server_us: float = 500.0,
    client_us: float = 500.0,
    **more: Any,
) -> TrialRecord:
    """A sampled trial, which costs something else than the measured one."""
    record = measured(case, block, server_us, client_us, **more)
    trial = record.trial.model_copy(update={"profiled": True, "position": 1})
    return record.model_copy(update={"trial": trial, "profile": of})


def run_of(*records: TrialRecord, study: Study | None = None) -> StoredRun:
    """A run of these trials alone; of the study `tax` unless a test names another."""
    return StoredRun(header=fake_header(study), status="complete", trials=records)
