"""Ratios and intervals, against formulas and figures from elsewhere."""

from math import exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intervals import known
from tlstax.results.interval import Interval
from tlstax.stats.stats import (
    ALPHA_SHARE,
    beside,
    blocks_needed,
    difference_interval,
    geometric_mean,
    interval,
    log_ratios,
    noise_floor,
    relative_difference,
    t_quantile,
)

logs = st.lists(st.floats(-2, 2), min_size=2, max_size=30)


def test_the_quantile_is_students_t_at_the_stricter_confidence() -> None:
    """95 % is sold from the 97.5 % interval; 2.2414 is the normal's quantile for it, 3.4954 that of t(4)."""
    assert ALPHA_SHARE == 0.5
    assert t_quantile(0.95, 10**7) == pytest.approx(2.2414, abs=1e-4)
    assert t_quantile(0.95, 5) == pytest.approx(3.4954, abs=1e-4)


def test_the_interval_is_the_t_interval_of_the_logarithms() -> None:
    """Ratios 0.90, 0.92, 0.91 by hand: mean log -0.09440, standard deviation 0.01099, n 3."""
    values = [log(0.90), log(0.92), log(0.91)]
    mean = sum(values) / 3
    half = t_quantile(0.95, 3) * sqrt(sum((value - mean) ** 2 for value in values) / 2) / sqrt(3)
    found = interval(values, 0.95)
    assert found.point == pytest.approx((0.90 * 0.92 * 0.91) ** (1 / 3))
    assert (found.low, found.high) == pytest.approx((exp(mean - half), exp(mean + half)))
    assert found.half_width == pytest.approx(exp(half) - 1)
    assert found.blocks == 3


def test_one_block_has_a_point_and_no_interval() -> None:
    found = interval([log(0.5)], 0.95)
    assert found.point == pytest.approx(0.5)
    assert (found.low, found.high, found.blocks) == (None, None, 1)
    assert found.half_width is None
    assert not found.excludes_one
    assert noise_floor(found) is None
    with pytest.raises(ValueError, match="at least one block"):
        interval([], 0.95)


@given(logs, st.floats(0.5, 0.99))
def test_a_ratio_and_its_inverse_agree(values: list[float], confidence: float) -> None:
    found, inverse = interval(values, confidence), interval([-value for value in values], confidence)
    assert found.point * inverse.point == pytest.approx(1)
    assert found.low is not None
    assert inverse.high is not None
    assert found.low * inverse.high == pytest.approx(1)


@given(logs)
def test_more_confidence_is_wider_and_the_point_lies_within(values: list[float]) -> None:
    narrow, wide = interval(values, 0.9), interval(values, 0.99)
    ends = [wide.low, narrow.low, narrow.point, narrow.high, wide.high]
    assert ends == pytest.approx(sorted(end for end in ends if end is not None))


@given(
    st.lists(
        st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6), st.floats(0.01, 100)), min_size=2, max_size=9
    )
)
def test_what_a_whole_block_shares_cancels(blocks: list[tuple[float, float, float]]) -> None:
    plain = interval(log_ratios([(value, base) for value, base, _ in blocks]), 0.95)
    drifted = interval(log_ratios([(value * drift, base * drift) for value, base, drift in blocks]), 0.95)
    assert (drifted.point, drifted.low, drifted.high) == pytest.approx((plain.point, plain.low, plain.high))


@given(st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)), min_size=1, max_size=9))
def test_the_ratio_is_that_of_the_geometric_means(pairs: list[tuple[float, float]]) -> None:
    ratio = interval(log_ratios(pairs), 0.95).point
    assert ratio == pytest.approx(
        geometric_mean([v for v, _ in pairs]) / geometric_mean([b for _, b in pairs])
    )


def test_equal_blocks_leave_no_doubt() -> None:
    found = interval([log(1.25)] * 4, 0.95)
    assert (found.point, found.low, found.high) == pytest.approx((1.25, 1.25, 1.25))


@given(st.floats(1.0001, 1000))
def test_a_difference_is_as_large_up_as_down(ratio: float) -> None:
    assert relative_difference(ratio) == pytest.approx(ratio - 1)
    assert relative_difference(1 / ratio) == pytest.approx(ratio - 1)


@pytest.mark.parametrize(
    ("control", "floor"),
    [
        (known(1.0, 0.98, 1 / 0.98, 8), 1 / 0.98 - 1),
        (known(1.05, 1.04, 1.06, 8), 0.05),
        (known(1 / 1.05, 0.94, 0.96, 8), 0.05),
        (known(1.0, 1.0, 1.0, 8), 0.0),
    ],
)
def test_the_noise_floor_is_how_far_the_control_strays_or_might(control: Interval, floor: float) -> None:
    assert noise_floor(control) == pytest.approx(floor)


@given(st.floats(0.001, 0.2), st.floats(0.002, 0.1), st.integers(2, 40))
def test_blocks_needed_is_where_the_interval_becomes_narrow_enough(
    scatter: float, wanted: float, blocks: int
) -> None:
    def half_width(number: int) -> float:
        return exp(t_quantile(0.95, number) * scatter / sqrt(number)) - 1

    now = half_width(blocks)
    needed = blocks_needed(known(1.0, 1 / (1 + now), 1 + now, blocks), wanted, 0.95)
    assert half_width(needed) <= wanted * (1 + 1e-9)
    clearly_fewer = int(needed / 1.05) - 1
    assert clearly_fewer < 2 or half_width(clearly_fewer) > wanted


CAUCHY = 25.4517
"""Student's quantile of 0.9875 with one degree of freedom is tan(0.4875 π)."""


