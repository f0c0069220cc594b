"""What distance and tunnels cost, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.distance.words import both_ways
from tlstax.results.distance import AtDistance, DistanceCurve, Distances, TunnelWorth
from tlstax.results.document import RunDocument
from tlstax.topics.core.csv_row import Row, amount, ends, sides


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each quantity at each distance, for each claim's two readings, and for each break-even."""
    if document.distances is not None:
        yield from _distances(document.distances)
    for found in document.tunnels:
        yield from _tunnel(found)


def _distances(found: Distances) -> Iterator[Row]:
    for curve in found.curves:
        for point in curve.points:
            yield from _point(curve, point)
    for claim in found.claims:
        for meant, verdict, sentence in both_ways(claim):
            yield {
                "role": "claim of distance",
                "outcome": meant,
                "judgement": verdict,
                "caveats": f"{claim.says} ({claim.source}): {sentence}",
            }


def _point(curve: DistanceCurve, point: AtDistance) -> Iterator[Row]:
    away = {"rtt_ms": point.rtt_ms}
    common: Row = {"role": "distance", **sides({**curve.case, **away}, {**curve.baseline, **away})}
    time, extra, trips = f"{curve.kind}: time", f"{curve.kind}: extra", point.extra_round_trips
    yield {
        **common,
        "outcome": time,
        "unit": "ms",
        "value": point.treated_ms.point,
        "baseline_value": point.plaintext_ms.point,
        **amount(point.time_ratio, "ratio"),
    }
    yield {**common, "outcome": extra, "unit": "ms", **ends(point.extra_ms)}
    if trips is not None:
        of = f"of {point.round_trip_ms:.4g} ms"
        yield {**common, "outcome": extra, "unit": "round trips", **ends(trips), "caveats": of}


def _tunnel(found: TunnelWorth) -> Iterator[Row]:
    common: Row = {
        "role": "tunnel",
        **sides(found.tunnel_case, found.rival_case),
        "judgement": found.verdict,
        "caveats": found.sentence,
    }
    for outcome, cost, unit in (
        ("saved per connection", found.saved_per_connection_us, "us"),
        ("lost per statement", found.lost_per_statement_us, "us"),
        ("statements at which both cost the same", found.statements, "1"),
    ):
        if cost is not None:
            yield {**common, "outcome": f"{found.measure}: {outcome}", "unit": unit, **amount(cost)}
