"""A large study at a glance, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.core.section import Detail, Section
from tlstax.report.overview.grids import wants_overview
from tlstax.report.overview.text import tables
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Pooled tables; nothing for a study that is shown group by group."""
    if wants_overview(document.design):
        yield Section(tuple(tables(document, narrow=detail == "short")))
