"""Published tables, what was measured beside them, what is judged: rows of text and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tlstax.findings.core.wording import capitalised
from tlstax.report.published.rows import (
    ProcessorGrid,
    mean_rows,
    part_names,
    processor_grids,
    short_time_rows,
    table_title,
    time_grids,
)
from tlstax.results.published_tables import FaultKind, Tables
from tlstax.study import PROCESSOR_COLUMNS
from tlstax.support.text import counted
from tlstax.topics.core.table import Table

TITLE = "What the published tables say, and what was seen here"

FAULTS: dict[FaultKind, str] = {
    "average row": "the last row is the average of the others, kept as data",
    "idle rows": "in some rows nothing ran, and they count in the mean",
    "sum": "columns do not make 100 %",
    "too short": "the table ends long before the rounds of the time table would",
}
"""What is wrong with tables, for all that have it."""


def verdicts(tables: Tables) -> list[str]:
    """What was published, whether it is right, and why that can be said: differences, then claims."""
    said = [
        f"{found.says} (Table {found.table}): {_once(found.verdict, found.sentence)}"
        for found in tables.differences
    ]
    wrong = [claim for claim in tables.claims if claim.verdict == "wrong"]
    said += [f"“{claim.says}” (Table {claim.table}): wrong, {claim.sentence}" for claim in wrong]
    if tables.claims:
        right = len(tables.claims) - len(wrong)
        said.append(
            f"of {counted(len(tables.claims), 'value')} that the text takes from its tables, {right} "
            f"{'is' if right == 1 else 'are'} there as it says"
        )
    return said


def faults(tables: Tables) -> list[str]:
    """What is wrong with the tables by themselves: a sentence for each kind, with all that have it."""
    said = []
    for kind, words in FAULTS.items():
        sides: dict[str, list[str]] = {}
        for fault in tables.faults:
            if fault.kind == kind:
                sides.setdefault(fault.table, []).append(fault.side)
        if sides:
            named = ", ".join(f"{table} ({' and '.join(names)})" for table, names in sides.items())
            said.append(f"{words}: Table{'s' if len(sides) > 1 else ''} {named}")
    return said


def every_fault(tables: Tables) -> list[str]:
    """Each of them by itself."""
    return [f"Table {fault.table}, {fault.side}: {fault.sentence}" for fault in tables.faults]


def every_claim(tables: Tables) -> list[str]:
    """What the text says of its tables, one by one, and what stands in its place here."""
    prefix = "" if len(tables.parts) == 1 else "({}) "
    said = []
    for claim in tables.claims:
        here = [
            f"{prefix.format(own.part)}{own.value:.2f}"
            f"{f' at {own.at_s:g} s' if own.at_s is not None else ''}"
            f"{f', {own.shown.standing}' if own.shown.standing != 'valid' else ''}"
            for own in claim.here
            if own.value is not None
        ]
        beside = f"; here {'; '.join(here)}" if here else ""
        said.append(f"“{claim.says}” (Table {claim.table}): {claim.verdict}, {claim.sentence}{beside}")
    return said


def parts_words(tables: Tables) -> list[str]:
    """Each part, and how its trials came out."""
    names = part_names(tables)
    said = []
    for part in tables.parts:
        counts = [
            f"{number} {word}"
            for word, number in (("valid", part.valid), ("invalid", part.invalid), ("unknown", part.unknown))
            if number
        ]
        why = f": {part.reasons[0]}" if part.reasons else ""
        said.append(f"{names[part.key]}: trials {', '.join(counts) or 'none'}{why}")
    return said


def time_tables(tables: Tables) -> Iterator[Table]:
    """Each time table, part by part."""
    for found in tables.times:
        for grid in time_grids(found, tables):
            title = f"{table_title(found.published)}: {grid.title}"
            yield replace(grid, title=title, heads=tuple(head.replace(", ", "\n") for head in grid.heads))


def short_time_tables(tables: Tables) -> Iterator[Table]:
    """Each time table with its changes alone, all parts in one."""
    for found in tables.times:
        sides = [side.name for side in found.published.sides]
        yield Table(
            title=table_title(found.published),
            heads=("change\npublished", *(side.replace(" ", "\n", 1) for side in sides), "change\nhere", ""),
            rows=tuple(short_time_rows(found, tables)),
            notes=(),
            of="statement",
        )


def mean_tables(tables: Tables) -> Iterator[Table]:
    """Each processor table in its means alone."""
    for found in tables.processors:
        yield Table(
            title=f"{table_title(found.published)}: means, in per cent",
            heads=(*PROCESSOR_COLUMNS, "server memory"),
            rows=tuple(mean_rows(found, tables)),
            notes=(),
            of="side",
        )


def whole_tables(tables: Tables) -> Iterator[Table]:
    """Each processor table whole, as published and part by part."""
    for found in tables.processors:
        title = table_title(found.published)
        for grid in processor_grids(found, tables):
            yield _whole(f"{title}: {grid.title}", grid)


def readings(tables: Tables) -> list[str]:
    """What may be compared in the time tables."""
    return [f"Table {found.published.number}: {found.reading}" for found in tables.times]


def _whole(title: str, grid: ProcessorGrid) -> Table:
    heads = [f"%{column} {side}" for column in PROCESSOR_COLUMNS for side in grid.sides]
    return Table(
        title=title,
        heads=(*heads, *(["trials"] if grid.trials else [])),
        rows=grid.with_trials(),
        notes=tuple(f"{caption}." for caption in grid.captions),
        of="until (s)",
    )


def processor_table(grid: ProcessorGrid) -> Table:
    """A processor table in its published layout: a column over its sides, each with what is wrong with it."""
    sides = tuple(f"{side}, {bad}" if bad else side for side, bad in zip(grid.sides, grid.marks, strict=True))
    over = tuple((f"%{column}", len(sides)) for column in PROCESSOR_COLUMNS)
    return Table(
        title="",
        heads=(*sides * len(over), *(("",) if grid.trials else ())),
        rows=grid.with_trials(),
        notes=(),
        of="Until (s)",
        literal=True,
        over=(*over, *((("Trials", 1),) if grid.trials else ())),
    )


def time_table(grids: Sequence[Table]) -> Table:
    """A time table as every part has it, one below the other."""
    rows = (((capitalised(grid.title), *[""] * len(grid.heads)), *grid.rows) for grid in grids)
    return Table(
        title="",
        heads=tuple(map(capitalised, grids[0].heads)),
        rows=tuple(chain.from_iterable(rows)),
        notes=tuple(f"{capitalised(grid.title)}. {note}" for grid in grids for note in grid.notes),
        of="Statement",
        literal=True,
    )


def _once(verdict: str, sentence: str) -> str:
    """The verdict before the sentence, unless that begins with it."""
    return sentence if sentence.startswith(verdict) else f"{verdict}: {sentence}"
