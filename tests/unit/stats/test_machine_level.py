"""Intervals over machines against Student's, by hand and as SciPy has the tests."""

from __future__ import annotations

from math import log1p, sqrt

import numpy as np
import pytest
from scipy.stats import f_oneway, ttest_ind

from tlstax.stats.pooling import (
    LEAST_TESTED,
    Array,
    Mean,
    blocks_needed,
    difference_by_chance,
    means,
    middle,
)
from tlstax.stats.stats import difference_interval, t_quantile

A, B, C = [1.0, 1.2, 0.8], [3.0, 3.3, 2.7], [2.0, 2.1, 1.9, 2.0]


def rows(*machines: list[float]) -> list[Array]:
    return [np.array([[value] for value in values]) for values in machines]


def ends(found: list[Mean]) -> tuple[float, float]:
    return min(mean.ends[0] for mean in found), max(mean.ends[1] for mean in found)


def test_each_machine_counts_once_whatever_its_blocks() -> None:
    assert middle(rows([1.0], [2.0] * 9, [6.0, 8.0])) == pytest.approx([10 / 3])


def test_of_three_machines_it_is_students_interval_of_their_means() -> None:
    between, _ = means(rows(A, B, C), 0.95)
    half = t_quantile(0.95, 3) * 1.0 / sqrt(3)
    assert between.ends == pytest.approx((2 - half, 2 + half))
    assert ends(means(rows(A, B, C), 0.95)) == between.ends
    assert ends(means(rows(A, B, C), 0.5))[1] < between.ends[1]


def test_it_is_never_narrower_than_blocks_alone_would_have_it() -> None:
    """Of 3, 3 and 4 blocks, all of one mean: squares of 0.08, 0.18 and 0.02 on 7 degrees of freedom."""
    alike = rows(A, [value - 2 for value in B], [value - 1 for value in C])
    half = t_quantile(0.95, 8) * sqrt(0.28 / 7 * (1 / 3 + 1 / 3 + 1 / 4)) / 3
    assert ends(means(alike, 0.95)) == pytest.approx((1 - half, 1 + half))


def test_three_machines_of_a_block_each_have_their_means_alone() -> None:
    (between,) = means(rows([1.0], [2.0], [3.0]), 0.95)
    half = t_quantile(0.95, 3) / sqrt(3)
    assert between.ends == pytest.approx((2 - half, 2 + half))


def test_a_machine_of_one_block_adds_no_freedom() -> None:
    _, within = means(rows(A, B, [2.0]), 0.95)
    half = t_quantile(0.95, 5) * sqrt(0.26 / 4 * (1 / 3 + 1 / 3 + 1)) / 3
    assert within.ends == pytest.approx((2 - half, 2 + half))


def test_of_two_machines_it_reaches_from_the_one_to_the_other() -> None:
    two = [2.0, 2.3]
    one, other = difference_interval(A, 0.95), difference_interval(two, 0.95)
    found = means(rows(A, two), 0.95)
    assert [mean.ends for mean in found] == [
        pytest.approx((one.low, one.high)),
        pytest.approx((other.low, other.high)),
    ]


def test_of_two_machines_one_of_a_single_block_scatters_as_the_other() -> None:
    _, single = means(rows(A, [5.0]), 0.95)
    half = t_quantile(0.95, 3) * 0.2
    assert single.ends == pytest.approx((5 - half, 5 + half))
    assert means(rows([1.0], [2.0]), 0.95) == []


def test_a_second_quantity_has_its_covariances() -> None:
    pairs = [np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[3.0, 3.0], [5.0, 7.0]]), np.array([[6.0, 1.0]])]
    between, within = means(pairs, 0.95)
    assert between.values == pytest.approx([3.8333, 2.5], abs=1e-4)
    own = np.cov([1.5, 4.0, 6.0], [1.5, 5.0, 1.0])
    assert between.covariances == pytest.approx(own / 3)
    assert within.covariances == pytest.approx(np.array([[1.25, 1.75], [1.75, 4.25]]) * 2 / 9)


def test_blocks_needed_are_what_leaves_the_machines_own_part() -> None:
    """Of these, t times the root of (1 - 0.04 x 11/36) / 3 is left however many blocks there are."""
    machines = rows(A, B, C)
    apart = t_quantile(0.95, 3) * sqrt((1 - 0.04 * (1 / 3 + 1 / 3 + 1 / 4) / 3) / 3)
    half = t_quantile(0.95, 3) / sqrt(3)
    assert blocks_needed(machines, half * 20, 0.95) == 10
    assert blocks_needed(machines, np.expm1(apart * 0.9999), 0.95) is None
    wanted = sqrt((apart**2 + half**2) / 2)
    assert blocks_needed(machines, np.expm1(wanted), 0.95) == 20
    assert blocks_needed(machines, np.expm1(wanted * 0.9999), 0.95) > 20  # type: ignore[operator]


