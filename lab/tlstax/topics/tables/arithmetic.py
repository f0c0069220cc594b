"""What a published table says against its own text and against itself: arithmetic, no measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose
from statistics import fmean, pstdev

from tlstax.results.rows import Row
from tlstax.study import (
    PROCESSOR_COLUMNS,
    Claim,
    Column,
    ProcessorColumn,
    ProcessorTable,
    TimeTable,
)
from tlstax.topics.tables.measured import SIDE, TABLE, UNTIL

CLAIM, FAULT = "table, claim", "table, fault"
"""Roles of rows. The judgement of a claim is "right" or "wrong", that of a fault its kind."""

ROUNDING = 0.005
"""Half of the last digit that is printed."""

NEAR_THE_MEAN = 0.05
"""A last row is the average of the others if in every column it is as near to their mean as this share of
their scatter, rounding aside. An ordinary row is that in one column in 25, so in three in one of 15,000. It
is not exactly the mean, since a tool that prints an average weighs each step by the ticks that it lasted."""

SCATTERING_COLUMNS = 3
"""How many columns must scatter for a last row to be called their average."""

SHOWN: ProcessorColumn = "system"
"""The column whose mean is reported, with and without the rows that are not like the others."""

IDLE = 99.0
"""From here on, in per cent, the processors did nothing worth the name."""

SUM_TOLERANCE = 0.1

TINY = 1e-9
"""What sums of decimal fractions may be off."""

Cells = Sequence[float | str]


def claim_row(claim: Claim, table: ProcessorTable) -> Row:
    """Whether the table has what its text says of it: what was found, and in a caveat why."""
    judge = _of_highest if claim.kind == "highest" else _of_mean
    is_right, found, found_at_s, sentence = judge(claim, table)
    return Row(
        role=CLAIM,
        outcome=f"machine_{claim.column}_percent",
        unit="%",
        label=claim.says,
        value=found,
        judgement="right" if is_right else "wrong",
        caveats=(sentence,),
        more={TABLE: table.number, SIDE: claim.side, UNTIL: found_at_s},
    )


def _of_highest(claim: Claim, table: ProcessorTable) -> tuple[bool, float | None, float | None, str]:
    cells = [_cell(row, claim.column) for row in table.rows[claim.side]]
    known = [(value, (place + 1) * table.step_s) for place, value in enumerate(cells) if value is not None]
    highest = max(value for value, _ in known)
    times = [at_s for value, at_s in known if value == highest]
    at_s = claim.at_s if claim.at_s in times else times[0]
    there = f"Table {table.number} has {_figure(highest)} at {at_s:g} s"
    if isclose(highest, claim.value, abs_tol=ROUNDING) and claim.at_s in {None, at_s}:
        return True, highest, at_s, f"its {there}"
    when = f" at {claim.at_s:g} s" if claim.at_s is not None else ""
    return False, highest, at_s, f"the text has {_figure(claim.value)}{when}; its own {there}"


def _of_mean(claim: Claim, table: ProcessorTable) -> tuple[bool, float | None, float | None, str]:
    rows = table.rows[claim.side]
    ways = {"the mean of its rows": _mean(rows, claim.column)}
    if is_average_row(rows):
        ways = {
            "the mean of its rows before the last": _mean(rows[:-1], claim.column),
            "its last row, an average": _cell(rows[-1], claim.column),
        }
    found = {words: value for words, value in ways.items() if value is not None}
    for words, value in found.items():
        if isclose(value, claim.value, abs_tol=ROUNDING + TINY):
            return True, value, None, f"{words} in Table {table.number} is {_figure(value)}"
    said = " and ".join(f"{words} is {_figure(value)}" for words, value in found.items())
    first = next(iter(found.values()), None)
    return False, first, None, f"the text has {_figure(claim.value)}; in its own Table {table.number} {said}"


def fault_rows(table: ProcessorTable, times: Sequence[TimeTable]) -> Iterator[Row]:
    """Everything in a table that cannot be what it seems, side by side."""
    for side in table.sides:
        rows = table.rows[side.name]
        found = {
            "average row": _average_words(table, rows),
            "idle rows": _idle_words(table, rows),
            "sum": _sum_words(table, rows),
            "too short": _short_words(table, side, times),
        }
        for kind, sentence in found.items():
            if sentence:
                known = {TABLE: table.number, SIDE: side.name}
                yield Row(role=FAULT, judgement=kind, caveats=(sentence,), more=known)


def is_average_row(rows: Sequence[Cells]) -> bool:
    """Whether the last row is the mean of the others (see NEAR_THE_MEAN); columns with gaps do not count."""
    if len(rows) < 3:
        return False
    scattering = 0
    for column in PROCESSOR_COLUMNS:
        cells = [_cell(row, column) for row in rows]
        values = [value for value in cells if value is not None]
        if len(values) < len(rows):
            continue
        *before, last = values
        scatter = pstdev(before)
        if abs(last - fmean(before)) > NEAR_THE_MEAN * scatter + 2 * ROUNDING:
            return False
        scattering += scatter > 2 * ROUNDING / NEAR_THE_MEAN
    return scattering >= SCATTERING_COLUMNS


def _average_words(table: ProcessorTable, rows: Sequence[Cells]) -> str:
    if not is_average_row(rows):
        return ""
    at_s = len(rows) * table.step_s
    mean, last = _mean(rows[:-1], SHOWN), _cell(rows[-1], SHOWN)
    near = f" (%{SHOWN} {_figure(last)}, their mean {_figure(mean)})" if last and mean else ""
    return f"its last row, of {at_s:g} s, is the average of the others, kept as data{near}"


def _idle_words(table: ProcessorTable, rows: Sequence[Cells]) -> str:
    """Rows in which nothing ran, and what the mean is without them."""
    kept = rows[:-1] if is_average_row(rows) else rows
    idle = [place for place, row in enumerate(kept) if (_cell(row, "idle") or 0.0) >= IDLE]
    if not idle:
        return ""
    times = " and ".join(f"{(place + 1) * table.step_s:g} s" for place in idle)
    rows_are, them = ("row of {} is", "it") if len(idle) == 1 else ("rows of {} are", "them")
    words = f"its {rows_are.format(times)} idle, so that the load had not begun or was over"
    all_of_it = _mean(kept, SHOWN)
    rest = _mean([row for place, row in enumerate(kept) if place not in idle], SHOWN)
    if rest is None or all_of_it is None:
        return words
    instead = f"%{SHOWN} is {_figure(rest)} on average instead of {_figure(all_of_it)}"
    return f"{words}: without {them}, {instead}"


def _sum_words(table: ProcessorTable, rows: Sequence[Cells]) -> str:
    wrong = []
    for place, row in enumerate(rows):
        values = [value for name in PROCESSOR_COLUMNS if (value := _cell(row, name)) is not None]
        if len(values) == len(row) and abs(sum(values) - 100) > SUM_TOLERANCE + TINY:
            wrong.append(f"{sum(values):.2f} % at {(place + 1) * table.step_s:g} s")
    return f"its columns do not make 100 %: {', '.join(wrong)}" if wrong else ""


def _short_words(table: ProcessorTable, side: Column, times: Sequence[TimeTable]) -> str:
    """Whether the table ends long before the rounds would that a time table has of the same cases."""
    rows = table.rows[side.name]
    covers_s = (len(rows) - is_average_row(rows)) * table.step_s
    for other in times:
        name = next((column.name for column in other.sides if column.levels == side.levels), None)
        round_s = next(
            (row.values[name] for row in other.rows if name in row.values and row.within == table.within),
            None,
        )
        if name is None or round_s is None or other.rounds is None:
            continue
        if other.rounds * round_s > 2 * covers_s:
            return (
                f"it ends after {covers_s:g} s, but {other.rounds} rounds of {_figure(round_s)} s on average "
                f"(Table {other.number}) take {other.rounds * round_s:.0f} s: it can hold "
                f"{covers_s / round_s:.1f} of them"
            )
    return ""


def _mean(rows: Sequence[Cells], column: ProcessorColumn) -> float | None:
    values = [value for row in rows if (value := _cell(row, column)) is not None]
    return fmean(values) if values else None


def _cell(row: Cells, column: ProcessorColumn) -> float | None:
    """A cell's number; None where none is printed."""
    value = row[PROCESSOR_COLUMNS.index(column)]
    return None if isinstance(value, str) else value


def _figure(value: float) -> str:
    return f"{value:.2f}"
