"""By what factor a figure changed from one run to another, and how sure that is. Pure.

Blocks of two runs have nothing in common, so the means of both scatter by themselves (Welch, 1947, Biometrika
34, 28-35). What the blocks of a run share shows in none of its intervals: the luck of its processes, and the
machine at that time. `BETWEEN_RUNS` has how far that went when the same was measured again.
"""

from __future__ import annotations

from math import exp, sqrt
from statistics import fmean, variance

from tlstax.findings.core.series import Logs
from tlstax.findings.core.stats import ALPHA_SHARE
from tlstax.results.comparison import Measure
from tlstax.results.interval import Interval

BETWEEN_RUNS: dict[Measure, float] = {"to the baseline": 0.015, "itself": 0.08}
"""The standard deviation of a figure's logarithm between runs of the same thing: of ratios to the baseline
of the same process, and of costs themselves, with the speed of a virtual machine, which changes from hour to
hour."""


MANY = 1e6
"""Degrees of freedom with which Student's distribution is a normal one."""


def change_between(before: Logs, after: Logs, *, confidence: float, measure: Measure) -> Interval:
    """The second figure to the first: logarithms of each, one a block. ValueError where one has no block."""
    if not before or not after:
        raise ValueError("a change needs a block of either run")
    point = fmean(after.values()) - fmean(before.values())
    blocks = min(len(before), len(after))
    if blocks < 2:
        return Interval(point=exp(point), low=None, high=None, confidence=confidence, blocks=blocks)
    errors = [(variance(own.values()) / len(own), len(own) - 1) for own in (before, after)]
    known = 2 * BETWEEN_RUNS[measure] ** 2
    whole = known + sum(error for error, _ in errors)
    half = _quantile(confidence, _freedom(whole, errors)) * sqrt(whole)
    return Interval(
        point=exp(point),
        low=exp(point - half),
        high=exp(point + half),
        confidence=confidence,
        blocks=blocks,
    )


def _freedom(whole: float, errors: list[tuple[float, int]]) -> float:
    """Welch's degrees of freedom; what is known of runs beforehand has as many as one likes."""
    squares = sum(error**2 / freedom for error, freedom in errors)
    return whole**2 / squares if squares else MANY


def _quantile(confidence: float, freedom: float) -> float:
    """Student's, of an interval that keeps its confidence though both runs ended when they knew enough."""
    from scipy.special import stdtrit  # noqa: PLC0415 (takes a third of a second to import)

    return float(stdtrit(min(freedom, MANY), 1 - (1 - confidence) * ALPHA_SHARE / 2))
