"""The chart of a query: a dot and its interval for each row that has a label and a ratio, on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tlstax.results.interval import Interval
from tlstax.topics.core import figures, palette
from tlstax.topics.core.charts import RatioMark, Style, ratio_domain, ratio_ticks

MOST_ROWS = 60
"""More are in the table alone."""

NEEDED = ("label", "ratio", "ratio_low", "ratio_high")
"""The columns of a query that has a chart."""


@dataclass(frozen=True)
class Place:
    """A row of the chart: its label, where dot and interval are (in per cent), what it says in words."""

    label: str
    at: float
    low: float
    width: float
    words: str


@dataclass(frozen=True)
class Chart:
    """The rows, where no difference is, the scale's marks by their names, how many rows are left out."""

    places: tuple[Place, ...]
    one: float
    ticks: tuple[tuple[str, float], ...]
    left_out: int


def ratio_chart(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Chart | None:
    """The chart of these rows; None where the query has other columns, or nothing is above 0."""
    if not set(NEEDED) <= set(columns):
        return None
    marks = [_mark(row) for row in rows if _is_drawable(row)]
    if not marks:
        return None
    shown = marks[:MOST_ROWS]
    low, high = ratio_domain(shown)

    def place(ratio: float) -> float:
        return round(100 * math.log(ratio / low) / math.log(high / low), 2)

    return Chart(
        places=tuple(
            Place(
                label=mark.style.label,
                at=place(mark.point),
                low=place(mark.low),
                width=round(place(mark.high) - place(mark.low), 2),
                words=mark.text,
            )
            for mark in shown
        ),
        one=place(1.0),
        ticks=tuple((f"{tick:g}{figures.TIMES}", place(tick)) for tick in ratio_ticks(low, high)),
        left_out=len(marks) - len(shown),
    )


def _is_drawable(row: Mapping[str, Any]) -> bool:
    numbers = [row["ratio"], *(end for end in (row["ratio_low"], row["ratio_high"]) if end is not None)]
    return isinstance(row["label"], str) and all(isinstance(one, float) and one > 0 for one in numbers)


def _mark(row: Mapping[str, Any]) -> RatioMark:
    interval = Interval(
        point=row["ratio"], low=row["ratio_low"], high=row["ratio_high"], confidence=0.95, blocks=1
    )
    low, high = interval.ends
    return RatioMark(
        style=Style(row["label"], palette.LEVELS[0].light, palette.SHAPES[0]),
        point=interval.point,
        low=low,
        high=high,
        text=figures.change_with_interval(interval),
        description=row["label"],
    )
