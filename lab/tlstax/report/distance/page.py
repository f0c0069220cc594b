"""What the page shows of distances and tunnels, in its order, as plain values for the template."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.findings.distance.tunnel_words import tunnel_sentences
from tlstax.findings.distance.words import both_ways, growth_sentence, pool_sentences
from tlstax.report.core.table import Table
from tlstax.report.distance.charts import DistanceCharts, distance_charts
from tlstax.report.distance.tables import distance_tables
from tlstax.report.distance.tunnels import tunnel_tables
from tlstax.results.document import RunDocument


@dataclass(frozen=True)
class Claimed:
    """A published claim of distances: who made it, and for each meaning of it a verdict and a sentence."""

    says: str
    source: str
    ways: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Reached:
    """Everything that the page shows of distances and tunnels."""

    claims: tuple[Claimed, ...]
    charts: tuple[DistanceCharts, ...]
    growths: tuple[str, ...]
    kept: tuple[str, ...]
    distances: tuple[Table, ...]
    worth: tuple[str, ...]
    tunnels: tuple[Table, ...]


def reached(document: RunDocument) -> Reached | None:
    """The sections; None for a run without distance and tunnel."""
    found = document.distances
    if found is None and not document.tunnels:
        return None
    curves = found.curves if found is not None else ()
    return Reached(
        claims=tuple(
            Claimed(claim.says, claim.source, both_ways(claim)) for claim in (found.claims if found else ())
        ),
        charts=distance_charts(found),
        growths=tuple(filter(None, (growth_sentence(c) for c in curves if c.kind == "connection"))),
        kept=tuple(pool_sentences(found)) if found is not None else (),
        distances=tuple(distance_tables(found)),
        worth=tuple(tunnel_sentences(document.tunnels)),
        tunnels=tuple(tunnel_tables(document.tunnels)),
    )
