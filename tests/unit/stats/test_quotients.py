"""Quotients of means: Fieller's interval against a published example, the theorem, and simulated studies."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from tlstax.stats.pooling import quotient
from tlstax.stats.stats import t_quantile

# Blood levels of a hormone in eight people who wore a placebo, an old and a new patch: Efron and Tibshirani
# (1993), An Introduction to the Bootstrap, Chapman and Hall, table 10.1 (`patch` in R's package bootstrap).
PLACEBO = (9243, 9671, 11792, 13357, 9055, 6290, 12412, 18806)
OLD = (17649, 12013, 19979, 21816, 13850, 9806, 17208, 29044)
NEW = (16449, 14614, 17274, 23798, 12560, 10157, 16570, 26325)
CHANGE = [new - old for new, old in zip(NEW, OLD, strict=True)]
EFFECT = [old - placebo for old, placebo in zip(OLD, PLACEBO, strict=True)]
SOLD_FROM_90 = 0.80
"""The confidence that is sold from a 90 % interval, as 95 % is from one of 97.5 % (see stats.ALPHA_SHARE)."""


def test_the_interval_is_the_published_one_for_the_hormone_patches() -> None:
    """Chapter 25 of the book: the ratio is -0.0713, and Fieller's 90 % interval from -0.249 to 0.170."""
    found = quotient(CHANGE, EFFECT, SOLD_FROM_90)
    assert found.point == pytest.approx(-0.0713, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((-0.249, 0.170), abs=5e-4)
    assert found.blocks == 8


@pytest.mark.parametrize("scale", [1.0, 1e-5])
def test_the_interval_ends_where_what_is_left_is_just_told_apart_from_nothing(scale: float) -> None:
    """Fieller's theorem itself: at either end, the mean of above - q * below is t standard errors off."""
    above, below = np.array(CHANGE) * scale, np.array(EFFECT) * scale
    found = quotient(list(above), list(below), 0.9)
    assert found.low is not None
    assert found.high is not None
    for end, sign in ((found.low, 1), (found.high, -1)):
        left = above - end * below
        standard_errors = left.mean() / (left.std(ddof=1) / sqrt(8))
        assert standard_errors == pytest.approx(sign * t_quantile(0.9, 8))


def test_blocks_are_paired_in_their_order() -> None:
    """Exactly three for one in each block leaves nothing to doubt, but only in its own block."""
    below = [1.0, 1.1, 0.9, 1.2]
    found = quotient([3 * value for value in below], below, 0.95)
    assert (found.point, found.low, found.high) == pytest.approx((3.0, 3.0, 3.0))
    crossed = quotient([3 * value for value in reversed(below)], below, 0.95)
    assert (crossed.low or 9) < 2.5
    assert (crossed.high or 0) > 3.5


@pytest.mark.parametrize("truth", [0.0, 0.5, -4.0])
def test_95_percent_is_kept_in_simulated_studies(truth: float) -> None:
    """It misses in 2.5 % of 3,000 studies of 6 blocks, whose two differences share most of their noise."""
    random = np.random.default_rng(20261123)
    shared = random.normal(size=(3000, 6))
    below = 10 + 3 * shared + random.normal(size=shared.shape)
    above = truth * 10 + 2 * shared + random.normal(size=shared.shape)
    found = [quotient(list(a), list(b), 0.95) for a, b in zip(above, below, strict=True)]
    misses = [each for each in found if each.low is not None and not each.low <= truth <= (each.high or 0)]
    bounded = [each for each in found if each.low is not None]
    assert len(bounded) > 2900
    assert 0.017 < len(misses) / len(found) < 0.033


def test_two_blocks_are_enough_for_an_interval() -> None:
    """By hand: 30.05 ± 0.05 by 10, at 2.41421 standard errors, the tangent of 0.375 π, for 75 %."""
    found = quotient([30.0, 30.1], [10.0, 10.0], 0.5)
    assert (found.low, found.high) == pytest.approx((3.005 - 0.0120711, 3.005 + 0.0120711), abs=1e-6)


def test_there_are_no_ends_where_what_is_divided_by_may_be_nothing() -> None:
    """The mean below is 1, and 0 is well within its interval."""
    found = quotient([5.0, 6.0, 7.0], [-1.0, 1.0, 3.0], 0.95)
    assert (found.point, found.low, found.high, found.blocks) == (6.0, None, None, 3)


def test_one_block_has_a_point_alone() -> None:
    found = quotient([5.0], [2.0], 0.95)
    assert (found.point, found.low, found.high, found.blocks) == (2.5, None, None, 1)


@pytest.mark.parametrize(("above", "below"), [([], []), ([1.0], []), ([1.0, 2.0], [1.0])])
def test_blocks_must_come_in_pairs(above: list[float], below: list[float]) -> None:
    with pytest.raises(ValueError, match="as many blocks above as below, and at least one"):
        quotient(above, below, 0.95)


def test_nothing_cannot_be_divided_by() -> None:
    with pytest.raises(ZeroDivisionError):
        quotient([1.0, 2.0], [1.0, -1.0], 0.95)
