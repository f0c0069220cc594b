"""Published tables and measured ones as cells of text, the same for every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from tlstax.findings.core.wording import percent
from tlstax.results.interval import Interval
from tlstax.results.published_tables import (
    Answer,
    DifferenceHere,
    MeasuredProcessors,
    MeasuredTime,
    PartOfProcessors,
    PartOfTime,
    ProcessorTableResult,
    Shown,
    Tables,
    TimeLine,
    TimeTableResult,
)
from tlstax.study import PROCESSOR_COLUMNS, ProcessorColumn, ProcessorTable, TimeTable
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.table import Table

MEAN = "mean"
SHORT: dict[Answer, str] = {
    "right": "right",
    "wrong": "wrong",
    "inconclusive": "inconclusive",
    "not tested": "not tested",
}
"""Answers where room is short."""
PUBLISHED = "as published"


@dataclass(frozen=True)
class ProcessorGrid:
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

    def with_trials(self) -> tuple[tuple[str, ...], ...]:
        """The rows, with how many trials each is from where that is known."""
        return tuple((*row, *self.trials[place : place + 1]) for place, row in enumerate(self.rows))


def part_names(tables: Tables) -> dict[str, str]:
    """What parts are called, by their keys: "(a) as published"; a single one by its title."""
    if len(tables.parts) == 1:
        return {part.key: part.title for part in tables.parts}
    return {part.key: f"({part.key}) {part.title}" for part in tables.parts}


def table_title(table: ProcessorTable | TimeTable) -> str:
    """A table's number and title: "Table II. CPU use during the SELECT test"."""
    return f"Table {table.number}. {table.title}"


def processor_grids(found: ProcessorTableResult, tables: Tables) -> tuple[ProcessorGrid, ...]:
    """The published table, then the measured one of every part."""
    names = part_names(tables)
    return (_published(found.published), *(_measured(part, names[part.part]) for part in found.parts))


def _published(table: ProcessorTable) -> ProcessorGrid:
    sides = tuple(side.name for side in table.sides)
    most = max(len(rows) for rows in table.rows.values())
    rows = [
        (
            f"{(place + 1) * table.step_s:g}",
            *(
                _cell(table.rows[side][place][index]) if place < len(table.rows[side]) else figures.NOTHING
                for index in range(len(PROCESSOR_COLUMNS))
                for side in sides
            ),
        )
        for place in range(most)
    ]
    means = (
        MEAN,
        *(_published_mean(table, side, index) for index in range(len(PROCESSOR_COLUMNS)) for side in sides),
    )
    return ProcessorGrid(PUBLISHED, sides, ("",) * len(sides), (*rows, means), (), (f"{table.source}",))


def _measured(part: PartOfProcessors, name: str) -> ProcessorGrid:
    ends = sorted({step.to_s for side in part.sides for step in side.steps})
    by_end = [{step.to_s: step for step in side.steps} for side in part.sides]
    rows = [
        (
            f"{end:g}",
            *(
                _cell(steps[end].values[column]) if end in steps else figures.NOTHING
                for column in PROCESSOR_COLUMNS
                for steps in by_end
            ),
        )
        for end in ends
    ]
    means = (MEAN, *(_mean(side, column) for column in PROCESSOR_COLUMNS for side in part.sides))
    trials = [
        " and ".join(dict.fromkeys(str(steps[end].trials) for steps in by_end if end in steps))
        for end in ends
    ]
    everything = " and ".join(dict.fromkeys(str(side.shown.trials) for side in part.sides))
    return ProcessorGrid(
        title=name,
        sides=tuple(side.side for side in part.sides),
        marks=tuple(mark(side.shown) for side in part.sides),
        rows=(*rows, means),
        trials=(*trials, everything),
        captions=tuple(f"{side.side}: {_words(side)}" for side in part.sides),
    )


def mean_rows(found: ProcessorTableResult, tables: Tables) -> Iterator[tuple[str, ...]]:
    """The means alone: a row for each side as published, then for each part's: name, columns, memory."""
    table = found.published
    for side in table.sides:
        cells = (_published_mean(table, side.name, index) for index in range(len(PROCESSOR_COLUMNS)))
        yield (f"published, {side.name}", *cells, "")
    prefix = "" if len(tables.parts) == 1 else "({}) "
    for part in found.parts:
        for own in part.sides:
            bad = mark(own.shown)
            name = f"{prefix.format(part.part)}{own.side}{f', {bad}' if bad else ''}"
            memory = figures.quantity(own.rss_bytes, "B") if own.rss_bytes is not None else ""
            yield (name, *(_mean(own, column) for column in PROCESSOR_COLUMNS), memory)


