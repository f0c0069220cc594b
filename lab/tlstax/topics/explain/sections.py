"""Where the cost goes, shown: tables of components, an answer for each case, stacked bars, waterfalls.

A waterfall goes from a baseline to a case in steps, one a component. The terminal has one as text, readable
without colour and from 60 columns on: a bar that grows has `+` before its figure, one that shrinks a minus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tlstax.records.profiles.components import component_order
from tlstax.records.profiles.stacks import SIDES, Side
from tlstax.results.document import RunDocument
from tlstax.results.explanation import Explanation
from tlstax.results.rows import Row, Told
from tlstax.stats.wording import capitalised, microseconds, number, percent, signed
from tlstax.study import Level
from tlstax.study.labels import group_label, label_levels, without_mark
from tlstax.support.grouping import grouped
from tlstax.topics.core import charts, figures, palette, table
from tlstax.topics.core.charts import Drawing, Key, Panel, Segment, at_both_widths
from tlstax.topics.core.printed import aligned, bullets, grid, pairs, printed, styled
from tlstax.topics.core.section import Block, Charts, Folded, Heading, Items, OnPage, Roomy, Section
from tlstax.topics.core.table import INDENT, Number, Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.explain.explanation import COLUMNS, SHIFTS, by_rank, explanations, operations, rows

LEAST_PART = 0.005
"""A component that is nowhere this part of its side's cost is left out of the tables."""

MOST_EXPLAINED = 12
"""How many cases of a group have a waterfall on the page, those that tell most; the table has all."""

MOST_STEPS = 10
LEAST_STEP = 0.02
"""A component gets a step of its own from this part of everything that changed."""

LABEL_WIDTH = 210

NARROWEST = 60
WIDEST_BAR = 60
LEAST_BAR = 10
LABEL = 40
MOST_WITH_FUNCTIONS = 4
MOST_FUNCTIONS = 3
FULL, LEFT_HALF, RIGHT_HALF = "█", "▌", "▐"
COLOURS = {"baseline": "bold", "case": "bold", "component": "", "rest": "dim"}

NOTE = "CPU time in µs per {operation}, shared out by samples. What no rule knows is unattributed."
MORE_NOTE = (
    "CPU time in µs; with a planted fault, more than the same case without it. In brackets: the {confidence} "
    "interval."
)


@dataclass(frozen=True)
class Group:
    """The sampled cases of one group: each case's components, the baseline first, and the explanations."""

    title: str
    operation: str
    us: Mapping[str, Mapping[tuple[str, str], float]]
    explanations: tuple[Explanation, ...]

    def total(self, case: str, side: Side) -> float:
        """All components of a side, what is unattributed among them."""
        return sum(us for (of, _), us in self.us[case].items() if of == side)

    def sides(self) -> tuple[Side, ...]:
        """The sides of which anything is known."""
        return tuple(side for side in SIDES if any(self.total(case, side) for case in self.us))

    def components(self, side: Side) -> tuple[str, ...]:
        """The components that are worth a row, in the order of the rules."""
        return tuple(
            name
            for name in component_order()
            if any(
                us.get((side, name), 0.0) >= LEAST_PART * self.total(case, side) > 0
                for case, us in self.us.items()
            )
        )


def sentences(run: Run, found: Sequence[Row]) -> Iterator[str]:
    """The answer of each case, those that say most first."""
    for explanation in by_rank(explanations(found, run.study, run.stored.header.run)):
        yield capitalised(explanation.sentences[0])


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Each group's components and a sentence for each case; on the page, each case step by step."""
    groups = _groups(told, document)
    blocks = [block for group in groups for block in _blocks(group, document)]
    more = f"Component by component, and by function: tlstax explain {document.run}"
    yield Section((*blocks, Items((), more=more)), TOPIC.title)


def _groups(told: Told, document: RunDocument) -> Iterator[Group]:
    """Every group of which a case is explained."""
    study = document.design

    def group_of(found: Explanation) -> tuple[tuple[str, Level], ...]:
        return tuple(study.group_of(without_mark(found.whole.case)).items())

    for members in grouped(explanations(told.rows, study, document.run), group_of).values():
        words = group_label(without_mark(members[0].whole.case), study)
        own = next((found for found in members if study.is_baseline(found.whole.baseline)), None)
        us: dict[str, Mapping[tuple[str, str], float]] = {}
        if own is not None:
            parts = {_place(part): part.baseline_value or 0.0 for part in own.components}
            us[label_levels(own.whole.baseline, study)] = parts
        for found in members:
            parts = {_place(part): part.value or 0.0 for part in found.components}
            us[label_levels(found.whole.case, study)] = parts
        yield Group(words, members[0].operation, us, tuple(members))


