"""Runs beside the first of them: the cases that both have, and what changed in each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean
from typing import NamedTuple

from tlstax.findings.compare.headers import (
    check_fair,
    constant,
    different,
    is_same_machine,
    is_same_thing,
)
from tlstax.findings.compare.two_runs import Scatter, change_between, scatter_of
from tlstax.findings.core.judgements import judge
from tlstax.findings.core.limits import confidence_of_each
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
    runs: Sequence[StoredRun],
    outcomes: Sequence[str],
    *,
    others: Sequence[StoredRun] = (),
    confidence: float | None = None,
) -> RunComparison:
    """Each run beside the first. UserMistake where they have no case in common, or comparing is unfair.

    `others` are other runs that are kept: those of the same things show how far runs differ.
    """
    first, *later = runs
    sure = first.header.study.confidence if confidence is None else confidence
    return RunComparison(
        confidence=sure,
        beside=tuple(beside(first, run, outcomes, others=others, confidence=sure) for run in later),
    )


def beside(
    before: StoredRun,
    after: StoredRun,
    outcomes: Sequence[str],
    *,
    others: Sequence[StoredRun] = (),
    confidence: float,
) -> RunBeside:
    """The later run beside the earlier one. UserMistake as of `compared`."""
    old, new = measured(before, after)
    again = Again.of(old, new, others)
    figures = list(_all_shared(old, new, outcomes))
    each = confidence_of_each(confidence, len(figures))
    return RunBeside(
        run=new.header.run,
        against=old.header.run,
        same_machine=is_same_machine(old.header.machine, new.header.machine),
        different=different(old.header, new.header),
        same_again=again.names,
        changes=tuple(case_change(old, own, each, again.scatter(own)) for own in figures),
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


def _all_shared(before: Measured, after: Measured, outcomes: Sequence[str]) -> Iterator[Shared]:
    """Each outcome of each case that both runs have.

    Ratios to the baseline are compared, and where both ran on one machine the baselines themselves.
    """
    same_machine = is_same_machine(before.header.machine, after.header.machine)
    for outcome in outcomes:
        for key, case in before.cases.items():
            measure: Measure = "itself" if case.role == "baseline" else "to the baseline"
            if measure == "itself" and not same_machine:
                continue
            if (figures := shared(before, after, key, outcome, measure)) is not None:
                yield figures


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


@dataclass(frozen=True)
class Again:
    """Other runs of the same thing as the one or the other of two runs, as `things`: how far runs differ."""

    things: tuple[tuple[Measured, ...], ...]

    @classmethod
    def of(cls, before: Measured, after: Measured, others: Sequence[StoredRun]) -> Again:
        """Those of the others that are of the same things. None of them is one of the two."""
        both = {before.header.run, after.header.run}
        same = constant(before.header.study, after.header.study)
        headers = [before.header]
        if not is_same_thing(before.header, after.header):
            headers.append(after.header)
        return cls(
            tuple(
                tuple(
                    _measured(run, same)
                    for run in others
                    if run.header.run not in both and is_same_thing(header, run.header)
                )
                for header in headers
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The runs' names."""
        return tuple(run.header.run for runs in self.things for run in runs)

    def scatter(self, figures: Shared) -> Scatter:
        """How the means of this figure differ from run to run of the same thing."""
        key, outcome, measure = figures.key, figures.outcome, figures.measure
        logs = ([run.logs(key, outcome, measure) for run in runs if key in run.cases] for runs in self.things)
        return scatter_of([own for own in several if own] for several in logs)


def case_change(run: Measured, figures: Shared, confidence: float, known: Scatter) -> CaseChange:
    """By how much a case of this run, the first, changed; `known` is how far runs of the same differ."""
    change = change_between(
        figures.before, figures.after, confidence=confidence, measure=figures.measure, known=known
    )
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
