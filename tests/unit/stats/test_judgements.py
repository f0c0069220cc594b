"""One rule for every figure: different, alike within a margin named beforehand, or inconclusive."""

from __future__ import annotations

from math import exp, expm1, log

import numpy as np
import pytest

from tlstax.results.interval import Interval, Judgement
from tlstax.stats import stats
from tlstax.stats.contrasts import (
    Reason,
    judge,
    judge_difference,
    seconds_needed,
    times_needed,
    why_inconclusive,
)

WITHIN = 1.05


def known(point: float, low: float | None, high: float | None, blocks: int = 8) -> Interval:
    """A ratio with this interval."""
    return Interval(point=point, low=low, high=high, confidence=0.95, blocks=blocks)


@pytest.mark.parametrize(
    ("ratio", "floor", "judgement"),
    [
        (known(0.93, 0.92, 0.94), 0.013, "lower"),
        (known(1.08, 1.05, 1.11), 0.013, "higher"),
        (known(1 / 1.014, 0.98, 0.99), 0.013, "lower"),
        (known(1.01, 1.005, 1.015), None, "higher"),
        (known(30.0, 2.0, 450.0, 2), 0.013, "higher"),
        (known(1.01, 1.005, 1.015), 0.013, "alike"),
        (known(1 / 1.012, 0.98, 0.99), 0.013, "alike"),
        (known(1.0, 0.96, 1.04), 0.03, "alike"),
        (known(1.0, 0.96, 1.04), None, "alike"),
        (known(1.08, 0.99, 1.18), 0.013, "inconclusive"),
        (known(1.0, 0.96, 1.05), 0.013, "inconclusive"),
        (known(1.0, 1 / 1.05, 1.04), 0.013, "inconclusive"),
        (known(1.0, 0.99, 1.01), 0.051, "inconclusive"),
        (known(1.57, 1.41, 1.74), 1.0, "inconclusive"),
        (known(0.2, 0.11, 0.27), 10.0, "inconclusive"),
        (known(0.2, 0.01, 4.0, 2), 0.013, "inconclusive"),
        (known(1.0, 0.4, 2.5, 2), 0.013, "inconclusive"),
        (known(1.5, None, None, 1), 0.013, "inconclusive"),
        (known(1.0, None, 1.1), 0.013, "inconclusive"),
        (known(1.0, 0.99, None), 0.013, "inconclusive"),
    ],
)
def test_a_verdict_needs_its_own_proof(ratio: Interval, floor: float | None, judgement: Judgement) -> None:
    assert judge(ratio, floor, WITHIN) == judgement


def test_a_difference_as_large_as_the_floor_is_none() -> None:
    ratio = known(1.05, 1.04, 1.06)
    assert judge(ratio, stats.relative_difference(1.05), WITHIN) == "inconclusive"
    assert judge(ratio, stats.relative_difference(1.05) - 1e-6, WITHIN) == "higher"


def test_nothing_is_alike_where_equal_things_differ_by_the_margin() -> None:
    assert judge(known(1.0, 0.9, 1.1), 0.25, 1.25) == "inconclusive"
    assert judge(known(1.0, 0.9, 1.1), 0.24, 1.25) == "alike"


def test_what_arithmetic_leaves_of_none_is_none() -> None:
    bits = known(1 + 1e-12, 1 + 5e-13, 1 + 2e-12)
    assert judge(bits, None, WITHIN) == judge(bits, 0.0, WITHIN) == "alike"
    assert judge(known(1 + 1e-8, 1 + 5e-9, 1 + 2e-8), 0.0, WITHIN) == "higher"


@pytest.mark.parametrize(
    ("amount", "floor", "judgement"),
    [
        (known(3.0, 1.0, 5.0), 2.0, "higher"),
        (known(0.5, 0.2, 0.8), None, "higher"),
        (known(2.0, 1.0, 3.0), 2.0, "alike"),
        (known(-3.0, -5.0, -1.0), 2.0, "lower"),
        (known(3.0, 1.0, 4.0), 3.5, "alike"),
        (known(3.0, 1.0, 5.0), 3.5, "inconclusive"),
        (known(0.5, -1.0, 2.0), None, "alike"),
        (known(0.5, -5.0, 2.0), None, "inconclusive"),
        (known(0.5, -1.0, 2.0), 5.0, "inconclusive"),
        (known(3.0, None, None, 1), None, "inconclusive"),
        (known(3.0, None, 5.0), None, "inconclusive"),
        (known(3.0, 1.0, None), None, "inconclusive"),
    ],
)
def test_differences_follow_the_same_rule(
    amount: Interval, floor: float | None, judgement: Judgement
) -> None:
    assert judge_difference(amount, floor, 5.0) == judgement


def test_a_margin_may_be_small() -> None:
    assert judge_difference(known(0.1, -0.2, 0.3), None, 0.5) == "alike"
    assert judge_difference(known(0.1, -0.2, 0.3), 0.5, 0.5) == "inconclusive"