def _place(part: Row) -> tuple[str, str]:
    return part.word("side"), part.word("component")


def _blocks(group: Group, document: RunDocument) -> Iterator[Block]:
    """A group: what each case costs, the answers, how much more it is, and what the page draws."""
    ranked = by_rank(group.explanations)
    of_group = f": {group.title}" if group.title else ""
    yield _costs(group, f"Where the CPU time of a {group.operation} goes{of_group}")
    yield Items(tuple(capitalised(found.sentences[0]) for found in ranked))
    note = MORE_NOTE.format(confidence=percent(document.design.confidence))
    yield Roomy((_extras(group, f"More than the baseline{of_group}", note),))
    yield OnPage(lambda: _drawn(group, ranked))


def _costs(group: Group, title: str) -> Table:
    """What each component costs in each case, both sides."""
    lines: list[tuple[table.Cell, ...]] = []
    for side in group.sides():
        totals = (Number(group.total(case, side), said=number) for case in group.us)
        lines.append((f"{capitalised(side)}, all", *totals))
        for name in group.components(side):
            costs = (Number(us.get((side, name), 0.0), said=number) for us in group.us.values())
            lines.append((f"{INDENT}{name}", *costs))
    note = NOTE.format(operation=group.operation)
    return Table(title, tuple(map(_folded, group.us)), lines, (note,), where_it_fits=True, literal=True)


def _extras(group: Group, title: str, note: str) -> Table:
    """How much more each component costs in each case than in what the case is held against."""
    parts = [{_place(part): part for part in found.components} for found in group.explanations]
    lines: list[tuple[table.Cell, ...]] = []
    for side in group.sides():
        for name in group.components(side):
            known = (own.get((side, name)) for own in parts)
            cells = (table.number(part.interval if part is not None else None, signed) for part in known)
            lines.append((f"{name}, {side}", *cells))
    heads = tuple(_folded(found.labels[0]) for found in group.explanations)
    return Table(title, heads, lines, (note,), of="component", literal=True)


def _folded(label: str) -> str:
    """A label on several short lines."""
    return label.replace(", ", ",\n").replace(" again", "\nagain")


def _drawn(group: Group, ranked: Sequence[Explanation]) -> Iterator[Block]:
    """The bars of all cases; each case against its baseline, step by step."""
    yield Charts((_component_bars(group),))
    for found in ranked[:MOST_EXPLAINED]:
        yield Heading(capitalised(f"{found.labels[0]} against {found.labels[1]}"))
        yield Items(tuple(map(capitalised, found.sentences[1:])))
        yield from [Charts((_waterfall_panel(found),))] if found.is_explained else []
        shifts = tuple(shift_words(row, found.operation) for row in found.of("shift"))
        shown = Table("", ("Baseline", "Case"), shifts, (), of="Figure", of_words=True)
        yield Folded("What shifted, and what to bear in mind", (shown, Items(found.whole.caveats)))


def shift_words(row: Row, operation: str) -> tuple[str, str, str]:
    """What shifted: its name, the baseline's figure and the case's, as people read them."""
    _, words = SHIFTS[row.outcome]
    words = words.format(operation=operation, operations=operations(operation))
    before, after = row.baseline_value or 0.0, row.value or 0.0
    if row.unit == "%":
        return words, f"{before:.1f} %", f"{after:.1f} %"
    return words, figures.quantity(before, row.unit), figures.quantity(after, row.unit)


@dataclass(frozen=True)
class Step:
    """One bar: from where to where it reaches in µs per operation, what it is, and its figure in words."""

    kind: Literal["baseline", "component", "rest", "case"]
    label: str
    start_us: float
    end_us: float
    text: str
    interval: str = ""

    @property
    def change_us(self) -> float:
        """What this step adds."""
        return self.end_us - self.start_us


