"""The figures of published tables: a column over time, times as bars, ratios beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.report.published.rows import PUBLISHED, change_words, mark, part_names
from tlstax.results.interval import Interval
from tlstax.results.published_tables import (
    MeasuredTime,
    ProcessorTableResult,
    Tables,
    TimeLine,
    TimeTableResult,
)
from tlstax.study import PROCESSOR_COLUMNS, Column, ProcessorColumn
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import charts, figures, palette
from tlstax.topics.core.chart_parts import Spec, quantitative
from tlstax.topics.core.marks import Line, Point, RatioMark, Segment, Style
from tlstax.topics.core.panel import NARROW, Key, Panel, at_both_widths, at_one_width
from tlstax.topics.core.ratios import ends, ratio_domain

DRAWN: ProcessorColumn = "system"
HEIGHT = 150


def load_chart(lines: Sequence[Line], *, highest: float, width: int = NARROW) -> Spec:
    """A line with dots for each side over the time since the window began, from nothing to `highest`."""
    end_s = max((point.x for line in lines for point in line.points), default=1.0)
    x = quantitative("x", {"domain": [0, end_s]}, title="seconds", tickCount=6, grid=False)
    y = quantitative("y", {"domain": [0, highest]}, title=f"%{DRAWN}", tickCount=4)
    layers = parts.lines_and_dots(parts.points_of(lines), x, y, size=32, may_be_hollow=True)
    return parts.finished(layers, width, HEIGHT)


def load_panels(found: ProcessorTableResult, tables: Tables) -> tuple[Panel, ...]:
    """The column over time: as published, then in every part that was long enough, all on one scale."""
    styles = side_styles(found.published.sides)
    names = part_names(tables)
    drawn = {PUBLISHED: _published_lines(found, styles)}
    drawn |= {
        names[part.part]: _measured_lines(found, place, styles) for place, part in enumerate(found.parts)
    }
    highest = max((p.y for lines in drawn.values() for line in lines for p in line.points), default=1.0)
    keys = tuple(Key(style.label, style.colour) for style in styles.values())
    panels = []
    for title, lines in drawn.items():
        if any(line.points for line in lines):
            told = "; ".join(_told(line) for line in lines)
            drawing = at_one_width(
                f"%{DRAWN}, {title}: {told}", load_chart(lines, highest=1.05 * highest or 1.0)
            )
            panels.append(Panel(title, _marks(found, title, names), (drawing,), keys))
    return tuple(panels)


def side_styles(sides: Sequence[Column]) -> dict[str, Style]:
    """How each side is drawn, the first one as baselines are."""
    first, *others = (side.name for side in sides)
    styles = {first: Style(first, palette.BASELINE.light, "circle")}
    for place, name in enumerate(others):
        styles[name] = Style(name, palette.level_ink(place).light, palette.level_shape(place + 1))
    return styles


def bar_panels(found: TimeTableResult, tables: Tables) -> tuple[Panel, ...]:
    """Times as bars: as published, then of every part that has any, each on a scale of its own."""
    names = part_names(tables)
    styles = side_styles(found.published.sides)
    published = {(line.label, side): value for line in found.lines for side, value in line.published.items()}
    drawn: dict[str, dict[tuple[str, str], tuple[float, str]]] = {
        PUBLISHED: {place: (value, "") for place, value in published.items()}
    }
    for place, part in enumerate(tables.parts):
        drawn[names[part.key]] = {
            (line.label, side.side): (side.seconds.point, mark(side.shown))
            for line in found.lines
            for side in line.parts[place].sides
            if side.seconds is not None
        }
    return tuple(_bars(title, times, styles) for title, times in drawn.items() if times)


def ratio_panels(found: TimeTableResult, tables: Tables) -> tuple[Panel, ...]:
    """For each line, the published ratio to the first side and that of every part, on one scale."""
    marks = {line.label: _ratio_marks(line, tables) for line in found.lines}
    domain = ratio_domain(mark for own in marks.values() for mark in own)
    panels = []
    for line in found.lines:
        floors = [part.noise_floor for part in line.parts if part.noise_floor is not None]
        chart = charts.ratio_chart(
            marks[line.label], noise_floor=max(floors, default=None), domain=domain, width=NARROW
        )
        words = "; ".join(mark.description for mark in marks[line.label])
        panels.append(Panel(line.label, "", (at_one_width(words, chart),)))
    return tuple(panels)


def _published_lines(found: ProcessorTableResult, styles: dict[str, Style]) -> list[Line]:
    table, index = found.published, PROCESSOR_COLUMNS.index(DRAWN)
    lines = []
    for side in table.sides:
        cells = [row[index] for row in table.rows[side.name]]
        points = tuple(
            _point(side.name, (place + 1) * table.step_s, cell)
            for place, cell in enumerate(cells)
            if not isinstance(cell, str)
        )
        lines.append(Line(styles[side.name], points))
    return lines


def _measured_lines(found: ProcessorTableResult, place: int, styles: dict[str, Style]) -> list[Line]:
    return [
        Line(
            styles[side.side],
            tuple(_point(side.side, step.to_s, step.values[DRAWN]) for step in side.steps),
        )
        for side in found.parts[place].sides
    ]


def _point(side: str, at_s: float, percent: float) -> Point:
    return Point(at_s, percent, f"{side}: {percent:.2f} % at {at_s:g} s")


def _told(line: Line) -> str:
    return f"{line.style.label} {', '.join(f'{point.y:.1f}' for point in line.points) or 'not shown'}"


def _marks(found: ProcessorTableResult, title: str, names: dict[str, str]) -> str:
    """What is wrong with the sides of a part; empty for what was published."""
    sides = next((part.sides for part in found.parts if names[part.part] == title), ())
    return "; ".join(f"{side.side}: {bad}" for side in sides if (bad := mark(side.shown)))


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


def _ratio_marks(line: TimeLine, tables: Tables) -> list[RatioMark]:
    """The published ratios, without an interval, and each part's."""
    several = len(line.published_ratios) > 1
    marks = []
    for name, ratio in line.published_ratios.items():
        style = Style(f"published{f', {name}' if several else ''}", palette.BASELINE.light, "diamond")
        published = Interval(point=ratio, low=None, high=None, confidence=0.0, blocks=1)
        marks.append(_ratio_mark(line, style, published, ""))
    for place, part in enumerate(line.parts):
        key = f"({part.part})" if len(tables.parts) > 1 else "here"
        for name, own in part.ratios.items():
            bad = next((mark(side.shown) for side in _both(part.sides, name) if mark(side.shown)), "")
            label = f"{key}{f' {name}' if several else ''}{f', {bad}' if bad else ''}"
            style = Style(label, palette.level_ink(place).light, palette.level_shape(place), hollow=bool(bad))
            marks.append(_ratio_mark(line, style, own, bad))
    return marks


def _ratio_mark(line: TimeLine, style: Style, ratio: Interval, bad: str) -> RatioMark:
    words, (low, high) = change_words(ratio), ends(ratio)
    return RatioMark(
        style=style,
        point=ratio.point,
        low=low,
        high=high,
        text=words.partition(" [")[0],
        description=f"{line.label}, {style.label}: {words}{f', {bad}' if bad else ''}",
    )


def _both(sides: Sequence[MeasuredTime], name: str) -> list[MeasuredTime]:
    """The first side and the one of this name: what a ratio is of."""
    return [side for place, side in enumerate(sides) if place == 0 or side.side == name]
