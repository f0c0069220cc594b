"""Published tables and measured ones laid out: as printed, in their means, their changes, and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from statistics import fmean

from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.wording import capitalised, percent
from tlstax.study import (
    PROCESSOR_COLUMNS,
    Column,
    Part,
    ProcessorColumn,
    ProcessorTable,
    Study,
    TimeRow,
    TimeTable,
)
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import charts, figures, palette
from tlstax.topics.core.charts import (
    NARROW,
    Key,
    Line,
    Panel,
    Point,
    RatioMark,
    Segment,
    Spec,
    Style,
    at_both_widths,
    at_one_width,
    level_style,
    quantitative,
)
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.table import Table
from tlstax.topics.tables.differences import DIFFERENCE
from tlstax.topics.tables.measured import (
    LENGTH,
    MEASURED,
    MEMORY,
    PART,
    PRINTED,
    RATIO,
    SIDE,
    SIDE_ROLE,
    TABLE,
    TRIALS,
    UNTIL,
    Shown,
    parts_of,
)

MEAN = "mean"
AS_PUBLISHED = "as published"


@dataclass(frozen=True)
class Place:
    """What was measured of a side of a table, or of a line of it, in one part; or what was published."""

    side: str
    rows: Sequence[Row]
    is_published: bool = False

    @cached_property
    def shown(self) -> Shown:
        """The trials that stand for it."""
        return next((Shown.of(row) for row in self.rows if row.role == SIDE_ROLE), Shown("not run"))

    @property
    def mark(self) -> str:
        """What is wrong with it in a word; empty where nothing is."""
        return "" if self.is_published or self.shown.standing == "valid" else self.shown.standing

    def figure(self, outcome: str, until_s: float | None = None) -> Row | None:
        """The figure of an outcome, until a time or over the whole window."""
        return self._by_outcome.get((outcome, until_s))

    def share(self, column: str, until_s: float | None = None) -> float | None:
        """A column's share, until a time or on average; what was published is averaged here."""
        outcome = f"machine_{column}_percent"
        if self.is_published and until_s is None:
            cells = [row.value for row in self.rows if row.outcome == outcome and row.value is not None]
            return fmean(cells) if cells else None
        row = self.figure(outcome, until_s)
        return row.value if row is not None else None

    @cached_property
    def ends_s(self) -> list[float]:
        """When its steps end."""
        return sorted({until for _, until in self._by_outcome if until is not None})

    @property
    def ratio(self) -> Interval | None:
        """Its ratio to the first side."""
        return next((row.interval for row in self.rows if row.role == RATIO), None)

    @property
    def answers(self) -> tuple[str, ...]:
        """Whether the published difference to the first side is right."""
        return tuple(row.judgement for row in self.rows if row.role == DIFFERENCE)

    @cached_property
    def _by_outcome(self) -> dict[tuple[str, float | None], Row]:
        own = (row for row in self.rows if row.role in {PRINTED, MEASURED})
        return {(row.outcome, row.number(UNTIL)): row for row in own}


@dataclass(frozen=True)
class View:
    """All that is told of a study's tables, by where it stands."""

    told: Told
    study: Study

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The study's parts."""
        return parts_of(self.study)

    def name(self, part: Part | None) -> str:
        """What a part is called: "(a) as published"; a single one by its title. None is the publication."""
        if part is None:
            return AS_PUBLISHED
        return part.title if len(self.parts) == 1 else f"({part.key}) {part.title}"

    def prefix(self, part: str) -> str:
        """A part's key before what it shows; nothing where there is but one."""
        return "" if len(self.parts) == 1 else f"({part}) "

    def sides(self, table: ProcessorTable | TimeTable, part: Part | None, line: str = "") -> list[Place]:
        """What was measured of each side in a part; without a part, what was published of it."""
        key = part.key if part is not None else ""
        return [
            Place(side.name, self._by_place.get((table.number, line, key, side.name), ()), part is None)
            for side in table.sides
        ]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str, str], list[Row]]:
        titles = {table.title for table in self.study.processor_tables}
        return grouped(
            self.told.rows,
            lambda row: (
                row.word(TABLE),
                "" if row.label in titles else row.label,
                row.word(PART),
                row.word(SIDE),
            ),
        )


def table_title(table: ProcessorTable | TimeTable) -> str:
    """A table's number and title: "Table II. CPU use during the SELECT test"."""
    return f"Table {table.number}. {table.title}"


