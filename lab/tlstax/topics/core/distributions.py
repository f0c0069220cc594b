"""Where an operation's time goes, as marks: latency curves, phases and CPU, from a case's valid trials."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tlstax.findings.core.histograms import Histogram
from tlstax.findings.core.outcomes import merged
from tlstax.topics.core import figures, palette
from tlstax.topics.core.groups import Group, Row
from tlstax.topics.core.marks import Curve, Point, Segment
from tlstax.topics.core.outcome_names import PHASE_NAMES

KNOTS_NINES = (-math.log10(1 - 0.5), 1.0, 2.0, 3.0, 4.0)
"""The percentiles that carry a point: 50, 90, 99, 99.9, 99.99 %."""

FIRST = -math.log10(1 - 0.1)
"""Curves begin at 10 %: the fastest few operations would take half the height and tell nothing."""

STEPS_PER_NINE = 16
BEYOND = 10
"""A percentile is drawn only where at least so many operations lie beyond it."""


def latency_curves(group: Group) -> tuple[Curve, ...]:
    """How long an operation took, for each case that has a valid trial."""
    curves = (_curve(row, merged(row.valid, "operation")) for row in group.found())
    return tuple(curve for curve in curves if curve is not None)


def _curve(row: Row, histogram: Histogram | None) -> Curve | None:
    if histogram is None or histogram.count < 2 * BEYOND:
        return None
    last = math.log10(histogram.count / BEYOND)
    steps = max(1, math.floor((last - FIRST) * STEPS_PER_NINE))
    knots = [nines for nines in KNOTS_NINES if nines <= last]
    nines = sorted({*knots, *(FIRST + (last - FIRST) * step / steps for step in range(steps + 1))})
    return Curve(
        style=row.style,
        points=_points(histogram, nines, row.label),
        knots=_points(histogram, knots, row.label),
    )


def _points(histogram: Histogram, nines: Sequence[float], label: str) -> tuple[Point, ...]:
    percentiles = [100 * (1 - 10**-nine) for nine in nines]
    values = histogram.percentiles_us(percentiles)
    return tuple(
        Point(
            x=nine,
            y=value,
            description=f"{label}: {percentile:.6g} % took at most {figures.quantity(value, 'us')}",
        )
        for nine, percentile, value in zip(nines, percentiles, values, strict=True)
    )


def phase_means_us(row: Row) -> dict[str, float]:
    """Mean time per operation spent in each phase that occurred in the window; the phases add up."""
    operations = sum(record.done.operations for record in row.valid if record.done)
    found = {phase: merged(row.valid, phase) for phase in PHASE_NAMES}
    return {
        phase: histogram.mean_us() * histogram.count / operations
        for phase, histogram in found.items()
        if histogram is not None and histogram.count and operations
    }


def phase_segments(label: str, means_us: dict[str, float]) -> tuple[Segment, ...]:
    """One stacked bar: the phases of an operation one after the other."""
    segments: list[Segment] = []
    start = 0.0
    total = sum(means_us.values())
    for phase, mean_us in means_us.items():
        share = f"{mean_us / total:.0%}".replace("%", " %")
        text = f"{label}: {PHASE_NAMES[phase]} {figures.quantity(mean_us, 'us')}, {share} of an operation"
        segments.append(Segment(label, start, start + mean_us, palette.PHASES[phase].light, text))
        start += mean_us
    return tuple(segments)


def cpu_segments(row: Row, side: str) -> tuple[Segment, ...]:
    """One stacked bar: CPU time per operation of one side, user time solid and kernel time pale.

    The total is from a nanosecond clock; where the kernel's split does not add up to it, its
    proportions are kept. Empty where that side's CPU could not be measured.
    """
    total = row.findings.get(f"{side}_cpu_us_per_op")
    if total is None:
        return ()
    user = _value(row, f"{side}_cpu_user_us_per_op")
    system = _value(row, f"{side}_cpu_system_us_per_op")
    share = user / (user + system) if user + system > 0 else 1.0
    parts = (("user", 0.0, total.value * share), ("kernel", total.value * share, total.value))
    return tuple(
        Segment(
            label=row.label,
            start_us=start,
            end_us=end,
            colour=row.style.colour,
            description=f"{row.label}: {side} {kind} {figures.quantity(end - start, 'us')} per operation",
            faint=kind == "kernel",
        )
        for kind, start, end in parts
        if end > start
    )


def _value(row: Row, outcome: str) -> float:
    return row.findings[outcome].value if outcome in row.findings else 0.0
