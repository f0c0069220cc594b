"""Ratios to the baseline as marks: one dot and whisker a case, one strip of blocks a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import TypeGuard

from tlstax.findings.core.comparisons import Pair
from tlstax.findings.core.outcomes import log_ratio_between
from tlstax.results.document import (
    Finding,
)
from tlstax.results.interval import Interval
from tlstax.topics.core import figures, outcome_names
from tlstax.topics.core.groups import Group, Row
from tlstax.topics.core.marks import BlockPoint, BlockStrip, RatioMark


def ratio_marks(group: Group, outcome: str) -> tuple[RatioMark, ...]:
    """A mark for every case but the baseline that has this outcome."""
    return tuple(
        _mark(row, finding) for row in group.compared() if _drawable(finding := row.findings.get(outcome))
    )


def _drawable(finding: Finding | None) -> TypeGuard[Finding]:
    """Only a ratio above zero has a place on a logarithmic axis."""
    return finding is not None and finding.ratio.point > 0


def _mark(row: Row, finding: Finding) -> RatioMark:
    ratio = finding.ratio
    low, high = ends(ratio)
    value = figures.quantity(finding.value, finding.unit)
    baseline = figures.quantity(finding.baseline_value, finding.unit)
    words = f"{row.label}: {outcome_names.words(finding.outcome)} {value} instead of {baseline}"
    return RatioMark(
        style=row.style,
        point=ratio.point,
        low=low,
        high=high,
        text=f"{figures.mark(finding.judgement)} {figures.change(ratio)}".strip(),
        description=f"{words}, {figures.change_with_interval(ratio)}",
    )


def ends(ratio: Interval) -> tuple[float, float]:
    """The interval's ends, both the point itself where there is no interval."""
    return ratio.low or ratio.point, ratio.high or ratio.point


def ratio_domain(marks: Iterable[RatioMark]) -> tuple[float, float]:
    """An axis that holds all these intervals and 1, with some air at both ends."""
    all_marks = list(marks)
    low = min([1.0, *(mark.low for mark in all_marks)])
    high = max([1.0, *(mark.high for mark in all_marks)])
    air = max((high / low) ** 0.08, 1.01)
    return low / air, high * air


def block_strips(group: Group, pairs: Mapping[str, Sequence[Pair]], outcome: str) -> tuple[BlockStrip, ...]:
    """The ratio of every block to the baseline of the same block, for each case but the baseline.

    `pairs` holds the compared trials of each case, by the case's key.
    """
    strips = (
        _strip(row, pairs.get(row.case.key(), ()), outcome)
        for row in group.compared()
        if _drawable(row.findings.get(outcome))
    )
    return tuple(strip for strip in strips if strip.points)


def _strip(row: Row, pairs: Sequence[Pair], outcome: str) -> BlockStrip:
    ratio = row.findings[outcome].ratio
    low, high = ends(ratio)
    by_block = {pair.block: pair for pair in pairs}
    points = tuple(
        _block_point(row.label, block, by_block.get(block), outcome)
        for block in sorted({record.trial.block for record in row.trials})
    )
    return BlockStrip(style=row.style, points=points, middle=ratio.point, low=low, high=high)


def _block_point(label: str, block: int, pair: Pair | None, outcome: str) -> BlockPoint:
    found = log_ratio_between(pair.record, pair.baseline, outcome, pair.control) if pair else None
    ratio = exp(found) if found is not None else None
    words = f"{label}, block {block + 1}: {figures.significant(ratio or 0)}{figures.TIMES}"
    return BlockPoint(block=block + 1, ratio=ratio, description=words)
