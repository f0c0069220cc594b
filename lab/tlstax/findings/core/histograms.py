"""Latency histograms as clients send them: decoded, asked for percentiles, merged. Answers in microseconds.

Clients send HdrHistogram's V2 DEFLATE encoding in base64, in nanoseconds (contract.Done).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from tlstax.support.errors import MachineFault

SIGNIFICANT_FIGURES = 3


class Histogram:
    """One latency histogram, read only."""

    def __init__(self, counts: HdrHistogram) -> None:
        self._counts = counts

    @property
    def count(self) -> int:
        """How many values it holds."""
        return int(self._counts.get_total_count())

    def mean_us(self) -> float:
        """The mean of all values. Needs a value."""
        counts = np.ctypeslib.as_array(self._counts.counts)
        places = np.flatnonzero(counts)
        values = [self._counts.get_value_from_index(int(place)) for place in places]
        return float(np.average(values, weights=counts[places])) / 1000

    def percentiles_us(self, percentiles: Sequence[float]) -> tuple[float, ...]:
        """The value at each percentile (0 to 100): so many per cent do not exceed it. Needs a value.

        The library's own way adds up count by count in Python, which takes twenty times as long.
        """
        counts = np.ctypeslib.as_array(self._counts.counts)
        targets = [self._counts.get_target_count_at_percentile(percentile) for percentile in percentiles]
        places = np.searchsorted(np.cumsum(counts), targets)
        return tuple(
            self._value(int(place), percentile) / 1000
            for place, percentile in zip(places, percentiles, strict=True)
        )

    def _value(self, place: int, percentile: float) -> int:
        """As HdrHistogram tells it: the largest value that counts as the same, but the least for the 0th."""
        value = self._counts.get_value_from_index(place)
        if percentile == 0:
            return int(self._counts.get_lowest_equivalent_value(value))
        return int(self._counts.get_highest_equivalent_value(value))


def decode(encoded: str) -> Histogram:
    """A histogram from its encoding. Raises MachineFault where it is not one."""
    return Histogram(_counts_of(encoded))


@lru_cache(maxsize=10_000)
def summary(encoded: str, percentiles: tuple[float, ...]) -> tuple[int, tuple[float, ...]]:
    """How many values a histogram holds, and its percentiles (none where it is empty).

    Decoding costs about a millisecond, so answers are kept: the same trials are asked after every block.
    Raises MachineFault where it is not a histogram.
    """
    histogram = decode(encoded)
    return histogram.count, histogram.percentiles_us(percentiles) if histogram.count else ()


def merge(encoded: Iterable[str]) -> Histogram | None:
    """All values of many histograms in one; None where there are none. Raises MachineFault."""
    parts = [_counts_of(text) for text in encoded]
    if not parts:
        return None
    merged = HdrHistogram(1, max(part.highest_trackable_value for part in parts), SIGNIFICANT_FIGURES)
    for part in parts:
        merged.add(part)
    return Histogram(merged)


def _counts_of(encoded: str) -> HdrHistogram:
    try:
        return HdrHistogram.decode(encoded)
    except Exception as fault:
        raise MachineFault(
            "a histogram that the client sent cannot be decoded", remedy="the client breaks its contract"
        ) from fault