def steps(found: Explanation) -> tuple[Step, ...]:
    """The baseline's bar, a floating one for each component by size, what is left, the case's bar."""
    at = found.baseline_us
    bars = [Step("baseline", found.labels[1], 0.0, at, microseconds(at))]
    for part in shown_components(found):
        extra = part.difference
        words = f"{signed(extra.point)} µs"
        bars.append(Step("component", place(part), at, at + extra.point, words, figures.ends(extra, signed)))
        at += extra.point
    rest = found.case_us - at
    bars.append(Step("rest", "everything else", at, found.case_us, f"{signed(rest)} µs"))
    bars.append(Step("case", found.labels[0], 0.0, found.case_us, microseconds(found.case_us)))
    return tuple(bars)


def shown_components(found: Explanation) -> tuple[Row, ...]:
    """The components that changed most, in order of size."""
    changed = sum(abs(part.difference.point) for part in found.components)
    large = [part for part in found.components if abs(part.difference.point) >= LEAST_STEP * changed]
    return tuple(large[:MOST_STEPS])


def place(part: Row) -> str:
    """A component and its side: "kernel network, server"."""
    return f"{part.word('component')}, {part.word('side')}"


def _component_bars(group: Group) -> Panel:
    """The cases' stacked bars, both sides on one scale."""
    end_us = max(group.total(case, side) for case in group.us for side in group.sides())
    drawings: list[Drawing] = []
    for side in group.sides():
        segments = []
        for case, us in group.us.items():
            at = 0.0
            for name in group.components(side):
                cost_us = us.get((side, name), 0.0)
                description = f"{case}, {side}: {name} {microseconds(cost_us)}"
                ink = palette.component_ink(name).light
                segments.append(Segment(case, at, at + cost_us, ink, description))
                at += cost_us
        totals = {case: microseconds(group.total(case, side)) for case in group.us}
        words = f"{side} CPU by component: {', '.join(f'{name} {us}' for name, us in totals.items())}"
        drawings += _bars(words, segments, totals, end_us, title=capitalised(side))
    shown = dict.fromkeys(name for side in group.sides() for name in group.components(side))
    return Panel(
        title=f"CPU time per {group.operation}, by component",
        reading="Each bar is a case; its parts are in the order of the keys.",
        drawings=tuple(drawings),
        keys=tuple(Key(name, palette.component_ink(name).light) for name in shown),
    )


def _bars(
    words: str, segments: Sequence[Segment], totals: dict[str, str], end_us: float, title: str = ""
) -> Iterable[Drawing]:
    return at_both_widths(
        words,
        lambda width: charts.bar_chart(segments, totals, end_us=end_us, width=width, label_width=LABEL_WIDTH),
        title=title,
    )


def _waterfall_panel(found: Explanation) -> Panel:
    """The steps of the waterfall as bars, each beginning where the one before it ends."""
    bars = steps(found)
    end_us = max(max(bar.start_us, bar.end_us) for bar in bars)
    said = ", ".join(f"{bar.label} {bar.text}" for bar in bars)
    words = f"From {found.labels[1]} to {found.labels[0]}: {said}"
    return Panel(
        title=f"CPU time per {found.operation}, step by step",
        reading=f"Client and server together. The whole difference: {microseconds(found.extra.point)} "
        f"{figures.ends(found.extra, signed)}. Orange: more than the baseline; green: less.",
        drawings=tuple(_bars(words, [*map(_bar, bars)], {bar.label: bar.text for bar in bars}, end_us)),
    )


def _bar(bar: Step) -> Segment:
    ink = palette.BASELINE
    if bar.kind in ("component", "rest"):
        ink = palette.MORE if bar.change_us > 0 else palette.LESS
    description = f"{bar.label}: {bar.text} {bar.interval}".strip()
    low, high = sorted((bar.start_us, bar.end_us))
    return Segment(bar.label, low, high, ink.light, description, faint=bar.kind == "rest")


def explanation_text(
    found: Explanation, *, others: Sequence[tuple[str, str]] = (), width: int = 80, colour: bool = False
) -> str:
    """The text, at most `width` columns wide (from 60 on); `others`: a sentence and a command for each."""
    width = max(width, NARROWEST)
    return printed(_text_parts(found, others, width), width=width, colour=colour)


