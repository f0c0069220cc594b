"""The charts of a run: plain marks, the Vega-Lite 6 specifications that draw them, and panels for the page.

A specification (https://vega.github.io/vega-lite/docs/) is made of marks alone: nothing of the run is
computed for it. Every chart stands on its own data, has a fixed outer width (the page picks the drawing that
suits the reader's screen) and no legend: colours and shapes are told once, above the charts, in the page. The
`description` of a mark is what the reader sees when pointing at it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tlstax.results.interval import Interval
from tlstax.stats.wording import MINUS
from tlstax.topics.core import palette
from tlstax.topics.core.figures import DIVIDED, TIMES


@dataclass(frozen=True)
class Style:
    """How one level is drawn, everywhere in a report; `hollow` sets the control apart."""

    label: str
    colour: str
    shape: str
    hollow: bool = False


def level_style(label: str, place: int, *, shape: int = 1, hollow: bool = False) -> Style:
    """The style of the level at this place among others; `shape` is how many shapes stand before its own.

    That of the baseline is the first shape, where it is drawn beside them.
    """
    return Style(label, palette.level_ink(place).light, palette.level_shape(place + shape), hollow)


@dataclass(frozen=True)
class RatioMark:
    """One level's ratio to the baseline; `low` and `high` equal `point` where there is no interval."""

    style: Style
    point: float
    low: float
    high: float
    text: str
    description: str

    @classmethod
    def of(cls, style: Style, ratio: Interval, text: str, description: str) -> RatioMark:
        """The mark of this ratio."""
        return cls(style, ratio.point, *ratio.ends, text, description)


@dataclass(frozen=True)
class Point:
    """What a line goes through; `low` to `high` is the interval of `y`, where it has one that is drawn."""

    x: float
    y: float
    description: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """One level over something that grows to the right."""

    style: Style
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Segment:
    """A part of the bar of row `label`, from `start_us` to `end_us`; a faint one is drawn pale."""

    label: str
    start_us: float
    end_us: float
    colour: str
    description: str
    faint: bool = False


@dataclass(frozen=True)
class BlockPoint:
    """One level's ratio in one block, counted from 1; None where the block has no valid pair."""

    block: int
    ratio: float | None
    description: str


@dataclass(frozen=True)
class BlockStrip:
    """One level's ratios block after block; `low` to `high` is the interval of the whole run."""

    style: Style
    points: tuple[BlockPoint, ...]
    middle: float
    low: float
    high: float


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


def nominal(field: str, **more: Any) -> Spec:
    """A field that is no number; `more` holds Vega-Lite's settings of it."""
    return {"field": field, "type": "nominal", **more}


OWN_COLOUR = nominal("colour", scale=None)
OWN_FILL = nominal("colour", scale=None, condition={"test": "datum.hollow", "value": palette.PAPER.light})
DESCRIPTION = nominal("description")
"""What the reader sees when pointing at the mark."""

OWN_LOOK: Spec = {
    "color": OWN_COLOUR,
    "fill": OWN_FILL,
    "shape": nominal("shape", scale=None),
    "description": DESCRIPTION,
}
"""Colour, filling, shape and words that the datum itself carries."""

REFERENCE: Spec = {"type": "rule", "color": palette.REFERENCE.light, "strokeDash": [3, 3]}
"""A dashed line where there is no difference."""

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
    return nominal("label", scale=scale, axis=axis)


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
    dots = _dots(size=size, stroke=1.5 if may_be_hollow else 1)
    look = OWN_LOOK if may_be_hollow else {**OWN_LOOK, "fill": OWN_COLOUR}
    return [
        layer(values, line, x=x, y=y, color=OWN_COLOUR, detail=nominal("label")),
        layer(values, dots, x=x, y=y, **look),
    ]


def whiskers(values: Sequence[Mapping[str, Any]], x: Spec, y_low: Spec) -> Spec:
    """A thin line from each value's `low` to its `high`, in its own colour."""
    rule = {"type": "rule", "strokeWidth": 1}
    return layer(values, rule, x=x, y=y_low, y2={"field": "high"}, color=OWN_COLOUR)


def row_values(texts: Mapping[str, str], y: Spec) -> Spec:
    """Each row's value, written at the right of the plot and flush right, whatever its length."""
    values = [{"label": label, "text": text} for label, text in texts.items()]
    mark = {"type": "text", "align": "right", "dx": 62, "fontSize": FONT_SIZE, "color": palette.TEXT.light}
    return layer(values, mark, y=y, x={"value": "width"}, text=nominal("text"))


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


BAND: Spec = {"type": "rect", "color": palette.BAND.light}
LATENCY_HEIGHT = 260
STRIP_HEIGHT = 56
STRIP_MARGIN = 76
STRETCHES = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 5, 10, 100)