def time_grids(found: TimeTableResult, tables: Tables) -> tuple[Table, ...]:
    """The table as every part has it: published values, published ratio, ours, our ratio, verdict."""
    names = part_names(tables)
    first, *others = (side.name for side in found.published.sides)
    heads = (
        *(f"{name}, published" for name in (first, *others)),
        *("change" if len(others) == 1 else f"{name}, change" for name in others),
        *(f"{name}, here" for name in (first, *others)),
        *("change here" if len(others) == 1 else f"{name}, change here" for name in others),
        "verdict",
    )
    grids = []
    for place, part in enumerate(found.lines[0].parts):
        lines = [(line, line.parts[place]) for line in found.lines]
        rows = tuple(_time_row(line, own, others, found, tables) for line, own in lines)
        captions = tuple(f"{words}." for words in dict.fromkeys(_time_captions(lines)))
        grids.append(Table(names[part.part], heads, rows, captions, of="statement"))
    return tuple(grids)


def short_time_rows(found: TimeTableResult, tables: Tables) -> Iterator[tuple[str, ...]]:
    """A row for each part and line: name, published change, seconds here, change with half its interval."""
    prefix = "" if len(tables.parts) == 1 else "({}) "
    others = [side.name for side in found.published.sides][1:]
    for place, part in enumerate(tables.parts):
        for line in found.lines:
            own = line.parts[place]
            here = [_here(tables, found.published.number, line.label, name, part.key) for name in others]
            answers = dict.fromkeys(SHORT[difference.answer] for difference in here if difference)
            bad = next((mark(side.shown) for side in own.sides if mark(side.shown)), "")
            yield (
                f"{prefix.format(part.key)}{line.label}",
                " and ".join(figures.change(_as_ratio(line.published_ratios[name])) for name in others),
                *(_seconds(side).partition(" (")[0] for side in own.sides),
                " and ".join(_half(own.ratios.get(name)) for name in others),
                bad or " and ".join(answers),
            )


def _half(ratio: Interval | None) -> str:
    """A change and half the width of its interval: "+9.8 ±0.6 %"."""
    if ratio is None:
        return figures.NOTHING
    change = figures.change(ratio)
    if ratio.half_width is None or not change.endswith(" %"):
        return change
    return f"{change.removesuffix(' %')} ±{percent(ratio.half_width)}"


def _time_row(
    line: TimeLine, own: PartOfTime, others: Sequence[str], found: TimeTableResult, tables: Tables
) -> tuple[str, ...]:
    verdicts = [_here(tables, found.published.number, line.label, name, own.part) for name in others]
    return (
        line.label,
        *(f"{value:g} s" for value in line.published.values()),
        *(figures.change(_as_ratio(line.published_ratios[name])) for name in others),
        *(_seconds(side) for side in own.sides),
        *(change_words(own.ratios.get(name)) for name in others),
        " and ".join(dict.fromkeys(here.answer for here in verdicts if here is not None)) or figures.NOTHING,
    )


def _here(tables: Tables, number: str, label: str, side: str, part: str) -> DifferenceHere | None:
    found = (d for d in tables.differences if (d.table, d.label, d.side) == (number, label, side))
    return next((here for difference in found for here in difference.parts if here.part == part), None)


def _time_captions(lines: Sequence[tuple[TimeLine, PartOfTime]]) -> Iterator[str]:
    for _, own in lines:
        for side in own.sides:
            if side.shown.standing != "valid":
                yield f"{side.side}: {shown_words(side.shown)}"


def change_words(ratio: Interval | None) -> str:
    """A ratio as a change with its interval; a dash where there is none."""
    return figures.NOTHING if ratio is None else figures.change_with_interval(ratio)


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


def mark(shown: Shown) -> str:
    """What is wrong with a side in a word; empty where nothing is."""
    return "" if shown.standing == "valid" else shown.standing


def _words(side: MeasuredProcessors) -> str:
    window = f"; {figures.quantity(side.window_s * 1e6, 'us')} long" if side.window_s else ""
    memory = f"; the server held {figures.quantity(side.rss_bytes, 'B')}" if side.rss_bytes else ""
    return f"{shown_words(side.shown)}{window}{memory}"


def _seconds(side: MeasuredTime) -> str:
    if side.seconds is None:
        return figures.NOTHING
    bad = mark(side.shown)
    return f"{figures.quantity(side.seconds.point * 1e6, 'us')}{f' ({bad})' if bad else ''}"


def _published_mean(table: ProcessorTable, side: str, index: int) -> str:
    values = [value for row in table.rows[side] if not isinstance(value := row[index], str)]
    return _cell(fmean(values)) if values else figures.NOTHING


def _mean(side: MeasuredProcessors, column: ProcessorColumn) -> str:
    return _cell(side.mean[column]) if side.mean is not None else figures.NOTHING


def _cell(value: float | str) -> str:
    return figures.NOTHING if isinstance(value, str) else f"{value:.2f}"


def _as_ratio(point: float) -> Interval:
    return Interval(point=point, low=None, high=None, confidence=0.0, blocks=1)
