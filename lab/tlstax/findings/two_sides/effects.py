"""From the cases of two sides to what B changes beside A, block by block. Pure.

Where the sides are servers, each has two processes in a block. The luck of a process (its memory layout, its
hash seeds) is in all that it does, so a side is the mean of its two, and the next block has new ones: the
scatter of blocks holds the luck of processes as well as that of trials, and an interval over blocks needs no
allowance for either. Twins show the same scatter where nothing was changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from statistics import fmean

from tlstax.findings.core.judgements import judge
from tlstax.findings.core.series import Logs, Series
from tlstax.results.interval import Interval
from tlstax.results.two_sides import SideEffect
from tlstax.study import Levels, Sides
from tlstax.study.labels import group_label
from tlstax.study.outcomes import OUTCOMES
from tlstax.study.two_sides import INSTANCE, OF_A, OF_B

SHOWN = ("server_cpu_us_per_op", "client_cpu_us_per_op", "ops_per_s", "latency_p50_us")
"""The outcomes that are shown, in their order."""


def side_effects(
    series: Series, outcomes: Sequence[str] = SHOWN, *, confidence: float | None = None
) -> tuple[SideEffect, ...]:
    """What B changes beside A in every group of cases; nothing where no sides are set against each other.

    Without `confidence` intervals have the study's.
    """
    sides = series.study.sides
    if sides is None:
        return ()
    baselines = [case.levels for case in series.cases.values() if case.role == "baseline"]
    sure = series.study.confidence if confidence is None else confidence
    found = (_effect(series, sides, levels, outcome, sure) for levels in baselines for outcome in outcomes)
    return tuple(effect for effect in found if effect is not None)


def _effect(
    series: Series, sides: Sides, first: Levels, outcome: str, confidence: float
) -> SideEffect | None:
    """One outcome of the group whose first process of A has these levels; None where no block has it."""
    has_twins = INSTANCE in series.study.baseline
    of_a = [{**first, INSTANCE: number} for number in OF_A] if has_twins else [first]
    of_b = (
        [{**first, **sides.b, INSTANCE: number} for number in OF_B] if has_twins else [{**first, **sides.b}]
    )
    beside_first = [
        [series.log_ratios(own, first, outcome) for own in several] for several in (of_b, of_a[1:])
    ]
    logs = _mean_difference(*beside_first)
    if not logs:
        return None
    pooling = series.pooling.at(confidence)

    def known(found: Logs) -> Interval | None:
        return pooling.interval(found) if found else None

    change = pooling.interval(logs)
    a = exp(fmean(series.logs(first, outcome).values()))
    twins = (of_a, of_b) if has_twins else ()
    return SideEffect(
        outcome=outcome,
        unit=OUTCOMES[outcome].unit,
        case=series.study.group_of(first),
        label=group_label(first, series.study),
        a=a,
        b=a * change.point,
        change=change,
        judgement=judge(change, None, series.study.alike_within),
        twins=tuple(known(series.log_ratios(second, one, outcome)) for one, second in twins),
        control=known(series.control_logs(first, outcome)),
    )


def _mean_difference(of_b: Sequence[Logs], others_of_a: Sequence[Logs]) -> dict[int, float]:
    """Ln of B to A in each block that has all of them, from ratios to A's first, whose own is nothing."""
    blocks = sorted(set.intersection(*(set(logs) for logs in (*of_b, *others_of_a))))
    return {
        block: fmean(logs[block] for logs in of_b) - fmean([0.0, *(logs[block] for logs in others_of_a)])
        for block in blocks
    }