@dataclass(frozen=True)
class Grid:
    """A processor table in its published layout: for each column a cell for each side, then how many trials.

    Rows begin with the time at which a step ends; the last one is the mean, computed here. `captions` say
    what each side is. A published table has no number of trials.
    """

    title: str
    sides: Sequence[Place]
    rows: tuple[tuple[str, ...], ...]
    captions: tuple[str, ...]

    def whole(self, of_table: str) -> Table:
        """All of it as one table of text, each head with its column and side."""
        heads = [f"%{column} {own.side}" for column in PROCESSOR_COLUMNS for own in self.sides]
        notes = tuple(f"{caption}." for caption in self.captions)
        trials = [TRIALS] * (not self.sides[0].is_published)
        return Table(f"{of_table}: {self.title}", (*heads, *trials), self.rows, notes, of="until (s)")

    def as_printed(self) -> Table:
        """The same with a column over its sides, each with what is wrong with it."""
        sides = [f"{own.side}, {own.mark}" if own.mark else own.side for own in self.sides]
        over = [(f"%{column}", len(sides)) for column in PROCESSOR_COLUMNS]
        heads = sides * len(over)
        if not self.sides[0].is_published:
            heads, over = [*heads, ""], [*over, (TRIALS.capitalize(), 1)]
        return Table("", tuple(heads), self.rows, (), of="Until (s)", literal=True, over=tuple(over))


def processor_grids(table: ProcessorTable, view: View) -> Iterator[Grid]:
    """The published table, then the measured one of every part."""
    for part in (None, *view.parts):
        sides = view.sides(table, part)
        ends = sorted({end for side in sides for end in side.ends_s})
        rows = tuple((MEAN if end is None else f"{end:g}", *_cells(sides, end)) for end in (*ends, None))
        captions = [table.source] if part is None else [f"{side.side}: {_words(side)}" for side in sides]
        yield Grid(view.name(part), sides, rows, tuple(captions))


def _cells(sides: Sequence[Place], end_s: float | None) -> Iterator[str]:
    """A row of a grid: the shares until a time, or their means, and of how many trials they are."""
    yield from (_share(side, column, end_s) for column in PROCESSOR_COLUMNS for side in sides)
    if sides[0].is_published:
        return
    if end_s is None:
        yield " and ".join(dict.fromkeys(str(side.shown.trials) for side in sides))
    else:
        steps = (side.figure("machine_idle_percent", end_s) for side in sides)
        yield " and ".join(dict.fromkeys(row.word(TRIALS) for row in steps if row))


def mean_table(table: ProcessorTable, view: View) -> Table:
    """The means alone: a row for each side as published, then for each part's: columns and memory."""
    rows = []
    for part in (None, *view.parts):
        prefix = "published, " if part is None else view.prefix(part.key)
        for own in view.sides(table, part):
            name = f"{prefix}{own.side}{f', {own.mark}' if own.mark else ''}"
            memory = own.figure(MEMORY)
            held = figures.quantity(memory.amount, "B") if memory else ""
            rows.append((name, *(_share(own, column) for column in PROCESSOR_COLUMNS), held))
    title = f"{table_title(table)}: means, in per cent"
    return Table(title, (*PROCESSOR_COLUMNS, "server memory"), rows, (), of="side")


def time_tables(table: TimeTable, view: View) -> list[Table]:
    """The table as every part has it: published values, published ratio, ours, our ratio, verdict."""
    first, *others = (side.name for side in table.sides)
    heads = (
        *(f"{name}, published" for name in (first, *others)),
        *("change" if len(others) == 1 else f"{name}, change" for name in others),
        *(f"{name}, here" for name in (first, *others)),
        *("change here" if len(others) == 1 else f"{name}, change here" for name in others),
        "verdict",
    )
    tables = []
    for part in view.parts:
        own = [(line, view.sides(table, part, line.label)) for line in table.rows]
        captions = dict.fromkeys(
            f"{side.side}: {shown_words(side.shown)}." for _, sides in own for side in sides if side.mark
        )
        rows = tuple(_time_row(line, sides) for line, sides in own)
        tables.append(Table(view.name(part), heads, rows, tuple(captions), of="statement"))
    return tables


def time_table(table: TimeTable, view: View) -> Table:
    """The same with one part below the other."""
    tables = time_tables(table, view)
    rows = (((capitalised(own.title), *[""] * len(own.heads)), *own.rows) for own in tables)
    return Table(
        title="",
        heads=tuple(map(capitalised, tables[0].heads)),
        rows=tuple(chain.from_iterable(rows)),
        notes=tuple(f"{capitalised(own.title)}. {note}" for own in tables for note in own.notes),
        of="Statement",
        literal=True,
    )