@pytest.mark.parametrize(
    ("ratio", "floor", "reason"),
    [
        (known(1.5, None, None, 1), 0.01, "one block"),
        (known(1.5, None, 1.6), 0.01, "one block"),
        (known(1.5, 1.4, None), 0.01, "one block"),
        (known(0.5, 0.1, 4.0, 2), 0.01, "too wide"),
        (known(1.57, 1.41, 1.74), 1.0, "floor"),
        (known(1.0, 0.99, 1.01), 0.051, "floor"),
        (known(1.06, 1.02, 1.10), 0.061, "floor"),
        (known(1.06, 0.99, 1.14), stats.relative_difference(1.06), "floor"),
        (known(1.03, 0.98, 1.08), 0.01, "interval"),
        (known(1.03, 0.98, 1.08), 0.04, "interval"),
        (known(1.0, 0.9, 1.1), None, "interval"),
    ],
)
def test_what_stands_in_the_way_is_named(ratio: Interval, floor: float | None, reason: Reason) -> None:
    assert judge(ratio, floor, WITHIN) == "inconclusive"
    assert why_inconclusive(ratio, floor, WITHIN) == reason


def test_a_floor_as_large_as_the_margin_stands_in_the_way() -> None:
    assert why_inconclusive(known(1.0, 0.7, 1.4), 0.25, 1.25) == "floor"
    assert why_inconclusive(known(1.0, 0.7, 1.4), 0.24, 1.25) == "interval"


def within_ways(point: float, way: float) -> Interval:
    """A ratio whose interval is that wide to each side, on a logarithmic scale."""
    return known(point, exp(log(point) - way), exp(log(point) + way))


@pytest.mark.parametrize(
    ("ratio", "floor", "within", "times"),
    [
        # An interval of twice the way to the next line has to be halved, which takes four times the blocks.
        (within_ways(1.04, 1.999 * log(1.04)), 0.0, 1.0001, 4),
        (within_ways(1.04, 1.3 * log(1.04)), 0.0, 1.0001, 2),
        (within_ways(1.0, 2.999 * log(WITHIN)), 0.01, WITHIN, 9),
        (within_ways(1.0, 9.999 * log(WITHIN)), 0.01, WITHIN, 100),
        (within_ways(1.02, 1.999 * log(1.05 / 1.02)), 0.03, WITHIN, 4),
        (within_ways(1.0, 10.999 * log(WITHIN)), 0.01, WITHIN, None),
        (within_ways(1.0, 2.999 * log(WITHIN)), 0.06, WITHIN, None),
        (within_ways(1.0, 2.999 * log(1.25)), 0.25, 1.25, None),
        (within_ways(1.04, 1.999 * log(1.04)), expm1(log(1.04)), 1.0001, None),
        (known(1.04, None, None, 1), None, WITHIN, None),
    ],
)
def test_how_many_more_blocks_would_tell(
    ratio: Interval, floor: float | None, within: float, times: float | None
) -> None:
    """None where no number would that is worth waiting for, or where equal things differ by as much."""
    assert times_needed(ratio, floor, within) == times
    seconds = None if times is None else (times - 1) * 8 * 2.0
    assert seconds_needed(ratio, floor, within, 2.0) == seconds
    assert seconds_needed(ratio, floor, within, None) is None


def simulated(
    truth: float, scatter: float, blocks: int, chance: np.random.Generator, burst: float
) -> Judgement:
    """What is said of a ratio whose truth is known, by a control of its own.

    Each block's ratio scatters normally; in a share of `burst` of all blocks one side was disturbed, and is
    slower by up to a half, as other work on the machine does it.
    """

    def logs(mean: float) -> list[float]:
        noise = chance.normal(mean, scatter, blocks)
        disturbed = chance.random(blocks) < burst
        sides = chance.choice([-1.0, 1.0], blocks)
        return list(noise + disturbed * sides * chance.uniform(0.0, 0.4, blocks))

    floor = stats.noise_floor(stats.interval(logs(0.0), 0.95))
    return judge(stats.interval(logs(log(truth)), 0.95), floor, WITHIN)


@pytest.mark.parametrize("burst", [0.0, 0.2])
@pytest.mark.parametrize("scatter", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("blocks", [3, 6, 13])
def test_false_words_are_rare_on_any_noise(scatter: float, burst: float, blocks: int) -> None:
    """Of equal things at most one in twenty is called different; of things at the margin, alike."""
    chance = np.random.default_rng(round(1000 * scatter) + 7 * blocks + round(10 * burst))
    of_equals = [simulated(1.0, scatter, blocks, chance, burst) for _ in range(400)]
    assert sum(word in {"higher", "lower"} for word in of_equals) <= 20
    for truth in (WITHIN, 1 / WITHIN, 1.5):
        words = [simulated(truth, scatter, blocks, chance, burst) for _ in range(200)]
        assert words.count("alike") <= 10
        assert words.count("lower" if truth > 1 else "higher") <= 5


def test_the_rule_is_not_bought_by_never_telling() -> None:
    """With the scatter of a quiet machine, 13 blocks tell equal things and a tenth as what they are."""
    chance = np.random.default_rng(5)
    assert [simulated(1.0, 0.02, 13, chance, 0.0) for _ in range(200)].count("alike") > 180
    assert [simulated(1.1, 0.02, 13, chance, 0.0) for _ in range(200)].count("higher") > 195