def test_blocks_needed_of_two_machines() -> None:
    """Two that are 1 apart, with squares of 0.08 on 2: (1/2 - 0.04/3) / 2 is the square of what is left."""
    machines = rows(A, [value + 1 for value in A])
    apart, half = sqrt((0.5 - 0.04 / 3) / 2), 0.5 + t_quantile(0.95, 3) * sqrt(0.04 / 3)
    wanted = sqrt((apart**2 + half**2) / 2)
    assert blocks_needed(machines, np.expm1(wanted * 1.0001), 0.95) == 12
    assert blocks_needed(machines, np.expm1(apart * 0.9999), 0.95) is None
    with pytest.raises(ValueError, match="shows no scatter"):
        blocks_needed(rows([1.0], [2.0]), 0.02, 0.95)


def test_alike_machines_need_blocks_alone_and_single_blocks_are_taken_to_scatter() -> None:
    alike = rows(A, A, A)
    half = ends(means(alike, 0.95))[1] - 1
    assert blocks_needed(alike, np.expm1(half / 2 * 1.0001), 0.95) == 36
    single = rows([1.0], [2.0], [3.0])
    assert blocks_needed(single, np.expm1(t_quantile(0.95, 3) / sqrt(3) / 2 * 1.0001), 0.95) == 12
    assert log1p(np.expm1(half)) == pytest.approx(half)


def test_whether_machines_differ_is_the_larger_of_two_tests() -> None:
    """Once the analysis of variance is the larger, once Welch's."""
    noisy, calm = [1.0, 3.0, 2.0, 5.0], [2.0, 2.1, 1.9, 2.2, 2.05, 1.95]
    both = (float(f_oneway(noisy, calm).pvalue), float(ttest_ind(noisy, calm, equal_var=False).pvalue))
    assert difference_by_chance(rows(noisy, calm)) == pytest.approx(max(both))
    assert both[0] < both[1]
    few, many = [2.0, 2.02, 1.98], [1.0, 3.0, 2.2, 1.5, 2.5, 0.5, 1.1]
    both = (float(f_oneway(few, many).pvalue), float(ttest_ind(few, many, equal_var=False).pvalue))
    assert difference_by_chance(rows(few, many)) == pytest.approx(max(both))
    assert both[0] > both[1]


def test_welchs_test_of_three_machines_is_as_published() -> None:
    """By hand, from the equations of his paper, for machines of which the noisiest has fewest blocks."""
    samples = [[1.0, 3.0, 2.6], [0.2, 1.0, 0.1, 0.8, 0.9], [0.8, 1.2, 0.9, 1.1]]
    weights = [len(sample) / np.var(sample, ddof=1) for sample in samples]
    shares = [weight / sum(weights) for weight in weights]
    mean = sum(share * np.mean(sample) for share, sample in zip(shares, samples, strict=True))
    spread = sum(w * (np.mean(sample) - mean) ** 2 for w, sample in zip(weights, samples, strict=True)) / 2
    uneven = sum((1 - share) ** 2 / (len(sample) - 1) for share, sample in zip(shares, samples, strict=True))
    from scipy.stats import f  # noqa: PLC0415 (only here)

    welch = f.sf(spread / (1 + 2 * (3 - 2) / (3**2 - 1) * uneven), 2, (3**2 - 1) / (3 * uneven))
    assert difference_by_chance(rows(*samples)) == pytest.approx(welch)
    assert welch > 5 * float(f_oneway(*samples).pvalue)


def test_three_machines_that_are_told_apart_by_welch_alone_are_not() -> None:
    samples = [[1.0, 1.1, 0.9], [1.4, 1.5, 1.3], [0.0, 3.0, 1.0]]
    assert difference_by_chance(rows(*samples)) == pytest.approx(float(f_oneway(*samples).pvalue))


def test_machines_of_few_blocks_and_those_without_scatter_are_not_tested() -> None:
    assert LEAST_TESTED == 3
    assert difference_by_chance(rows(A, B)) is not None
    assert difference_by_chance(rows(A, B[:2])) is None
    assert difference_by_chance(rows(A, B, C[:2])) == difference_by_chance(rows(A, B))
    assert difference_by_chance(rows(A, [2.0, 2.0, 2.0])) is None
