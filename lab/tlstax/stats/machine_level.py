"""Intervals of what was measured on several machines: the machine is one more level of chance. Pure.

A machine's own ratio differs from another's, and its blocks scatter around it: the one-way model of random
effects, with as many blocks on each machine as it happened to run.

Three machines or more. The mean is that of the machines' own means, each counting once, and its interval
is Student's t over these means. That is exact where all have as many blocks, and very nearly so where they
have not: Burdick and Graybill (1992), Confidence Intervals on Variance Components, Marcel Dekker, on
unweighted means. Hartung and Knapp (2001), Statistics in Medicine 20, 3875-3889, weight the means by what
is known of each; with weights from so few blocks that misses a little more. Means of few machines lie close
together by luck now and then, and a run stops when its intervals are narrow. So the interval is never
narrower than the scatter of blocks alone would make it, as Röver, Knapp and Friede (2015), BMC Medical
Research Methodology 15, 99, advise.

Two machines. Their means tell next to nothing of a third machine: t with one degree of freedom is 25
standard errors wide. So the interval is about these two, and holds both: it reaches from the lower of their
own intervals' ends to the higher. It errs only where the lower ratio lies below the one interval or the
higher above the other, which is no oftener than a single interval errs.

Simulated in tests/unit/stats/test_machine_level_simulated.py; docs/machines.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log1p, sqrt

import numpy as np

from tlstax.stats import stats

Array = np.ndarray

LEAST_TESTED = 3
"""The blocks that a machine must have for its scatter to tell whether it differs from another."""


@dataclass(frozen=True)
class Mean:
    """Means of quantities, the covariances of their errors, how many standard errors an interval reaches."""

    values: Array
    covariances: Array
    reach: float

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval of the first mean."""
        half = self.reach * sqrt(float(self.covariances[0, 0]))
        return float(self.values[0]) - half, float(self.values[0]) + half


def middle(machines: Sequence[Array]) -> Array:
    """The mean of the machines' means, each of which counts once, whatever its number of blocks."""
    return np.asarray(np.mean([rows.mean(axis=0) for rows in machines], axis=0))


def means(machines: Sequence[Array], confidence: float) -> list[Mean]:
    """The means whose intervals together make up the pooled one, from its lowest end to its highest.

    `machines` has an array for each of at least two machines, with a row for each of its blocks and a column
    for each quantity. Empty where two machines have one block each, which shows no scatter.
    """
    if len(machines) == 2:
        return _of_two(machines, confidence)
    own = np.array([rows.mean(axis=0) for rows in machines])
    between = Mean(middle(machines), _covariances(own) / len(own), stats.t_quantile(confidence, len(own)))
    scatter = _scatter(machines)
    if scatter is None:
        return [between]
    shares = sum(1 / len(rows) for rows in machines) / len(machines) ** 2
    reach = stats.t_quantile(confidence, _freedom(machines) + 1)
    return [between, Mean(between.values, scatter * shares, reach)]


def blocks_needed(machines: Sequence[Array], half_width: float, confidence: float) -> int | None:
    """How many blocks in all it would take to know a ratio, from its logarithms, to `half_width`.

    This is so if machines and blocks go on to differ as they do. None where no number of blocks on these
    machines is enough: more blocks do not make machines alike. Raises ValueError where two machines have one
    block each.
    """
    found = means(machines, confidence)
    if not found:
        raise ValueError("one block on each of two machines shows no scatter")
    blocks, wanted = sum(map(len, machines)), log1p(half_width)
    half = (max(mean.ends[1] for mean in found) - min(mean.ends[0] for mean in found)) / 2
    by_machines = _half_by_machines(machines, confidence)
    if half <= wanted:
        return blocks
    if by_machines >= wanted:
        return None
    return ceil(blocks * (half**2 - by_machines**2) / (wanted**2 - by_machines**2))


def difference_by_chance(machines: Sequence[Array]) -> float | None:
    """How likely machines that are alike would differ as much, in the first quantity; None if unknown.

    It is the larger of the probabilities by the analysis of variance (Fisher 1925, Statistical Methods for
    Research Workers) and by that of Welch (1951), Biometrika 38, 330-336. The first takes all machines to
    scatter alike, and errs where a noisy one has few blocks; the second does not, and errs where blocks are
    few. Machines with fewer than LEAST_TESTED blocks are left out; it takes two others, each with scatter.
    """
    known = [rows[:, 0] for rows in machines if len(rows) >= LEAST_TESTED]
    if len(known) < 2 or any(float(np.ptp(values)) == 0.0 for values in known):
        return None
    return max(_fisher(known), _welch(known))


def _of_two(machines: Sequence[Array], confidence: float) -> list[Mean]:
    """Each machine's own mean; one with a single block is taken to scatter as the other does."""
    scatter = _scatter(machines)
    if scatter is None:
        return []
    return [
        Mean(
            rows.mean(axis=0),
            (_covariances(rows) if len(rows) > 1 else scatter) / len(rows),
            stats.t_quantile(confidence, len(rows) if len(rows) > 1 else _freedom(machines) + 1),
        )
        for rows in machines
    ]


def _half_by_machines(machines: Sequence[Array], confidence: float) -> float:
    """The half width that is left however many blocks there are, as machines differ.

    How far machines differ is the scatter of their means, less what the scatter of blocks makes of it.
    """
    scatter = _scatter(machines)
    if scatter is None:
        return 0.0
    own = np.array([float(rows[:, 0].mean()) for rows in machines])
    by_blocks = float(scatter[0, 0]) * sum(1 / len(rows) for rows in machines) / len(machines)
    apart = sqrt(max(0.0, float(own.var(ddof=1)) - by_blocks))
    if len(machines) == 2:
        return apart / sqrt(2)
    return stats.t_quantile(confidence, len(machines)) * apart / sqrt(len(machines))


def _scatter(machines: Sequence[Array]) -> Array | None:
    """The covariances of a block's quantities around its machine's means, from all machines."""
    freedom = _freedom(machines)
    if not freedom:
        return None
    squares = [_covariances(rows) * (len(rows) - 1) for rows in machines if len(rows) > 1]
    return np.asarray(np.sum(squares, axis=0)) / freedom


def _freedom(machines: Sequence[Array]) -> int:
    return sum(len(rows) - 1 for rows in machines)


def _covariances(rows: Array) -> Array:
    return np.atleast_2d(np.cov(rows, rowvar=False))


def _fisher(machines: Sequence[Array]) -> float:
    from scipy.special import fdtrc  # noqa: PLC0415 (takes a third of a second to import)

    blocks = sum(map(len, machines))
    mean = sum(float(values.sum()) for values in machines) / blocks
    between = sum(len(values) * (float(values.mean()) - mean) ** 2 for values in machines)
    within = sum(float(values.var()) * len(values) for values in machines)
    above, below = len(machines) - 1, blocks - len(machines)
    return float(fdtrc(above, below, (between / above) / (within / below)))


def _welch(machines: Sequence[Array]) -> float:
    from scipy.special import fdtrc  # noqa: PLC0415 (takes a third of a second to import)

    own = np.array([float(values.mean()) for values in machines])
    weights = np.array([len(values) / float(values.var(ddof=1)) for values in machines])
    shares, number = weights / weights.sum(), len(machines)
    spread = float((weights * (own - float((shares * own).sum())) ** 2).sum()) / (number - 1)
    freedom = np.array([len(values) - 1 for values in machines])
    uneven = float(((1 - shares) ** 2 / freedom).sum()) / (number**2 - 1)
    return float(fdtrc(number - 1, 1 / (3 * uneven), spread / (1 + 2 * (number - 2) * uneven)))
