"""Latency histograms as clients send them: decoded, asked for percentiles, merged. Answers in microseconds.

Clients send HdrHistogram's V2 DEFLATE encoding in base64, in nanoseconds (contract.Done).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from hdrh.codec import HdrHistogramEncoder  # type: ignore[import-untyped]
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from tlstax.support.errors import MachineFault

Array = np.ndarray

SIGNIFICANT_FIGURES = 3


class Histogram:
    """One latency histogram, read only: the places that hold any values, in their order, and how many each.

    A place is where HdrHistogram counts; `scale` says which values are counted there. One of trials has some
    hundreds of places filled of nearly thirty thousand, and a large run has many thousands of histograms.
    """

    def __init__(self, scale: HdrHistogram, places: Array, counts: Array) -> None:
        self._scale = scale
        self._places = places
        self._counts = counts

    @property
    def count(self) -> int:
        """How many values it holds."""
        return int(self._counts.sum())

    @property
    def highest_trackable(self) -> int:
        """The largest value that it had room for."""
        return int(self._scale.highest_trackable_value)

    def mean_us(self) -> float:
        """The mean of all values. Needs a value."""
        values = [self._scale.get_value_from_index(place) for place in self._places.tolist()]
        return float(np.average(values, weights=self._counts)) / 1000

    def percentiles_us(self, percentiles: Sequence[float]) -> tuple[float, ...]:
        """The value at each percentile (0 to 100): that many per cent do not exceed it. Needs a value.

        The library's own way adds up count by count in Python, which takes twenty times as long.
        """
        below = self._counts.cumsum()
        # As the library rounds (HdrHistogram.get_target_count_at_percentile).
        targets = [max(1, int(min(percent, 100.0) * int(below[-1]) / 100 + 0.5)) for percent in percentiles]
        found = self._places[np.searchsorted(below, targets)]
        return tuple(
            self._value(place, percentile) / 1000
            for place, percentile in zip(found.tolist(), percentiles, strict=True)
        )

    def places_on(self, scale: HdrHistogram) -> Array:
        """Where its values are counted on another scale."""
        own = self._scale
        if own.sub_bucket_count == scale.sub_bucket_count and own.unit_magnitude == scale.unit_magnitude:
            return self._places
        values = map(own.get_value_from_index, self._places.tolist())
        return np.array([scale.get_counts_array_index(value) for value in values], dtype=int)

    @property
    def counts(self) -> Array:
        """How many values each of the filled places holds."""
        return self._counts

    def _value(self, place: int, percentile: float) -> int:
        """As HdrHistogram tells it: the largest value that counts as the same, but the least for the 0th."""
        least, largest = _ends(self._scale, place)
        return least if percentile == 0 else largest


def decode(encoded: str) -> Histogram:
    """A histogram from its encoding. Raises MachineFault where it is not one."""
    try:
        payload = HdrHistogramEncoder.decode(encoded)
        header = payload.payload
        scale = _scale(
            header.lowest_trackable_value, header.highest_trackable_value, header.significant_figures
        )
        filled = payload.init_counts(scale.counts_len)
    except Exception as fault:
        raise MachineFault(
            "a histogram that the client sent cannot be decoded", remedy="the client breaks its contract"
        ) from fault
    # Only what is filled is kept and looked at. The payload's counters are as many as a scale has places, and
    # a HdrHistogram made of it would hold them until Python next looks for cycles.
    first, beyond = (
        (filled["min_nonzero_index"], filled["max_nonzero_index"] + 1) if filled["total"] else (0, 0)
    )
    counts = np.ctypeslib.as_array(payload.get_counts())[first:beyond]
    places = np.flatnonzero(counts)
    return Histogram(scale, places + first, counts[places].astype(np.int64))


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
    parts = [decode(text) for text in encoded]
    if not parts:
        return None
    scale = _scale(1, max(part.highest_trackable for part in parts), SIGNIFICANT_FIGURES)
    counts = np.zeros(scale.counts_len, dtype=np.int64)
    for part in parts:
        np.add.at(counts, part.places_on(scale), part.counts)
    places = np.flatnonzero(counts)
    return Histogram(scale, places, counts[places])


@lru_cache(maxsize=100_000)
def _ends(scale: HdrHistogram, place: int) -> tuple[int, int]:
    """The least and the largest value counted at a place. Kept: a run's trials share their places."""
    value = scale.get_value_from_index(place)
    return int(scale.get_lowest_equivalent_value(value)), int(scale.get_highest_equivalent_value(value))


@lru_cache(maxsize=64)
def _scale(lowest: int, highest: int, figures: int) -> HdrHistogram:
    """Which value is counted at which place: an empty histogram, for there are few kinds of them."""
    return HdrHistogram(lowest, highest, figures)
