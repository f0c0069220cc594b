"""Published tables beside ours, as sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tlstax.findings.core.wording import capitalised
from tlstax.report.published import text
from tlstax.report.published.charts import bar_panels, load_panels, ratio_panels
from tlstax.report.published.rows import ProcessorGrid, processor_grids, table_title, time_grids
from tlstax.results.document import RunDocument
from tlstax.results.published_tables import DifferenceResult, ProcessorTableResult, Tables, TimeTableResult
from tlstax.topics.core.section import (
    Block,
    Charts,
    Claim,
    Claims,
    Detail,
    Folded,
    Heading,
    Items,
    Section,
    Words,
)

RATIOS = (
    "A dot is the ratio to the first side (1×), its whisker the interval; the grey band is the noise floor. "
    "Hollow: not valid."
)
OVER_TIME = (
    "All on one scale; each has a time of its own, as rounds last as long as they last. A dot stands for the "
    "step that ends there. %system includes interrupts, as sar has it."
)
EVERY_CLAIM = "Everything that the text takes from its tables, and what stands in its place here"


def table_sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Published tables: verdicts and all rows; where room is short times and means; on the page drawn too."""
    tables = document.tables
    if tables is None:
        return
    if detail == "page":
        yield Section(tuple(_judged(tables)), text.TITLE)
        yield from (_time_section(found, tables) for found in tables.times)
        yield from (_processor_section(found, tables) for found in tables.processors)
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
            Heading("What is wrong with the tables by themselves"),
            Items(faults) if faults else Words("Nothing was found."),
            Items((*parts, *readings), "Parts"),
            *text.time_tables(tables),
            *text.whole_tables(tables),
        ),
        text.TITLE,
    )


def _judged(tables: Tables) -> Iterator[Block]:
    """The differences with what each part says of them, then the text, the tables and the parts."""
    yield Claims(tuple(map(_difference, tables.differences)))
    summary = (*text.verdicts(tables)[len(tables.differences) :], *text.faults(tables))
    yield _sentences(summary, "The published text and tables by themselves")
    if tables.claims:
        yield Folded(EVERY_CLAIM, (_sentences(text.every_claim(tables)),))
    yield _sentences(text.parts_words(tables), "What was measured, part by part")


def _difference(found: DifferenceResult) -> Claim:
    """Lines that give the verdict's own answer do not say it again."""
    lines = (line.removeprefix(f"{found.verdict}: ") for line in found.sentence.split("; "))
    return Claim(found.says, found.verdict, tuple(lines), f"Table {found.table}")


def _sentences(texts: Iterable[str], heading: str = "") -> Items:
    return Items(tuple(f"{sentence}." for sentence in texts), heading)


def _time_section(found: TimeTableResult, tables: Tables) -> Section:
    """A time table as every part has it, its ratios and its bars."""
    return Section(
        (
            Words(f"{found.published.source}. {found.reading}", aside=True),
            text.time_table(time_grids(found, tables)),
            Heading("Ratios, published and here"),
            Words(RATIOS, aside=True),
            Charts(ratio_panels(found, tables), small=True),
            Charts(bar_panels(found, tables), "Times, published and here"),
        ),
        table_title(found.published),
    )


def _processor_section(found: ProcessorTableResult, tables: Tables) -> Section:
    """A processor table, published and measured; what is wrong with it; the figure that goes with it."""
    faults = (fault for fault in tables.faults if fault.table == found.published.number)
    return Section(
        (
            _sentences(f"{fault.side}: {fault.sentence}" for fault in faults),
            Heading("%system over time"),
            Words(OVER_TIME, aside=True),
            Charts(load_panels(found, tables), small=True),
            *map(_folded, processor_grids(found, tables)),
        ),
        table_title(found.published),
    )


def _folded(grid: ProcessorGrid) -> Folded:
    captions = (Words(caption, aside=True) for caption in grid.captions)
    return Folded(f"{grid.title}, every row", (text.processor_table(grid), *captions))
