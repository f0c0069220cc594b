"""Where the cost goes, as a section for each group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tlstax.findings.core.wording import capitalised
from tlstax.findings.explain.rank import by_rank
from tlstax.report.core.section import Detail, Items, Section
from tlstax.report.explain.tables import component_groups, component_text
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Each group's components and a sentence for each case; where room is short, how to ask for more."""
    narrow = detail == "short"
    for group in component_groups(document):
        table = replace(component_text(group, changes=not narrow), where_it_fits=True)
        more = f"Component by component, and by function: tlstax explain {document.run}" if narrow else ""
        said = tuple(capitalised(found.sentences[0]) for found in by_rank(group.explanations))
        yield Section((table, Items(said, more=more)))
