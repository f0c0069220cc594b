"""Quotients of two means that are measured in the same blocks, with an exact interval. Pure.

A break-even point is such a quotient: what is saved once, divided by what is lost each time. Both are
differences, one a block, and may be of any size, so that there is no logarithm to take.

Source: Fieller (1954), Some Problems in Interval Estimation, J. R. Stat. Soc. B 16, 175-185.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from tlstax.findings.core import stats
from tlstax.findings.core.machine_level import Mean
from tlstax.results.interval import Interval


def quotient(above: Sequence[float], below: Sequence[float], confidence: float) -> Interval:
    """The mean of `above` divided by the mean of `below`, paired block by block, by Fieller's theorem.

    The interval is that of all quotients q for which the mean of above - q * below is not told apart from
    nothing, by the same widened t interval as all others (`stats.ALPHA_SHARE`). `low` and `high` are None
    where it has no ends: one block alone, or a `below` that is not told apart from nothing. Raises ValueError
    for no blocks, ZeroDivisionError for a mean below of nothing.
    """
    if not above or len(above) != len(below):
        raise ValueError("a quotient needs as many blocks above as below, and at least one")
    blocks = len(above)
    a, b = float(np.mean(above)), float(np.mean(below))
    point = a / b
    if blocks < 2:
        return Interval(point=point, low=None, high=None, confidence=confidence, blocks=1)
    covariance = np.cov(np.asarray(above, dtype=float), np.asarray(below, dtype=float)) / blocks
    ends = fieller(Mean(np.array([a, b]), covariance, stats.t_quantile(confidence, blocks)))
    if ends is None:
        return Interval(point=point, low=None, high=None, confidence=confidence, blocks=blocks)
    # The point itself always belongs to the interval; only rounding may put it outside.
    low, high = min(point, ends[0]), max(point, ends[1])
    return Interval(point=point, low=low, high=high, confidence=confidence, blocks=blocks)


def fieller(mean: Mean) -> tuple[float, float] | None:
    """The ends of all quotients q for which the first mean less q times the second is not told from nothing.

    None where there are no such ends: the second itself is not told from nothing.
    """
    a, b = float(mean.values[0]), float(mean.values[1])
    covariance, t2 = mean.covariances, mean.reach**2
    square = b * b - t2 * float(covariance[1, 1])
    if square <= 0:
        return None
    middle = a * b - t2 * float(covariance[0, 1])
    rest = a * a - t2 * float(covariance[0, 0])
    half = sqrt(max(0.0, middle * middle - square * rest))
    return (middle - half) / square, (middle + half) / square
