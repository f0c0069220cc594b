"""The ladder of each library or key: what it does with more and more connections, as marks and as charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import exp

from tlstax.findings.core import stats
from tlstax.findings.core.outcomes import outcomes
from tlstax.findings.core.series import LADDER, Series, series
from tlstax.findings.core.wording import (
    CERTIFICATE,
    LIBRARY,
    SERVER,
    capitalised,
    certificate_label,
    library_label,
    mode_label,
)
from tlstax.records.trial import StoredRun
from tlstax.study import Level, Levels
from tlstax.study.outcomes import OUTCOMES
from tlstax.topics.core import chart_parts as parts
from tlstax.topics.core import figures, outcome_names, palette
from tlstax.topics.core.chart_parts import Spec, layer, quantitative
from tlstax.topics.core.marks import Line, Point, Style
from tlstax.topics.core.panel import Panel, at_one_width
from tlstax.topics.core.ratios import ends
from tlstax.topics.core.section import Charts

WIDTH, HEIGHT = 345, 170
DODGE = 0.05
"""How far apart, in octaves, the whiskers of two libraries stand at the same number of connections."""
LABEL_GAP_PX = 14


def measured(stored: StoredRun) -> Series:
    """The values that ladders are drawn from: those for which no histogram is decoded."""
    study = stored.header.study
    values = {
        record.trial.place: outcomes(record, ())
        for record in stored.measured
        if record.verdict.value == "valid"
    }
    return series(study, stored.measured, values)


def ladders(run: Series, outcome: str, *, least_libraries: int = 1) -> tuple[Charts, ...]:
    """A ladder chart for each server, workload and TLS mode with two numbers of connections or more.

    Servers with fewer than `least_libraries` are left out.
    """
    servers: dict[Level, dict[str, list[Line]]] = {}
    levels_of = run.study.levels_of()
    line = CERTIFICATE if len(levels_of.get(CERTIFICATE, ())) > 1 else LIBRARY
    places = {level: place for place, level in enumerate(levels_of.get(line, ()))}
    for at in run.ladders().values():
        if at[0].get("instance", 1) == 1:
            climb = _climb(run, at, outcome, places.get(at[0].get(line, ""), 0))
            if len(climb.points) > 1:
                servers.setdefault(at[0].get(SERVER, ""), {}).setdefault(mode_label(at[0]), []).append(climb)
    found = []
    for server, modes in servers.items():
        styles = tuple(dict.fromkeys(climb.style for climbs in modes.values() for climb in climbs))
        if len(styles) >= least_libraries:
            panels = tuple(_panel(mode, climbs, outcome) for mode, climbs in modes.items())
            found.append(Charts(panels, str(server) or "all cases", styles, small=True))
    return tuple(found)


def _climb(run: Series, at: Sequence[Levels], outcome: str, place: int) -> Line:
    label = ", ".join(filter(None, (library_label(at[0]), certificate_label(at[0])))) or "as it is"
    steps = [step for levels in at if (step := _step(run, levels, outcome, label)) is not None]
    style = Style(label, palette.level_ink(place).light, palette.level_shape(place))
    return Line(style, tuple(sorted(steps, key=lambda step: step.x)))


def _step(run: Series, levels: Levels, outcome: str, label: str) -> Point | None:
    logs = run.logs(levels, outcome)
    if not logs or LADDER not in levels:
        return None
    value = stats.interval(list(logs.values()), run.study.confidence)
    told = figures.quantity(value.point, OUTCOMES[outcome].unit)
    description = f"{label}, {levels[LADDER]} connections: {told}"
    return Point(float(levels[LADDER]), value.point, description, *ends(value))


def _panel(mode: str, climbs: Sequence[Line], outcome: str) -> Panel:
    said = (
        f"{climb.style.label}: {', '.join(step.description for step in climb.points)}" for climb in climbs
    )
    words = f"{outcome_names.title(outcome)} by connections, {mode}. {'; '.join(said)}"
    return Panel(
        title=capitalised(mode), reading="", drawings=(at_one_width(words, ladder_chart(climbs, outcome)),)
    )


def ladder_chart(climbs: Sequence[Line], outcome: str) -> Spec:
    """A line a library over the numbers of connections, whiskers for intervals, names at the right end."""
    ticks = sorted({step.x for climb in climbs for step in climb.points})
    highest = max(min(step.high or step.y, 2 * step.y) for climb in climbs for step in climb.points) * 1.04
    domain = [ticks[0] / 1.3, ticks[-1] * 1.3]
    shown = ticks if len(ticks) < 7 else [tick for place, tick in enumerate(ticks) if place % 2 == 0]
    x = quantitative("x", {"type": "log", "base": 2, "domain": domain}, values=shown, format="d", grid=False)
    label = {"labelExpr": parts.DURATION_LABEL} if OUTCOMES[outcome].unit == "us" else {"format": "~s"}
    axis = {"tickCount": 4, "minExtent": 42, "maxExtent": 42, **label}
    y = quantitative("y", {"domain": [0, highest]}, **axis)
    low = quantitative("low", {"domain": [0, highest]}, **axis)
    steps = parts.points_of(climbs, lambda connections, place: connections * exp(place * DODGE))
    steps = [{**step, "high": min(step["high"], highest)} for step in steps]
    layers = [
        parts.whiskers(steps, x, low),
        *parts.lines_and_dots(steps, x, y, size=28),
        *_names(climbs, domain[1], highest, x, y),
    ]
    return parts.finished(layers, WIDTH, HEIGHT)


def _names(climbs: Sequence[Line], end: float, highest: float, x: Spec, y: Spec) -> list[Spec]:
    """Each library's name beside its last step, pushed apart where lines end close to each other."""
    gap = LABEL_GAP_PX * highest / HEIGHT
    names = sorted(climbs, key=lambda climb: climb.points[-1].y)
    heights = apart([climb.points[-1].y for climb in names], gap, highest)
    values = [
        {"x": end, "y": height, **asdict(climb.style)} for climb, height in zip(names, heights, strict=True)
    ]
    mark = {"type": "text", "align": "left", "dx": 5, "fontSize": parts.FONT_SIZE, "fontWeight": 600}
    text = {"field": "label", "type": "nominal"}
    return [layer(values, mark, x=x, y=y, text=text, color=parts.OWN_COLOUR)]


def apart(heights: Sequence[float], gap: float, highest: float) -> list[float]:
    """These heights (ascending), moved so that there is a gap between any two, and none above the highest."""
    found: list[float] = []
    for height in heights:
        found.append(max(height, found[-1] + gap) if found else max(height, 0.0))
    ceiling = highest
    for place in range(len(found) - 1, -1, -1):
        found[place] = min(found[place], ceiling)
        ceiling = found[place] - gap
    return found
