"""Cost against the round trip time: a line for each treatment, as a time and as a ratio to plaintext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tlstax.findings.distance.words import away
from tlstax.report.distance.tables import by_title
from tlstax.results.distance import AtDistance, DistanceCurve, Distances
from tlstax.results.interval import Interval
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import figures, palette
from tlstax.topics.core.chart_parts import Spec, layer, quantitative
from tlstax.topics.core.marks import Line, Point, Style
from tlstax.topics.core.panel import NARROW, Panel, at_one_width
from tlstax.topics.core.section import Charts

HEIGHT = 230
DODGE = 0.006
"""How far apart, as a share of the axis, dots of two treatments stand at the same distance."""

PLAINTEXT = "plaintext"
MS_LABEL = "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' s' : format(datum.value, '~g') + ' ms'"


def distance_charts(found: Distances | None) -> tuple[Charts, ...]:
    """For every server and way of working, where there are two distances or more: time and ratio."""
    drawn = [curve for curve in found.curves if len(curve.points) > 1] if found is not None else []
    return tuple(_charts(title, curves) for title, curves in by_title(drawn).items())


def distance_chart(lines: Sequence[Line], *, ratio: bool, width: int = NARROW) -> Spec:
    """The lines over the round trip time: times from nothing on, ratios on a logarithmic axis."""
    rtts = sorted({point.x for line in lines for point in line.points})
    ends = [
        end for line in lines for point in line.points for end in (point.low, point.high) if end is not None
    ]
    span = (rtts[-1] - rtts[0]) or 1.0
    x = quantitative(
        "x",
        {"domain": [rtts[0] - 0.04 * span, rtts[-1] + 0.04 * span]},
        values=rtts,
        labelExpr="format(datum.value, '~g') + ' ms'",
        title="round trip time",
        grid=False,
    )
    scale: dict[str, Any] = {"domain": [0, max(ends) * 1.04]}
    axis: dict[str, Any] = {"tickCount": 5, "labelExpr": MS_LABEL}
    if ratio:
        low, high = min(*ends, 1.0) / 1.05, max(*ends, 1.0) * 1.05
        scale = {"type": "log", "domain": [low, high]}
        axis = {"values": parts.ratio_ticks(low, high), "labelExpr": parts.RATIO_LABEL}
    y = quantitative("y", scale, minExtent=42, maxExtent=42, **axis)
    start = quantitative("low", scale, minExtent=42, maxExtent=42, **axis)
    values = parts.points_of(lines, lambda rtt_ms, place: rtt_ms + place * DODGE * span)
    layers = [parts.whiskers(values, x, start), *parts.lines_and_dots(values, x, y, size=34)]
    if ratio:
        one = {"type": "rule", "color": palette.REFERENCE.light, "strokeDash": [3, 3]}
        layers.insert(0, layer([{"y": 1}], one, y=y))
    return parts.finished(layers, width, HEIGHT)


def _charts(title: str, curves: Sequence[DistanceCurve]) -> Charts:
    times = [_plaintext(curves), *(_line(curve, place, ratio=False) for place, curve in enumerate(curves))]
    ratios = [_line(curve, place, ratio=True) for place, curve in enumerate(curves)]
    panels = (
        _panel("Time", "Lower is better.", times, title, ratio=False),
        _panel("Time against plaintext", "1× is as long as plaintext.", ratios, title, ratio=True),
    )
    return Charts(panels, title, tuple(line.style for line in times), small=True)


def _panel(name: str, reading: str, lines: Sequence[Line], title: str, *, ratio: bool) -> Panel:
    said = "; ".join(point.description for line in lines for point in line.points)
    words = f"{title}: {name.lower()} over the round trip time. {said}"
    return Panel(name, reading, (at_one_width(words, distance_chart(lines, ratio=ratio)),))


def _line(curve: DistanceCurve, place: int, *, ratio: bool) -> Line:
    style = Style(curve.label, palette.level_ink(place).light, palette.level_shape(place + 1))
    return Line(style, tuple(_point(curve.label, point, ratio=ratio) for point in curve.points))


def _plaintext(curves: Sequence[DistanceCurve]) -> Line:
    """Plaintext as it was beside the treatment with most distances; all have the same in common."""
    longest = max(curves, key=lambda curve: len(curve.points))
    style = Style(PLAINTEXT, palette.BASELINE.light, palette.level_shape(0))
    return Line(
        style,
        tuple(
            _drawn(PLAINTEXT, point.rtt_ms, point.plaintext_ms, f"{point.plaintext_ms.point:.4g} ms")
            for point in longest.points
        ),
    )


def _point(label: str, point: AtDistance, *, ratio: bool) -> Point:
    if ratio:
        told = f"{figures.significant(point.time_ratio.point)}{figures.TIMES}"
        return _drawn(label, point.rtt_ms, point.time_ratio, told)
    return _drawn(label, point.rtt_ms, point.treated_ms, f"{figures.significant(point.treated_ms.point)} ms")


def _drawn(label: str, rtt_ms: float, value: Interval, told: str) -> Point:
    """The interval is cut off where it would flatten everything else."""
    low = value.point if value.low is None else max(value.low, value.point / 2)
    high = value.point if value.high is None else min(value.high, 2 * value.point)
    return Point(rtt_ms, value.point, f"{label}, {away(rtt_ms)}: {told}", low, high)
