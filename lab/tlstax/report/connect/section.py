"""What connecting takes, and what crossed the wire, as sections."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import capitalised
from tlstax.report.connect import captures
from tlstax.report.connect.round_trips import short_tables
from tlstax.report.connect.storms import short_storm_tables
from tlstax.report.core.section import Block, Detail, Items, Section, Words
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:  # noqa: ARG001 - alike in both
    """Storms, round trips and bytes."""
    yield Section((*short_storm_tables(document), *short_tables(document)))


def captured_sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What taps saw, and the first bytes where the user asked to see them."""
    narrow = detail == "short"
    blocks: list[Block] = [*captures.short_tables(document.captures, narrow=narrow)]
    blocks.append(Items(captures.notes(document.captures), "Not seen on the wire" if narrow else ""))
    for case in captures.short_dumps(document.captures):
        blocks += [Words(f"{capitalised(case.label)}: {case.says}"), *case.dumps]
    yield Section(tuple(blocks))
