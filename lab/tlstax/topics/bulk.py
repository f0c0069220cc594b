"""How many bytes a second, and what each costs, by the size of what is sent or received.

The payload is what the workload's name says: R rows of B bytes, or B bytes sent. Rows of one length are one
curve, since a row costs something by itself; results of one row are another, whatever its length.

What TLS adds to a connection with the smallest result is taken for the handshake: there is hardly a byte to
encrypt then. Its share at any size is that, within a block, of the server's CPU time for a connection with a
result of that size. Between two sizes that were measured the cost grows in a straight line with the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import exp, log
from typing import Any, Literal, NamedTuple

from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import More, Row, RowSet, Told
from tlstax.stats.series import Series, difference
from tlstax.stats.wording import microseconds, percent
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label, label_levels
from tlstax.study.workloads import by_numbers
from tlstax.study.workloads.sized import Inserted, Rows, Sent
from tlstax.support.grouping import grouped
from tlstax.support.text import with_commas
from tlstax.topics.core import charts as parts
from tlstax.topics.core import figures
from tlstax.topics.core.charts import Line, Point, curves_panel, level_style, quantitative
from tlstax.topics.core.columns import Column
from tlstax.topics.core.outcome_names import MIB, MIB_PER_S, OF_A_MIB
from tlstax.topics.core.section import INTERVALS, Charts, Items, OnPage, Roomy, Section, Words, reading
from tlstax.topics.core.table import Cell, Number, Table, number
from tlstax.topics.core.topic import Run, Topic

Direction = Literal["received", "sent", "inserted", "connected"]
"""Which way the payload goes: as results, in a statement that keeps nothing, as rows that are inserted, or as
a result on a connection that is made for it."""

SMALL_SHARE = 0.05
"""What a part of a connection's cost is called small below."""

WORKLOAD = "workload"
RATE = "ops_per_s"
CPU = {"server": "server_cpu_us_per_op", "client": "client_cpu_us_per_op", "path": "path_cpu_us_per_op"}
SENDERS = {"client": "sent", "server": "received"}
WIRE: Mapping[Direction, str] = {
    "received": "bytes_received_per_op",
    "sent": "bytes_sent_per_op",
    "inserted": "bytes_sent_per_op",
    "connected": "bytes_received_per_op",
}

ON_THE_WIRE = "bytes on the wire for each byte"
OF_A_FURTHER_MIB = "{} CPU of a further MiB"
RECORDS, RECORD_BYTES = "TLS records that the {} sends", "bytes of a TLS record of the {}"
TO_PLAINTEXT = "server CPU beside plaintext"
SHARE, SMALL_FROM = "share of the handshake in the server's CPU", "size from which the handshake is small"

DIRECTION, PAYLOAD, ROW, ROWS_OF = "direction", "payload_bytes", "row_bytes", "rows_of_bytes"

Costs = Mapping[int, float]
"""CPU time in microseconds in each block."""


class Sized(NamedTuple):
    """A case, which way its statements' payload goes, and its size; `row_bytes` None where it is no rows."""

    levels: CaseLevels
    direction: Direction
    payload_bytes: int
    row_bytes: int | None = None
    rows: int = 1

    @property
    def rows_of_bytes(self) -> int | None:
        """In rows of which length its bytes go, of several rows.

        None for one row, for what is no rows, and for all results on connections of their own: there it is
        connections that are compared.
        """
        return self.row_bytes if self.rows > 1 and self.direction != "connected" else None


def rows(run: Run) -> Iterator[Row]:
    """A curve for each case over the sizes of its statements, in the plan's order, the smallest first.

    Each size has a row for each figure that is known of it: the rate, the bytes on the wire for each of the
    values, CPU times of a MiB (of the `path`: of all programs between), TLS records of each side, the
    server's CPU time beside the same in the clear and not compressed, and of a connection that is made for a
    result the share of the handshake. Then what each further MiB costs, from the smallest size to the
    largest, without what a statement costs by itself, and from which size on the handshake is less than
    `SMALL_SHARE`.
    """
    series = run.series
    sized = [own for case in series.cases.values() if (own := _sized(case.levels)) is not None]
    by_curve = grouped(sized, lambda own: (own.levels.without(WORKLOAD), own.direction, own.rows_of_bytes))
    for steps in by_curve.values():
        yield from _curve(series, sorted(steps, key=lambda own: own.payload_bytes))


