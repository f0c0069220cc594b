"""Ratios of two things measured in the same blocks: point, interval, noise floor. Exact, no I/O.

Trial noise is taken to be multiplicative, as a machine that is 2 % slower for a while makes everything
take 2 % longer; so everything is done on logarithms of ratios within a block, where what the whole block
shares cancels. Blocks are taken to be independent and alike.

Sources. Interval of a mean of n normal values: Student (1908), Biometrika 6, 1-25. Stopping when the interval
is narrow enough: Chow and Robbins (1965), Ann. Math. Stat. 36, 457-462; that it makes intervals cover too
little when blocks are few: Starr (1966), Ann. Math. Stat. 37, 1173-1185.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, isclose, log, log1p, sqrt

import numpy as np

from tlstax.results.interval import Interval

ALPHA_SHARE = 0.5
"""The part of the error rate that one look may use up; the rest pays for looking after every block.

A study stops when its intervals happen to be narrow, which is more likely when its blocks happen to agree
too well: a plain 95 % t interval, looked at after every block from the 5th on, misses the truth in up to
8 % of studies with one comparison and 6 % with two. So the interval sold as 95 % is the t interval for
97.5 %, for stopping and for reporting alike. Simulated (tests/unit/stats/test_stopping_simulated.py), it
misses in under 5 % of studies, for normal, heavy-tailed, skewed and drifting noise of any size, from 5 blocks
on. The price is a quarter more blocks. A run that its budget ended pays it too, and errs on the safe side."""

ROUNDING = 1e-9
"""A relative difference that arithmetic may leave of none. Counts are exact: an interval of them may have no
width, and a control of them no noise, so that nothing else holds back the last bit of a logarithm."""


def log_ratios(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """ln(value / baseline) of each block's pair (value, baseline), both above zero."""
    return [log(value / baseline) for value, baseline in pairs]


def interval(logs: Sequence[float], confidence: float) -> Interval:
    """The geometric mean of ratios from their logarithms, one a block, with its interval.

    The interval keeps `confidence` under optional stopping (see `ALPHA_SHARE`). Raises ValueError for no
    blocks.
    """
    if not logs:
        raise ValueError("a ratio needs at least one block")
    return difference_interval(logs, confidence).each(exp)


def difference_interval(values: Sequence[float], confidence: float) -> Interval:
    """The mean of differences, one a block, with Student's t interval over blocks.

    Costs of components add up, and some are nothing in one of the two cases, so that there is no ratio to
    take. The interval is widened like that of ratios (see `ALPHA_SHARE`). Raises ValueError for no blocks.
    """
    if not values:
        raise ValueError("a difference needs at least one block")
    array = np.asarray(values, dtype=float)
    mean = float(array.mean())
    if len(array) < 2:
        return Interval(point=mean, low=None, high=None, confidence=confidence, blocks=1)
    half = t_quantile(confidence, len(array)) * float(array.std(ddof=1)) / sqrt(len(array))
    return Interval(point=mean, low=mean - half, high=mean + half, confidence=confidence, blocks=len(array))


def t_quantile(confidence: float, blocks: int) -> float:
    """How many standard errors wide an interval of `blocks` blocks is, to each side."""
    from scipy.special import stdtrit  # noqa: PLC0415 (takes a third of a second to import)

    return float(stdtrit(blocks - 1, 1 - (1 - confidence) * ALPHA_SHARE / 2))


def blocks_needed(ratio: Interval, half_width: float, confidence: float) -> int:
    """How many blocks it would take to know this ratio to `half_width`, if its blocks go on to scatter so.

    Raises ValueError for an interval of one block, whose scatter is not known.
    """
    if ratio.half_width is None:
        raise ValueError("one block alone shows no scatter")
    scatter = log1p(ratio.half_width) * sqrt(ratio.blocks) / t_quantile(confidence, ratio.blocks)
    blocks = 2
    while t_quantile(confidence, blocks) * scatter / sqrt(blocks) > log1p(half_width):
        blocks = max(blocks + 1, int(blocks * 1.05))
    return blocks


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of values above zero."""
    return exp(sum(log(value) for value in values) / len(values))


def beside(baseline: float, ratio: Interval, own: float) -> float:
    """A case's figure as it is shown beside its baseline's: the baseline's times the ratio.

    The ratio is taken within blocks, as a rule between neighbouring slices, and leaves out what the machine
    did meanwhile; `own`, the mean over the case's trials, does not, so the three would contradict each
    other. Where they agree but for rounding it is `own` itself: what is counted stays exact.
    """
    shown = baseline * ratio.point
    return own if isclose(own, shown, rel_tol=ROUNDING) else shown


def noise_floor(control: Interval) -> float | None:
    """The relative difference below which nothing can be told, from the control; None for one block.

    It is the larger of how far the control strayed from the baseline, and how far it could have strayed
    by chance (the half width of its interval).
    """
    if control.half_width is None:
        return None
    return max(relative_difference(control.point), control.half_width)


def relative_difference(ratio: float) -> float:
    """How far a ratio is from 1, the same for a ratio and its inverse: 0.02 for 1.02 and for 1/1.02."""
    return expm1(abs(log(ratio)))