def short_time_table(table: TimeTable, view: View) -> Table:
    """A row for each part and line: the published change, seconds here, the change with half its interval."""
    rows = []
    for part in view.parts:
        for line in table.rows:
            sides = view.sides(table, part, line.label)
            answers = dict.fromkeys(answer for side in sides[1:] for answer in side.answers)
            bad = next((side.mark for side in sides if side.mark), "")
            rows.append(
                (
                    f"{view.prefix(part.key)}{line.label}",
                    " and ".join(_printed_changes(line, sides)),
                    *(_seconds(side).partition(" (")[0] for side in sides),
                    " and ".join(_half(side.ratio) for side in sides[1:]),
                    bad or " and ".join(answers),
                )
            )
    names = (side.name.replace(" ", "\n", 1) for side in table.sides)
    return Table(
        table_title(table), ("change\npublished", *names, "change\nhere", ""), rows, (), of="statement"
    )


def _time_row(line: TimeRow, sides: Sequence[Place]) -> tuple[str, ...]:
    answers = dict.fromkeys(answer for side in sides[1:] for answer in side.answers)
    return (
        line.label,
        *(f"{value:g} s" for value in line.values.values()),
        *_printed_changes(line, sides),
        *map(_seconds, sides),
        *(change_words(side.ratio) for side in sides[1:]),
        " and ".join(answers) or NOTHING,
    )


def _printed_changes(line: TimeRow, sides: Sequence[Place]) -> Iterator[str]:
    first = line.values[sides[0].side]
    return (figures.change(as_ratio(line.values[side.side] / first)) for side in sides[1:])


def _half(ratio: Interval | None) -> str:
    """A change and half the width of its interval: "+9.8 ±0.6 %"."""
    if ratio is None:
        return NOTHING
    change = figures.change(ratio)
    if ratio.half_width is None or not change.endswith(" %"):
        return change
    return f"{change.removesuffix(' %')} ±{percent(ratio.half_width)}"


def change_words(ratio: Interval | None) -> str:
    """A ratio as a change with its interval; a dash where there is none."""
    return NOTHING if ratio is None else figures.change_with_interval(ratio)


def shown_words(shown: Shown) -> str:
    """How many trials a figure is from, what is wrong with them, what really ran."""
    if shown.standing == "not run":
        return "not run"
    ran = f"; what ran: {shown.ran}" if shown.ran else ""
    if shown.standing != "valid":
        why = f": {shown.why}" if shown.why else ""
        return f"{shown.standing}{why} ({counted(shown.trials, 'trial')}){ran}"
    left_out = f", {shown.left_out} more left out as not valid" if shown.left_out else ""
    return f"{counted(shown.trials, 'trial')}{left_out}{ran}"


def _words(side: Place) -> str:
    length, memory = side.figure(LENGTH), side.figure(MEMORY)
    window = f"; {figures.quantity(length.amount * 1e6, 'us')} long" if length else ""
    held = f"; the server held {figures.quantity(memory.amount, 'B')}" if memory else ""
    return f"{shown_words(side.shown)}{window}{held}"


def _seconds(side: Place) -> str:
    own = next((row for row in side.rows if row.role == MEASURED), None)
    if own is None:
        return NOTHING
    bad = f" ({side.mark})" if side.mark else ""
    return f"{figures.quantity(own.amount * 1e6, 'us')}{bad}"


def _share(side: Place, column: str, until_s: float | None = None) -> str:
    share = side.share(column, until_s)
    return NOTHING if share is None else f"{share:.2f}"


def as_ratio(point: float) -> Interval:
    """A published ratio, which has no interval."""
    return Interval(point=point, low=None, high=None, confidence=0.0, blocks=1)


DRAWN: ProcessorColumn = "system"
HEIGHT = 150


def load_chart(lines: Sequence[Line], *, highest: float) -> Spec:
    """A line with dots for each side over the time since the window began, from nothing to `highest`."""
    end_s = max((point.x for line in lines for point in line.points), default=1.0)
    x = quantitative("x", {"domain": [0, end_s]}, title="seconds", tickCount=6, grid=False)
    y = quantitative("y", {"domain": [0, highest]}, title=f"%{DRAWN}", tickCount=4)
    layers = charts.lines_and_dots(charts.points_of(lines), x, y, size=32, may_be_hollow=True)
    return charts.finished(layers, NARROW, HEIGHT)


def load_panels(table: ProcessorTable, view: View) -> Iterator[Panel]:
    """The column over time: as published, then in every part that was long enough, all on one scale."""
    styles = side_styles(table.sides)
    drawn = []
    for part in (None, *view.parts):
        sides = view.sides(table, part)
        marks = "; ".join(f"{side.side}: {side.mark}" for side in sides if side.mark)
        drawn.append((view.name(part), [_line(side, styles[side.side]) for side in sides], marks))
    points = (point.y for _, lines, _ in drawn for line in lines for point in line.points)
    highest = max(points, default=1.0)
    keys = tuple(Key(style.label, style.colour) for style in styles.values())
    for title, lines, marks in drawn:
        if any(line.points for line in lines):
            told = "; ".join(_told(line) for line in lines)
            chart = load_chart(lines, highest=1.05 * highest or 1.0)
            yield Panel(title, marks, (at_one_width(f"%{DRAWN}, {title}: {told}", chart),), keys)


