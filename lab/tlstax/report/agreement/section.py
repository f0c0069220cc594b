"""Whether the load clients agree, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import capitalised
from tlstax.report.agreement.lines import READING, TITLE, Line, differences, lines
from tlstax.report.core.section import Detail, Items, Pairs, Section, Words
from tlstax.report.core.table import Table
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What each client says of every case; where room is short below each other, else as a table."""
    if not document.agreements:
        return
    found = lines(document)
    if detail == "short":
        yield Section((*map(_below_each_other, found), Words(READING, aside=True)), TITLE)
        return
    differing = Items(tuple(map(capitalised, differences(document))))
    if detail == "page":
        clients = tuple(dict.fromkeys(cell.client for line in found for cell in line.cells))
        rows = tuple((line.case, capitalised(line.quantity), *map(line.said_by, clients)) for line in found)
        table = Table(TITLE, ("What is compared", *clients), rows, (), of_words=True)
        yield Section((Words(READING, aside=True), table, differing), TITLE)
        return
    rows = tuple(
        (f"{line.quantity}: {line.case}", cell.client, cell.words) for line in found for cell in line.cells
    )
    yield Section((Table(TITLE, ("client", "measured"), rows, ()), differing, Words(READING)))


def _below_each_other(line: Line) -> Pairs:
    rows = (row for cell in line.cells for row in ((cell.client, cell.words), ("", cell.why)) if row[1])
    return Pairs(f"{capitalised(line.quantity)}: {line.case}", tuple(rows))
