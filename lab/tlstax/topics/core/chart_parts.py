"""What all charts share: the look, rows named by level, marks in their level's colour, round ticks.

Everything here is a piece of a Vega-Lite 6 specification (https://vega.github.io/vega-lite/docs/).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from tlstax.topics.core import palette
from tlstax.topics.core.figures import TIMES
from tlstax.topics.core.marks import Line, RatioMark

Spec = dict[str, Any]
"""A Vega-Lite specification or a piece of one."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""Names the language version; nothing is fetched from there."""

FONT = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
FONT_SIZE = 12
ROW_HEIGHT = 26
PADDING = {"left": 10, "top": 6, "right": 8, "bottom": 2}

RATIO_LADDERS = (
    (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10_000),
    (0.01, 0.1, 1, 10, 100),
    (0.05, 0.2, 1, 5, 20),
    (0.1, 0.3, 1, 3, 10),
    (0.125, 0.25, 0.5, 1, 2, 4, 8),
    (0.5, 0.7, 1, 1.4, 2),
    (0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6),
    (0.8, 0.9, 1, 1.1, 1.2),
    (0.9, 0.95, 1, 1.05, 1.1),
    (0.96, 0.98, 1, 1.02, 1.04),
    (0.99, 1, 1.01),
)
CLOSEST_RATIO_TICKS = 0.2
"""The least distance of two ticks, as a share of the axis: their labels need it on a narrow screen."""

RATIO_LABEL = f"format(datum.value, '~g') + '{TIMES}'"
DURATION_LABEL = (
    "datum.value == 0 ? '0' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' s' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' ms' : format(datum.value, '~g') + ' µs'"
)
NINES_LABEL = "format(100 * (1 - pow(10, -datum.value)), '.6~r') + ' %'"

OWN_COLOUR: Spec = {"field": "colour", "type": "nominal", "scale": None}
OWN_SHAPE: Spec = {"field": "shape", "type": "nominal", "scale": None}
OWN_FILL: Spec = {
    "condition": {"test": "datum.hollow", "value": palette.PAPER.light},
    "field": "colour",
    "type": "nominal",
    "scale": None,
}
DESCRIPTION: Spec = {"field": "description", "type": "nominal"}
"""What the reader sees when pointing at the mark."""

LOOK: Spec = {
    "font": FONT,
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {
        "title": None,
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "labelColor": palette.MUTED.light,
        "titleColor": palette.MUTED.light,
        "gridColor": palette.GRID.light,
        "domainColor": palette.REFERENCE.light,
        "tickColor": palette.REFERENCE.light,
        "tickSize": 4,
    },
    "axisY": {"labelColor": palette.TEXT.light},
}


def ratio_domain(marks: Iterable[RatioMark]) -> tuple[float, float]:
    """An axis that holds all these intervals and 1, with some air at both ends."""
    ends = [1.0, *(end for mark in marks for end in (mark.low, mark.high))]
    air = max((max(ends) / min(ends)) ** 0.08, 1.01)
    return min(ends) / air, max(ends) * air


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios between the two ends: of the usual ladders, the one with most steps that has room."""
    ladders = [[tick for tick in ladder if low <= tick <= high] for ladder in RATIO_LADDERS]
    room = math.log(high / low) * CLOSEST_RATIO_TICKS
    roomy = (ladder for ladder in ladders if all(math.log(b / a) >= room for a, b in pairwise(ladder)))
    return max(roomy, key=len, default=[1])


def duration_ticks_us(values_us: Sequence[float]) -> list[float]:
    """Round durations between the least and the greatest, the denser the closer these are."""
    low, high = min(values_us, default=1.0), max(values_us, default=1.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 1000 else (1, 2, 5) if high / low > 10 else (1, 1.5, 2, 3, 5, 7)
    ticks = (step * 10.0**decade for decade in decades for step in steps)
    return [tick for tick in ticks if low <= tick <= high]


def quantitative(field: str, scale: Mapping[str, Any], **axis: Any) -> Spec:
    """A measured value on an axis; `axis` holds Vega-Lite's settings of it."""
    return {"field": field, "type": "quantitative", "scale": {"nice": False, **scale}, "axis": axis}


def rows_axis(rows: Sequence[str], label_width: int = 150) -> Spec:
    """A row for each level, in the order given, by the field `label`."""
    axis = {"ticks": False, "domain": False, "grid": False, "labelLimit": label_width, "labelPadding": 8}
    scale = {"domain": list(rows), "padding": 0}
    return {"field": "label", "type": "nominal", "scale": scale, "axis": axis}


def layer(values: Iterable[Mapping[str, Any]], mark: Mapping[str, Any], **encoding: Any) -> Spec:
    """One kind of mark, drawn once for each of the values; without a description it stays silent."""
    spoken = {"aria": "description" in encoding}
    return {"data": {"values": list(values)}, "mark": {**mark, **spoken}, "encoding": encoding}


def points_of(
    lines: Sequence[Line], beside: Callable[[float, float], float] = lambda x, _: x
) -> list[dict[str, Any]]:
    """All points of these lines, each with its line's style.

    `beside` moves a point, so that those of different lines do not cover each other: it gets its x, and how
    many places its line is from the middle one.
    """
    middle = (len(lines) - 1) / 2
    return [
        {**asdict(point), **asdict(line.style), "x": beside(point.x, place - middle)}
        for place, line in enumerate(lines)
        for point in line.points
    ]


def lines_and_dots(
    values: Sequence[Mapping[str, Any]], x: Spec, y: Spec, *, size: int, may_be_hollow: bool = False
) -> list[Spec]:
    """A line for each `label` through its values, and a dot at each, in their own colour and shape."""
    line = {"type": "line", "strokeWidth": 1.5}
    dots = {"type": "point", "size": size, "opacity": 1, "strokeWidth": 1.5 if may_be_hollow else 1}
    return [
        layer(values, line, x=x, y=y, color=OWN_COLOUR, detail={"field": "label", "type": "nominal"}),
        layer(
            values,
            dots,
            x=x,
            y=y,
            color=OWN_COLOUR,
            fill=OWN_FILL if may_be_hollow else OWN_COLOUR,
            shape=OWN_SHAPE,
            description=DESCRIPTION,
        ),
    ]


def whiskers(values: Sequence[Mapping[str, Any]], x: Spec, y_low: Spec) -> Spec:
    """A thin line from each value's `low` to its `high`, in its own colour."""
    rule = {"type": "rule", "strokeWidth": 1}
    return layer(values, rule, x=x, y=y_low, y2={"field": "high"}, color=OWN_COLOUR)


def row_values(texts: Mapping[str, str], y: Spec) -> Spec:
    """Each row's value, written at the right of the plot and flush right, whatever its length."""
    values = [{"label": label, "text": text} for label, text in texts.items()]
    mark = {"type": "text", "align": "right", "dx": 62, "fontSize": FONT_SIZE, "color": palette.TEXT.light}
    return layer(values, mark, y=y, x={"value": "width"}, text={"field": "text", "type": "nominal"})


def finished(layers: Sequence[Spec], width: int, height: int) -> Spec:
    """The layers as one chart whose outer width is fixed, with the common look."""
    return {
        "$schema": SCHEMA,
        "layer": list(layers),
        "width": width,
        "height": height,
        "padding": PADDING,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": LOOK,
    }


def stacked(charts: Sequence[Spec]) -> Spec:
    """Charts one below the other, with the common look."""
    return {"$schema": SCHEMA, "vconcat": list(charts), "spacing": 14, "padding": PADDING, "config": LOOK}
