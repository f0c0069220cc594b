"""Distances and tunnels, as sections."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import capitalised
from tlstax.findings.distance.tunnel_words import tunnel_sentences
from tlstax.findings.distance.words import both_ways, pool_sentences
from tlstax.report.distance.charts import distance_charts
from tlstax.report.distance.tables import TITLE, connection_growth, distance_sentences, distance_tables
from tlstax.report.distance.tunnels import tunnel_tables
from tlstax.results.distance import Distances
from tlstax.results.document import RunDocument
from tlstax.topics.core.section import Block, Claim, Claims, Detail, Folded, Items, Section

TUNNELS = "When a tunnel is worth it"
KEPT = "What a connection that is kept saves"
GROWTHS = "Every treatment in words: what it adds as the distance grows, and what share it takes"


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What distance makes of the costs, when a tunnel is worth it; where room is short, without sentences."""
    narrow = detail == "short"
    tables = tuple(distance_tables(document.distances, narrow=narrow))
    tunnels = tuple(tunnel_tables(document.tunnels, narrow=narrow))
    if detail == "page":
        if document.distances is not None and tables:
            folded = Folded("The same as tables, with what a connection that is kept saves", tables)
            yield Section((*_page_blocks(document.distances), folded), TITLE)
        if tunnels:
            worth = Items(tuple(f"{sentence}." for sentence in tunnel_sentences(document.tunnels)))
            yield Section((worth, Folded("Every tunnel against every TLS", tunnels)), TUNNELS)
        return
    said = () if narrow else tuple(map(capitalised, distance_sentences(document.distances)))
    if said or tables or tunnels:
        yield Section((*((Items(said),) if said else ()), *tables, *tunnels))


def _page_blocks(found: Distances) -> Iterator[Block]:
    """Each meaning of a claim by itself, the curves, what keeping a connection saves, treatments in words."""
    if found.claims:
        yield Claims(
            tuple(
                Claim(f"“{claim.says}”", f"Here: {verdict}", (words,), f"{claim.source} · taken as {meant}")
                for claim in found.claims
                for meant, verdict, words in both_ways(claim)
            )
        )
    yield from distance_charts(found)
    yield Items(tuple(f"{sentence}." for sentence in pool_sentences(found)), KEPT)
    growths = tuple(f"{said}." for curve in found.curves if (said := connection_growth(curve)))
    if growths:
        yield Folded(GROWTHS, (Items(growths),))
