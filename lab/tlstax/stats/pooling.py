"""How figures are pooled over a run's blocks, and over the machines that these ran on; and quotients. Pure.

With one machine all intervals are those of `stats`. What was measured on one of several machines alone has an
interval of that machine. With several, the machine is one more level of chance: a machine's own ratio differs
from another's, and its blocks scatter around it: the one-way model of random effects, with as many blocks on
each machine as it happened to run.

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

A break-even point is a quotient of two means, measured in the same blocks: what is saved once, divided by
what is lost each time. Both are differences, one a block, and may be of any size, so that there is no
logarithm to take. Source: Fieller (1954), Some Problems in Interval Estimation, J. R. Stat. Soc. B 16,
175-185.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, log1p, sqrt

import numpy as np

from tlstax.records.trial import HEAD, TrialRecord
from tlstax.results.interval import Interval
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


Values = Mapping[int, float]
"""A value for each block."""


@dataclass(frozen=True)
class Pooling:
    """How sure intervals are, and the machine of each block; `machines` is empty where there is but one."""

    confidence: float
    machines: Mapping[int, str] = field(default_factory=dict)

    def at(self, confidence: float) -> Pooling:
        """The same with another confidence."""
        return replace(self, confidence=confidence)

    def by_machine(self, values: Values) -> dict[str, list[float]]:
        """The values of each machine, the machines in the order of their names."""
        found: dict[str, list[float]] = {}
        for block, value in values.items():
            found.setdefault(self.machines.get(block, HEAD), []).append(value)
        return dict(sorted(found.items()))

    def interval(self, logs: Values) -> Interval:
        """The geometric mean of ratios from their logarithms. Raises ValueError for no blocks."""
        if not self._is_over_machines(logs):
            return stats.interval(list(logs.values()), self.confidence)
        return self.difference(logs).each(exp)

    def difference(self, values: Values) -> Interval:
        """The mean of differences. Raises ValueError for no blocks."""
        if not self._is_over_machines(values):
            return stats.difference_interval(list(values.values()), self.confidence)
        machines = self._columns(values)
        ends = [mean.ends for mean in means(machines, self.confidence)]
        return self._known(float(middle(machines)[0]), ends, len(values))

    def quotient(self, above: Values, below: Values) -> Interval:
        """The mean of `above` divided by that of `below`, of the same blocks, by Fieller's theorem.

        Of several machines it is made up of the same means as a difference is; it has no ends where one of
        them has none. Raises ValueError for no blocks or other ones, ZeroDivisionError for a mean below of
        nothing.
        """
        if above.keys() != below.keys():
            raise ValueError("a quotient needs the same blocks above and below")
        pairs = [(value, below[block]) for block, value in above.items()]
        if not self._is_over_machines(above):
            return quotient([value for value, _ in pairs], [value for _, value in pairs], self.confidence)
        machines = self._columns(above, {block: below[block] for block in above})
        point = float(middle(machines)[0]) / float(middle(machines)[1])
        found = [fieller(mean) for mean in means(machines, self.confidence)]
        ends = [own for own in found if own is not None]
        return self._known(point, ends if len(ends) == len(found) else [], len(above))

    def blocks_needed(self, logs: Values, half_width: float) -> int | None:
        """How many blocks it would take to know the ratio to `half_width`; None where no number is enough.

        Raises ValueError where the scatter of blocks is not known.
        """
        if not self._is_over_machines(logs):
            return stats.blocks_needed(self.interval(logs), half_width, self.confidence)
        return blocks_needed(self._columns(logs), half_width, self.confidence)

    def difference_by_chance(self, logs: Values) -> float | None:
        """How likely machines that are alike would differ as much; None of one, and where it is not known."""
        if not self._is_over_machines(logs):
            return None
        return difference_by_chance(self._columns(logs))

    def _is_over_machines(self, values: Values) -> bool:
        return bool(self.machines) and len({self.machines.get(block, HEAD) for block in values}) > 1

    def _columns(self, *quantities: Values) -> list[np.ndarray]:
        """An array for each machine: a row for each of its blocks, a column for each quantity."""
        split = [self.by_machine(values) for values in quantities]
        return [np.array([own[name] for own in split], dtype=float).T for name in split[0]]

    def _known(self, point: float, ends: Sequence[tuple[float, float]], blocks: int) -> Interval:
        low, high = (
            (min(point, *(low for low, _ in ends)), max(point, *(high for _, high in ends)))
            if ends
            else (None, None)
        )
        return Interval(point=point, low=low, high=high, confidence=self.confidence, blocks=blocks)


def machines_of(records: Iterable[TrialRecord]) -> dict[int, str]:
    """The machine of each block; empty where all ran on one. A trial that names none ran on the head."""
    found = {record.trial.block: record.machine or HEAD for record in records}
    return found if len(set(found.values())) > 1 else {}


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
