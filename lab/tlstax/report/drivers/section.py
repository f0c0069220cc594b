"""Drivers, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.drivers.charts import warmup_chart
from tlstax.report.drivers.tables import driver_tables
from tlstax.results.document import RunDocument
from tlstax.topics.core.section import Detail, Section


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What drivers did by default, what an upgrade costs, how they warmed up."""
    if detail != "page":
        yield Section(tuple(driver_tables(document.drivers, narrow=detail == "short")))
    elif document.drivers is not None:
        chart = warmup_chart(document.drivers.warmups)
        yield Section((*driver_tables(document.drivers), *((chart,) if chart else ())), "Drivers")
