"""From cases by the sizes of their statements to bytes a second, and CPU time a MiB. Pure.

The payload is what the workload's name says: R rows of B bytes, or B bytes sent. Rows of one length are one
curve, since a row costs something by itself; results of one row are another, whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from typing import NamedTuple

from tlstax.findings.bulk import handshakes
from tlstax.findings.core.series import Series, difference, frozen
from tlstax.results.bulk import BulkCurve, BulkPoint, Direction, Records
from tlstax.results.interval import Interval
from tlstax.study import Level, Levels
from tlstax.study.labels import group_label, label_levels
from tlstax.study.workloads import by_numbers
from tlstax.study.workloads.bulk import Inserted, Rows, Sent
from tlstax.support.grouping import grouped

WORKLOAD = "workload"
RATE = "ops_per_s"
SERVER_CPU, CLIENT_CPU, PATH_CPU = "server_cpu_us_per_op", "client_cpu_us_per_op", "path_cpu_us_per_op"
WIRE: Mapping[Direction, str] = {
    "received": "bytes_received_per_op",
    "sent": "bytes_sent_per_op",
    "inserted": "bytes_sent_per_op",
    "connected": "bytes_received_per_op",
}
MIB = 1 << 20


class Sized(NamedTuple):
    """A case, which way its statements' payload goes, and its size; `row_bytes` None where it is no rows."""

    levels: Levels
    direction: Direction
    payload_bytes: int
    row_bytes: int | None = None
    rows: int = 1

    @property
    def curve(self) -> tuple[Direction, int | None]:
        """Which way its bytes go, and in rows of which length.

        None for one row, for what is no rows, and for all results on connections of their own: there it is
        connections that are compared.
        """
        in_rows = self.rows > 1 and self.direction != "connected"
        return self.direction, self.row_bytes if in_rows else None


def bulk(series: Series) -> tuple[BulkCurve, ...]:
    """A curve for each case that was measured at several sizes, in the plan's order."""
    sized = [own for case in series.cases.values() if (own := _sized(case.levels)) is not None]
    curves = grouped(sized, lambda own: (frozen(own.levels, WORKLOAD), own.curve))
    return tuple(curve for steps in curves.values() if (curve := _curve(series, steps)) is not None)


def _sized(levels: Levels) -> Sized | None:
    found = by_numbers(str(levels.get(WORKLOAD, "")))
    if isinstance(found, Rows | Inserted):
        direction: Direction = "inserted" if isinstance(found, Inserted) else "received"
        if isinstance(found, Rows) and found.connects:
            direction = "connected"
        return Sized(levels, direction, found.rows * found.row_bytes, found.row_bytes, found.rows)
    return Sized(levels, "sent", found.sent_bytes) if isinstance(found, Sent) else None


def _curve(series: Series, steps: Sequence[Sized]) -> BulkCurve | None:
    ordered = sorted(steps, key=lambda own: own.payload_bytes)
    makes_connections = ordered[0].direction == "connected"
    added = handshakes.handshakes(series, ordered) if makes_connections else {}
    points = tuple(point for own in ordered if (point := _point(series, own, added)) is not None)
    if not points:
        return None
    case: dict[str, Level] = {name: level for name, level in ordered[0].levels.items() if name != WORKLOAD}
    direction, row_bytes = ordered[0].curve
    return BulkCurve(
        case=case,
        label=", ".join(filter(None, (label_levels(case, series.study), group_label(case, series.study)))),
        direction=direction,
        row_bytes=row_bytes,
        points=points,
        further_server_us=_further(series, ordered, SERVER_CPU),
        further_client_us=_further(series, ordered, CLIENT_CPU),
        further_path_us=_further(series, ordered, PATH_CPU),
        handshake_is_small_bytes=handshakes.small_from_bytes(series, ordered, added) if added else None,
    )


def _point(series: Series, own: Sized, added: handshakes.Costs) -> BulkPoint | None:
    mib = log(own.payload_bytes / MIB)
    rate = _interval(series, series.logs(own.levels, RATE), mib)
    if rate is None:
        return None
    return BulkPoint(
        client_records=_records(series, own, "sent"),
        server_records=_records(series, own, "received"),
        handshake_share=handshakes.share(series, own.levels, added) if added else None,
        payload_bytes=own.payload_bytes,
        row_bytes=own.row_bytes,
        mib_per_s=rate,
        server_cpu_us_per_mib=_interval(series, series.logs(own.levels, SERVER_CPU), -mib),
        client_cpu_us_per_mib=_interval(series, series.logs(own.levels, CLIENT_CPU), -mib),
        path_cpu_us_per_mib=_interval(series, series.logs(own.levels, PATH_CPU), -mib),
        server_to_plaintext=_to_plaintext(series, own.levels),
        wire_bytes_per_byte=_interval(
            series, series.logs(own.levels, WIRE[own.direction]), -log(own.payload_bytes)
        ),
    )


def _records(series: Series, own: Sized, way: str) -> Records | None:
    """What is sent one way on a kept connection, where nothing but statements crosses the wire."""
    if own.direction == "connected":
        return None
    records = series.logs(own.levels, f"records_{way}_per_op")
    each = difference(series.logs(own.levels, f"bytes_{way}_per_op"), records)
    per_statement, bytes_each = series.interval(records), series.interval(each)
    if per_statement is None or bytes_each is None:
        return None
    return Records(per_statement=per_statement, bytes_each=bytes_each)


def _to_plaintext(series: Series, levels: Levels) -> Interval | None:
    """Against the study's baseline of the same statement, where that is plaintext and this is not it."""
    baseline = series.own_baseline(levels)
    if baseline.get("tls") != "off" or baseline == levels:
        return None
    return series.interval(series.log_ratios(levels, baseline, SERVER_CPU))


def _interval(series: Series, logs: Mapping[int, float], further: float) -> Interval | None:
    return series.interval({block: value + further for block, value in logs.items()})


def _further(series: Series, ordered: Sequence[Sized], outcome: str) -> Interval | None:
    """What each further MiB costs, by block; None of one size, or where a block says it costs nothing.

    Sizes of which no trial was valid do not count.
    """
    known = [own for own in ordered if series.logs(own.levels, outcome)] or ordered
    least, most = known[0], known[-1]
    mib = (most.payload_bytes - least.payload_bytes) / MIB
    few, many = series.logs(least.levels, outcome), series.logs(most.levels, outcome)
    slopes = {block: (exp(many[block]) - exp(few[block])) / mib for block in _both(few, many)} if mib else {}
    if not slopes or min(slopes.values()) <= 0:
        return None
    return series.interval({block: log(slope) for block, slope in slopes.items()})


def _both(few: Mapping[int, float], many: Mapping[int, float]) -> Iterator[int]:
    yield from sorted(few.keys() & many.keys())
