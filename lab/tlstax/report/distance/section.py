"""Distances and tunnels, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import capitalised
from tlstax.report.core.section import Detail, Items, Section
from tlstax.report.distance.tables import distance_sentences, distance_tables
from tlstax.report.distance.tunnels import tunnel_tables
from tlstax.results.document import RunDocument


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What distance makes of the costs, when a tunnel is worth it; where room is short, without sentences."""
    narrow = detail == "short"
    said = () if narrow else tuple(map(capitalised, distance_sentences(document.distances)))
    tables = (
        *distance_tables(document.distances, narrow=narrow),
        *tunnel_tables(document.tunnels, narrow=narrow),
    )
    if said or tables:
        yield Section((*((Items(said),) if said else ()), *tables))
