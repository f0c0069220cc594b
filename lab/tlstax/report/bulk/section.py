"""Bulk, as a section: bytes a second and CPU time by the size of a statement, a table for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tlstax.findings.core.wording import microseconds, percent
from tlstax.report.bulk.charts import bulk_charts
from tlstax.report.bulk.share_chart import share_charts
from tlstax.report.bulk.words import kind_words, size_words
from tlstax.results.bulk import SMALL_SHARE, BulkCurve, BulkPoint, Records
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.support.grouping import grouped
from tlstax.topics.core import figures
from tlstax.topics.core.section import Detail, Items, Section, Words
from tlstax.topics.core.table import Table

TITLE = "Bytes a second, and what they cost"
FURTHER = "each further\nMiB"
READING = (
    "Of the values alone, without MySQL's or TLS's own bytes; geometric means over blocks{intervals}. Each "
    "further MiB: from the smallest size to the largest, without what a statement costs by itself."
)
INTERVALS = ", with half the width of their {confidence} intervals"

SMALL = (
    "{label}: the handshake is less than {share} of what a new connection costs the server from a result of "
    "{size}{between} on{more}"
)
NOT_SMALL = (
    "{label}: with a result of {size} the handshake is {share} of what a new connection costs the server; "
    "where it is {small} is not between the sizes that were measured{more}"
)

ON_THE_WIRE = "bytes on the wire for each byte of values: {what}"
RECORDS = "TLS records with data that each side sends for a statement, and their bytes on the wire: {what}"

PATH = "programs between client and server"

Pick = Callable[[BulkPoint], Interval | None]


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Tables for each kind of statement: rate, bytes, records and CPU times; nothing without."""
    if not document.bulk:
        return
    narrow = detail == "short"
    intervals = "" if narrow else INTERVALS.format(confidence=percent(document.design.confidence))
    tables = tuple(_tables(document.bulk, narrow=narrow))
    drawn = (*share_charts(document.bulk), *bulk_charts(document.bulk)) if detail == "page" else ()
    said = Items(tuple(_said(document.bulk)), all_of_them=True)
    reading = Words(READING.format(intervals=intervals), aside=True)
    yield Section((*([said] if said.texts else []), *drawn, *tables, reading), TITLE)


def _said(found: Sequence[BulkCurve]) -> Iterator[str]:
    """From which size on the handshake is a small part of its connection, and what follows costs."""
    for curve in found:
        shares = [(point.payload_bytes, point.handshake_share) for point in curve.points]
        known = [(size, share) for size, share in shares if share is not None]
        if not known:
            continue
        further = curve.further_server_us
        more = f"; each further MiB takes it {microseconds(further.point)}" if further is not None else ""
        small = curve.handshake_is_small_bytes
        if small is not None:
            between = figures.ends(small, lambda size: size_words(round(size)))
            yield SMALL.format(
                label=curve.label,
                size=size_words(round(small.point)),
                between=f" {between}" if between else "",
                share=percent(SMALL_SHARE),
                more=more,
            )
        else:
            size, share = known[-1]
            yield NOT_SMALL.format(
                label=curve.label,
                size=size_words(size),
                share=percent(share.point),
                small=percent(SMALL_SHARE),
                more=more,
            )


def _tables(found: Sequence[BulkCurve], *, narrow: bool) -> Iterator[Table]:
    for curves in grouped(found, _kind).values():
        what = kind_words(curves[0])
        heads = tuple(size_words(point.payload_bytes) for point in curves[0].points)
        yield _table(f"MiB/s: {what}", heads, curves, lambda point: point.mib_per_s, narrow=narrow)
        yield _table(ON_THE_WIRE.format(what=what), heads, curves, _on_the_wire, narrow=narrow)
        yield from _records(what, heads, curves)
        yield from _costs(what, heads, curves, narrow=narrow)


def _costs(
    what: str, heads: tuple[str, ...], curves: Sequence[BulkCurve], *, narrow: bool
) -> Iterator[Table]:
    """Of each side; of the programs between them where there are any."""
    for side, pick, further in _COSTS:
        rows = tuple(
            (*_cells(curve, pick, narrow=narrow), _cell(further(curve), narrow=narrow))
            for curve in curves
            if side != PATH or any(pick(point) for point in curve.points)
        )
        if rows:
            yield Table(f"CPU time of the {side}, µs a MiB: {what}", (*heads, FURTHER), rows, ())


_COSTS: tuple[tuple[str, Pick, Callable[[BulkCurve], Interval | None]], ...] = (
    ("server", lambda point: point.server_cpu_us_per_mib, lambda curve: curve.further_server_us),
    ("client", lambda point: point.client_cpu_us_per_mib, lambda curve: curve.further_client_us),
    (PATH, lambda point: point.path_cpu_us_per_mib, lambda curve: curve.further_path_us),
)


def _on_the_wire(point: BulkPoint) -> Interval | None:
    return point.wire_bytes_per_byte


def _records(what: str, heads: tuple[str, ...], curves: Sequence[BulkCurve]) -> Iterator[Table]:
    """What each side sends: so many records of so many bytes; nothing where nothing is encrypted."""
    rows = tuple(
        (f"{curve.label}, the {side}", *(_records_cell(pick(point)) for point in curve.points))
        for curve in curves
        for side, pick in _SENDERS
        if any(pick(point) for point in curve.points)
    )
    if rows:
        yield Table(RECORDS.format(what=what), heads, rows, ())


_SENDERS: tuple[tuple[str, Callable[[BulkPoint], Records | None]], ...] = (
    ("client", lambda point: point.client_records),
    ("server", lambda point: point.server_records),
)


def _records_cell(found: Records | None) -> str:
    if found is None:
        return figures.NOTHING
    size = size_words(round(found.bytes_each.point))
    return f"{figures.significant(found.per_statement.point)} of {size}"


def _kind(curve: BulkCurve) -> tuple[object, ...]:
    """What shares a table: the same way, rows, and sizes."""
    return curve.direction, curve.row_bytes, tuple(point.payload_bytes for point in curve.points)


def _table(
    title: str, heads: tuple[str, ...], curves: Sequence[BulkCurve], pick: Pick, *, narrow: bool
) -> Table:
    return Table(title, heads, tuple(_cells(curve, pick, narrow=narrow) for curve in curves), ())


def _cells(curve: BulkCurve, pick: Pick, *, narrow: bool) -> tuple[str, ...]:
    return (curve.label, *(_cell(pick(point), narrow=narrow) for point in curve.points))


def _cell(found: Interval | None, *, narrow: bool) -> str:
    if found is None:
        return figures.NOTHING
    point = figures.significant(found.point)
    if narrow or found.low is None or found.high is None:
        return point
    return f"{point} ±{figures.significant((found.high - found.low) / 2, 2)}"
