"""Numbers as people read them: three significant digits, thin units, ratios as changes or factors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tlstax.results.interval import Interval
from tlstax.stats.wording import MANY_TIMES, MINUS, set_ends

NOTHING = "\N{EN DASH}"
"""Stands where there is no number."""

ALIKE, UNKNOWN = "≈", "?"
"""Mark two things that are alike within the study's margin, and a ratio that is inconclusive."""

_MARKS: Mapping[str, str] = {"alike": ALIKE, "inconclusive": UNKNOWN}

TIMES = "\N{MULTIPLICATION SIGN}"
DIVIDED = "\N{DIVISION SIGN}"

_DURATIONS_US = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_COUNTS = ((1e9, "G"), (1e6, "M"), (1e4, "k"), (1.0, ""))


class Scale(NamedTuple):
    """A unit for a whole column: what stands in its head, and what its values are divided by."""

    unit: str
    divisor: float


def mark(judgement: str) -> str:
    """The sign of a figure that was judged so; empty where a difference is seen, or nothing was judged."""
    return _MARKS.get(judgement, "")


def significant(value: float, digits: int = 3) -> str:
    """The value with N significant digits, thousands separated: 12345.6 is 12,300."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    text = f"{abs(rounded):,.{max(0, decimals)}f}"
    return MINUS + text if value < 0 else text


def quantity(value: float, unit: str) -> str:
    """A single value with the unit that suits its size; `unit` is one of a finding's units."""
    if not math.isfinite(value):
        return NOTHING
    scale = column_scale((value,), unit)
    joiner = "" if not scale.unit or scale.unit.startswith("/") else " "
    return f"{significant(value / scale.divisor)}{joiner}{scale.unit}"


def column_scale(values: Iterable[float], unit: str) -> Scale:
    """The unit in which all these values are best compared: the largest that keeps the least above 1."""
    least = min((abs(value) for value in values if value and math.isfinite(value)), default=0.0)
    if unit == "us":
        return _fitting(least, _DURATIONS_US, "µs")
    if unit == "B":
        return _fitting(least, _BYTES, "B")
    if unit == "1/s":
        return Scale("/s", 1.0)
    if unit == "1":
        return _fitting(least, _COUNTS, "")
    return Scale(unit, 1.0)


def _fitting(least: float, steps: tuple[tuple[float, str], ...], otherwise: str) -> Scale:
    """The first step that is not larger than the least value."""
    return next((Scale(name, size) for size, name in steps if least >= size), Scale(otherwise, 1.0))


def change(ratio: Interval) -> str:
    """A ratio as a change: -18.3 %, from a doubling or a halving on as a factor or a divisor."""
    sign, unit = _form(ratio.point)
    return f"{sign}{_in_form(ratio.point, sign)}{unit}"


def interval(ratio: Interval) -> str:
    """The two ends of the interval in brackets, in the form of `change`; empty where there is none.

    An interval over more than an order of magnitude is only said to be too wide.
    """
    if ratio.between is None:
        return ""
    if not ratio.is_telling:
        return "[too wide]"
    sign, _ = _form(ratio.point)
    low, high = (_in_form(end, sign) for end in ratio.between[:: -1 if sign == DIVIDED else 1])
    return set_ends(low, high, "[…]")


def ends(found: Interval, said: Callable[[float], str], unit: str = "") -> str:
    """The two ends of an interval in brackets, each as it is said; empty where there is none."""
    if found.between is None:
        return ""
    low, high = map(said, found.between)
    return set_ends(low, high, "[…]", unit=unit)


def change_with_interval(ratio: Interval) -> str:
    """The change and, where there is one, its interval in brackets: -18.3 % [-19.4 … -17.0]."""
    return f"{change(ratio)} {interval(ratio)}".rstrip()


def _form(point: float) -> tuple[str, str]:
    """The sign before a change and the unit after it."""
    if point >= MANY_TIMES:
        return TIMES, ""
    return (DIVIDED, "") if 0 < point <= 1 / MANY_TIMES else ("", " %")


def _in_form(value: float, sign: str) -> str:
    if sign == TIMES:
        return significant(value)
    if sign == DIVIDED:
        return significant(1 / value) if value else NOTHING
    per_cent = round((value - 1) * 100, 1)
    return f"{MINUS if per_cent < 0 else '+' if per_cent > 0 else ''}{abs(per_cent):.1f}"
