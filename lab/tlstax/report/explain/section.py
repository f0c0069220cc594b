"""Where the cost goes, as a section for each group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from tlstax.findings.core.wording import capitalised
from tlstax.findings.explain.rank import by_rank
from tlstax.report.explain.charts import component_bars, waterfall_panel
from tlstax.report.explain.tables import NOTE, ComponentGroup, component_groups, component_text
from tlstax.report.explain.text import shift_words
from tlstax.results.document import RunDocument
from tlstax.results.explanation import Explanation
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
from tlstax.topics.core.table import Table

TITLE = "Where the cost goes"
MOST_EXPLAINED = 12
"""So many cases of a group have a waterfall on the page, those that tell most; the table has all."""


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Each group's components and a sentence for each case; where room is short, how to ask for more."""
    groups = component_groups(document)
    if detail == "page":
        blocks = chain.from_iterable(_page_blocks(group, document.run) for group in groups)
        yield from [Section(tuple(blocks), TITLE)] if groups else []
        return
    narrow = detail == "short"
    for group in groups:
        table = replace(component_text(group, changes=not narrow), where_it_fits=True)
        more = f"Component by component, and by function: tlstax explain {document.run}" if narrow else ""
        said = tuple(capitalised(found.sentences[0]) for found in by_rank(group.explanations))
        yield Section((table, Items(said, more=more)))


def _page_blocks(group: ComponentGroup, run: str) -> Iterator[Block]:
    """A group: each case against its baseline, the bars of all, their table."""
    if group.title:
        yield Heading(capitalised(group.title))
    explained = by_rank(group.explanations)[:MOST_EXPLAINED]
    yield Claims(tuple(map(_explained, explained)), whole_width=True)
    yield Charts((component_bars(group),))
    reading = f"{NOTE.format(operation=group.operation)} The functions below a component:"
    yield Words(reading, aside=True, command=f"tlstax explain {run} --case …")
    table = component_text(group, intervals=True)
    yield replace(table, title="", of="Component", notes=(), literal=True)


def _explained(found: Explanation) -> Claim:
    """The sentences, the waterfall, what shifted, what to bear in mind."""
    first, *more = found.sentences
    shifts = tuple(shift_words(shift, found.operation) for shift in found.shifts)
    table = Table("", ("Baseline", "Case"), shifts, (), of="Figure", of_words=True)
    drawn = (Charts((waterfall_panel(found),)),) if found.verdict == "explained" else ()
    return Claim(
        says=capitalised(f"{found.labels[0]} against {found.labels[1]}"),
        verdict=f"{first}.",
        lines=tuple(more),
        blocks=(*drawn, Folded("What shifted, and what to bear in mind", (table, Items(found.caveats)))),
    )
