"""Storms, round trips and bytes as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.connect.round_trips import NAMES
from tlstax.results.document import RunDocument
from tlstax.study import Level

Row = dict[str, str | int | float | None]


def connecting_rows(document: RunDocument) -> Iterator[Row]:
    """A row for each storm, and one for each phase of a case and what was counted in it."""
    for storm in document.storms:
        against = storm.against_baseline
        yield {
            "role": "storm",
            "outcome": "connections_per_s",
            "unit": "1/s",
            **_case(storm.case),
            "value": storm.mean_per_s,
            "ratio": against.point if against else None,
            "ratio_low": against.low if against else None,
            "ratio_high": against.high if against else None,
            "confidence": against.confidence if against else None,
            "blocks": storm.trials,
            "noise_floor": against.noise_floor if against else None,
            "judgement": against.judgement if against else storm.role,
            "caveats": _storm_words(storm.sd_per_s, storm.rounds),
        }
    for result in document.round_trips:
        for found in result.phases:
            for what, unit, value, agreed in (
                ("round trips", "1", found.round_trips, found.agreed),
                ("bytes sent", "B", found.bytes_sent, found.bytes_agreed),
                ("bytes received", "B", found.bytes_received, found.bytes_agreed),
            ):
                yield {
                    "role": "counted",
                    "outcome": f"{NAMES[found.phase]}: {what}",
                    "unit": unit,
                    **_case(result.case),
                    "value": value,
                    "blocks": result.trials,
                    "negotiated": result.negotiated,
                    "caveats": f"over {found.times} times{'' if agreed else ', which differ'}",
                }


def _case(levels: dict[str, Level]) -> Row:
    return {f"case_{factor}": level for factor, level in levels.items() if factor != "control"}


def _storm_words(sd_per_s: float | None, rounds: int) -> str:
    return f"standard deviation {sd_per_s:.6g} over {rounds} rounds" if sd_per_s is not None else "one round"