def _text_parts(
    found: Explanation, others: Sequence[tuple[str, str]], width: int
) -> Iterable[RenderableType]:
    first, *more = (f"{capitalised(sentence)}." for sentence in found.sentences)
    yield styled(first, style="bold")
    yield styled(f"{found.title}, run {found.run}", style="dim")
    yield from (styled(sentence) for sentence in more)
    yield ""
    shifts = (shift_words(row, found.operation) for row in found.of("shift"))
    heads = (styled(word, style="bold") for word in ("baseline", "case"))
    yield aligned(("words", "figure", "figure"), [("", *heads), *shifts])
    yield ""
    yield styled(f"CPU per {found.operation}, client and server together", style="bold")
    yield _waterfall(steps(found), width)
    yield from _functions(found)
    yield ""
    yield _facts_of(found)
    if found.whole.caveats:
        yield ""
        yield styled("Bear in mind", style="bold")
        yield from bullets(found.whole.caveats)
    if others:
        yield ""
        yield styled("The other cases", style="bold")
    for sentence, command in others:
        yield from bullets([capitalised(sentence)])
        yield Padding(styled(command, style="dim"), (0, 0, 0, 2))


def _waterfall(bars: Sequence[Step], width: int) -> RichTable:
    labels = max(min(LABEL, cell_len(bar.label)) for bar in bars)
    words = max(cell_len(bar.text) for bar in bars)
    intervals = max(cell_len(bar.interval) for bar in bars)
    room = width - labels - words - intervals - 6
    if room < LEAST_BAR:
        intervals, room = 0, width - labels - words - 4
    cells = max(LEAST_BAR, min(WIDEST_BAR, room))
    scale = cells / max(*(max(bar.start_us, bar.end_us) for bar in bars), 1e-9)
    table = grid()
    table.add_column(max_width=labels, overflow="ellipsis", no_wrap=True)
    table.add_column(no_wrap=True, width=cells)
    table.add_column(justify="right", no_wrap=True)
    if intervals:
        table.add_column(no_wrap=True)
    for bar in bars:
        is_total = bar.kind in ("baseline", "case")
        ink = "blue" if is_total else "red" if bar.change_us > 0 else "green"
        row = [
            styled(bar.label, style=COLOURS[bar.kind]),
            Text(_cells_of_bar(bar, scale, cells), style=ink),
            styled(bar.text),
        ]
        table.add_row(*row, *([styled(bar.interval, style="dim")] if intervals else []))
    return table


def _cells_of_bar(step: Step, scale: float, cells: int) -> str:
    """The bar in half cells; the smallest still shows."""
    low, high = sorted((step.start_us, step.end_us))
    start = min(int(low * scale * 2), 2 * cells - 1)
    end = min(max(round(high * scale * 2), start + 1), 2 * cells)
    text = " " * (start // 2)
    if start % 2:
        text += RIGHT_HALF
        start += 1
    text += FULL * ((end - start) // 2)
    return text + (LEFT_HALF if end > start and (end - start) % 2 else "")


def _functions(found: Explanation) -> Iterable[RenderableType]:
    """Below each of the first components, where its cost changed most."""
    for part in shown_components(found)[:MOST_WITH_FUNCTIONS]:
        yield ""
        yield styled(f"{capitalised(place(part))}: {signed(part.difference.point)} µs", style="bold")
        own = [row for row in found.of("function") if row.outcome == part.outcome]
        lines = []
        for row in own[:MOST_FUNCTIONS]:
            through = f", called through {caller}" if (caller := row.word("through")) else ""
            function = f"{row.word('function')} ({row.word('library')}){through}"
            lines.append((f"{signed(row.difference.point)} µs", function))
        yield Padding(aligned(("figure", "words"), lines), (0, 0, 0, 2))


def _facts_of(found: Explanation) -> RichTable:
    sampled = {row.word("side"): row for row in found.of("sampled")}
    samples = ", ".join(f"{side} {row.value:,.0f}" for side, row in sampled.items())
    unattributed = ", ".join(
        f"{side} {percent(share)}"
        for side, row in sampled.items()
        if (share := row.number("unattributed_share")) is not None
    )
    noise = found.whole.noise_floor
    interval = f"in brackets the {percent(found.extra.confidence)} interval"
    rows = [
        ("Samples without a component", unattributed),
        ("Samples of the case", samples),
        ("Blocks", f"{found.extra.blocks}; {interval}"),
        ("Noise", f"two equal cases differ by up to {microseconds(noise)}" if noise is not None else ""),
    ]
    return pairs((styled(name, style="bold"), styled(words)) for name, words in rows if words)


TOPIC = Topic("explain", "Where the cost goes", rows, sections, sentences, COLUMNS)
