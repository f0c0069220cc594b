"""What connecting takes, and what crossed the wire, as sections."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.connect.words import asks_for_counts
from tlstax.findings.core.wording import capitalised
from tlstax.report.connect import captures
from tlstax.report.connect.round_trips import every_line, short_tables
from tlstax.report.connect.storms import short_storm_tables, storm_lines
from tlstax.results.captures import Captures
from tlstax.results.document import RunDocument
from tlstax.topics.core.section import Block, Detail, Folded, Heading, Items, Section, Words

FIRST_OPEN = 3
"""So many cases' bytes are shown unasked on the page."""


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Storms, round trips and bytes; on the page everything that was counted."""
    if detail == "page":
        for lines in (*storm_lines(document), *every_line(document)):
            yield Section((lines.whole(),), lines.title)
    else:
        yield Section((*short_storm_tables(document), *short_tables(document)))


def sections_on_screen(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Storms; round trips and bytes only where the study asks for them."""
    if asks_for_counts(document):
        yield from sections(document, detail)
    else:
        yield Section(tuple(short_storm_tables(document)))


def captured_sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What taps saw, and the first bytes where the user asked to see them."""
    if detail == "page":
        yield from _page_section(document.captures)
        return
    narrow = detail == "short"
    blocks: list[Block] = [*captures.short_tables(document.captures, narrow=narrow)]
    blocks.append(Items(captures.notes(document.captures), "Not seen on the wire" if narrow else ""))
    for case in captures.short_dumps(document.captures):
        blocks += [Words(f"{capitalised(case.label)}: {case.says}"), *case.dumps]
    yield Section(tuple(blocks))


def _page_section(found: Captures | None) -> Iterator[Section]:
    """Every case's bytes whole, and what else is to be known of it."""
    if found is None:
        return
    table = captures.whole_table(found)
    folded = tuple(
        Folded(
            f"{capitalised(case.label)}: {case.says}",
            (*map(Words, case.facts), *case.dumps),
            is_open=place < FIRST_OPEN,
        )
        for place, case in enumerate(captures.every_dump(found))
    )
    tables = (table,) if table.rows else ()
    notes = Items(tuple(map(capitalised, captures.notes(found))))
    yield Section((*tables, notes, *((Heading(captures.BYTES),) if folded else ()), *folded), captures.TITLE)
