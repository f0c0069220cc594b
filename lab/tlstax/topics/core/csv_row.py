"""A row for spreadsheets, by its columns: how every topic writes levels and intervals there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tlstax.results.interval import Interval
from tlstax.study import Level
from tlstax.study.labels import CONTROL_MARK

Value = str | int | float | None

Row = dict[str, Value]
"""The columns of `formats/csv_table.py`; what is None or left out stays empty."""


def levels(side: Literal["case", "baseline"], found: Mapping[str, Level]) -> Row:
    """A column for each level of a case, or of what it is compared with; the mark of a control has none."""
    return {f"{side}_{name}": level for name, level in found.items() if name not in CONTROL_MARK}


def sides(case: Mapping[str, Level], baseline: Mapping[str, Level]) -> Row:
    """The levels of a case and of what it is compared with."""
    return levels("case", case) | levels("baseline", baseline)


Of = Literal["value", "ratio", "difference"]


def ends(found: Interval | None, name: Of = "value") -> Row:
    """A figure and the ends of its interval; nothing where there is none."""
    return {} if found is None else {name: found.point, f"{name}_low": found.low, f"{name}_high": found.high}


def amount(found: Interval | None, name: Of = "value") -> Row:
    """The same, with its confidence and from how many blocks it is."""
    if found is None:
        return {}
    return {**ends(found, name), "confidence": found.confidence, "blocks": found.blocks}
