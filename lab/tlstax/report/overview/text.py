"""The overview of a large study as rows of text, the same for terminal and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.overview.grids import contrast_tables, own_table
from tlstax.results.document import RunDocument
from tlstax.topics.answer.statement_words import verdict_line
from tlstax.topics.core.grid import Cell, Grid
from tlstax.topics.core.table import INDENT, Table

SHORT_HEADS = {"kept connections, ": "kept\n", "reconnecting, ": "rec.\n", " resumed": "r", "TLS ": ""}
"""What shortens the heads of a wide table; told below it."""
KEYS = {
    "kept connections": "kept: on kept connections",
    "reconnecting": "rec.: reconnecting",
    "resumed": "r: TLS session resumed",
}
"""What is said of a short head, by what its long form has."""
PER_CENT = "In per cent, ± half the width of the interval."


def tables(document: RunDocument) -> Iterator[Table]:
    """The pooled contrasts of each server, all against its own plaintext."""
    for grid in contrast_tables(document):
        rows = tuple(_rows(grid))
        yield Table(grid.title, grid.heads, rows, (f"{PER_CENT} {grid.reading}", *grid.notes))
    own = own_table(document)
    if own is not None:
        heads = tuple(_short(head) for head in own.heads)
        lines = (line for part in own.parts for line in part.lines)
        rows = tuple((line.name, *(_change(cell) for cell in line.cells)) for line in lines)
        short = "; ".join(said for word, said in KEYS.items() if any(word in head for head in own.heads))
        keys = f"In per cent; ÷2 is half. {short}." if short else "In per cent; ÷2 is half."
        yield Table(own.title, heads, rows, (keys, own.reading))


def notes_of_statements(document: RunDocument) -> list[str]:
    """What to bear in mind of each statement, the statement named once."""
    return [
        f"{verdict_line(result).partition('” (')[0]}”: {'; '.join(result.caveats)}"
        for result in document.statements
        if result.caveats
    ]


def where_the_rest_is(document: RunDocument) -> str:
    """The commands that give every case and every trial."""
    return (
        f"Every case: tlstax report {document.run} --format csv (or json, html). "
        f"Every trial with its proof: tlstax runs export {document.run}."
    )


def _rows(grid: Grid) -> Iterator[tuple[str, ...]]:
    for part in grid.parts:
        if part.title:
            yield (part.title, *[""] * len(grid.heads))
        for line in part.lines:
            yield (f"{INDENT}{line.name}", *(_with_width(cell) for cell in line.cells))


def _with_width(cell: Cell) -> str:
    return f"{_change(cell)} {cell.half_width.removesuffix(' %')}".strip()


def _change(cell: Cell) -> str:
    """The change without its unit, which is told below the table."""
    change = cell.change.removesuffix(" %") or cell.figure
    return f"{cell.mark}{change}"


def _short(head: str) -> str:
    for long, short in SHORT_HEADS.items():
        head = head.replace(long, short)
    return head.replace(", ", "\n")
