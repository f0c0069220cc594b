"""How a run's blocks are pooled, by themselves or by machines, and quotients of what is pooled."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from fake_trials import fake_run
from tlstax.records.trial import HEAD
from tlstax.stats import stats
from tlstax.stats.pooling import Pooling, machines_of, quotient
from tlstax.stats.stats import t_quantile

LOGS = {0: 0.1, 1: 0.3, 2: 0.15, 3: 0.35, 4: 0.5, 5: 0.6, 7: 0.55}
TWO = Pooling(0.95, {block: f"node-{'ab'[block % 2]}" for block in range(9)})
THREE = Pooling(0.95, {block: f"node-{'abc'[block % 3]}" for block in range(9)})


def test_one_machine_is_pooled_as_ever() -> None:
    pooling = Pooling(0.95)
    assert pooling.interval(LOGS) == stats.interval(list(LOGS.values()), 0.95)
    assert pooling.difference(LOGS) == stats.difference_interval(list(LOGS.values()), 0.95)
    below = {block: 2 + value for block, value in LOGS.items()}
    assert pooling.quotient(LOGS, below) == quotient(list(LOGS.values()), list(below.values()), 0.95)
    assert pooling.blocks_needed(LOGS, 0.02) == stats.blocks_needed(pooling.interval(LOGS), 0.02, 0.95)
    assert pooling.difference_by_chance(LOGS) is None


def test_what_one_of_several_has_measured_alone_is_its_own() -> None:
    own = {0: 0.1, 2: 0.15, 4: 0.5}
    assert TWO.difference(own) == stats.difference_interval([0.1, 0.15, 0.5], 0.95)
    assert TWO.interval(own) == stats.interval([0.1, 0.15, 0.5], 0.95)
    assert TWO.difference_by_chance(own) is None
    assert TWO.difference({0: 0.1}) == stats.difference_interval([0.1], 0.95)


def test_of_two_machines_it_is_from_the_lower_end_to_the_higher() -> None:
    a, b = (stats.interval([LOGS[block] for block in of], 0.95) for of in ((0, 2, 4), (1, 3, 5, 7)))
    found = TWO.interval(LOGS)
    assert found.point == pytest.approx((a.point * b.point) ** 0.5)
    assert found.low == pytest.approx(a.low)
    assert found.high == pytest.approx(max(a.high or 0, b.high or 0))
    assert (found.blocks, found.confidence) == (7, 0.95)
    assert TWO.at(0.5).interval(LOGS).high < found.high  # type: ignore[operator]
    assert TWO.difference(LOGS) == found.each(log).model_copy(
        update={name: pytest.approx(log(getattr(found, name))) for name in ("point", "low", "high")}
    )


def test_each_machine_counts_once() -> None:
    uneven = {0: 0.0, 3: 0.0, 6: 0.0, 1: 3.0, 2: 6.0, 5: 6.0}
    assert THREE.difference(uneven).point == pytest.approx(3.0)
    assert THREE.interval(uneven).point == pytest.approx(exp(3.0))


def test_single_blocks_of_two_machines_have_a_point_alone() -> None:
    found = TWO.difference({0: 1.0, 1: 2.0})
    assert (found.point, found.low, found.high, found.blocks) == (1.5, None, None, 2)
    with pytest.raises(ValueError, match="at least one block"):
        TWO.difference({})


def test_blocks_are_kept_by_machine_in_the_order_of_names() -> None:
    pooling = Pooling(0.95, {0: "b", 1: "a", 2: "b"})
    assert pooling.by_machine({0: 1.0, 1: 2.0, 2: 3.0}) == {"a": [2.0], "b": [1.0, 3.0]}
    assert list(pooling.by_machine({0: 1.0, 1: 2.0})) == ["a", "b"]
    assert Pooling(0.95).by_machine({0: 1.0}) == {HEAD: [1.0]}


@pytest.mark.parametrize("pooling", [TWO, THREE], ids=["two", "three"])
def test_a_quotient_ends_where_what_is_left_is_just_told_from_nothing(pooling: Pooling) -> None:
    """Fieller's theorem over machines: at either end, above - q * below has an interval that ends at 0."""
    below = {block: 2 + value * (-1) ** block for block, value in LOGS.items()}
    found = pooling.quotient(dict(reversed(LOGS.items())), below)
    assert found.low is not None
    assert found.high is not None
    above_mean, below_mean = (pooling.difference(values).point for values in (LOGS, below))
    assert found.point == pytest.approx(above_mean / below_mean)
    assert found.low < found.point < found.high
    for end in (found.low, found.high):
        left = pooling.difference({block: value - end * below[block] for block, value in LOGS.items()})
        assert min(abs(left.low or 0.0), abs(left.high or 0.0)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("b", "point"), [((1.0, -3.0), -1.0), ((-1.0, 3.0), 1.0)])
def test_a_quotient_holds_its_point_where_machines_have_opposite_signs(
    b: tuple[float, float], point: float
) -> None:
    """By themselves the machines show 1 and -1/3, or -1 and 1/3."""
    above = {block: 1.0 + 0.001 * (block // 2 - 1) for block in range(6)}
    found = TWO.quotient(above, {block: b[block % 2] + 0.001 * (block // 2 - 1) ** 2 for block in range(6)})
    assert found.point == pytest.approx(point, rel=0.01)
    assert found.point in {found.low, found.high}
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2.0, rel=0.02)


def test_a_quotient_has_no_ends_where_one_machines_has_none() -> None:
    below = {block: 1.0 + 0.01 * block if block % 2 else (-1.0) ** block * block - 1.5 for block in LOGS}
    found = TWO.quotient(LOGS, below)
    assert (found.low, found.high, found.blocks) == (None, None, 7)
    with pytest.raises(ValueError, match="the same blocks"):
        TWO.quotient(LOGS, {0: 1.0})


def test_blocks_that_are_needed_and_chance_are_those_of_machines() -> None:
    apart = {block: (block % 3) + 0.1 * (block // 3) for block in range(9)}
    assert THREE.blocks_needed(apart, 0.02) is None
    assert THREE.blocks_needed(apart, 50.0) == 9
    assert THREE.difference_by_chance(apart) < 1e-4  # type: ignore[operator]


def test_the_machine_of_each_block_is_what_its_trials_say() -> None:
    run = fake_run(number_of_blocks=3)
    assert machines_of(run.trials) == {}
    named = [record.model_copy(update={"machine": "node-a"}) for record in run.trials]
    assert machines_of(named) == {}
    first = [record if record.trial.block else run.trials[at] for at, record in enumerate(named)]
    assert machines_of(first) == {0: HEAD, 1: "node-a", 2: "node-a"}


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
