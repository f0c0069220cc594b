"""The charts: valid Vega-Lite, drawn as SVG that stands alone, with ticks that have room."""

from __future__ import annotations

import json
import math
import re
from importlib import resources
from itertools import pairwise
from typing import Any

import jsonschema
import pytest

from tlstax.topics.core import charts
from tlstax.topics.core.charts import (
    CLOSEST_RATIO_TICKS,
    BlockPoint,
    BlockStrip,
    Line,
    Point,
    RatioMark,
    Segment,
    Style,
    duration_ticks_us,
    ratio_ticks,
    svg,
)
from tlstax.topics.core.palette import every_ink
from tlstax.topics.tables.layout import load_chart

LEVEL = Style("TLS <1.3>", "#0072b2", "square")
CONTROL = Style("plaintext again", "#8491a0", "circle", hollow=True)

MARKS = (
    RatioMark(CONTROL, 1.003, 0.99, 1.02, "+0.3 %", "the control"),
    RatioMark(LEVEL, 0.2, 0.19, 0.21, "÷5.00", 'as "fast" & <slow>'),
)
CURVES = (Line(LEVEL, tuple(Point(n / 4, 80 * 2.0**n, "") for n in range(16))),)
KNOTS = (Line(LEVEL, (Point(2, 20480, "p99"),)),)
STRIPS = (
    BlockStrip(
        LEVEL,
        (BlockPoint(1, 0.2, "one"), BlockPoint(2, None, "lost"), BlockPoint(3, 0.21, "three")),
        0.205,
        0.19,
        0.22,
    ),
)
SEGMENTS = (Segment("TLS", 0, 20, "#0072b2", "user"), Segment("TLS", 20, 25, "#0072b2", "kernel", faint=True))
LOADS = (
    Line(CONTROL, (Point(5, 14.5, "No <SSL>: 14.50 % at 5 s"), Point(10, 15.0, "then"))),
    Line(LEVEL, (Point(5, 17.5, "SSL"),)),
)

EVERY_CHART: dict[str, dict[str, Any]] = {
    "ratio": charts.ratio_chart(MARKS, noise_floor=0.02, domain=(0.15, 1.2), width=345),
    "ratio without noise floor": charts.ratio_chart(MARKS, noise_floor=None, domain=(0.15, 1.2), width=345),
    "latency": charts.latency_chart(CURVES, KNOTS, width=510),
    "bars": charts.bar_chart(SEGMENTS, {"TLS": "25.0 µs"}, end_us=25, width=510),
    "blocks": charts.block_chart(STRIPS, width=345),
    "loads": load_chart(LOADS, highest=20.0),
}


def text_of(drawn: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


@pytest.mark.parametrize("chart", EVERY_CHART.values(), ids=EVERY_CHART)
def test_a_chart_is_valid_vega_lite(chart: dict[str, Any]) -> None:
    schema = resources.files("altair") / "vegalite" / "v6" / "schema" / "vega-lite-schema.json"
    jsonschema.validate(chart, json.loads(schema.read_text(encoding="utf-8")))


@pytest.mark.parametrize("chart", EVERY_CHART.values(), ids=EVERY_CHART)
def test_a_drawing_stands_alone_and_uses_only_inks_that_have_a_dark_twin(chart: dict[str, Any]) -> None:
    drawn = svg(chart)
    assert not re.search(r"href|url\(|<script|<style|<image|\bid=| aria-| role=", drawn)
    colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]+|\w+)"', drawn)) - {"none", "transparent"}
    assert colours <= {ink.light for ink in every_ink()}


@pytest.mark.parametrize("name", ["ratio", "latency", "bars", "loads"])
def test_a_drawing_is_as_wide_as_asked(name: str) -> None:
    width = re.search(r'<svg [^>]*viewBox="0 0 (\d+)', svg(EVERY_CHART[name]))
    assert width
    assert int(width[1]) == EVERY_CHART[name]["width"]


def test_ratios_are_written_out_and_described() -> None:
    drawn = svg(EVERY_CHART["ratio"])
    assert {"÷5.00", "+0.3 %", "TLS &lt;1.3&gt;", "1×"} <= set(text_of(drawn))
    assert "<title>as &quot;fast&quot; &amp; &lt;slow&gt;</title>" in drawn


def test_latency_is_read_off_nines_and_round_durations() -> None:
    words = text_of(svg(EVERY_CHART["latency"]))
    assert {"50 %", "90 %", "99 %", "99.9 %", "100 µs", "1 ms", "1 s"} <= set(words)


def test_loads_are_drawn_over_time_and_described() -> None:
    drawn = svg(EVERY_CHART["loads"])
    assert {"seconds", "%system", "0", "10", "20"} <= set(text_of(drawn))
    assert drawn.count("<title>") == 3
    assert "<title>No &lt;SSL&gt;: 14.50 % at 5 s</title>" in drawn


def test_a_block_without_a_pair_breaks_the_line() -> None:
    drawn = svg(EVERY_CHART["blocks"])
    assert drawn.count("<title>") == 2
    assert "<title>lost</title>" not in drawn
    assert {"1", "2", "3", "0.205×", "+10 %", "−10 %"} <= set(text_of(drawn))


@pytest.mark.parametrize(
    ("low", "high"), [(0.9, 1.35), (0.17, 9.2), (0.98, 1.02), (1e-4, 2), (0.9999, 1.0001)]
)
def test_ratio_ticks_hold_one_and_have_room(low: float, high: float) -> None:
    ticks = ratio_ticks(low, high)
    assert 1 in ticks
    assert all(low <= tick <= high for tick in ticks)
    room = CLOSEST_RATIO_TICKS * math.log(high / low)
    assert all(math.log(b / a) >= room for a, b in pairwise(ticks))


@pytest.mark.parametrize(("low", "high"), [(180, 850), (80, 20_000), (1, 60e6)])
def test_duration_ticks_are_round_and_neither_few_nor_many(low: float, high: float) -> None:
    ticks = duration_ticks_us([high, low])
    assert 2 <= len(ticks) <= 9
    assert all(low <= tick <= high for tick in ticks)
    assert all(f"{tick:e}"[0] in "12357" for tick in ticks)
