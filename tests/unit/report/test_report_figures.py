"""Numbers in a report: significant digits, units that suit, changes, factors and divisors."""

from __future__ import annotations

import math

import pytest

from tlstax.results.interval import Interval
from tlstax.support.untrusted import printable
from tlstax.topics.core.figures import (
    change,
    change_with_interval,
    column_scale,
    ends,
    interval,
    quantity,
    significant,
)


def ratio(point: float, low: float | None = None, high: float | None = None) -> Interval:
    return Interval(point=point, low=low, high=high, confidence=0.95, blocks=1 if low is None else 8)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345.6, "12,300"),
        (999.6, "1,000"),
        (99.96, "100"),
        (81.234, "81.2"),
        (9.999, "10.0"),
        (1.0, "1.00"),
        (0.05234, "0.0523"),
        (0, "0"),
        (-2.5, "−2.50"),
        (math.inf, "–"),
        (math.nan, "–"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12_345, "1/s", "12,300/s"),
        (81.24, "us", "81.2 µs"),
        (1040, "us", "1.04 ms"),
        (2_310_000, "us", "2.31 s"),
        (0.25, "us", "250 ns"),
        (0, "us", "0 µs"),
        (8 << 30, "B", "8.00 GiB"),
        (312, "B", "312 B"),
        (16, "1", "16.0"),
        (1_240_000, "1", "1.24 M"),
        (1.5, "cores", "1.50 cores"),
    ],
)
def test_a_value_has_the_unit_that_suits_its_size(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_a_column_has_one_unit_in_which_its_least_value_is_at_least_one() -> None:
    assert column_scale([112.0, 2976.0], "us").unit == "µs"
    assert column_scale([1120.0, 2976.0], "us").unit == "ms"
    assert column_scale([], "us").unit == "µs"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (ratio(0.817, 0.806, 0.83), "−18.3 % [−19.4 … −17.0]"),
        (ratio(1.031, 0.99, 1.07), "+3.1 % [−1.0 … +7.0]"),
        (ratio(1.0, 1.0, 1.0), "0.0 % [0.0 … 0.0]"),
        (ratio(26.61, 26.2, 27.04), "×26.6 [26.2 … 27.0]"),
        (ratio(0.204, 0.2, 0.25), "÷4.90 [4.00 … 5.00]"),
        (ratio(0.93), "−7.0 %"),
    ],
)
def test_a_ratio_is_a_change_in_per_cent_or_how_many_times(found: Interval, text: str) -> None:
    assert change_with_interval(found) == text


def test_one_block_has_no_interval() -> None:
    assert interval(ratio(0.93)) == ""
    assert change(ratio(0.93)) == "−7.0 %"


def test_what_steers_a_terminal_is_replaced() -> None:
    assert printable("9.7\x1b[2J\x07\n\u202e4 é µ") == "9.7�[2J� �4 é µ"


def test_ends_are_said_as_the_reader_wants_them_or_not_at_all() -> None:
    assert ends(ratio(2.0, 1.0, 4.0), "{:.1f}".format) == "[1.0 … 4.0]"
    assert ends(ratio(2.0, 1.0, 4.0), significant, " %") == "[1.00 … 4.00 %]"
    assert ends(ratio(2.0), significant) == ""