def ratio_chart(
    marks: Sequence[RatioMark], *, noise_floor: float | None, domain: tuple[float, float], width: int
) -> Spec:
    """A dot and a whisker for each level on a logarithmic axis, the noise floor as a band around 1."""
    low, high = domain
    scale = {"type": "log", "domain": [low, high]}
    axis = {"values": ratio_ticks(low, high), "labelExpr": RATIO_LABEL}
    start, point = quantitative("low", scale, **axis), quantitative("point", scale, **axis)
    y = rows_axis([mark.style.label for mark in marks])
    values = [{**asdict(mark), **asdict(mark.style)} for mark in marks]
    floor = noise_floor or 0.0
    band = {"low": max(low, 1 / (1 + floor)), "high": min(high, 1 + floor)}
    layers = [
        layer([band], BAND, x=start, x2={"field": "high"}),
        layer([{"point": 1}], REFERENCE, x=point),
        layer(
            values, {"type": "rule", "strokeWidth": 2}, y=y, x=start, x2={"field": "high"}, color=OWN_COLOUR
        ),
        layer(values, _dots(size=90, stroke=2), y=y, x=point, **OWN_LOOK),
        row_values({mark.style.label: mark.text for mark in marks}, y),
    ]
    return finished(layers, width, ROW_HEIGHT * len(marks))


def latency_chart(curves: Sequence[Line], knots: Sequence[Line], *, width: int) -> Spec:
    """Latency against the share of operations that were at least as fast, on an axis that counts nines.

    Of a point, x counts nines: -log10(1 - share), so 99 % is 2. Its y is in microseconds. `knots` are the
    percentiles that carry a dot.
    """
    points, dots = points_of(curves), points_of(knots)
    nines = [point["x"] for point in points]
    last = max(nines, default=1.0)
    ticks = [tick for tick in (-math.log10(0.5), *range(1, math.ceil(last) + 1)) if tick <= last]
    x = quantitative(
        "x",
        {"domain": [min(nines, default=0.0), last]},
        values=ticks,
        labelExpr=NINES_LABEL,
        labelOverlap=False,
    )
    ticks_us = duration_ticks_us([point["y"] for point in points])
    y = quantitative("y", {"type": "log"}, values=ticks_us, labelExpr=DURATION_LABEL)
    dash = {"condition": {"test": "datum.hollow", "value": [4, 3]}, "value": [1, 0]}
    line = {"type": "line", "strokeWidth": 2, "interpolate": "monotone"}
    layers = [
        layer(points, line, x=x, y=y, color=OWN_COLOUR, detail=nominal("label"), strokeDash=dash),
        layer(dots, _dots(size=50, stroke=1.5), x=x, y=y, **OWN_LOOK),
    ]
    return finished(layers, width, LATENCY_HEIGHT)


def bar_chart(
    segments: Sequence[Segment], totals: dict[str, str], *, end_us: float, width: int, label_width: int = 150
) -> Spec:
    """Stacked bars of time, a row for each of `totals`, which are written at the right."""
    y = rows_axis(list(totals), label_width)
    x = quantitative("start_us", {"domain": [0, end_us]}, labelExpr=DURATION_LABEL, tickCount=4)
    bars = layer(
        [asdict(segment) for segment in segments],
        {"type": "bar", "height": 15, "stroke": palette.PAPER.light, "strokeWidth": 1},
        y=y,
        x=x,
        x2={"field": "end_us"},
        color=OWN_COLOUR,
        opacity={"condition": {"test": "datum.faint", "value": 0.45}, "value": 1},
        description=DESCRIPTION,
    )
    return finished([bars, row_values(totals, y)], width, ROW_HEIGHT * len(totals))


def block_chart(strips: Sequence[BlockStrip], *, width: int) -> Spec:
    """One strip a level: its ratio in every block in the order they ran, all strips equally stretched."""
    last = max((point.block for strip in strips for point in strip.points), default=1)
    stretch = max(map(_stretch, strips), default=STRETCHES[0])
    drawn = [_strip(strip, _block_axis(last, is_last=strip is strips[-1]), stretch) for strip in strips]
    charts = [{**strip, "width": width - STRIP_MARGIN} for strip in drawn]
    return {"$schema": SCHEMA, "vconcat": charts, "spacing": 14, "padding": PADDING, "config": LOOK}


def _stretch(strip: BlockStrip) -> float:
    """How far the strip's farthest point is from its middle, as a factor: the next round one."""
    ratios = [point.ratio for point in strip.points if point.ratio] + [strip.low, strip.high]
    farthest = max(max(ratio / strip.middle, strip.middle / ratio) for ratio in ratios)
    return next((stretch for stretch in STRETCHES if stretch >= farthest), farthest)


def _strip(strip: BlockStrip, x: Spec, stretch: float) -> Spec:
    """A block without a valid pair breaks the line."""
    style, y = strip.style, _strip_axis(strip.middle, stretch)
    values = [asdict(point) for point in strip.points]
    start, end = x["scale"]["domain"]
    interval = {"ratio": strip.low, "high": strip.high, "block": start, "end": end}
    fill = palette.PAPER.light if style.hollow else style.colour
    line = {"type": "line", "color": style.colour, "strokeWidth": 1.5, "invalid": "break-paths-show-domains"}
    dots = {**_dots(size=45, stroke=1.5), "shape": style.shape, "color": style.colour, "fill": fill}
    title = {"anchor": "start", "fontSize": FONT_SIZE, "fontWeight": 600, "offset": 5}
    return {
        "title": {"text": style.label, "color": style.colour, **title},
        "height": STRIP_HEIGHT,
        "layer": [
            layer([interval], BAND, x=x, x2={"field": "end"}, y=y, y2={"field": "high"}),
            layer(values, line, x=x, y=y),
            layer(values, dots, x=x, y=y, description=DESCRIPTION),
        ],
    }


