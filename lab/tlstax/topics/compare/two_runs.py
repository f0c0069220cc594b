"""By what factor a figure changed from one run to another, and how sure that is. Pure.

Blocks of two runs have nothing in common, so the means of both scatter by themselves (Welch, 1947, Biometrika
34, 28-35). What the blocks of a run share shows in none of its intervals: the luck of its processes, and what
else the machine did in that minute. That is a level of chance above the blocks (random effects: Searle,
Casella and McCulloch, 1992, Variance Components, section 3.6), and how much it is differs from machine to
machine and from hour to hour. So it is estimated from three things:

- the scatter of other runs of the same thing on the same machine, with as many degrees of freedom as there
  are such runs, less one for each thing;
- the blocks of both runs: a run's minute moves it by as much as one block is moved beside the next, which no
  mean over its blocks takes away (beside other work it was about that much);
- `BETWEEN_RUNS`, which is known beforehand.

The last two stand for `PRIOR_FREEDOM` runs, and other runs are weighted by their number against them: the
moderated variance of Smyth (2004, Statistical Applications in Genetics and Molecular Biology 3, 3, section
4), the posterior mean under a scaled inverse chi-square distribution (Gelman et al., 2013, Bayesian Data
Analysis, section 2.6). The degrees of freedom of the whole are Welch's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from statistics import fmean, variance

from tlstax.results.document import Measure
from tlstax.results.interval import Interval
from tlstax.stats.series import Logs
from tlstax.stats.stats import ALPHA_SHARE

BETWEEN_RUNS: dict[Measure, float] = {"to the baseline": 0.05, "itself": 0.15}
"""The standard deviation of a figure's logarithm between runs of the same thing that is taken to be likely
where nothing else is known: of ratios to the baseline of the same process, and of costs themselves, with the
speed of a virtual machine (docs/comparing.md has how far runs were seen to differ)."""

PRIOR_FREEDOM = 3
"""How many runs' worth that is. With so few it may as well be half as much, or three times: between 0.57 and
3.7 times with 95 %."""

MANY = 1e6
"""Degrees of freedom with which Student's distribution is a normal one."""


@dataclass(frozen=True)
class Scatter:
    """How a run's mean logarithm varies from run to run of the same thing; `freedom` is 0 if unknown.

    `of_blocks` is the part of the variance that the blocks of these runs would give it by themselves.
    """

    variance: float = 0.0
    freedom: int = 0
    of_blocks: float = 0.0


def scatter_of(things: Iterable[Sequence[Logs]]) -> Scatter:
    """From several runs of each thing, of which each may have another mean; logarithms, one a block."""
    several = [runs for runs in things if len(runs) > 1]
    if not several:
        return Scatter()
    freedom = sum(len(runs) - 1 for runs in several)
    means = [[fmean(own.values()) for own in runs] for runs in several]
    squares = sum(variance(own) * (len(own) - 1) for own in means)
    errors = [_error(own) for runs in several for own in runs if len(own) > 1]
    return Scatter(squares / freedom, freedom, fmean(errors) if errors else 0.0)


def _error(logs: Logs) -> float:
    """The variance of a run's mean that its blocks show."""
    return variance(logs.values()) / len(logs)


def change_between(
    before: Logs, after: Logs, *, confidence: float, measure: Measure, known: Scatter = Scatter()
) -> Interval:
    """The second figure to the first: logarithms of each, one a block. ValueError where one has no block.

    `known` is what other runs of the same things show.
    """
    if not before or not after:
        raise ValueError("a change needs a block of either run")
    point = fmean(after.values()) - fmean(before.values())
    blocks = min(len(before), len(after))
    if blocks < 2:
        return Interval(point=exp(point), low=None, high=None, confidence=confidence, blocks=blocks)
    parts = _parts((before, after), measure, known)
    whole = sum(part for part, _ in parts)
    half = _quantile(confidence, _freedom(whole, parts)) * sqrt(whole)
    return Interval(
        point=exp(point),
        low=exp(point - half),
        high=exp(point + half),
        confidence=confidence,
        blocks=blocks,
    )


def _parts(runs: Sequence[Logs], measure: Measure, known: Scatter) -> list[tuple[float, int]]:
    """The variances that add up to that of the change, each with its degrees of freedom.

    The first is from run to run, with the scatter of blocks that such runs have; the second is what these two
    have of that beyond it. What has no scatter at all over the blocks of either run is counted, and no minute
    changes a count.
    """
    freedom = sum(len(own) - 1 for own in runs)
    of_blocks = sum(variance(own.values()) * (len(own) - 1) for own in runs) / freedom
    likely = BETWEEN_RUNS[measure] ** 2 + of_blocks if of_blocks else 0.0
    weights = PRIOR_FREEDOM + known.freedom
    between = (PRIOR_FREEDOM * likely + known.freedom * known.variance) / weights
    within = (PRIOR_FREEDOM * of_blocks + known.freedom * known.of_blocks) / weights
    beyond = max(0.0, sum(map(_error, runs)) - 2 * within)
    return [(2 * between, weights), (beyond, freedom)]


def _freedom(whole: float, parts: Sequence[tuple[float, int]]) -> float:
    """Welch's degrees of freedom of a sum of variances, each with its own."""
    squares = sum(part**2 / freedom for part, freedom in parts)
    return whole**2 / squares if squares else MANY


def _quantile(confidence: float, freedom: float) -> float:
    """Student's, of an interval that keeps its confidence though both runs ended when they knew enough."""
    from scipy.special import stdtrit  # noqa: PLC0415 (takes a third of a second to import)

    return float(stdtrit(min(freedom, MANY), 1 - (1 - confidence) * ALPHA_SHARE / 2))