def test_two_blocks_are_enough_for_an_interval() -> None:
    """By hand: logs 0 and 0.02 have mean 0.01 and standard error 0.01."""
    found = interval([0.0, 0.02], 0.95)
    assert (log(found.point), found.blocks) == (pytest.approx(0.01), 2)
    assert (log(found.low or 0), log(found.high or 0)) == pytest.approx(
        (0.01 - 0.01 * CAUCHY, 0.01 + 0.01 * CAUCHY), rel=1e-5
    )


def test_a_mean_difference_has_students_interval() -> None:
    """By hand: 1 to 5 have mean 3, standard deviation 1.5811 and standard error 0.70711; t(4) is 3.4954."""
    found = difference_interval([1, 2, 3, 4, 5], 0.95)
    assert (found.point, found.blocks) == (3.0, 5)
    assert (found.low, found.high) == pytest.approx((3 - 2.47163, 3 + 2.47163), abs=1e-4)
    two = difference_interval([1.0, 3.0], 0.95)
    assert (two.low, two.high) == pytest.approx((2 - CAUCHY, 2 + CAUCHY), rel=1e-5)


def test_one_difference_has_no_interval() -> None:
    found = difference_interval([3.0], 0.95)
    assert (found.point, found.low, found.high, found.blocks) == (3.0, None, None, 1)
    assert found.reach is None
    assert not found.excludes_zero
    with pytest.raises(ValueError, match="at least one block"):
        difference_interval([], 0.95)


@pytest.mark.parametrize(
    ("difference", "reach"),
    [
        (known(0.5, -2.0, 3.0, 5), 2.5),
        (known(-7.0, -8.0, -6.0, 5), 7.0),
        (known(7.0, 6.0, 8.0, 5), 7.0),
    ],
)
def test_a_difference_that_ought_to_be_none_reaches_as_far_as_it_strayed_or_might(
    difference: Interval, reach: float
) -> None:
    """Half of the interval's width, or the distance from nothing where that is more."""
    assert difference.reach == pytest.approx(reach)


@pytest.mark.parametrize(
    ("low", "high", "excluded"),
    [(-1.0, 1.0, False), (0.0, 1.0, False), (-1.0, 0.0, False), (0.1, 1.0, True), (-1.0, -0.1, True)],
)
def test_an_end_at_nothing_still_has_it(low: float, high: float, *, excluded: bool) -> None:
    assert known((low + high) / 2, low, high, 5).excludes_zero is excluded
    assert known(exp((low + high) / 2), exp(low), exp(high), 5).excludes_one is excluded


@pytest.mark.parametrize(("low", "high"), [(None, 2.0), (0.5, None), (None, None)])
def test_an_interval_needs_both_ends(low: float | None, high: float | None) -> None:
    assert known(1.5, low, high, 2).half_width is None
    assert not known(1.5, low, high, 2).excludes_one
    assert known(1.5, low, high, 2).reach is None
    assert not known(1.5, low, high, 2).excludes_zero


def test_blocks_are_counted_one_by_one_while_they_are_few() -> None:
    """Known to 5 % by 8 blocks: t(7) is 2.84124, so a block scatters by 0.04857 and 2 % takes 34 blocks."""
    ratio = known(1.0, 1 / 1.05, 1.05, 8)
    scatter = log(1.05) * sqrt(8) / 2.841244
    assert scatter == pytest.approx(0.04857, abs=1e-5)
    assert blocks_needed(ratio, 0.02, 0.95) == 34
    for wanted in (0.021, 0.022, 0.023, 0.025, 0.03, 0.04):
        enough = next(n for n in range(2, 99) if t_quantile(0.95, n) * scatter / sqrt(n) <= log(1 + wanted))
        assert blocks_needed(ratio, wanted, 0.95) == enough


def test_the_least_is_two_blocks_and_one_shows_no_scatter() -> None:
    assert blocks_needed(known(1.0, 1 / 1.001, 1.001, 5), 0.02, 0.95) == 2
    with pytest.raises(ValueError, match="no scatter"):
        blocks_needed(known(1.0, None, None, 1), 0.02, 0.95)


def test_blocks_are_counted_in_steps_of_a_twentieth_where_they_are_many() -> None:
    """1 % is a tenth of what 5 blocks know, so that thousands are needed; a step too many is no matter."""
    needed = blocks_needed(known(1.0, 1 / 1.5, 1.5, 5), 0.01, 0.95)
    least = (2.2414 * log(1.5) * sqrt(5) / 3.4954 / log(1.01)) ** 2
    assert least < needed < 1.06 * least
    steps, step = {2}, 2
    while step < needed:
        step = max(step + 1, step * 105 // 100)
        steps.add(step)
    assert needed in steps


def test_an_interval_in_another_unit_and_the_other_way_round() -> None:
    found = Interval(point=2.0, low=1.0, high=4.0, confidence=0.95, blocks=5)
    in_us = found.each(lambda ms: ms * 10)
    assert in_us == found.model_copy(update={"point": 20.0, "low": 10.0, "high": 40.0})
    assert -found == found.model_copy(update={"point": -2.0, "low": -4.0, "high": -1.0})
    bare = Interval(point=2.0, low=None, high=None, confidence=0.95, blocks=1)
    assert bare.each(lambda ms: ms * 10) == bare.model_copy(update={"point": 20.0})
    assert -bare == bare.model_copy(update={"point": -2.0})


@pytest.mark.parametrize(
    ("own", "shown"), [(50.0, 50.0), (50.0 * (1 + 1e-12), 50.0 * (1 + 1e-12)), (51.0, 50.0)]
)
def test_a_figure_beside_its_baselines_is_that_times_the_ratio_or_its_own_where_they_agree(
    own: float, shown: float
) -> None:
    assert beside(100.0, known(0.5, 0.4, 0.6, 8), own) == shown
