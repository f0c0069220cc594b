"""Numbers as people read them: percentages, factors, counts. The one place that rounds."""

from __future__ import annotations

from math import ceil, log10

from tlstax.results.interval import Interval
from tlstax.study.driver_catalogue import DRIVERS

MOST_PER_CENT = 1000
"""What lies beyond is not worth a figure: a run of two blocks can give an interval of any width."""

_PRODUCTS = frozenset(driver.product.split(" ", 1)[0] for driver in DRIVERS.values())
"""First words of drivers' names, as their makers write them."""

MINUS = "\N{MINUS SIGN}"

MANY_TIMES = 2.0
"""From here on a factor is easier to grasp than a percentage."""


def percent(fraction: float) -> str:
    """A fraction as a percentage of two digits or so: 0.0713 is "7.1 %", 0.34 is "34 %"."""
    value = abs(fraction) * 100
    if value > MOST_PER_CENT:
        return f">{MOST_PER_CENT:,} %"
    if value >= 99.5:
        return f"{value:.0f} %"
    return "under 0.01 %" if 0 < value < 0.01 else f"{value:.2g} %"


def known_to(half_width: float) -> str:
    """How well something is known: "known to ±3.4 %", or "not even known to ±100 %"."""
    return f"known to ±{percent(half_width)}" if half_width <= 1 else "not even known to ±100 %"


def signed_percent(fraction: float) -> str:
    """The same with its sign: "+1.1 %", "-0.4 %" (with a real minus sign), "0 %"."""
    text = percent(fraction)
    if text == "0 %":
        return text
    return f"+{text}" if fraction > 0 else f"\u2212{text}"


def alike(*values: float) -> list[str]:
    """An estimate and its interval's ends, rounded alike, to as many decimals as their spread deserves.

    A spread of 2.3 keeps one decimal (7.1, 5.9, 8.2), one of 0.08 keeps two, one of 30 none.
    """
    spread = max(values) - min(values)
    decimals = min(2, max(0, ceil(-log10(spread / 5)))) if spread > 0 else 1
    return [f"{value:.{decimals}f}" for value in values]


def capitalised(text: str) -> str:
    """The text with a capital to begin with, unless its first word is a name: "mysql-9.7", "mysql2"."""
    first = text.split(" ", 1)[0]
    is_name = any(character.isdigit() for character in first) or first in _PRODUCTS
    return text if is_name else text[:1].upper() + text[1:]


def change_words(ratio: Interval) -> str:
    """A ratio as a change with its interval: "+10.1 % (8.4 to 11.9 %)", "86 times (70 to 105)"."""
    if ratio.low is None or ratio.high is None:
        return f"{signed_percent(ratio.point - 1)} in {without_scatter(ratio)} alone"
    if not ratio.is_telling:
        return "known to no better than a factor of ten"
    if ratio.point >= MANY_TIMES:
        point, low, high = alike(ratio.point, ratio.low, ratio.high)
        return f"{point} times ({low} to {high})"
    changes = (100 * (end - 1) for end in (ratio.point, ratio.low, ratio.high))
    point, low, high = (with_sign(text) for text in alike(*changes))
    return f"{point} % ({low} to {high} %)"


def verdict_words(judgement: str, within: float) -> str:
    """A judgement that is no difference: "alike within 5 %", "inconclusive"; `within` is a factor."""
    return f"alike within {percent(within - 1)}" if judgement == "alike" else judgement


def without_scatter(found: Interval) -> str:
    """The blocks of what has no interval: one, or one on either of two machines."""
    return "one block" if found.blocks == 1 else "one block on each machine"


def with_sign(rounded: str) -> str:
    """A rounded number with its sign, a real minus sign: "+1.1", "\u22120.4"."""
    text = rounded.replace("-", MINUS) if rounded.startswith("-") else rounded
    return text if text.startswith(MINUS) else f"+{text}"


def microseconds(us: float) -> str:
    """A cost as people read it: "1,250 µs", "31.2 µs", "0.84 µs"."""
    return f"{number(us)} µs"


def number(us: float) -> str:
    """Its digits alone, at most three of them significant below 1,000."""
    size = abs(us)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    text = f"{size:,.{decimals}f}"
    return f"{MINUS}{text}" if us < 0 and float(text.replace(",", "")) else text


def signed(us: float) -> str:
    """The same with a sign, whichever way it goes."""
    text = number(us)
    return text if text.startswith(MINUS) or not us else f"+{text}"