def _sized(levels: CaseLevels) -> Sized | None:
    found = by_numbers(str(levels.get(WORKLOAD, "")))
    if isinstance(found, Rows | Inserted):
        direction: Direction = "inserted" if isinstance(found, Inserted) else "received"
        if isinstance(found, Rows) and found.connects:
            direction = "connected"
        return Sized(levels, direction, found.rows * found.row_bytes, found.row_bytes, found.rows)
    return Sized(levels, "sent", found.sent_bytes) if isinstance(found, Sent) else None


def _curve(series: Series, ordered: Sequence[Sized]) -> Iterator[Row]:
    known = [own for own in ordered if series.logs(own.levels, RATE)]
    if not known:
        return
    first = ordered[0]
    case = first.levels.without(WORKLOAD)
    label = with_commas(label_levels(case, series.study), group_label(case, series.study))
    common: dict[str, Any] = {"case": case, "label": label}
    of_curve: dict[str, More] = {DIRECTION: first.direction, ROWS_OF: first.rows_of_bytes}
    added = _handshakes(series, ordered) if first.direction == "connected" else {}
    for own in known:
        common["more"] = {**of_curve, PAYLOAD: own.payload_bytes, ROW: own.row_bytes}
        yield from _rows(common, _figures(series, own, added))
        baseline = series.own_baseline(own.levels)
        if baseline.get("tls") == "off" and baseline != own.levels:
            ratios = series.log_ratios(own.levels, baseline, CPU["server"])
            beside = {"outcome": TO_PLAINTEXT, "unit": "1", "of": "ratio", "baseline": baseline}
            yield from series.rows(ratios, **beside, **common)
    further = ((OF_A_FURTHER_MIB.format(side), "us", _further(series, ordered, side)) for side in CPU)
    small = SMALL_FROM, "B", _small_from_bytes(series, ordered, added)
    yield from _rows({**common, "more": of_curve}, [small, *further])


Figure = tuple[str, str, Interval | None]
"""An outcome, its unit, and what is known of it."""


def _rows(common: Mapping[str, Any], figures_known: Iterable[Figure]) -> Iterator[Row]:
    for outcome, unit, interval in figures_known:
        if interval is not None:
            yield Row(outcome=outcome, unit=unit, interval=interval, **common)


def _figures(series: Series, own: Sized, added: Costs) -> Iterator[Figure]:
    """What is known of statements of one size."""

    def each(outcome: str, further: float) -> Interval | None:
        logs = series.logs(own.levels, outcome)
        return series.interval({block: value + further for block, value in logs.items()})

    mib = log(own.payload_bytes / MIB)
    yield MIB_PER_S, "MiB/s", each(RATE, mib)
    yield ON_THE_WIRE, "1", each(WIRE[own.direction], -log(own.payload_bytes))
    costs = _costs(series, own.levels)
    shares = {block: log(added[block] / costs[block]) for block in sorted(added.keys() & costs.keys())}
    yield SHARE, "1", series.interval(shares)
    for side, way in SENDERS.items() if own.direction != "connected" else ():
        # On a connection that is made for a result there is more on the wire than statements.
        records = series.logs(own.levels, f"records_{way}_per_op")
        bytes_each = difference(series.logs(own.levels, f"bytes_{way}_per_op"), records)
        if bytes_each:
            yield RECORDS.format(side), "1", series.interval(records)
            yield RECORD_BYTES.format(side), "B", series.interval(bytes_each)
    for side, outcome in CPU.items():
        yield OF_A_MIB.format(side), "us", each(outcome, -mib)


