"""How drivers warmed up, drawn: CPU per operation over the warm-up's time, a line for each driver."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.results.drivers import DriverWarmup, WarmupPoint
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import figures, palette
from tlstax.topics.core.chart_parts import Spec, quantitative
from tlstax.topics.core.marks import Line, Point, Style
from tlstax.topics.core.panel import Panel, at_both_widths
from tlstax.topics.core.section import Charts

HEIGHT = 240
MOST_LINES = len(palette.LEVELS)
"""More lines than colours cannot be told apart."""


def warmup_chart(warmups: Sequence[DriverWarmup]) -> Charts | None:
    """A line for each driver as it is, of two points at least; None where there is nothing to draw.

    With more than can be told apart, the first ones are drawn; the table has all.
    """
    drawn = [found for found in warmups if len(found.points) > 1][:MOST_LINES]
    if not drawn:
        return None
    lines = [_line(found, place) for place, found in enumerate(drawn)]
    said = "; ".join(
        f"{one.label}: from {figures.quantity(one.cold_us_per_op, 'us')} to "
        f"{figures.quantity(one.warm_us_per_op, 'us')}"
        for one in drawn
    )
    words = f"CPU per operation over the warm-up. {said}"
    left = len([found for found in warmups if len(found.points) > 1]) - len(drawn)
    more = f" {left} more are in the table." if left else ""
    reading = f"The driver\N{RIGHT SINGLE QUOTATION MARK}s own, in slices of a tenth of a second.{more}"
    drawings = at_both_widths(words, lambda width: _chart(lines, width))
    return Charts(
        (Panel("CPU per operation before measuring", reading, drawings),),
        styles=tuple(line.style for line in lines),
    )


def _chart(lines: Sequence[Line], width: int) -> Spec:
    values = parts.points_of(lines)
    x = quantitative(
        "x",
        {"domain": [0, max(value["x"] for value in values)]},
        labelExpr="format(datum.value, '~g') + ' s'",
        tickCount=5,
    )
    y = quantitative(
        "y",
        {"type": "log"},
        values=parts.duration_ticks_us([value["y"] for value in values]),
        labelExpr=parts.DURATION_LABEL,
    )
    return parts.finished(parts.lines_and_dots(values, x, y, size=22), width, HEIGHT)


def _line(found: DriverWarmup, place: int) -> Line:
    style = Style(found.label, palette.level_ink(place).light, palette.level_shape(place))
    return Line(style, tuple(_point(found.label, point) for point in found.points))


def _point(label: str, point: WarmupPoint) -> Point:
    us = figures.quantity(point.us_per_op, "us")
    told = f"{label}, after {point.elapsed_s:.1f} s: {us} ({point.trials} trials)"
    return Point(point.elapsed_s, point.us_per_op, told)
