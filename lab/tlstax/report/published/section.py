"""Published figures and tables beside ours, as sections."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import capitalised
from tlstax.report.core.section import Detail, Items, Section, Words
from tlstax.report.core.table import Table
from tlstax.report.published import figures, text
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Published figures, each beside what stands in for it; on the page with what may be compared."""
    if not document.published:
        return
    lines, sources = figures.lines(document), figures.sources(document)
    if detail == "page":
        rows = tuple((line.label, *line.cells, capitalised(line.note)) for line in lines)
        heads = tuple(map(capitalised, (*figures.HEADS, "what may be compared")))
        reading = Words(
            f"{sources} What the ratios here are taken from was measured in the same blocks.", aside=True
        )
        yield Section(
            (reading, Table(figures.TITLE, heads, rows, (), of="figure", of_words=True)), figures.TITLE
        )
        return
    rows = tuple((line.label, *line.cells) for line in lines)
    yield Section((Table(figures.TITLE, figures.HEADS, rows, (sources,), of="figure"),))


def table_sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Published tables: verdicts, and where room is short times and means, else all rows."""
    tables = document.tables
    if tables is None:
        return
    verdicts = tuple(map(capitalised, text.verdicts(tables)))
    readings, parts = tuple(text.readings(tables)), tuple(text.parts_words(tables))
    if detail == "short":
        said = Items((*verdicts, *map(capitalised, text.faults(tables))), all_of_them=True)
        short = (*text.short_time_tables(tables), *text.mean_tables(tables))
        yield Section((said, *short, Items((*readings, *parts))), text.TITLE)
        return
    faults = tuple(text.every_fault(tables))
    yield Section(
        (
            Items(verdicts),
            Items(tuple(text.every_claim(tables)), "What the text says of its tables"),
            Items(faults, "What is wrong with the tables by themselves"),
            *(() if faults else (Words("Nothing was found."),)),
            Items((*parts, *readings), "Parts"),
            *text.time_tables(tables),
            *text.whole_tables(tables),
        ),
        text.TITLE,
    )
