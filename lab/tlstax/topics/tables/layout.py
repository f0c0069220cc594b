"""Published tables and measured ones laid out: as they were printed, in their means, and in their changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from statistics import fmean

from tlstax.findings.core.wording import capitalised, percent
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.study import PROCESSOR_COLUMNS, Part, ProcessorTable, Study, TimeRow, TimeTable
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.table import Table
from tlstax.topics.tables.answers import DIFFERENCE
from tlstax.topics.tables.loads import LENGTH, MEMORY
from tlstax.topics.tables.sides import PART, SIDE, SIDE_ROLE, TABLE, UNTIL, Shown, parts_of
from tlstax.topics.tables.times import MEASURED, RATIO

MEAN = "mean"
PRINTED = "as published"


@dataclass(frozen=True)
class Place:
    """What was measured of a side of a table, or of a line of it, in one part."""

    side: str
    rows: Sequence[Row]

    @cached_property
    def shown(self) -> Shown:
        """The trials that stand for it."""
        return next((Shown.of(row) for row in self.rows if row.role == SIDE_ROLE), Shown("not run"))

    @property
    def mark(self) -> str:
        """What is wrong with it in a word; empty where nothing is."""
        return "" if self.shown.standing == "valid" else self.shown.standing

    def measured(self, outcome: str, until_s: float | None = None) -> Row | None:
        """What was measured of an outcome, until a time or over the whole window."""
        return self._by_outcome.get((outcome, until_s))

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
        own = (row for row in self.rows if row.role == MEASURED)
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

    def name(self, part: Part) -> str:
        """What a part is called: "(a) as published"; a single one by its title."""
        return part.title if len(self.parts) == 1 else f"({part.key}) {part.title}"

    def prefix(self, part: str) -> str:
        """A part's key before what it shows; nothing where there is but one."""
        return "" if len(self.parts) == 1 else f"({part}) "

    def sides(self, table: ProcessorTable | TimeTable, part: Part, line: str = "") -> list[Place]:
        """What was measured of each side."""
        names = [column.name for column in table.sides]
        return [Place(name, self._by_place.get((table.number, line, part.key, name), ())) for name in names]

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

    Rows begin with the time at which a step ends; the last one is the mean, computed here. `trials` is empty
    where the table is a published one. `captions` say what each side is, `marks` what is wrong with it.
    """

    title: str
    sides: tuple[str, ...]
    marks: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    trials: tuple[str, ...]
    captions: tuple[str, ...]

    def whole(self, of_table: str) -> Table:
        """All of it as one table of text, each head with its column and side."""
        heads = [f"%{column} {side}" for column in PROCESSOR_COLUMNS for side in self.sides]
        return Table(
            title=f"{of_table}: {self.title}",
            heads=(*heads, *(["trials"] if self.trials else [])),
            rows=self._rows(),
            notes=tuple(f"{caption}." for caption in self.captions),
            of="until (s)",
        )

    def as_printed(self) -> Table:
        """The same with a column over its sides, each with what is wrong with it."""
        sides = tuple(
            f"{side}, {bad}" if bad else side for side, bad in zip(self.sides, self.marks, strict=True)
        )
        over = tuple((f"%{column}", len(sides)) for column in PROCESSOR_COLUMNS)
        return Table(
            title="",
            heads=(*sides * len(over), *(("",) if self.trials else ())),
            rows=self._rows(),
            notes=(),
            of="Until (s)",
            literal=True,
            over=(*over, *((("Trials", 1),) if self.trials else ())),
        )

    def _rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple((*row, *self.trials[place : place + 1]) for place, row in enumerate(self.rows))


def processor_grids(table: ProcessorTable, view: View) -> tuple[Grid, ...]:
    """The published table, then the measured one of every part."""
    return (_printed(table), *(_measured(view.sides(table, part), view.name(part)) for part in view.parts))


def _printed(table: ProcessorTable) -> Grid:
    sides = tuple(side.name for side in table.sides)
    places = [(side, index) for index in range(len(PROCESSOR_COLUMNS)) for side in sides]
    most = max(len(rows) for rows in table.rows.values())
    rows = [
        (
            f"{(step + 1) * table.step_s:g}",
            *(
                _cell(table.rows[side][step][index]) if step < len(table.rows[side]) else NOTHING
                for side, index in places
            ),
        )
        for step in range(most)
    ]
    means = (MEAN, *(_printed_mean(table, side, index) for side, index in places))
    return Grid(PRINTED, sides, ("",) * len(sides), (*rows, means), (), (table.source,))


def _measured(sides: Sequence[Place], name: str) -> Grid:
    ends = sorted({end for side in sides for end in side.ends_s})
    rows = [
        (f"{end:g}", *(_share(side, column, end) for column in PROCESSOR_COLUMNS for side in sides))
        for end in ends
    ]
    means = (MEAN, *(_share(side, column) for column in PROCESSOR_COLUMNS for side in sides))
    steps = [[side.measured("machine_idle_percent", end) for side in sides] for end in ends]
    trials = [" and ".join(dict.fromkeys(row.word("trials") for row in own if row)) for own in steps]
    everything = " and ".join(dict.fromkeys(str(side.shown.trials) for side in sides))
    return Grid(
        title=name,
        sides=tuple(side.side for side in sides),
        marks=tuple(side.mark for side in sides),
        rows=(*rows, means),
        trials=(*trials, everything),
        captions=tuple(f"{side.side}: {_words(side)}" for side in sides),
    )


def mean_table(table: ProcessorTable, view: View) -> Table:
    """The means alone: a row for each side as published, then for each part's: columns and memory."""
    rows = []
    for side in table.sides:
        means = (_printed_mean(table, side.name, index) for index in range(len(PROCESSOR_COLUMNS)))
        rows.append((f"published, {side.name}", *means, ""))
    for part in view.parts:
        for own in view.sides(table, part):
            name = f"{view.prefix(part.key)}{own.side}{f', {own.mark}' if own.mark else ''}"
            memory = own.measured(MEMORY)
            held = figures.quantity(memory.value or 0.0, "B") if memory else ""
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
    length, memory = side.measured(LENGTH), side.measured(MEMORY)
    window = f"; {figures.quantity((length.value or 0.0) * 1e6, 'us')} long" if length else ""
    held = f"; the server held {figures.quantity(memory.value or 0.0, 'B')}" if memory else ""
    return f"{shown_words(side.shown)}{window}{held}"


def _seconds(side: Place) -> str:
    own = next((row for row in side.rows if row.role == MEASURED), None)
    if own is None:
        return NOTHING
    bad = f" ({side.mark})" if side.mark else ""
    return f"{figures.quantity((own.value or 0.0) * 1e6, 'us')}{bad}"


def _printed_mean(table: ProcessorTable, side: str, index: int) -> str:
    values = [value for row in table.rows[side] if not isinstance(value := row[index], str)]
    return _cell(fmean(values)) if values else NOTHING


def _share(side: Place, column: str, until_s: float | None = None) -> str:
    row = side.measured(f"machine_{column}_percent", until_s)
    return NOTHING if row is None or row.value is None else _cell(row.value)


def _cell(value: float | str) -> str:
    return NOTHING if isinstance(value, str) else f"{value:.2f}"


def as_ratio(point: float) -> Interval:
    """A published ratio, which has no interval."""
    return Interval(point=point, low=None, high=None, confidence=0.0, blocks=1)
