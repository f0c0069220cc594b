"""Connections a second in storms: mean and standard deviation over rounds, and the ratio over blocks. Pure.

Others publish the mean and the standard deviation of their runs, so both are reported that way: every round
of every valid trial is a run. What may be concluded rests on the ratio to the baseline, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from tlstax.findings.core.estimates import Estimate
from tlstax.findings.core.judgements import judge
from tlstax.findings.core.outcomes import storm_rates
from tlstax.records.trial import StoredRun
from tlstax.results.connect import JudgedRatio, PublishedRate, StormResult
from tlstax.study import Levels, Study, within
from tlstax.study.labels import finding_levels, group_label, label
from tlstax.study.level_names import STORM

RATE = "connections_per_s"
_RATES = frozenset({RATE, "ops_per_s"})
"""Outcomes that a published figure of a storm may name: of a storm they are nearly the same."""


def storms(stored: StoredRun, found: Sequence[Estimate]) -> tuple[StormResult, ...]:
    """Every case of the run that is a storm and has a valid trial, in the study's order."""
    study = stored.header.study
    estimates = [e for e in found if e.outcome == RATE]
    return tuple(result for e in estimates if (result := _result(e, study, stored)) is not None)


def _result(estimate: Estimate, study: Study, stored: StoredRun) -> StormResult | None:
    case = estimate.comparison.case
    if case.typed.workload != STORM:
        return None
    done = [
        record.done
        for record in stored.measured
        if record.trial.case == case and record.verdict.value == "valid" and record.done is not None
    ]
    rates = [rate for one in done for rate in storm_rates(one)]
    if not rates:
        return None
    return StormResult(
        case=finding_levels(case),
        role=case.role,
        label=label(case, study),
        group=group_label(case.levels, study),
        connections=case.typed.connections,
        trials=len(done),
        rounds=len(rates),
        mean_per_s=fmean(rates),
        sd_per_s=stdev(rates) if len(rates) > 1 else None,
        against_baseline=_against_baseline(estimate, study.alike_within),
        published=() if case.role == "control" else _published(case.levels, study),
    )


def _against_baseline(estimate: Estimate, within: float) -> JudgedRatio | None:
    ratio = estimate.ratio
    if ratio is None or estimate.comparison.case.role == "baseline":
        return None
    return JudgedRatio(
        **dict(ratio),
        noise_floor=estimate.noise_floor,
        judgement=judge(ratio, estimate.noise_floor, within),
    )


def _published(levels: Levels, study: Study) -> tuple[PublishedRate, ...]:
    return tuple(
        PublishedRate(label=figure.label, value=figure.value, source=figure.source)
        for figure in study.published
        if figure.outcome in _RATES and figure.beside and within(levels, figure.beside)
    )