def side_styles(sides: Sequence[Column]) -> dict[str, Style]:
    """How each side is drawn, the first one as baselines are."""
    first, *others = (side.name for side in sides)
    treated = {name: level_style(name, place) for place, name in enumerate(others)}
    return {first: Style(first, palette.BASELINE.light, "circle"), **treated}


def bar_panels(table: TimeTable, view: View) -> Iterator[Panel]:
    """Times as bars: as published, then of every part that has any, each on a scale of its own."""
    styles = side_styles(table.sides)
    for part in (None, *view.parts):
        times = {
            (line.label, side.side): (own.amount, side.mark)
            for line in table.rows
            for side in view.sides(table, part, line.label)
            if (own := side.figure(table.outcome)) is not None
        }
        if times:
            yield _bars(view.name(part), times, styles)


def ratio_panels(table: TimeTable, view: View) -> Iterator[Panel]:
    """For each line, the published ratio to the first side and that of every part, on one scale."""
    places = {
        line.label: [(part, view.sides(table, part, line.label)) for part in view.parts]
        for line in table.rows
    }
    marks = {line.label: list(_ratio_marks(line, places[line.label], view)) for line in table.rows}
    domain = charts.ratio_domain(mark for own in marks.values() for mark in own)
    for label, own in marks.items():
        rows = [row for _, sides in places[label] for side in sides for row in side.rows if row.role == RATIO]
        floors = [row.noise_floor for row in rows if row.noise_floor is not None]
        chart = charts.ratio_chart(own, noise_floor=max(floors, default=None), domain=domain, width=NARROW)
        words = "; ".join(mark.description for mark in own)
        yield Panel(label, "", (at_one_width(words, chart),))


def _line(side: Place, style: Style) -> Line:
    shares = ((end_s, side.share(DRAWN, end_s)) for end_s in side.ends_s)
    points = (
        Point(end_s, share, f"{side.side}: {share:.2f} % at {end_s:g} s")
        for end_s, share in shares
        if share is not None
    )
    return Line(style, tuple(points))


def _told(line: Line) -> str:
    return f"{line.style.label} {', '.join(f'{point.y:.1f}' for point in line.points) or 'not shown'}"


def _bars(title: str, times: dict[tuple[str, str], tuple[float, str]], styles: dict[str, Style]) -> Panel:
    segments, totals = [], {}
    for (label, side), (value_s, bad) in times.items():
        row = f"{label}, {side}"
        text = figures.quantity(value_s * 1e6, "us")
        described = f"{row}: {text}{f', {bad}' if bad else ''}"
        segments.append(Segment(row, 0.0, value_s * 1e6, styles[side].colour, described, faint=bool(bad)))
        totals[row] = text
    end_us = max(segment.end_us for segment in segments)
    words = f"{title}: {'; '.join(segment.description for segment in segments)}"
    pale = "Pale: not valid." if any(segment.faint for segment in segments) else ""
    return Panel(
        title=title,
        reading=pale,
        drawings=at_both_widths(
            words, lambda width: charts.bar_chart(segments, totals, end_us=end_us, width=width)
        ),
        keys=tuple(Key(style.label, style.colour) for style in styles.values()),
    )


def _ratio_marks(
    line: TimeRow, places: Sequence[tuple[Part, Sequence[Place]]], view: View
) -> Iterator[RatioMark]:
    """The published ratios, without an interval, and each part's."""
    first, *others = (side.side for side in places[0][1])
    several = len(others) > 1
    for name in others:
        style = Style(f"published{f', {name}' if several else ''}", palette.BASELINE.light, "diamond")
        yield _ratio_mark(line, style, as_ratio(line.values[name] / line.values[first]), "")
    for place, (part, sides) in enumerate(places):
        key = f"({part.key})" if len(view.parts) > 1 else "here"
        for side in sides[1:]:
            if side.ratio is not None:
                bad = sides[0].mark or side.mark
                label = f"{key}{f' {side.side}' if several else ''}{f', {bad}' if bad else ''}"
                style = level_style(label, place, shape=0, hollow=bool(bad))
                yield _ratio_mark(line, style, side.ratio, bad)


def _ratio_mark(line: TimeRow, style: Style, ratio: Interval, bad: str) -> RatioMark:
    words = change_words(ratio)
    said = f"{line.label}, {style.label}: {words}{f', {bad}' if bad else ''}"
    return RatioMark.of(style, ratio, words.partition(" [")[0], said)
