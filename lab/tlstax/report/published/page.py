"""What the page shows of published tables, in its order, as plain values for the template."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.report.core.panel import Panel
from tlstax.report.published import text
from tlstax.report.published.charts import bar_panels, load_panels, ratio_panels
from tlstax.report.published.rows import ProcessorGrid, TimeGrid, processor_grids, table_title, time_grids
from tlstax.results.published_tables import DifferenceResult, Tables
from tlstax.study import PROCESSOR_COLUMNS


@dataclass(frozen=True)
class TimeSection:
    """A time table as every part has it, its bars and its ratios."""

    title: str
    source: str
    reading: str
    grids: tuple[TimeGrid, ...]
    bars: tuple[Panel, ...]
    ratios: tuple[Panel, ...]


@dataclass(frozen=True)
class ProcessorSection:
    """A processor table, published and measured; what is wrong with it; the figure that goes with it."""

    title: str
    columns: tuple[str, ...]
    grids: tuple[ProcessorGrid, ...]
    faults: tuple[str, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Judged:
    """A published difference, the verdict on it, and what the parts say, a line for each answer."""

    says: str
    table: str
    verdict: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class TablesSection:
    """Everything that the page shows of published tables."""

    title: str
    differences: tuple[Judged, ...]
    summary: tuple[str, ...]
    claims: tuple[str, ...]
    parts: tuple[str, ...]
    times: tuple[TimeSection, ...]
    processors: tuple[ProcessorSection, ...]


def tables_section(tables: Tables | None) -> TablesSection | None:
    """The section; None where the study has no tables."""
    if tables is None:
        return None
    return TablesSection(
        title=text.TITLE,
        differences=tuple(map(_judged, tables.differences)),
        summary=(*text.verdicts(tables)[len(tables.differences) :], *text.faults(tables)),
        claims=tuple(text.every_claim(tables)),
        parts=tuple(text.parts_words(tables)),
        times=tuple(
            TimeSection(
                title=table_title(found.published.number, found.published.title),
                source=found.published.source,
                reading=found.reading,
                grids=time_grids(found, tables),
                bars=bar_panels(found, tables),
                ratios=ratio_panels(found, tables),
            )
            for found in tables.times
        ),
        processors=tuple(
            ProcessorSection(
                title=table_title(found.published.number, found.published.title),
                columns=tuple(f"%{name}" for name in PROCESSOR_COLUMNS),
                grids=processor_grids(found, tables),
                faults=tuple(
                    f"{fault.side}: {fault.sentence}"
                    for fault in tables.faults
                    if fault.table == found.published.number
                ),
                panels=load_panels(found, tables),
            )
            for found in tables.processors
        ),
    )


def _judged(found: DifferenceResult) -> Judged:
    """Lines that give the verdict's own answer do not say it again."""
    lines = (line.removeprefix(f"{found.verdict}: ") for line in found.sentence.split("; "))
    return Judged(found.says, found.table, found.verdict, tuple(lines))