def _strip_axis(middle: float, stretch: float) -> Spec:
    """The whole run's ratio in the middle, and how far above and below it the strip reaches."""
    if stretch < 2:
        above, below = (f"{sign}{(stretch - 1) * 100:.3g} %" for sign in ("+", MINUS))
    else:
        above, below = f"{TIMES}{stretch:.3g}", f"{DIVIDED}{stretch:.3g}"
    ends = [middle / stretch, middle * stretch]
    return quantitative(
        "ratio",
        {"type": "log", "domain": ends},
        values=[ends[0], middle, ends[1]],
        labelExpr=f"{[below, f'{middle:.3g}{TIMES}', above]}[round(datum.index * 2)]",
        minExtent=52,
        maxExtent=52,
    )


def _block_axis(last: int, *, is_last: bool) -> Spec:
    """Blocks from 1; only the last strip names them."""
    return quantitative(
        "block",
        {"domain": [0.5, last + 0.5]},
        title="block" if is_last else None,
        labels=is_last,
        values=list(range(1, last + 1, math.ceil(last / 12))),
        format="d",
        grid=False,
    )


def _dots(*, size: int, stroke: float) -> Spec:
    return {"type": "point", "size": size, "opacity": 1, "strokeWidth": stroke}


_ARIA = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')
_DESCRIBED = re.compile(
    r'<(path|line|rect)((?: [^<>]*?)?) aria-label="([^"]+)" role="graphics-symbol"([^<>]*?)/>'
)
_PLACED = re.compile(r' (?:d|transform)="[^"]*"')
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")


def svg(chart: Spec) -> str:
    """The chart drawn. What a mark describes becomes its title, which a browser shows when pointed at.

    The roles that Vega gives to each line and letter are dropped: the page names the whole chart, and
    holds its figures in a table.
    """
    import vl_convert  # noqa: PLC0415 - slow, and wanted for a page with charts alone

    drawn = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    titled = _DESCRIBED.sub(r"<\1\2\4><title>\3</title></\1>", drawn)
    return _PLACED.sub(lambda found: _LONG_NUMBER.sub(r"\1", found[0]), _ARIA.sub("", titled))


WIDE = 510
NARROW = 345


@dataclass(frozen=True)
class Drawing:
    """One chart: the words that stand for it where it cannot be seen, and its two drawings."""

    words: str
    wide: Markup
    narrow: Markup
    title: str = ""


@dataclass(frozen=True)
class Key:
    """What a colour stands for, where it is not a level."""

    name: str
    colour: str


@dataclass(frozen=True)
class Panel:
    """A titled chart, or several that are read together, and how to read them."""

    title: str
    reading: str
    drawings: tuple[Drawing, ...]
    keys: tuple[Key, ...] = ()


def at_both_widths(words: str, draw: Callable[[int], Spec], *, title: str = "") -> tuple[Drawing, ...]:
    """One chart, drawn for a wide and for a narrow screen; `words` stand for it where it cannot be seen."""
    return (Drawing(words, _drawn(draw(WIDE)), _drawn(draw(NARROW)), title),)


def at_one_width(words: str, chart: Spec) -> Drawing:
    """One chart that suits every screen; `words` stand for it where it cannot be seen."""
    drawn = _drawn(chart)
    return Drawing(words, drawn, drawn)


def _drawn(chart: Spec) -> Markup:
    return Markup(svg(chart))  # noqa: S704 - our own drawing; Vega escapes every text in it


CURVES_HEIGHT = 230


def curves_panel(  # noqa: PLR0913 (a chart's two axes, and what it says)
    panel: tuple[str, str],
    words: str,
    lines: Sequence[Line],
    *,
    x: Spec,
    scale: Mapping[str, Any],
    axis: Mapping[str, Any],
    beside: Callable[[float, float], float],
    reference: float | None = None,
) -> Panel:
    """Curves with whiskers for one width, under a title and how to read them; dashed at a reference.

    `beside` sets points of several curves beside each other, as `points_of` has it.
    """
    y, low = (quantitative(field, scale, minExtent=42, maxExtent=42, **axis) for field in ("y", "low"))
    values = points_of(lines, beside)
    layers = [whiskers(values, x, low), *lines_and_dots(values, x, y, size=34)]
    if reference is not None:
        layers.insert(0, layer([{"y": reference}], REFERENCE, y=y))
    said = "; ".join(point.description for line in lines for point in line.points)
    chart = finished(layers, NARROW, CURVES_HEIGHT)
    return Panel(*panel, (at_one_width(f"{words}. {said}", chart),))