def _further(series: Series, ordered: Sequence[Sized], side: str) -> Interval | None:
    """What each further MiB costs, by block; None of one size, or where a block says it costs nothing.

    Sizes of which no trial was valid do not count.
    """
    known = [own for own in ordered if series.logs(own.levels, CPU[side])] or ordered
    least, most = known[0], known[-1]
    mib = (most.payload_bytes - least.payload_bytes) / MIB
    few, many = series.logs(least.levels, CPU[side]), series.logs(most.levels, CPU[side])
    both = sorted(few.keys() & many.keys())
    slopes = {block: (exp(many[block]) - exp(few[block])) / mib for block in both} if mib else {}
    if not slopes or min(slopes.values()) <= 0:
        return None
    return series.interval({block: log(slope) for block, slope in slopes.items()})


def _handshakes(series: Series, steps: Sequence[Sized]) -> Costs:
    """What TLS adds to a connection with the smallest result; nothing of plaintext, or where it adds nothing.

    `steps` are one case's, the smallest first.
    """
    least = steps[0].levels
    baseline = series.own_baseline(least)
    if baseline.get("tls") != "off" or least.get("tls") == "off":
        return {}
    own, plain = _costs(series, least), _costs(series, baseline)
    added = {block: own[block] - plain[block] for block in sorted(own.keys() & plain.keys())}
    return added if all(us > 0 for us in added.values()) else {}


def _small_from_bytes(series: Series, steps: Sequence[Sized], added: Costs) -> Interval | None:
    """The size at which the share is `SMALL_SHARE`; None where a block does not have it between its sizes."""
    sizes = {step.payload_bytes: _costs(series, step.levels) for step in steps}
    found = {block: _size_at(sizes, block, us / SMALL_SHARE) for block, us in added.items()}
    logs = {block: log(size) for block, size in found.items() if size is not None}
    return series.interval(logs) if len(logs) == len(found) else None


def _size_at(sizes: Mapping[int, Costs], block: int, cost_us: float) -> float | None:
    """Where the cost in this block, between two sizes, is as much."""
    known = [(size, costs[block]) for size, costs in sorted(sizes.items()) if block in costs]
    for (small, less), (large, more) in pairwise(known):
        if less <= cost_us <= more and less < more:
            return small + (large - small) * (cost_us - less) / (more - less)
    return None


def _costs(series: Series, levels: CaseLevels) -> dict[int, float]:
    return {block: exp(value) for block, value in series.logs(levels, CPU["server"]).items()}


class Curve(RowSet):
    """The rows of one case over the sizes of its statements; what has no size is of all together."""

    @property
    def label(self) -> str:
        """The case in words."""
        return self.rows[0].label

    @property
    def sizes(self) -> tuple[int, ...]:
        """The payloads of which there is a rate."""
        return tuple(self.by_size(MIB_PER_S))

    def by_size(self, outcome: str) -> dict[int, Interval]:
        """A figure at each size that has it."""
        known = [row for row in self.rows if row.outcome == outcome]
        return {round(row.number(PAYLOAD) or 0): row.interval for row in known if row.interval is not None}

    @property
    def kind(self) -> tuple[str, float | None]:
        """Which way the bytes go, and in rows of which length."""
        return self.rows[0].word(DIRECTION), self.rows[0].number(ROWS_OF)

    @property
    def kind_words(self) -> str:
        """The same in words: "results in rows of 10 KiB"."""
        direction, rows_of = self.kind
        if direction == "sent":
            return "sent in a statement"
        if direction == "connected":
            return "a connection for one result"
        what = "inserts" if direction == "inserted" else "results"
        return f"{what} of one row" if rows_of is None else f"{what} in rows of {size_words(rows_of)}"


def curves_of(shown: Sequence[Row]) -> list[Curve]:
    """The rows by their curves."""
    by_curve = grouped(shown, lambda row: (row.case, row.more[DIRECTION], row.more[ROWS_OF]))
    return [Curve(own) for own in by_curve.values()]


def size_words(size_bytes: float) -> str:
    """A number of bytes as people write it: "64 B", "16 KiB", "1.6 MiB"."""
    size, kib = round(size_bytes), 1 << 10
    if size < kib:
        return f"{size} B"
    unit, name = (kib, "KiB") if size < MIB else (MIB, "MiB")
    value = size / unit
    return f"{value:,.0f} {name}" if value >= 100 else f"{value:.3g} {name}"


