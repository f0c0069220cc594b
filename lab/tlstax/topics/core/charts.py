"""The charts of a run as Vega-Lite specifications: plain marks in, a chart out, nothing computed of the run.

Every chart stands on its own data, has a fixed outer width (the page picks the drawing that suits the
reader's screen) and no legend: colours and shapes are told once, above the charts, in the page. The
`description` of a mark is what the reader sees when pointing at it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from tlstax.findings.core.wording import MINUS
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import palette
from tlstax.topics.core.chart_parts import Spec, layer, quantitative
from tlstax.topics.core.figures import TIMES
from tlstax.topics.core.marks import BlockStrip, Line, RatioMark, Segment

STRIP_HEIGHT = 56
STRIP_MARGIN = 76
STRETCHES = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 5, 10, 100)


def ratio_chart(
    marks: Sequence[RatioMark], *, noise_floor: float | None, domain: tuple[float, float], width: int
) -> Spec:
    """A dot and a whisker for each level on a logarithmic axis, the noise floor as a band around 1."""
    low, high = domain
    scale = {"type": "log", "domain": [low, high]}
    axis = {"values": parts.ratio_ticks(low, high), "labelExpr": parts.RATIO_LABEL}
    start, point = quantitative("low", scale, **axis), quantitative("point", scale, **axis)
    y = parts.rows_axis([mark.style.label for mark in marks])
    values = [{**asdict(mark), **asdict(mark.style)} for mark in marks]
    floor = noise_floor or 0.0
    band = {"low": max(low, 1 / (1 + floor)), "high": min(high, 1 + floor)}
    layers = [
        layer([band], {"type": "rect", "color": palette.BAND.light}, x=start, x2={"field": "high"}),
        layer(
            [{"point": 1}], {"type": "rule", "color": palette.REFERENCE.light, "strokeDash": [3, 3]}, x=point
        ),
        layer(
            values,
            {"type": "rule", "strokeWidth": 2},
            y=y,
            x=start,
            x2={"field": "high"},
            color=parts.OWN_COLOUR,
        ),
        layer(values, _dots(size=90, stroke=2), y=y, x=point, **_own_look()),
        parts.row_values({mark.style.label: mark.text for mark in marks}, y),
    ]
    return parts.finished(layers, width, parts.ROW_HEIGHT * len(marks))


def latency_chart(curves: Sequence[Line], knots: Sequence[Line], *, width: int, height: int = 260) -> Spec:
    """Latency against the share of operations that were at least as fast, on an axis that counts nines.

    Of a point, x counts nines: -log10(1 - share), so 99 % is 2. Its y is in microseconds. `knots` are the
    percentiles that carry a dot.
    """
    points, dots = parts.points_of(curves), parts.points_of(knots)
    nines = [point["x"] for point in points]
    latencies_us = [point["y"] for point in points]
    last = max(nines, default=1.0)
    ticks = [tick for tick in (-math.log10(0.5), *range(1, math.ceil(last) + 1)) if tick <= last]
    x = quantitative(
        "x",
        {"domain": [min(nines, default=0.0), last]},
        values=ticks,
        labelExpr=parts.NINES_LABEL,
        labelOverlap=False,
    )
    y = quantitative(
        "y",
        {"type": "log"},
        values=parts.duration_ticks_us(latencies_us),
        labelExpr=parts.DURATION_LABEL,
    )
    dash = {"condition": {"test": "datum.hollow", "value": [4, 3]}, "value": [1, 0]}
    line = {"type": "line", "strokeWidth": 2, "interpolate": "monotone"}
    detail = {"field": "label", "type": "nominal"}
    layers = [
        layer(points, line, x=x, y=y, color=parts.OWN_COLOUR, detail=detail, strokeDash=dash),
        layer(dots, _dots(size=50, stroke=1.5), x=x, y=y, **_own_look()),
    ]
    return parts.finished(layers, width, height)


def bar_chart(
    segments: Sequence[Segment], totals: dict[str, str], *, end_us: float, width: int, label_width: int = 150
) -> Spec:
    """Stacked bars of time, a row for each of `totals`, which are written at the right."""
    y = parts.rows_axis(list(totals), label_width)
    x = quantitative("start_us", {"domain": [0, end_us]}, labelExpr=parts.DURATION_LABEL, tickCount=4)
    bars = layer(
        [asdict(segment) for segment in segments],
        {"type": "bar", "height": 15, "stroke": palette.PAPER.light, "strokeWidth": 1},
        y=y,
        x=x,
        x2={"field": "end_us"},
        color=parts.OWN_COLOUR,
        opacity={"condition": {"test": "datum.faint", "value": 0.45}, "value": 1},
        description=parts.DESCRIPTION,
    )
    return parts.finished([bars, parts.row_values(totals, y)], width, parts.ROW_HEIGHT * len(totals))


def block_chart(strips: Sequence[BlockStrip], *, width: int) -> Spec:
    """One strip a level: its ratio in every block in the order they ran, all strips equally stretched."""
    last = max((point.block for strip in strips for point in strip.points), default=1)
    stretch = max((_stretch(strip) for strip in strips), default=STRETCHES[0])
    plot_width = width - STRIP_MARGIN
    return parts.stacked(
        [
            _strip(strip, _block_axis(last, is_last=strip is strips[-1]), stretch) | {"width": plot_width}
            for strip in strips
        ]
    )


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
    title = {"anchor": "start", "fontSize": parts.FONT_SIZE, "fontWeight": 600, "offset": 5}
    band = {"type": "rect", "color": palette.BAND.light}
    return {
        "title": {"text": style.label, "color": style.colour, **title},
        "height": STRIP_HEIGHT,
        "layer": [
            layer([interval], band, x=x, x2={"field": "end"}, y=y, y2={"field": "high"}),
            layer(values, line, x=x, y=y),
            layer(values, dots, x=x, y=y, description=parts.DESCRIPTION),
        ],
    }


def _strip_axis(middle: float, stretch: float) -> Spec:
    """The whole run's ratio in the middle, and how far above and below it the strip reaches."""
    if stretch < 2:
        above, below = (f"{sign}{(stretch - 1) * 100:.3g} %" for sign in ("+", MINUS))
    else:
        above, below = f"{TIMES}{stretch:.3g}", f"\N{DIVISION SIGN}{stretch:.3g}"
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


def _own_look() -> Spec:
    """Colour, filling, shape and words that the datum itself carries."""
    return {
        "color": parts.OWN_COLOUR,
        "fill": parts.OWN_FILL,
        "shape": parts.OWN_SHAPE,
        "description": parts.DESCRIPTION,
    }
