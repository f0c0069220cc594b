"""The page's charts of a group: ratios, distributions, phases, CPU time, blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tlstax.results.document import Finding
from tlstax.stats.estimates import Pair
from tlstax.stats.histograms import Histogram
from tlstax.stats.outcomes import log_ratio_between, merged
from tlstax.study import Study
from tlstax.topics.core import charts, figures, outcome_names, palette
from tlstax.topics.core.charts import (
    NARROW,
    BlockPoint,
    BlockStrip,
    Drawing,
    Key,
    Line,
    Panel,
    Point,
    RatioMark,
    Segment,
    at_both_widths,
    at_one_width,
    ratio_domain,
)
from tlstax.topics.core.groups import Group, Row
from tlstax.topics.core.outcome_names import PHASE_NAMES

KNOTS_NINES = (-math.log10(1 - 0.5), 1.0, 2.0, 3.0, 4.0)
"""The percentiles that carry a point: 50, 90, 99, 99.9, 99.99 %."""

FIRST = -math.log10(1 - 0.1)
"""Curves begin at 10 %: the fastest few operations would take half the height and tell nothing."""

STEPS_PER_NINE = 16
BEYOND = 10
"""A percentile is drawn only where at least this many operations lie beyond it."""


def ratio_panels(group: Group) -> Iterator[Panel]:
    """For each main outcome, every case against the baseline, all on one scale."""
    outcomes = group.main_outcomes()
    marks = {outcome: [_mark(row, own) for row, own in _drawable(group, outcome)] for outcome in outcomes}
    domain = ratio_domain(mark for own in marks.values() for mark in own)
    for outcome, own in marks.items():
        if own:
            floor = group.noise_floor(outcome)
            chart = charts.ratio_chart(own, noise_floor=floor, domain=domain, width=NARROW)
            drawing = at_one_width("; ".join(mark.description for mark in own), chart)
            yield Panel(outcome_names.title(outcome), outcome_names.better(outcome), (drawing,))


def detail_panels(group: Group, pairs: Mapping[str, Sequence[Pair]], study: Study) -> tuple[Panel, ...]:
    """Latency, phases, CPU and blocks: those for which there is something to draw."""
    panels = (_latency(group), _phases(group), _cpu(group), _blocks(group, pairs, study.deciding_outcome))
    return tuple(panel for panel in panels if panel.drawings)


def _drawable(group: Group, outcome: str) -> Iterator[tuple[Row, Finding]]:
    """Every case but the baseline that has this outcome; a logarithmic axis has ratios above zero alone."""
    for row in group.compared():
        finding = row.findings.get(outcome)
        if finding is not None and finding.ratio.point > 0:
            yield row, finding


def _mark(row: Row, finding: Finding) -> RatioMark:
    value = figures.quantity(finding.value, finding.unit)
    baseline = figures.quantity(finding.baseline_value, finding.unit)
    words = f"{row.label}: {outcome_names.words(finding.outcome)} {value} instead of {baseline}"
    text = f"{figures.mark(finding.judgement)} {figures.change(finding.ratio)}".strip()
    said = f"{words}, {figures.change_with_interval(finding.ratio)}"
    return RatioMark.of(row.style, finding.ratio, text, said)


def _latency(group: Group) -> Panel:
    """How long an operation took, for each case with enough operations."""
    curves, knots = [], []
    for row in group.found():
        histogram = merged(row.valid, "operation")
        if histogram is None or histogram.count < 2 * BEYOND:
            continue
        last = math.log10(histogram.count / BEYOND)
        steps = max(1, math.floor((last - FIRST) * STEPS_PER_NINE))
        own_knots = [nines for nines in KNOTS_NINES if nines <= last]
        nines = sorted({*own_knots, *(FIRST + (last - FIRST) * step / steps for step in range(steps + 1))})
        curves.append(Line(row.style, _points(histogram, nines, row.label)))
        knots.append(Line(row.style, _points(histogram, own_knots, row.label)))
    words = f"Latency distribution of {', '.join(curve.style.label for curve in curves)}"
    drawings: tuple[Drawing, ...] = ()
    if curves:
        drawings = at_both_widths(words, lambda width: charts.latency_chart(curves, knots, width=width))
    return Panel(
        title="Latency of an operation",
        reading="Read upwards from a percentage: that share of the operations took at most this long. "
        "Lower is better; each step to the right has a tenth of the operations beyond it.",
        drawings=drawings,
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


def _phases(group: Group) -> Panel:
    means = {row.label: _phase_means_us(row) for row in group.found()}
    occurred = [phase for phase in PHASE_NAMES if any(phase in row for row in means.values())]
    segments = [segment for label, row in means.items() for segment in _phase_segments(label, row)]
    totals = {label: figures.quantity(sum(row.values()), "us") for label, row in means.items()}
    is_worth_drawing = len(occurred) > 1
    return Panel(
        title="Where an operation\N{RIGHT SINGLE QUOTATION MARK}s time goes",
        reading="Mean time in each phase of an operation, in the order in which they follow each other.",
        drawings=_bars("Mean time in each phase", segments, totals) if is_worth_drawing else (),
        keys=tuple(Key(PHASE_NAMES[phase], palette.PHASES[phase].light) for phase in occurred),
    )


def _phase_means_us(row: Row) -> dict[str, float]:
    """Mean time per operation spent in each phase that occurred in the window; the phases add up."""
    operations = sum(record.done.operations for record in row.valid if record.done)
    found = {phase: merged(row.valid, phase) for phase in PHASE_NAMES}
    return {
        phase: histogram.mean_us() * histogram.count / operations
        for phase, histogram in found.items()
        if histogram is not None and histogram.count and operations
    }


def _phase_segments(label: str, means_us: dict[str, float]) -> tuple[Segment, ...]:
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


def _cpu(group: Group) -> Panel:
    segments = {
        side: [segment for row in group.found() for segment in _cpu_segments(row, side)]
        for side in ("server", "client")
    }
    end_us = max((s.end_us for bars in segments.values() for s in bars), default=0.0)
    drawings: list[Drawing] = []
    for side, bars in segments.items():
        totals = {
            row.label: figures.quantity(row.findings[f"{side}_cpu_us_per_op"].value, "us")
            for row in group.found()
            if f"{side}_cpu_us_per_op" in row.findings
        }
        if bars:
            drawings += _bars("CPU per operation", bars, totals, end_us=end_us, title=side.capitalize())
    missing = "" if segments["server"] else " The server\N{RIGHT SINGLE QUOTATION MARK}s was out of reach."
    return Panel(
        title="CPU time per operation",
        reading=f"Solid: in the program and its libraries. Pale: in the kernel on its behalf.{missing}",
        drawings=tuple(drawings),
    )


def _cpu_segments(row: Row, side: str) -> tuple[Segment, ...]:
    """One stacked bar: CPU time per operation of one side, user time solid and kernel time pale.

    The total is from a nanosecond clock; where the kernel's split does not add up to it, its
    proportions are kept. Empty where that side's CPU could not be measured.
    """
    total = row.findings.get(f"{side}_cpu_us_per_op")
    if total is None:
        return ()
    parts = (row.findings.get(f"{side}_cpu_{part}_us_per_op") for part in ("user", "system"))
    user, system = (part.value if part is not None else 0.0 for part in parts)
    share = user / (user + system) if user + system > 0 else 1.0
    kinds = (("user", 0.0, total.value * share), ("kernel", total.value * share, total.value))
    return tuple(
        Segment(
            label=row.label,
            start_us=start,
            end_us=end,
            colour=row.style.colour,
            description=f"{row.label}: {side} {kind} {figures.quantity(end - start, 'us')} per operation",
            faint=kind == "kernel",
        )
        for kind, start, end in kinds
        if end > start
    )


def _blocks(group: Group, pairs: Mapping[str, Sequence[Pair]], outcome: str) -> Panel:
    strips = tuple(block_strips(group, pairs, outcome))
    words = f"{outcome_names.title(outcome)} against {group.baseline_label}, block after block"
    drawings: tuple[Drawing, ...] = ()
    if max((len(strip.points) for strip in strips), default=0) > 1:
        drawings = at_both_widths(words, lambda width: charts.block_chart(strips, width=width))
    return Panel(
        title="Block after block",
        reading=f"{words}, in the order in which they ran. Grey: the interval of the whole run. A slope or a "
        "step would mean that the machine changed meanwhile.",
        drawings=drawings,
    )


def block_strips(group: Group, pairs: Mapping[str, Sequence[Pair]], outcome: str) -> Iterator[BlockStrip]:
    """The ratio of every block to the baseline of the same block, for each case but the baseline.

    `pairs` holds the compared trials of each case, by the case's key.
    """
    for row, finding in _drawable(group, outcome):
        by_block = {pair.block: pair for pair in pairs.get(row.case.key(), ())}
        points = tuple(
            _block_point(row.label, block, by_block.get(block), outcome)
            for block in sorted({record.trial.block for record in row.trials})
        )
        if points:
            yield BlockStrip(row.style, points, finding.ratio.point, *finding.ratio.ends)


def _block_point(label: str, block: int, pair: Pair | None, outcome: str) -> BlockPoint:
    log_ratio = log_ratio_between(pair.record, pair.baseline, outcome, pair.control) if pair else None
    ratio = math.exp(log_ratio) if log_ratio is not None else None
    words = f"{label}, block {block + 1}: {figures.significant(ratio or 0)}{figures.TIMES}"
    return BlockPoint(block=block + 1, ratio=ratio, description=words)


def _bars(
    words: str, segments: Sequence[Segment], totals: dict[str, str], *, end_us: float = 0.0, title: str = ""
) -> tuple[Drawing, ...]:
    """One drawing of stacked bars; `end_us` is the axis's end, or nothing for the longest bar's."""
    end_us = end_us or max((segment.end_us for segment in segments), default=1.0)
    told = f"{title} {words}: {', '.join(f'{label} {total}' for label, total in totals.items())}".strip()
    return at_both_widths(
        told, lambda width: charts.bar_chart(segments, totals, end_us=end_us, width=width), title=title
    )
