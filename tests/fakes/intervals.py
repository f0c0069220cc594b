"""Intervals as tests write them: a point, its ends, and of how many blocks."""

from __future__ import annotations

from tlstax.results.interval import Interval


def known(point: float, low: float | None, high: float | None, blocks: int) -> Interval:
    return Interval(point=point, low=low, high=high, confidence=0.95, blocks=blocks)
