"""Which charts a group of cases gets on the page, each drawn for a wide and for a narrow screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tlstax.findings.core.comparisons import Pair
from tlstax.study import Study
from tlstax.topics.core import charts, figures, outcome_names, palette
from tlstax.topics.core.distributions import cpu_segments, latency_curves, phase_means_us, phase_segments
from tlstax.topics.core.groups import Group
from tlstax.topics.core.marks import Segment
from tlstax.topics.core.outcome_names import PHASE_NAMES
from tlstax.topics.core.panel import NARROW, Drawing, Key, Panel, at_both_widths, at_one_width
from tlstax.topics.core.ratios import block_strips, ratio_domain, ratio_marks


def ratio_panels(group: Group) -> tuple[Panel, ...]:
    """For each main outcome, every case against the baseline, all on one scale."""
    marks = {outcome: ratio_marks(group, outcome) for outcome in group.main_outcomes()}
    domain = ratio_domain(mark for outcome_marks in marks.values() for mark in outcome_marks)
    panels = []
    for outcome, outcome_marks in marks.items():
        if outcome_marks:
            floor = group.noise_floor(outcome)
            chart = charts.ratio_chart(outcome_marks, noise_floor=floor, domain=domain, width=NARROW)
            words = "; ".join(mark.description for mark in outcome_marks)
            drawing = at_one_width(words, chart)
            panels.append(Panel(outcome_names.title(outcome), outcome_names.better(outcome), (drawing,)))
    return tuple(panels)


def detail_panels(group: Group, pairs: Mapping[str, Sequence[Pair]], study: Study) -> tuple[Panel, ...]:
    """Latency, phases, CPU and blocks: those for which there is something to draw."""
    outcome = study.deciding_outcome
    found = (_latency(group), _phases(group), _cpu(group), _blocks(group, pairs, outcome))
    return tuple(panel for panel in found if panel.drawings)


def _latency(group: Group) -> Panel:
    curves = latency_curves(group)
    words = f"Latency distribution of {', '.join(curve.style.label for curve in curves)}"
    drawings: tuple[Drawing, ...] = ()
    if curves:
        drawings = at_both_widths(words, lambda width: charts.latency_chart(curves, width=width))
    return Panel(
        title="Latency of an operation",
        reading="Read upwards from a percentage: that share of the operations took at most this long. "
        "Lower is better; each step to the right has a tenth of the operations beyond it.",
        drawings=drawings,
    )


def _phases(group: Group) -> Panel:
    means = {row.label: phase_means_us(row) for row in group.found()}
    occurred = [phase for phase in PHASE_NAMES if any(phase in row for row in means.values())]
    segments = [segment for label, row in means.items() for segment in phase_segments(label, row)]
    totals = {label: figures.quantity(sum(row.values()), "us") for label, row in means.items()}
    is_worth_drawing = len(occurred) > 1
    return Panel(
        title="Where an operation\N{RIGHT SINGLE QUOTATION MARK}s time goes",
        reading="Mean time in each phase of an operation, in the order in which they follow each other.",
        drawings=_bars("Mean time in each phase", segments, totals) if is_worth_drawing else (),
        keys=tuple(Key(PHASE_NAMES[phase], palette.PHASES[phase].light) for phase in occurred),
    )


def _cpu(group: Group) -> Panel:
    segments = {side: _cpu_bars(group, side) for side in ("server", "client")}
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


def _cpu_bars(group: Group, side: str) -> list[Segment]:
    return [segment for row in group.found() for segment in cpu_segments(row, side)]


def _blocks(group: Group, pairs: Mapping[str, Sequence[Pair]], outcome: str) -> Panel:
    strips = block_strips(group, pairs, outcome)
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


def _bars(
    words: str, segments: Sequence[Segment], totals: dict[str, str], *, end_us: float = 0.0, title: str = ""
) -> tuple[Drawing, ...]:
    """One drawing of stacked bars; `end_us` is the axis's end, or nothing for the longest bar's."""
    end_us = end_us or max((segment.end_us for segment in segments), default=1.0)
    told = f"{title} {words}: {', '.join(f'{label} {total}' for label, total in totals.items())}".strip()
    return at_both_widths(
        told, lambda width: charts.bar_chart(segments, totals, end_us=end_us, width=width), title=title
    )
