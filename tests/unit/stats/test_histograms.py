"""Histograms of known values: counts, means, percentiles and merging, by hand."""

from __future__ import annotations

import pytest
from hdrh.histogram import HdrHistogram

from tlstax.stats.histograms import decode, merge, summary
from tlstax.support.errors import MachineFault


def encoded(*values_us: float, highest_us: float = 60e6, figures: int = 3) -> str:
    counts = HdrHistogram(1, int(highest_us * 1000), figures)
    for us in values_us:
        counts.record_value(round(us * 1000))
    return str(counts.encode().decode())


def test_values_are_in_microseconds_to_three_figures() -> None:
    """A client sends nanoseconds: of 1, 2, 3 and 10 µs the mean is 4 and half do not exceed 2."""
    found = decode(encoded(1, 2, 3, 10))
    assert found.count == 4
    assert found.mean_us() == 4.0, "so few nanoseconds have four figures"
    assert found.percentiles_us((50, 75, 100)) == pytest.approx((2.0, 3.0, 10.0), rel=1e-3)


def test_values_that_are_there_many_times_weigh_as_much() -> None:
    found = decode(encoded(*[1] * 9, 11))
    assert found.count == 10
    assert found.mean_us() == pytest.approx(2.0, rel=1e-3)
    assert found.percentiles_us((90, 95)) == pytest.approx((1.0, 11.0), rel=1e-3)


def test_a_percentile_is_the_largest_value_that_counts_as_the_same_and_the_0th_the_least() -> None:
    """To three figures, 100,000 ns counts as all from 99,968 to 100,031: 64 are as one there."""
    found = decode(encoded(100))
    assert found.percentiles_us((0, 1, 50)) == (99.968, 100.031, 100.031)


@pytest.mark.parametrize("percentile", [0, 10, 50, 90, 99, 99.9, 100])
def test_percentiles_are_those_of_the_library(percentile: float) -> None:
    values = [1.5**place for place in range(40)]
    text = encoded(*values)
    assert decode(text).percentiles_us((percentile,)) == (
        HdrHistogram.decode(text).get_value_at_percentile(percentile) / 1000,
    )


def test_a_summary_is_the_count_and_percentiles_and_of_none_the_count() -> None:
    assert summary(encoded(1, 2, 3), (50.0, 100.0)) == (3, pytest.approx((2.0, 3.0), rel=1e-3))
    assert summary(encoded(), (50.0,)) == (0, ())


def test_merged_histograms_have_all_values_up_to_the_largest() -> None:
    merged = merge([encoded(1, 2, highest_us=5), encoded(3, 9_000_000, highest_us=10e6)])
    assert merged is not None
    assert merged.count == 4
    assert merged.percentiles_us((50, 75, 100)) == pytest.approx((2.0, 3.0, 9e6), rel=1e-3)
    assert merge([]) is None


def test_merging_loses_no_figure() -> None:
    """To three figures 1,001 ns is itself; to a histogram that began at 2 ns it would be 1,000 and more."""
    merged = merge([encoded(1.001), encoded(1.003)])
    assert merged is not None
    assert merged.percentiles_us((0, 50, 100)) == (1.001, 1.001, 1.003)


def test_histograms_of_fewer_figures_are_merged_by_their_values() -> None:
    """To two figures, 1,001 ns counts as all from 1,000 to 1,007, of which the least is what is merged."""
    merged = merge([encoded(1.001, 5_000, figures=2), encoded(1.001, 1.001)])
    assert merged is not None
    assert merged.count == 4
    assert merged.percentiles_us((0, 25, 50, 100)) == pytest.approx((1.0, 1.0, 1.001, 5_000), rel=0.01)
    assert merged.percentiles_us((25, 50)) == (1.0, 1.001)


@pytest.mark.parametrize("ask", [decode, lambda text: merge([text]), lambda text: summary(text, (50.0,))])
def test_what_is_no_histogram_is_the_clients_fault(ask: object) -> None:
    with pytest.raises(MachineFault) as caught:
        ask("nonsense")  # type: ignore[operator]
    assert "a histogram that the client sent cannot be decoded" in caught.value.sentence()
    assert "the client breaks its contract" in caught.value.sentence()
    assert caught.value.__cause__ is not None
