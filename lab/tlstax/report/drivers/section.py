"""Drivers, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.core.section import Detail, Section
from tlstax.report.drivers.tables import driver_tables
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What drivers did by default, what an upgrade costs, how they warmed up."""
    yield Section(tuple(driver_tables(document.drivers, narrow=detail == "short")))