SMALL = (
    "{label}: the handshake is less than {small} of what a new connection costs the server from a result of "
    "{size} on{more}"
)
NOT_SMALL = (
    "{label}: with a result of {size} the handshake is {share} of what a new connection costs the server; "
    "where it is {small} is not between the sizes that were measured{more}"
)


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """From which size on the handshake is a small part of its connection, and what follows costs."""
    for curve in curves_of(shown):
        shares = curve.by_size(SHARE)
        if not shares:
            continue
        further = curve.interval(OF_A_FURTHER_MIB.format("server"))
        more = f"; each further MiB takes it {microseconds(further.point)}" if further is not None else ""
        words = {"label": curve.label, "small": percent(SMALL_SHARE), "more": more}
        if (small := curve.interval(SMALL_FROM)) is not None:
            between = figures.ends(small, size_words)
            yield SMALL.format(size=f"{size_words(small.point)} {between}".strip(), **words)
        else:
            size, known = list(shares.items())[-1]
            yield NOT_SMALL.format(size=size_words(size), share=percent(known.point), **words)


FURTHER = "each further\nMiB"
READING = (
    "Of the values alone, without the protocol's or TLS's own bytes; geometric means over blocks. Each "
    "further MiB: from the smallest size to the largest, without what a statement costs by itself."
)
WIRE_TITLE = "bytes on the wire for each byte of values: {}"
RECORDS_TITLE = "TLS records with data that each side sends for a statement, and their bytes on the wire: {}"
SIDES = {"server": "server", "client": "client", "path": "programs between client and server"}


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Tables for each kind of statement: rate, bytes, records and CPU times."""
    curves = curves_of(told.rows)
    said = (Items(told.sentences, all_of_them=True),) if told.sentences else ()
    tables = [
        table
        for own in grouped(curves, lambda curve: (curve.kind, curve.sizes)).values()
        for table in _tables(own)
    ]
    charts = OnPage(lambda: (*share_charts(curves), *bulk_charts(curves)))
    yield Section(
        (
            *said,
            charts,
            *tables,
            Words(READING, aside=True),
            Roomy((reading(INTERVALS, document.design.confidence),)),
        ),
        told.title,
    )


def _tables(curves: Sequence[Curve]) -> Iterator[Table]:
    """All of the curves of one kind and of the same sizes."""
    what, heads = curves[0].kind_words, tuple(map(size_words, curves[0].sizes))

    def table(title: str, lines: Sequence[tuple[Cell, ...]], *more_heads: str) -> Iterator[Table]:
        if lines:
            yield Table(title.format(what), (*heads, *more_heads), lines, ())

    for title, outcome in (("MiB/s: {}", MIB_PER_S), (WIRE_TITLE, ON_THE_WIRE)):
        yield from table(title, [(curve.label, *_cells(curve, outcome)) for curve in curves])
    records: list[tuple[Cell, ...]] = []
    for curve, side in product(curves, SENDERS):
        # A number of records of some bytes; nothing in the clear.
        numbers, each = curve.by_size(RECORDS.format(side)), curve.by_size(RECORD_BYTES.format(side))
        sent = {n: f"{figures.significant(numbers[n].point)} of {size_words(each[n].point)}" for n in numbers}
        if sent:
            cells = (sent.get(size, figures.NOTHING) for size in curve.sizes)
            records.append((f"{curve.label}, the {side}", *cells))
    yield from table(RECORDS_TITLE, records)
    for side, name in SIDES.items():
        of_a_mib, further = OF_A_MIB.format(side), OF_A_FURTHER_MIB.format(side)
        costs: list[tuple[Cell, ...]] = [
            (curve.label, *_cells(curve, of_a_mib), number(curve.interval(further)))
            for curve in curves
            if side != "path" or curve.by_size(of_a_mib)
        ]
        yield from table(f"CPU time of the {name}, µs a MiB: {{}}", costs, FURTHER)


def _cells(curve: Curve, outcome: str) -> list[Number]:
    known = curve.by_size(outcome)
    return [number(known.get(size)) for size in curve.sizes]


SIZE_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, '~g') + ' B'"
)
SHARE_TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100)
SHARE_TITLE = "The handshake's share of a connection"
SHARE_READING = (
    f"Of the server's CPU time for a new connection with one result; below the line it is less than "
    f"{percent(SMALL_SHARE)}. Both axes are logarithmic."
)
BULK_READING = "1× is as much CPU time as in the clear. Both axes are logarithmic."


def share_charts(curves: Sequence[Curve]) -> Iterator[Charts]:
    """The handshake's share over the result's bytes: a line for each case of several sizes."""
    lines, small = _lines(curves, SHARE, 100, percent), 100 * SMALL_SHARE
    if lines:
        low, high = _ends(lines, small, 1.2)
        high = min(100.0, high)
        ticks = [tick for tick in SHARE_TICKS if low <= tick <= high]
        axis = {"values": ticks, "labelExpr": "format(datum.value, '~g') + ' %'"}
        yield _charts(
            SHARE_TITLE, ("Of the server's CPU time", SHARE_READING), lines, small, (low, high), axis
        )


def bulk_charts(curves: Sequence[Curve]) -> Iterator[Charts]:
    """What TLS and compression take of the server over the size: for each kind of statement a line a case."""
    for own in grouped(curves, lambda curve: curve.kind).values():
        lines = _lines(own, TO_PLAINTEXT, 1, lambda ratio: f"{figures.significant(ratio)}{figures.TIMES}")
        if lines:
            compressed = any(curve.rows[0].case.get("compression", "off") != "off" for curve in own)
            what = "TLS and compression take" if compressed else "TLS takes"
            title = f"What {what} of the server: {own[0].kind_words}"
            low, high = _ends(lines, 1.0, 1.05)
            axis = {"values": parts.ratio_ticks(low, high), "labelExpr": parts.RATIO_LABEL}
            yield _charts(title, ("Against plaintext", BULK_READING), lines, 1, (low, high), axis)


def _charts(  # noqa: PLR0913, PLR0917 (a chart's words, its lines, its axis)
    title: str,
    panel: tuple[str, str],
    lines: Sequence[Line],
    reference: float,
    ends: tuple[float, float],
    axis: Mapping[str, object],
) -> Charts:
    """Figures over the payload in bytes, with a line at a reference."""
    sizes = sorted({point.x for line in lines for point in line.points})
    across = {"type": "log", "domain": [sizes[0] / 1.3, sizes[-1] * 1.3]}
    drawn = curves_panel(
        panel,
        f"{title}, over the size",
        lines,
        x=quantitative("x", across, values=sizes, labelExpr=SIZE_LABEL, title="bytes of values", grid=False),
        scale={"type": "log", "domain": list(ends)},
        axis=axis,
        beside=lambda size, place: size * (1 + 0.04 * place),
        reference=reference,
    )
    return Charts((drawn,), title, tuple(line.style for line in lines), small=True)


def _lines(curves: Sequence[Curve], outcome: str, times: float, said: Callable[[float], str]) -> list[Line]:
    """A line for each curve, of a figure in a unit in which it is `times` as much."""
    lines = []
    for place, curve in enumerate(curve for curve in curves if len(curve.sizes) > 1):
        points = tuple(
            Point(
                size,
                times * known.point,
                f"{curve.label}, {size_words(size)}: {said(known.point)}",
                times * (known.low or known.point),
                times * (known.high or known.point),
            )
            for size, known in curve.by_size(outcome).items()
        )
        if points:
            lines.append(Line(level_style(curve.label, place), points))
    return lines


def _ends(lines: Sequence[Line], reference: float, margin: float) -> tuple[float, float]:
    ends = [end for line in lines for point in line.points for end in (point.low, point.high) if end]
    return min(*ends, reference) / margin, max(*ends, reference) * margin


COLUMNS = (
    Column(
        DIRECTION,
        "TEXT",
        "which way the payload goes: received, sent, inserted or connected (for one result)",
    ),
    Column(PAYLOAD, "INTEGER", "the bytes of a statement's values alone", "bytes"),
    Column(ROW, "INTEGER", "how long each row of a statement is; empty: it has no rows", "bytes"),
    Column(ROWS_OF, "INTEGER", "how long the rows of a curve are; empty: one row, no rows, or all", "bytes"),
)

TOPIC = Topic("bulk", "Bytes a second, and what they cost", rows, sections, sentences, COLUMNS)
