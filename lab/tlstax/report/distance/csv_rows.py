"""What distance and tunnels cost, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.distance.words import both_ways
from tlstax.results.distance import AtDistance, DistanceCurve, Distances, TunnelWorth
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.study import Levels

Row = dict[str, str | int | float | None]


def reached_rows(document: RunDocument) -> Iterator[Row]:
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
    common: Row = {
        "role": "distance",
        **_levels("case", {**curve.case, "rtt_ms": point.rtt_ms}),
        **_levels("baseline", {**curve.baseline, "rtt_ms": point.rtt_ms}),
    }
    of = f"{curve.kind}: "
    extra = {"value_low": point.extra_ms.low, "value_high": point.extra_ms.high}
    yield {
        **common,
        "outcome": f"{of}time",
        "unit": "ms",
        "value": point.treated_ms.point,
        "baseline_value": point.plaintext_ms.point,
        **_ratio(point.time_ratio),
    }
    yield {**common, "outcome": f"{of}extra", "unit": "ms", "value": point.extra_ms.point, **extra}
    trips = point.extra_round_trips
    if trips is not None:
        yield {
            **common,
            "outcome": f"{of}extra",
            "unit": "round trips",
            "value": trips.point,
            "value_low": trips.low,
            "value_high": trips.high,
            "caveats": f"of {point.round_trip_ms:.4g} ms",
        }


def _tunnel(found: TunnelWorth) -> Iterator[Row]:
    common: Row = {
        "role": "tunnel",
        **_levels("case", found.tunnel_case),
        **_levels("baseline", found.rival_case),
        "judgement": found.verdict,
        "caveats": found.sentence,
    }
    for outcome, amount, unit in (
        ("saved per connection", found.saved_per_connection_us, "us"),
        ("lost per statement", found.lost_per_statement_us, "us"),
        ("statements at which both cost the same", found.statements, "1"),
    ):
        if amount is not None:
            yield {
                **common,
                "outcome": f"{found.measure}: {outcome}",
                "unit": unit,
                "value": amount.point,
                "value_low": amount.low,
                "value_high": amount.high,
                "confidence": amount.confidence,
                "blocks": amount.blocks,
            }


def _levels(side: str, levels: Levels) -> Row:
    return {f"{side}_{factor}": level for factor, level in levels.items()}


def _ratio(found: Interval) -> Row:
    return {
        "ratio": found.point,
        "ratio_low": found.low,
        "ratio_high": found.high,
        "confidence": found.confidence,
        "blocks": found.blocks,
    }
