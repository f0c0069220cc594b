"""The handshake's share of what a connection costs the server, over the size of its result: a line a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.wording import percent
from tlstax.report.bulk.charts import HEIGHT, SIZE_LABEL
from tlstax.report.bulk.words import size_words
from tlstax.results.bulk import SMALL_SHARE, BulkCurve
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import palette
from tlstax.topics.core.chart_parts import Spec, layer, quantitative
from tlstax.topics.core.marks import Line, Point, Style
from tlstax.topics.core.panel import NARROW, Panel, at_one_width
from tlstax.topics.core.section import Charts

TITLE = "The handshake's share of a connection"
READING = (
    f"Of the server's CPU time for a new connection with one result; below the line it is less than "
    f"{percent(SMALL_SHARE)}. Both axes are logarithmic."
)
TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100)


def share_charts(found: Sequence[BulkCurve]) -> tuple[Charts, ...]:
    """One picture of all cases that make handshakes and were measured in several sizes."""
    lines = tuple(_lines(found))
    if not lines:
        return ()
    words = "; ".join(point.description for line in lines for point in line.points)
    drawing = at_one_width(f"{TITLE}. {words}", share_chart(lines))
    panel = Panel("Of the server's CPU time", READING, (drawing,))
    return (Charts((panel,), TITLE, tuple(line.style for line in lines), small=True),)


def share_chart(lines: Sequence[Line], *, width: int = NARROW) -> Spec:
    """Shares in per cent over the result's bytes."""
    sizes = sorted({point.x for line in lines for point in line.points})
    ends = [end for line in lines for point in line.points for end in (point.low, point.high) if end]
    low, high = min(*ends, 100 * SMALL_SHARE) / 1.2, min(100.0, max(*ends, 100 * SMALL_SHARE) * 1.2)
    domain = {"type": "log", "domain": [sizes[0] / 1.3, sizes[-1] * 1.3]}
    x = quantitative("x", domain, values=sizes, labelExpr=SIZE_LABEL, title="bytes of values", grid=False)
    scale = {"type": "log", "domain": [low, high]}
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axis = {"values": ticks, "labelExpr": "format(datum.value, '~g') + ' %'"}
    y = quantitative("y", scale, minExtent=42, maxExtent=42, **axis)
    start = quantitative("low", scale, minExtent=42, maxExtent=42, **axis)
    values = parts.points_of(lines, lambda size, place: size * (1 + 0.04 * place))
    small = {"type": "rule", "color": palette.REFERENCE.light, "strokeDash": [3, 3]}
    layers = [
        layer([{"y": 100 * SMALL_SHARE}], small, y=y),
        parts.whiskers(values, x, start),
        *parts.lines_and_dots(values, x, y, size=34),
    ]
    return parts.finished(layers, width, HEIGHT)


def _lines(found: Sequence[BulkCurve]) -> Iterator[Line]:
    shown = [curve for curve in found if sum(point.handshake_share is not None for point in curve.points) > 1]
    for place, curve in enumerate(shown):
        ink = palette.level_ink(place).light
        yield Line(Style(curve.label, ink, palette.level_shape(place + 1)), tuple(_points(curve)))


def _points(curve: BulkCurve) -> Iterator[Point]:
    for own in curve.points:
        share = own.handshake_share
        if share is not None:
            told = f"{curve.label}, {size_words(own.payload_bytes)}: {percent(share.point)}"
            low, high = share.low or share.point, share.high or share.point
            yield Point(own.payload_bytes, 100 * share.point, told, 100 * low, 100 * high)
