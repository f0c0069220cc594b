"""What can be said of a figure and its interval: how wide, apart from nothing or not, in another unit."""

from __future__ import annotations

import pytest

from intervals import known
from tlstax.results.interval import Interval

ALONE = known(2.0, None, None, 1)
HALF_KNOWN = (known(2.0, 1.5, None, 4), known(2.0, None, 2.5, 4))


def test_without_an_end_the_figure_stands_for_it() -> None:
    assert known(2.0, 1.5, 2.5, 4).ends == (1.5, 2.5)
    assert ALONE.ends == (2.0, 2.0)


def test_half_of_a_ratios_interval_is_relative() -> None:
    assert known(1.0, 0.8, 1.25, 4).half_width == pytest.approx(0.25)


def test_a_difference_strays_as_far_as_its_figure_or_as_half_its_interval() -> None:
    assert known(-3.0, -4.0, -2.0, 4).reach == 3.0
    assert known(1.0, -3.0, 5.0, 4).reach == 4.0


@pytest.mark.parametrize("interval", [ALONE, *HALF_KNOWN], ids=["no end", "no upper end", "no lower end"])
def test_without_both_ends_nothing_is_known_of_its_width_and_nothing_is_told_apart(
    interval: Interval,
) -> None:
    assert interval.half_width is None
    assert interval.reach is None
    assert interval.is_telling
    assert not interval.excludes_one
    assert not interval.excludes_zero


@pytest.mark.parametrize(
    ("low", "high", "is_telling"),
    [(1.0, 9.9, True), (0.5, 5.0, True), (2.0, 19.9, True), (1.0, 10.1, False), (2.0, 20.1, False)],
)
def test_an_interval_over_more_than_one_order_of_magnitude_tells_nothing(
    low: float, high: float, is_telling: bool
) -> None:
    assert known(2.0, low, high, 4).is_telling is is_telling


@pytest.mark.parametrize(
    ("low", "high", "excludes_one", "excludes_zero"),
    [
        (1.1, 1.3, True, True),
        (0.7, 0.9, True, True),
        (1.0, 1.3, False, True),
        (0.7, 1.0, False, True),
        (0.5, 1.5, False, True),
        (0.0, 0.5, True, False),
        (-0.5, 0.0, True, False),
        (-0.5, 0.5, True, False),
        (-0.5, -0.1, True, True),
    ],
)
def test_what_lies_within_an_interval_is_not_excluded_nor_are_its_ends(
    low: float, high: float, excludes_one: bool, excludes_zero: bool
) -> None:
    interval = known((low + high) / 2, low, high, 4)
    assert interval.excludes_one is excludes_one
    assert interval.excludes_zero is excludes_zero


def test_in_another_unit_the_figure_and_its_ends_are_changed() -> None:
    assert known(2.0, 1.5, 2.5, 4).each(lambda ms: ms * 1000) == known(2000.0, 1500.0, 2500.0, 4)
    assert known(2.0, 0.0, None, 4).each(lambda ms: ms * 1000) == known(2000.0, 0.0, None, 4)


def test_the_other_way_round_the_ends_change_places() -> None:
    assert -known(2.0, 1.5, 2.5, 4) == known(-2.0, -2.5, -1.5, 4)
    assert -known(2.0, 1.5, None, 4) == known(-2.0, None, -1.5, 4)
    assert known(-2.0, None, None, 1) == -ALONE


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [
        (1.1, 1.3, 1),
        (0.7, 0.9, -1),
        (1.0, 1.3, 0),
        (0.7, 1.0, 0),
        (0.7, 1.3, 0),
        (None, 1.3, 0),
        (0.7, None, 0),
    ],
)
def test_all_of_an_interval_lies_on_one_side_or_it_has_none(
    low: float | None, high: float | None, side: int
) -> None:
    assert known(1.0, low, high, 4).side_of(1) == side


def test_both_ends_are_between_or_there_are_none() -> None:
    assert known(2.0, 1.5, 2.5, 4).between == (1.5, 2.5)
    assert [interval.between for interval in (ALONE, *HALF_KNOWN)] == [None, None, None]
