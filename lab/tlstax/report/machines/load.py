"""The machines that a run's load came from, as a section: who, how exactly, and what the limit was."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.outcomes import is_large
from tlstax.findings.core.wording import capitalised
from tlstax.results.document import RunDocument
from tlstax.results.load import LoadFound
from tlstax.topics.core.section import Detail, Items, Section
from tlstax.topics.core.table import Table

TITLE = "Where the load came from"
BUSY_TITLE = "How busy both sides were"
COLUMNS = ("server's CPUs", "busiest client's CPUs", "limit")


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What is said of the load; where there is room, how busy both sides were with each case."""
    found = document.load
    if found is None:
        return
    said = Items(tuple(map(capitalised, found.sentences)), all_of_them=True)
    has_room = detail != "short" and not is_large(document.design)
    yield Section((said, *((_table(found),) if has_room else ())), TITLE)


def _table(found: LoadFound) -> Table:
    rows = tuple(
        (one.label, _percent(one.server_busy), _percent(one.clients_busy), one.limit) for one in found.limits
    )
    return Table(BUSY_TITLE, COLUMNS, rows, ())


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f} %"
