"""Files of authorities, as a section: who reads them how often, and what that costs a connect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.wording import capitalised, percent
from tlstax.findings.trust.words import trust_sentences
from tlstax.report.core import figures
from tlstax.report.core.section import Detail, Items, Section, Words
from tlstax.report.core.table import Table
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.trust import TrustCost
from tlstax.support.grouping import grouped

TITLE = "Files of many authorities"
READING = (
    "More than with one authority in the file, for a connect with one statement; means over blocks, with "
    "{confidence} intervals. How often the file is read is counted by the kernel."
)


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """A sentence for each client; where there is room, a table of time and one of CPU time."""
    found = document.trust
    if not found:
        return
    said = Items(
        tuple(map(capitalised, trust_sentences(found, document.trust_file))),
        TITLE if detail == "short" else "",
    )
    if detail == "short":
        yield Section((said,))
        return
    note = Words(READING.format(confidence=percent(document.design.confidence)), aside=True)
    yield Section((said, *_tables(found), note), TITLE)


def _tables(found: Sequence[TrustCost]) -> Iterator[Table]:
    sizes = sorted({cost.authorities for cost in found})
    heads = tuple(f"{size:,}" for size in sizes)
    clients = grouped(found, lambda cost: cost.label)
    for title, is_cpu in (("Time of a connect, ms more", False), ("The client's CPU time, ms more", True)):
        rows = []
        for label, own in clients.items():
            known = {cost.authorities: cost.more_cpu_us if is_cpu else cost.more_us for cost in own}
            rows.append((label, *(_cell(known.get(size)) for size in sizes)))
        yield Table(title, heads, tuple(rows), ())
    reads = [(label, *(_reads(own, size) for size in sizes)) for label, own in clients.items()]
    yield Table("How often the file is read for a connect", heads, tuple(reads), ())


def _reads(own: Sequence[TrustCost], size: int) -> str:
    known = [cost.reads for cost in own if cost.authorities == size and cost.reads is not None]
    return f"{known[0]:.1f}" if known else figures.NOTHING


def _cell(found: Interval | None) -> str:
    if found is None:
        return figures.NOTHING
    point = f"{found.point / 1000:.2f}"
    if found.low is None or found.high is None:
        return point
    return f"{point} [{found.low / 1000:.2f} … {found.high / 1000:.2f}]"
