"""How figures are pooled over a run's blocks, and over the machines that these ran on; and quotients. Pure.

With one machine all intervals are those of `stats`; with several, `machine_level` says how they are made.
What was measured on one of several machines alone has an interval of that machine.

A break-even point is a quotient of two means, measured in the same blocks: what is saved once, divided by
what is lost each time. Both are differences, one a block, and may be of any size, so that there is no
logarithm to take. Source: Fieller (1954), Some Problems in Interval Estimation, J. R. Stat. Soc. B 16,
175-185.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, sqrt

import numpy as np

from tlstax.records.trial import HEAD, TrialRecord
from tlstax.results.interval import Interval
from tlstax.stats import machine_level, stats
from tlstax.stats.machine_level import Mean

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
        ends = [mean.ends for mean in machine_level.means(machines, self.confidence)]
        return self._known(float(machine_level.middle(machines)[0]), ends, len(values))

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
        point = float(machine_level.middle(machines)[0]) / float(machine_level.middle(machines)[1])
        found = [fieller(mean) for mean in machine_level.means(machines, self.confidence)]
        ends = [own for own in found if own is not None]
        return self._known(point, ends if len(ends) == len(found) else [], len(above))

    def blocks_needed(self, logs: Values, half_width: float) -> int | None:
        """How many blocks it would take to know the ratio to `half_width`; None where no number is enough.

        Raises ValueError where the scatter of blocks is not known.
        """
        if not self._is_over_machines(logs):
            return stats.blocks_needed(self.interval(logs), half_width, self.confidence)
        return machine_level.blocks_needed(self._columns(logs), half_width, self.confidence)

    def difference_by_chance(self, logs: Values) -> float | None:
        """How likely machines that are alike would differ as much; None of one, and where it is not known."""
        if not self._is_over_machines(logs):
            return None
        return machine_level.difference_by_chance(self._columns(logs))

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
