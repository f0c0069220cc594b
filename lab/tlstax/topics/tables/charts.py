"""The figures of published tables: a column over time, times as bars, ratios beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.results.interval import Interval
from tlstax.study import Column, Part, ProcessorColumn, ProcessorTable, TimeRow, TimeTable
from tlstax.topics.core import charts, figures, palette
from tlstax.topics.core.charts import (
    NARROW,
    Key,
    Line,
    Panel,
    Point,
    RatioMark,
    Segment,
    Spec,
    Style,
    at_both_widths,
    at_one_width,
    quantitative,
)
from tlstax.topics.tables.layout import Place, View, as_ratio, change_words
from tlstax.topics.tables.measured import RATIO

DRAWN: ProcessorColumn = "system"
HEIGHT = 150


def load_chart(lines: Sequence[Line], *, highest: float, width: int = NARROW) -> Spec:
    """A line with dots for each side over the time since the window began, from nothing to `highest`."""
    end_s = max((point.x for line in lines for point in line.points), default=1.0)
    x = quantitative("x", {"domain": [0, end_s]}, title="seconds", tickCount=6, grid=False)
    y = quantitative("y", {"domain": [0, highest]}, title=f"%{DRAWN}", tickCount=4)
    layers = charts.lines_and_dots(charts.points_of(lines), x, y, size=32, may_be_hollow=True)
    return charts.finished(layers, width, HEIGHT)


def load_panels(table: ProcessorTable, view: View) -> Iterator[Panel]:
    """The column over time: as published, then in every part that was long enough, all on one scale."""
    styles = side_styles(table.sides)
    drawn = []
    for part in (None, *view.parts):
        sides = view.sides(table, part)
        marks = "; ".join(f"{side.side}: {side.mark}" for side in sides if side.mark)
        drawn.append((view.name(part), [_line(side, styles[side.side]) for side in sides], marks))
    points = (point.y for _, lines, _ in drawn for line in lines for point in line.points)
    highest = max(points, default=1.0)
    keys = tuple(Key(style.label, style.colour) for style in styles.values())
    for title, lines, marks in drawn:
        if any(line.points for line in lines):
            told = "; ".join(_told(line) for line in lines)
            chart = load_chart(lines, highest=1.05 * highest or 1.0)
            yield Panel(title, marks, (at_one_width(f"%{DRAWN}, {title}: {told}", chart),), keys)


def side_styles(sides: Sequence[Column]) -> dict[str, Style]:
    """How each side is drawn, the first one as baselines are."""
    first, *others = (side.name for side in sides)
    styles = {first: Style(first, palette.BASELINE.light, "circle")}
    for place, name in enumerate(others):
        styles[name] = Style(name, palette.level_ink(place).light, palette.level_shape(place + 1))
    return styles


def bar_panels(table: TimeTable, view: View) -> Iterator[Panel]:
    """Times as bars: as published, then of every part that has any, each on a scale of its own."""
    styles = side_styles(table.sides)
    for part in (None, *view.parts):
        times = {
            (line.label, side.side): (own.value or 0.0, side.mark)
            for line in table.rows
            for side in view.sides(table, part, line.label)
            if (own := side.figure(table.outcome)) is not None
        }
        if times:
            yield _bars(view.name(part), times, styles)


def ratio_panels(table: TimeTable, view: View) -> Iterator[Panel]:
    """For each line, the published ratio to the first side and that of every part, on one scale."""
    places = {
        line.label: [(part, view.sides(table, part, line.label)) for part in view.parts]
        for line in table.rows
    }
    marks = {line.label: list(_ratio_marks(line, places[line.label], view)) for line in table.rows}
    domain = charts.ratio_domain(mark for own in marks.values() for mark in own)
    for label, own in marks.items():
        rows = [row for _, sides in places[label] for side in sides for row in side.rows if row.role == RATIO]
        floors = [row.noise_floor for row in rows if row.noise_floor is not None]
        chart = charts.ratio_chart(own, noise_floor=max(floors, default=None), domain=domain, width=NARROW)
        words = "; ".join(mark.description for mark in own)
        yield Panel(label, "", (at_one_width(words, chart),))


def _line(side: Place, style: Style) -> Line:
    shares = ((end_s, side.share(DRAWN, end_s)) for end_s in side.ends_s)
    points = (
        Point(end_s, share, f"{side.side}: {share:.2f} % at {end_s:g} s")
        for end_s, share in shares
        if share is not None
    )
    return Line(style, tuple(points))


def _told(line: Line) -> str:
    return f"{line.style.label} {', '.join(f'{point.y:.1f}' for point in line.points) or 'not shown'}"


def _bars(title: str, times: dict[tuple[str, str], tuple[float, str]], styles: dict[str, Style]) -> Panel:
    segments, totals = [], {}
    for (label, side), (value_s, bad) in times.items():
        row = f"{label}, {side}"
        text = figures.quantity(value_s * 1e6, "us")
        described = f"{row}: {text}{f', {bad}' if bad else ''}"
        segments.append(Segment(row, 0.0, value_s * 1e6, styles[side].colour, described, faint=bool(bad)))
        totals[row] = text
    end_us = max(segment.end_us for segment in segments)
    words = f"{title}: {'; '.join(segment.description for segment in segments)}"
    pale = "Pale: not valid." if any(segment.faint for segment in segments) else ""
    return Panel(
        title=title,
        reading=pale,
        drawings=at_both_widths(
            words, lambda width: charts.bar_chart(segments, totals, end_us=end_us, width=width)
        ),
        keys=tuple(Key(style.label, style.colour) for style in styles.values()),
    )


def _ratio_marks(
    line: TimeRow, places: Sequence[tuple[Part, Sequence[Place]]], view: View
) -> Iterator[RatioMark]:
    """The published ratios, without an interval, and each part's."""
    first, *others = (side.side for side in places[0][1])
    several = len(others) > 1
    for name in others:
        style = Style(f"published{f', {name}' if several else ''}", palette.BASELINE.light, "diamond")
        yield _ratio_mark(line, style, as_ratio(line.values[name] / line.values[first]), "")
    for place, (part, sides) in enumerate(places):
        key = f"({part.key})" if len(view.parts) > 1 else "here"
        for side in sides[1:]:
            if side.ratio is not None:
                bad = sides[0].mark or side.mark
                label = f"{key}{f' {side.side}' if several else ''}{f', {bad}' if bad else ''}"
                ink, shape = palette.level_ink(place).light, palette.level_shape(place)
                yield _ratio_mark(line, Style(label, ink, shape, hollow=bool(bad)), side.ratio, bad)


def _ratio_mark(line: TimeRow, style: Style, ratio: Interval, bad: str) -> RatioMark:
    words, (low, high) = change_words(ratio), ratio.ends
    return RatioMark(
        style=style,
        point=ratio.point,
        low=low,
        high=high,
        text=words.partition(" [")[0],
        description=f"{line.label}, {style.label}: {words}{f', {bad}' if bad else ''}",
    )
