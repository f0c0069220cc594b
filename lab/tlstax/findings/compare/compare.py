"""Runs beside the first of them: the cases that both have, and what changed in each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean
from typing import NamedTuple

from tlstax.findings.compare.headers import check_fair, constant, different, is_same_machine
from tlstax.findings.compare.two_runs import change_between
from tlstax.findings.core.judgements import judge
from tlstax.findings.core.outcomes import OUTCOMES
from tlstax.findings.core.series import Logs, Series, frozen, series_of
from tlstax.records.trial import RunHeader, StoredRun
from tlstax.results.comparison import CaseChange, Measure, RunBeside, RunComparison
from tlstax.study import Case
from tlstax.study.case_levels import CaseLevels
from tlstax.study.labels import full_label
from tlstax.support.errors import UserMistake

Key = tuple[object, ...]
"""What makes two runs' cases the same case."""


@dataclass(frozen=True)
class Measured:
    """A run with its cases, each under its key; controls are among none of them."""

    header: RunHeader
    series: Series
    cases: Mapping[Key, Case]

    def label(self, key: Key) -> str:
        """What the case is called in its run."""
        return full_label(self.cases[key], self.header.study)

    def logs(self, key: Key, outcome: str, measure: Measure) -> Logs:
        """Logarithms of the outcome, or of its ratio to the baseline, one a block."""
        levels = self.cases[key].levels
        if measure == "itself":
            return self.series.logs(levels, outcome)
        return self.series.log_ratios(levels, self.series.own_baseline(levels), outcome)


def compared(
    runs: Sequence[StoredRun], outcomes: Sequence[str], *, confidence: float | None = None
) -> RunComparison:
    """Each run beside the first. UserMistake where they have no case in common, or comparing is unfair."""
    first, *others = runs
    sure = first.header.study.confidence if confidence is None else confidence
    return RunComparison(
        confidence=sure,
        beside=tuple(beside(first, other, outcomes, confidence=sure) for other in others),
    )


def beside(before: StoredRun, after: StoredRun, outcomes: Sequence[str], *, confidence: float) -> RunBeside:
    """The later run beside the earlier one. UserMistake as of `compared`."""
    old, new = measured(before, after)
    same_machine = is_same_machine(old.header.machine, new.header.machine)
    return RunBeside(
        run=new.header.run,
        against=old.header.run,
        same_machine=same_machine,
        different=different(old.header, new.header),
        changes=tuple(case_changes(old, new, outcomes, confidence=confidence)),
        only_before=tuple(old.label(key) for key in old.cases if key not in new.cases),
        only_after=tuple(new.label(key) for key in new.cases if key not in old.cases),
    )


def measured(before: StoredRun, after: StoredRun) -> tuple[Measured, Measured]:
    """Both runs with cases that can be matched. UserMistake as of `compared`."""
    check_fair(before.header, after.header)
    same_throughout = constant(before.header.study, after.header.study)
    old, new = (_measured(run, same_throughout) for run in (before, after))
    if not old.cases.keys() & new.cases.keys():
        raise UserMistake(
            f"runs {before.header.run} and {after.header.run} have no case in common",
            remedy="compare runs of one study, or of one set of options",
        )
    return old, new


def _measured(stored: StoredRun, same_throughout: frozenset[str]) -> Measured:
    series = series_of(stored)
    cases = {_key(case, same_throughout): case for at, case in series.cases.items() if at in series.values}
    return Measured(stored.header, series, cases)


def _key(case: Case, same_throughout: frozenset[str]) -> Key:
    """The case's levels, without the factors that vary within neither run: those are what changed."""
    levels = {name: level for name, level in case.levels.items() if name not in same_throughout}
    return tuple(_hashable(value) for value in vars(CaseLevels.of(levels)).values())


def _hashable(value: object) -> object:
    return frozen(value) if isinstance(value, Mapping) else value


def case_changes(
    before: Measured, after: Measured, outcomes: Sequence[str], *, confidence: float
) -> Iterator[CaseChange]:
    """The change of each outcome in each case that both runs have.

    Ratios to the baseline are compared, and where both ran on one machine the baselines themselves.
    """
    same_machine = is_same_machine(before.header.machine, after.header.machine)
    for outcome in outcomes:
        for key, case in before.cases.items():
            measure: Measure = "itself" if case.role == "baseline" else "to the baseline"
            if measure == "itself" and not same_machine:
                continue
            if (figures := shared(before, after, key, outcome, measure)) is not None:
                yield case_change(before, figures, confidence)


class Shared(NamedTuple):
    """An outcome of one case in both runs: logarithms, one a block of each."""

    key: Key
    outcome: str
    measure: Measure
    before: Logs
    after: Logs


def shared(before: Measured, after: Measured, key: Key, outcome: str, measure: Measure) -> Shared | None:
    """What both runs have of a case of the first; None where one has not the case, or not the outcome."""
    if key not in after.cases:
        return None
    old, new = before.logs(key, outcome, measure), after.logs(key, outcome, measure)
    return Shared(key, outcome, measure, old, new) if old and new else None


def case_change(run: Measured, figures: Shared, confidence: float) -> CaseChange:
    """By how much a case of this run, the first, changed."""
    change = change_between(figures.before, figures.after, confidence=confidence, measure=figures.measure)
    return CaseChange(
        outcome=figures.outcome,
        unit=OUTCOMES[figures.outcome].unit,
        case=run.cases[figures.key].levels,
        label=run.label(figures.key),
        measure=figures.measure,
        before=exp(fmean(figures.before.values())),
        after=exp(fmean(figures.after.values())),
        change=change,
        judgement=judge(change, None, run.header.study.alike_within),
    )
