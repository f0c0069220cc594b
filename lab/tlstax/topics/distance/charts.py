"""Cost against the round trip time: a line for each treatment, as a time and as a ratio to plaintext."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tlstax.results.interval import Interval
from tlstax.topics.core import charts as parts
from tlstax.topics.core import figures, palette
from tlstax.topics.core.charts import (
    NARROW,
    Line,
    Panel,
    Point,
    Spec,
    Style,
    at_one_width,
    layer,
    quantitative,
)
from tlstax.topics.core.section import Charts
from tlstax.topics.distance.spending import away

HEIGHT = 230
DODGE = 0.006
"""How far apart, as a share of the axis, dots of two treatments stand at the same distance."""

MS_LABEL = "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' s' : format(datum.value, '~g') + ' ms'"

Drawn = tuple[str, Mapping[float, Interval]]
"""A line: what it is called, and its values by distance."""


def distance_charts(
    title: str, plaintext: Drawn, treated: Sequence[Drawn], ratios: Sequence[Drawn]
) -> Charts:
    """Times, with plaintext's, and beside them ratios to plaintext; a treatment has one colour in both."""
    times = [
        _line(plaintext, palette.BASELINE.light, 0, lambda ms: f"{ms:.4g} ms"),
        *_lines(treated, lambda ms: f"{figures.significant(ms)} ms"),
    ]
    beside = _lines(ratios, lambda ratio: f"{figures.significant(ratio)}{figures.TIMES}")
    panels = (
        _panel("Time", "Lower is better.", times, title, ratio=False),
        _panel("Time against plaintext", "1× is as long as plaintext.", beside, title, ratio=True),
    )
    return Charts(panels, title, tuple(line.style for line in times), small=True)


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


def _panel(name: str, reading: str, lines: Sequence[Line], title: str, *, ratio: bool) -> Panel:
    said = "; ".join(point.description for line in lines for point in line.points)
    words = f"{title}: {name.lower()} over the round trip time. {said}"
    return Panel(name, reading, (at_one_width(words, distance_chart(lines, ratio=ratio)),))


def _lines(drawn: Sequence[Drawn], said: Callable[[float], str]) -> list[Line]:
    return [_line(own, palette.level_ink(place).light, place + 1, said) for place, own in enumerate(drawn)]


def _line(drawn: Drawn, ink: str, shape: int, said: Callable[[float], str]) -> Line:
    """An interval is cut off where it would flatten everything else."""
    label, values = drawn
    points = tuple(
        Point(
            rtt_ms,
            found.point,
            f"{label}, {away(rtt_ms)}: {said(found.point)}",
            found.point if found.low is None else max(found.low, found.point / 2),
            found.point if found.high is None else min(found.high, 2 * found.point),
        )
        for rtt_ms, found in values.items()
    )
    return Line(Style(label, ink, palette.level_shape(shape)), points)
