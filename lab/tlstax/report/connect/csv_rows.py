"""Storms, round trips, bytes and what taps saw as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.connect.captures import agreed_words
from tlstax.report.connect.round_trips import NAMES
from tlstax.results.captures import CaseCrossed
from tlstax.results.connect import RoundTripsResult, StormResult
from tlstax.results.document import RunDocument
from tlstax.topics.core.csv_row import Row, amount, levels


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each storm, and one for each phase of a case and what was counted in it."""
    yield from map(_storm, document.storms)
    for result in document.round_trips:
        yield from _counted(result)


def captured_rows(document: RunDocument) -> Iterator[Row]:
    """A row for each number that was counted of a captured case."""
    for case in document.captures.cases if document.captures is not None else ():
        yield from _captured(case)


def _storm(storm: StormResult) -> Row:
    against, sd_per_s = storm.against_baseline, storm.sd_per_s
    spread = "" if sd_per_s is None else f"standard deviation {sd_per_s:.6g} over {storm.rounds} rounds"
    return {
        "role": "storm",
        "outcome": "connections_per_s",
        "unit": "1/s",
        **levels("case", storm.case),
        "value": storm.mean_per_s,
        **amount(against, "ratio"),
        "blocks": storm.trials,
        "noise_floor": against.noise_floor if against else None,
        "judgement": against.judgement if against else storm.role,
        "caveats": spread or "one round",
    }


def _counted(result: RoundTripsResult) -> Iterator[Row]:
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
                **levels("case", result.case),
                "value": value,
                "blocks": result.trials,
                "negotiated": result.negotiated,
                "caveats": f"over {found.times} times{'' if agreed else ', which differ'}",
            }


def _captured(case: CaseCrossed) -> Iterator[Row]:
    for name, unit, value in (
        ("round trips per operation", "1", case.round_trips_per_operation),
        ("round trips to log in", "1", case.round_trips_of_login),
        ("bytes sent per operation", "B", case.bytes_sent_per_operation),
        ("bytes received per operation", "B", case.bytes_received_per_operation),
        ("connections", "1", case.connections),
        ("encrypted connections", "1", case.encrypted),
    ):
        yield {
            "role": "captured",
            "outcome": name,
            "unit": unit,
            **levels("case", case.case),
            "value": value,
            "blocks": 1,
            "judgement": case.verdict,
            "negotiated": agreed_words(case),
            "caveats": case.reason,
        }
