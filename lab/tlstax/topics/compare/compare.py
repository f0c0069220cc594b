"""Runs beside one another: the cases that both have, what changed in each, and whether it keeps to limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp
from statistics import fmean
from typing import Any, NamedTuple

from tlstax.records.trial import RunHeader, StoredRun
from tlstax.results.document import GateResult, Measure, RunBeside, RunComparison
from tlstax.results.rows import Row
from tlstax.stats.judgements import judge
from tlstax.stats.limits import CONFIDENCE, Limits, confidence_of_each, worst
from tlstax.stats.outcomes import OUTCOMES
from tlstax.stats.series import Logs, Series, series_of
from tlstax.study import Case
from tlstax.study.labels import full_label
from tlstax.support.errors import UserMistake
from tlstax.topics.compare.headers import (
    check_fair,
    constant,
    different,
    is_same_machine,
    is_same_thing,
)
from tlstax.topics.compare.two_runs import change_between, scatter_of

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

    Ratios to the baseline are compared, and where both ran on one machine the baselines themselves. `others`
    are other runs that are kept: those of the same things show how far runs differ.
    """
    first, *later = runs
    sure = first.header.study.confidence if confidence is None else confidence
    beside = []
    for run in later:
        both = Both.of(first, run, others)
        baseline: Measure | None = "itself" if both.same_machine else None
        shared = [
            figures for outcome in outcomes for figures in both.shared(outcome, baseline, "to the baseline")
        ]
        each = confidence_of_each(sure, len(shared))
        old, new = both.old, both.new
        beside.append(
            RunBeside(
                **both.headers,
                changes=tuple(both.change(figures, each) for figures in shared),
                only_before=tuple(old.label(key) for key in old.cases if key not in new.cases),
                only_after=tuple(new.label(key) for key in new.cases if key not in old.cases),
            )
        )
    return RunComparison(confidence=sure, beside=tuple(beside))


def gated(
    run: StoredRun,
    against: StoredRun,
    limits: Limits,
    *,
    others: Sequence[StoredRun] = (),
    measure: Measure = "to the baseline",
) -> GateResult:
    """Every case that both runs have beside each limit; `others` as of `compared`.

    UserMistake where nothing can be compared, a limit has no case that it is for, or the values themselves
    are asked for of two machines.
    """
    both = Both.of(against, run, others)
    old, new = both.old, both.new
    if measure == "itself" and not both.same_machine:
        raise UserMistake(
            f"runs {old.header.run} and {new.header.run} are of different machines, whose times are no "
            "measure of each other",
            remedy="leave --absolute out: then each is compared with its own baseline",
        )
    every = limits.of(new.header.study.deciding_outcome)
    limited = [
        (limit, figures)
        for limit in every
        for figures in both.shared(limit.outcome, "itself" if measure == "itself" else None, measure)
    ]
    limits.check_each_has_a_case(
        [limit for limit, _ in limited],
        "case that both runs have beside their baselines",
        old.series.outcomes & new.series.outcomes,
    )
    each = confidence_of_each(CONFIDENCE, len(limited))
    cases = tuple(limit.judged(both.change(figures, each)) for limit, figures in limited)
    return GateResult(**both.headers, confidence=CONFIDENCE, changes=cases, verdict=worst(cases))


class Shared(NamedTuple):
    """An outcome of one case in both runs: logarithms, one a block of each."""

    key: Key
    outcome: str
    measure: Measure
    before: Logs
    after: Logs


@dataclass(frozen=True)
class Both:
    """Two runs with cases that can be matched; `things` are other runs of the same thing as either."""

    old: Measured
    new: Measured
    things: tuple[tuple[Measured, ...], ...]

    @classmethod
    def of(cls, before: StoredRun, after: StoredRun, others: Sequence[StoredRun]) -> Both:
        """The two, and those of the others that are of the same things. UserMistake as of `compared`."""
        check_fair(before.header, after.header)
        same = constant(before.header.study, after.header.study)
        old, new = (_measured(run, same) for run in (before, after))
        if not old.cases.keys() & new.cases.keys():
            raise UserMistake(
                f"runs {before.header.run} and {after.header.run} have no case in common",
                remedy="compare runs of one study, or of one set of options",
            )
        names = {before.header.run, after.header.run}
        again = [run for run in others if run.header.run not in names]
        headers = [before.header]
        if not is_same_thing(before.header, after.header):
            headers.append(after.header)
        things = tuple(
            tuple(_measured(run, same) for run in again if is_same_thing(header, run.header))
            for header in headers
        )
        return cls(old, new, things)

    @property
    def same_machine(self) -> bool:
        """Whether both ran on one machine."""
        return is_same_machine(self.old.header.machine, self.new.header.machine)

    @property
    def headers(self) -> dict[str, Any]:
        """What a document says of the two before their cases."""
        return {
            "run": self.new.header.run,
            "against": self.old.header.run,
            "same_machine": self.same_machine,
            "different": different(self.old.header, self.new.header),
            "same_again": tuple(run.header.run for runs in self.things for run in runs),
        }

    def shared(self, outcome: str, baseline: Measure | None, others: Measure) -> Iterator[Shared]:
        """An outcome of each case that both have: so measured of a `baseline`, if at all, and of others."""
        for key, case in self.old.cases.items():
            measure = baseline if case.role == "baseline" else others
            if measure is not None and key in self.new.cases:
                before, after = (run.logs(key, outcome, measure) for run in (self.old, self.new))
                if before and after:
                    yield Shared(key, outcome, measure, before, after)

    def change(self, figures: Shared, confidence: float) -> Row:
        """By how much a case changed."""
        key, outcome, measure, before, after = figures
        logs = ([run.logs(key, outcome, measure) for run in runs if key in run.cases] for runs in self.things)
        scatter = scatter_of([own for own in several if own] for several in logs)
        change = change_between(before, after, confidence=confidence, measure=measure, known=scatter)
        return Row(
            outcome=outcome,
            unit=OUTCOMES[outcome].unit if measure == "itself" else "1",
            role=measure,
            label=self.old.label(key),
            case=dict(self.old.cases[key].levels),
            value=exp(fmean(after.values())),
            baseline_value=exp(fmean(before.values())),
            interval=change,
            of="ratio",
            judgement=judge(change, None, self.old.header.study.alike_within),
        )


def _measured(stored: StoredRun, same_throughout: frozenset[str]) -> Measured:
    series = series_of(stored)
    cases = {_key(case, same_throughout): case for at, case in series.cases.items() if at in series.values}
    return Measured(stored.header, series, cases)


def _key(case: Case, same_throughout: frozenset[str]) -> Key:
    """The case's levels, without the factors that vary within neither run: those are what changed."""
    levels = case.levels.without(*same_throughout)
    return tuple(levels), *(_hashable(getattr(levels, each.name)) for each in fields(levels)[1:])


def _hashable(value: object) -> object:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
