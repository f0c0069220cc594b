"""Ratios, intervals and judgements, against formulas and figures from elsewhere."""

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.findings.core.stats import (
    ALPHA_SHARE,
    blocks_needed,
    geometric_mean,
    interval,
    judge,
    log_ratios,
    noise_floor,
    relative_difference,
    t_quantile,
)
from tlstax.results.interval import Interval

logs = st.lists(st.floats(-2, 2), min_size=2, max_size=30)


def ratio(point: float, low: float | None, high: float | None, blocks: int) -> Interval:
    return Interval(point=point, low=low, high=high, confidence=0.95, blocks=blocks)


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
    assert judge(found, None) == "no difference seen"
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
    for method in ("t", "bootstrap"):
        found = interval([log(1.25)] * 4, 0.95, method=method)
        assert (found.point, found.low, found.high) == pytest.approx((1.25, 1.25, 1.25))


def test_the_bootstrap_is_repeatable_and_follows_its_seed() -> None:
    values = [0.01, 0.05, -0.02, 0.03, 0.02, 0.06, 0.01]
    first = interval(values, 0.95, method="bootstrap", seed=1)
    assert first == interval(values, 0.95, method="bootstrap", seed=1)
    assert first != interval(values, 0.95, method="bootstrap", seed=2)


def test_the_bca_bootstrap_agrees_with_scipys() -> None:
    """The same estimator in scipy.stats.bootstrap, on skewed data, at the same level of 97.5 %."""
    from scipy.stats import bootstrap  # noqa: PLC0415 (slow to import, and only compared with here)

    values = np.random.default_rng(3).gamma(1.5, 0.02, size=25)
    ours = interval(list(values), 0.95, method="bootstrap", seed=5)
    theirs = bootstrap((values,), np.mean, confidence_level=0.975, n_resamples=20_000, random_state=1)
    ends = theirs.confidence_interval
    assert (log(ours.low or 0), log(ours.high or 0)) == pytest.approx((ends.low, ends.high), rel=0.04)


def test_t_and_bootstrap_agree_on_many_well_behaved_blocks() -> None:
    values = list(np.random.default_rng(9).normal(0.05, 0.02, size=200))
    t, bootstrap = interval(values, 0.95), interval(values, 0.95, method="bootstrap")
    assert (bootstrap.low, bootstrap.high) == pytest.approx((t.low, t.high), rel=2e-3)


@given(st.floats(1.0001, 1000))
def test_a_difference_is_as_large_up_as_down(ratio: float) -> None:
    assert relative_difference(ratio) == pytest.approx(ratio - 1)
    assert relative_difference(1 / ratio) == pytest.approx(ratio - 1)


@pytest.mark.parametrize(
    ("control", "floor"),
    [
        (ratio(1.0, 0.98, 1 / 0.98, 8), 1 / 0.98 - 1),
        (ratio(1.05, 1.04, 1.06, 8), 0.05),
        (ratio(1 / 1.05, 0.94, 0.96, 8), 0.05),
        (ratio(1.0, 1.0, 1.0, 8), 0.0),
    ],
)
def test_the_noise_floor_is_how_far_the_control_strays_or_might(control: Interval, floor: float) -> None:
    assert noise_floor(control) == pytest.approx(floor)


@pytest.mark.parametrize(
    ("ratio", "floor", "judgement"),
    [
        (ratio(0.93, 0.92, 0.94, 8), 0.013, "lower"),
        (ratio(1.08, 1.05, 1.11, 8), 0.013, "higher"),
        (ratio(1.08, 0.99, 1.18, 8), 0.013, "no difference seen"),
        (ratio(1.01, 1.005, 1.015, 8), 0.013, "no difference seen"),
        (ratio(1 / 1.012, 0.98, 0.99, 8), 0.013, "no difference seen"),
        (ratio(1 / 1.014, 0.98, 0.99, 8), 0.013, "lower"),
        (ratio(1.01, 1.005, 1.015, 8), None, "higher"),
        (ratio(1.5, None, None, 1), 0.013, "no difference seen"),
    ],
)
def test_a_difference_is_told_only_beyond_interval_and_noise(
    ratio: Interval, floor: float | None, judgement: str
) -> None:
    assert judge(ratio, floor) == judgement


@given(st.floats(0.001, 0.2), st.floats(0.002, 0.1), st.integers(2, 40))
def test_blocks_needed_is_where_the_interval_becomes_narrow_enough(
    scatter: float, wanted: float, blocks: int
) -> None:
    def half_width(number: int) -> float:
        return exp(t_quantile(0.95, number) * scatter / sqrt(number)) - 1

    now = half_width(blocks)
    needed = blocks_needed(ratio(1.0, 1 / (1 + now), 1 + now, blocks), wanted, 0.95)
    assert half_width(needed) <= wanted * (1 + 1e-9)
    clearly_fewer = int(needed / 1.05) - 1
    assert clearly_fewer < 2 or half_width(clearly_fewer) > wanted
