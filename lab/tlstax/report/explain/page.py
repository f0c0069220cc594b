"""What the page shows of where the cost goes: table, stacked bars, waterfalls, as values for the template."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.findings.core.wording import capitalised, microseconds, number
from tlstax.findings.explain.rank import by_rank
from tlstax.findings.explain.words import ends
from tlstax.profiles.stacks import Side
from tlstax.report.core import charts, palette
from tlstax.report.core.marks import Segment
from tlstax.report.core.panel import Drawing, Key, Panel, at_both_widths
from tlstax.report.explain.tables import (
    NOTE,
    CaseCosts,
    ComponentGroup,
    cell,
    component_groups,
    interval,
)
from tlstax.report.explain.text import shift_words
from tlstax.report.explain.waterfall import Step, steps
from tlstax.results.document import RunDocument
from tlstax.results.explanation import Explanation

LABEL_WIDTH = 210

MOST_EXPLAINED = 12
"""So many cases of a group have a waterfall on the page, those that tell most; the table has all."""


@dataclass(frozen=True)
class ComponentLine:
    """A row of the table: a component, and its figure and interval in every case."""

    name: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SideTable:
    """One side's rows, and its total in every case."""

    side: Side
    totals: tuple[str, ...]
    lines: tuple[ComponentLine, ...]


@dataclass(frozen=True)
class Explained:
    """One case against its baseline: the sentences, what shifted, the waterfall, what to bear in mind."""

    explanation: Explanation
    title: str
    shifts: tuple[tuple[str, str, str], ...]
    waterfall: Panel | None


@dataclass(frozen=True)
class ComponentSection:
    """A group of cases."""

    title: str
    reading: str
    heads: tuple[str, ...]
    tables: tuple[SideTable, ...]
    bars: Panel
    explained: tuple[Explained, ...]
    command: str


def component_sections(document: RunDocument) -> tuple[ComponentSection, ...]:
    """The sections of a run that was sampled; none of another."""
    return tuple(_section(group, document) for group in component_groups(document))


def _section(group: ComponentGroup, document: RunDocument) -> ComponentSection:
    return ComponentSection(
        title=group.title,
        reading=NOTE.format(operation=group.operation),
        heads=tuple(case.label for case in group.cases),
        tables=tuple(_table(group, side) for side in group.sides()),
        bars=_bars(group),
        explained=tuple(_explained(found) for found in by_rank(group.explanations)[:MOST_EXPLAINED]),
        command=f"tlstax explain {document.run} --case …",
    )


def _table(group: ComponentGroup, side: Side) -> SideTable:
    return SideTable(
        side=side,
        totals=tuple(number(case.total(side)) for case in group.cases),
        lines=tuple(
            ComponentLine(
                name,
                tuple((cell(case, side, name), interval(case, side, name)) for case in group.cases),
            )
            for name in group.components(side)
        ),
    )


def _bars(group: ComponentGroup) -> Panel:
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


def _explained(found: Explanation) -> Explained:
    is_told = found.verdict == "explained"
    return Explained(
        explanation=found,
        title=f"{found.labels[0]} against {found.labels[1]}",
        shifts=tuple(shift_words(shift, found.operation) for shift in found.shifts),
        waterfall=_waterfall(found) if is_told else None,
    )


def _waterfall(found: Explanation) -> Panel:
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
