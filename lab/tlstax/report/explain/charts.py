"""Where the cost goes, drawn: stacked bars of components, and a waterfall from the baseline to a case."""

from __future__ import annotations

from tlstax.findings.core.wording import capitalised, microseconds
from tlstax.findings.explain.words import ends
from tlstax.profiles.stacks import Side
from tlstax.report.explain.tables import CaseCosts, ComponentGroup
from tlstax.report.explain.waterfall import Step, steps
from tlstax.results.explanation import Explanation
from tlstax.topics.core import charts, palette
from tlstax.topics.core.marks import Segment
from tlstax.topics.core.panel import Drawing, Key, Panel, at_both_widths

LABEL_WIDTH = 210


def component_bars(group: ComponentGroup) -> Panel:
    """The cases' stacked bars, both sides on one scale."""
    end_us = max(case.total(side) for case in group.cases for side in group.sides())
    drawings: list[Drawing] = []
    for side in group.sides():
        segments = [segment for case in group.cases for segment in _stack(group, case, side)]
        totals = {case.label: microseconds(case.total(side)) for case in group.cases}
        words = f"{side} CPU by component: {', '.join(f'{name} {us}' for name, us in totals.items())}"
        drawings += at_both_widths(
            words,
            lambda width, s=segments, t=totals: charts.bar_chart(  # type: ignore[misc]
                s, t, end_us=end_us, width=width, label_width=LABEL_WIDTH
            ),
            title=capitalised(side),
        )
    shown = dict.fromkeys(name for side in group.sides() for name in group.components(side))
    return Panel(
        title=f"CPU time per {group.operation}, by component",
        reading="Each bar is a case; its parts are in the order of the keys.",
        drawings=tuple(drawings),
        keys=tuple(Key(name, palette.component_ink(name).light) for name in shown),
    )


def _stack(group: ComponentGroup, case: CaseCosts, side: Side) -> list[Segment]:
    found, at = [], 0.0
    for name in group.components(side):
        us = case.us.get((side, name), 0.0)
        description = f"{case.label}, {side}: {name} {microseconds(us)}"
        found.append(Segment(case.label, at, at + us, palette.component_ink(name).light, description))
        at += us
    return found


def waterfall_panel(found: Explanation) -> Panel:
    """The steps of the waterfall as bars, each beginning where the one before it ends."""
    bars = steps(found)
    segments = [_bar(bar) for bar in bars]
    totals = {bar.label: bar.text for bar in bars}
    end_us = max(max(bar.start_us, bar.end_us) for bar in bars)
    amount = found.extra_cpu_us_per_op
    words = f"From {found.labels[1]} to {found.labels[0]}: " + ", ".join(
        f"{bar.label} {bar.text}" for bar in bars
    )
    return Panel(
        title=f"CPU time per {found.operation}, step by step",
        reading=f"Client and server together. The whole difference: {microseconds(amount.point)} "
        f"{ends(amount)}. Orange: more than the baseline; green: less.",
        drawings=at_both_widths(
            words,
            lambda width: charts.bar_chart(
                segments, totals, end_us=end_us, width=width, label_width=LABEL_WIDTH
            ),
        ),
    )


def _bar(bar: Step) -> Segment:
    ink = palette.BASELINE
    if bar.kind in ("component", "rest"):
        ink = palette.MORE if bar.change_us > 0 else palette.LESS
    description = f"{bar.label}: {bar.text} {bar.interval}".strip()
    low, high = sorted((bar.start_us, bar.end_us))
    return Segment(bar.label, low, high, ink.light, description, faint=bar.kind == "rest")
