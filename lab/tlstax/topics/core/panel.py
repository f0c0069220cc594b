"""A titled chart on the page, drawn for a wide and for a narrow screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import palette
from tlstax.topics.core.chart_parts import Spec, layer, quantitative
from tlstax.topics.core.marks import Line

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
    values = parts.points_of(lines, beside)
    layers = [parts.whiskers(values, x, low), *parts.lines_and_dots(values, x, y, size=34)]
    if reference is not None:
        rule = {"type": "rule", "color": palette.REFERENCE.light, "strokeDash": [3, 3]}
        layers.insert(0, layer([{"y": reference}], rule, y=y))
    said = "; ".join(point.description for line in lines for point in line.points)
    chart = parts.finished(layers, NARROW, CURVES_HEIGHT)
    return Panel(*panel, (at_one_width(f"{words}. {said}", chart),))


def at_both_widths(words: str, draw: Callable[[int], Spec], *, title: str = "") -> tuple[Drawing, ...]:
    """One chart, drawn for a wide and for a narrow screen; `words` stand for it where it cannot be seen."""
    return (Drawing(words, _drawn(draw(WIDE)), _drawn(draw(NARROW)), title),)


def at_one_width(words: str, chart: Spec, *, title: str = "") -> Drawing:
    """One chart that suits every screen; `words` stand for it where it cannot be seen."""
    drawn = _drawn(chart)
    return Drawing(words, drawn, drawn, title)


def _drawn(chart: Spec) -> Markup:
    return Markup(svg(chart))  # noqa: S704 - our own drawing; Vega escapes every text in it
