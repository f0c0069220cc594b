"""Trials whose processors were watched, second by second, in exact shares of their time."""

from __future__ import annotations

from fake_trials import VALID, Truth, fake_record
from observed_windows import seconds, ticks, window
from tlstax.records.trial import Trial, TrialRecord, Verdict
from tlstax.records.window import CpuSlice
from tlstax.study import Case, Level
from tlstax.study.design import Role

TRUTH = Truth(100.0, {}, 20.0, 10.0)


def watched(
    *slices: CpuSlice,
    tls: str = "off",
    block: int = 0,
    role: Role = "treatment",
    verdict: Verdict = VALID,
    **levels: Level,
) -> TrialRecord:
    """A trial of a SELECT by the engine, unless told otherwise, that was watched in these slices."""
    case = Case(levels={"tls": tls, "client": "engine", "workload": "people-select", **levels}, role=role)
    made = fake_record(Trial(block=block, position=0, case=case), TRUTH, verdict=verdict)
    return made.model_copy(update={"window": window(*slices)})


def unwatched(made: TrialRecord) -> TrialRecord:
    """The same trial, which nobody watched."""
    return made.model_copy(update={"window": None})


def system(*per_cent: float) -> tuple[CpuSlice, ...]:
    """A slice a second in which the kernel had this share, to a tenth, and nobody the rest."""
    return seconds(*(ticks(system=round(10 * each), idle=1000 - round(10 * each)) for each in per_cent))
