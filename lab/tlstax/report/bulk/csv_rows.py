"""Bulk, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.bulk import BulkCurve, BulkPoint
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.topics.core.csv_row import Row, amount, levels

MIB_PER_S = "MiB a second"


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each figure of each size, then what a further MiB costs."""
    for curve in document.bulk:
        for point in curve.points:
            for outcome, unit, value in _figures(point):
                yield _row(curve, outcome, unit, value, f"{point.payload_bytes} bytes {curve.direction}")
        if curve.handshake_is_small_bytes is not None:
            small = curve.handshake_is_small_bytes
            yield _row(curve, "size from which the handshake is small", "B", small, curve.direction)
        for side, further in (
            ("server", curve.further_server_us),
            ("client", curve.further_client_us),
            ("path", curve.further_path_us),
        ):
            if further is not None:
                yield _row(curve, f"{side} CPU of a further MiB", "us", further, curve.direction)


def _figures(point: BulkPoint) -> Iterator[tuple[str, str, Interval]]:
    yield MIB_PER_S, "MiB/s", point.mib_per_s
    if point.wire_bytes_per_byte is not None:
        yield "bytes on the wire for each byte", "1", point.wire_bytes_per_byte
    if point.handshake_share is not None:
        yield "share of the handshake in the server's CPU", "1", point.handshake_share
    for side, records in (("client", point.client_records), ("server", point.server_records)):
        if records is not None:
            yield f"TLS records that the {side} sends", "1", records.per_statement
            yield f"bytes of a TLS record of the {side}", "B", records.bytes_each
    for name, value in (
        ("server", point.server_cpu_us_per_mib),
        ("client", point.client_cpu_us_per_mib),
        ("path", point.path_cpu_us_per_mib),
    ):
        if value is not None:
            yield f"{name} CPU of a MiB", "us", value


def _row(curve: BulkCurve, outcome: str, unit: str, value: Interval, what: str) -> Row:
    size = f"; rows of {curve.row_bytes} bytes" if curve.row_bytes else ""
    return {
        "role": "bulk",
        "outcome": outcome,
        "unit": unit,
        **levels("case", curve.case),
        **amount(value),
        "caveats": f"{what}{size}",
    }
