"""What TLS and compression take of the server, over the size of a statement: a line for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.report.bulk.words import kind_words, size_words
from tlstax.results.bulk import BulkCurve
from tlstax.support.grouping import grouped
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import figures, palette
from tlstax.topics.core.chart_parts import Spec, layer, quantitative
from tlstax.topics.core.marks import Line, Point, Style
from tlstax.topics.core.panel import NARROW, Panel, at_one_width
from tlstax.topics.core.section import Charts

HEIGHT = 230
SIZE_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, '~g') + ' B'"
)


def bulk_charts(found: Sequence[BulkCurve]) -> tuple[Charts, ...]:
    """A picture for each kind of statement that was measured in several sizes, in the clear and not."""
    kinds = grouped(found, lambda curve: (curve.direction, curve.row_bytes))
    return tuple(chart for curves in kinds.values() if (chart := _charts(curves)) is not None)


def _charts(curves: Sequence[BulkCurve]) -> Charts | None:
    lines = tuple(_lines(curves))
    if not lines:
        return None
    compressed = any(curve.case.get("compression", "off") != "off" for curve in curves)
    what = "TLS and compression take" if compressed else "TLS takes"
    title = f"What {what} of the server: {kind_words(curves[0])}"
    said = "; ".join(point.description for line in lines for point in line.points)
    words = f"{title}, over the size. {said}"
    reading = "1× is as much CPU time as in the clear. Both axes are logarithmic."
    panel = Panel("Against plaintext", reading, (at_one_width(words, bulk_chart(lines)),))
    return Charts((panel,), title, tuple(line.style for line in lines), small=True)


def bulk_chart(lines: Sequence[Line], *, width: int = NARROW) -> Spec:
    """Ratios to plaintext over the payload in bytes."""
    sizes = sorted({point.x for line in lines for point in line.points})
    ends = [end for line in lines for point in line.points for end in (point.low, point.high) if end]
    low, high = min(*ends, 1.0) / 1.05, max(*ends, 1.0) * 1.05
    domain = {"type": "log", "domain": [sizes[0] / 1.3, sizes[-1] * 1.3]}
    x = quantitative("x", domain, values=sizes, labelExpr=SIZE_LABEL, title="bytes of values", grid=False)
    scale = {"type": "log", "domain": [low, high]}
    axis = {"values": parts.ratio_ticks(low, high), "labelExpr": parts.RATIO_LABEL}
    y = quantitative("y", scale, minExtent=42, maxExtent=42, **axis)
    start = quantitative("low", scale, minExtent=42, maxExtent=42, **axis)
    values = parts.points_of(lines, lambda size, place: size * (1 + 0.04 * place))
    one = {"type": "rule", "color": palette.REFERENCE.light, "strokeDash": [3, 3]}
    layers = [
        layer([{"y": 1}], one, y=y),
        parts.whiskers(values, x, start),
        *parts.lines_and_dots(values, x, y, size=34),
    ]
    return parts.finished(layers, width, HEIGHT)


def _lines(curves: Sequence[BulkCurve]) -> Iterator[Line]:
    for place, curve in enumerate(curve for curve in curves if len(curve.points) > 1):
        points = tuple(_points(curve))
        if points:
            ink = palette.level_ink(place).light
            yield Line(Style(curve.label, ink, palette.level_shape(place + 1)), points)


def _points(curve: BulkCurve) -> Iterator[Point]:
    for own in curve.points:
        ratio = own.server_to_plaintext
        if ratio is not None:
            size = own.payload_bytes
            told = f"{curve.label}, {size_words(size)}: {figures.significant(ratio.point)}{figures.TIMES}"
            low, high = ratio.low or ratio.point, ratio.high or ratio.point
            yield Point(size, ratio.point, told, low, high)
