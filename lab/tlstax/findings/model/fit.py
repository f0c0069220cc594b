"""Costs of parts, fitted to what mixes were measured to cost. Pure.

Weighted least squares of values y on amounts of parts, each equation divided by its y: what is made small is
the relative error, since that is alike for small and large costs. What remains is what the parts do not
explain, and how far processes of one server differ; the prediction of a new mix on a new process has all of
it again.

Source: Draper and Smith (1998), Applied Regression Analysis, 3rd edition, sections 5.1 (prediction intervals)
and 9.2 (weighted least squares).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, sqrt

import numpy as np

from tlstax.findings.core.contrasts import PROCESSES
from tlstax.findings.model.parts import Parts
from tlstax.results.interval import Interval
from tlstax.support.errors import UserMistake

FEWEST_SPARE = 3
"""How many more mixes than parts there must be at least, for what is not explained to be known."""


@dataclass(frozen=True)
class Fit:
    """What each part costs. `unexplained` is the standard deviation of relative errors, from `spare` mixes.

    `covariance` is that of the costs. `blocks` is of how many blocks each value was the mean. By the share
    `speed` (a standard deviation) all costs are off together, which no quotient of two of them is.
    """

    names: tuple[str, ...]
    costs: np.ndarray
    covariance: np.ndarray
    unexplained: float
    spare: int
    blocks: int
    confidence: float
    speed: float = 0.0

    def knows(self, parts: Parts) -> bool:
        """Whether every part was measured."""
        return all(name in self.names for name in parts)

    def predicted(self, parts: Parts) -> Interval:
        """What a new mix of these parts costs, on a new process of it. KeyError for an unknown one."""
        point, sd = self._point(parts)
        scatter = sqrt((sd / point) ** 2 + self._scatter**2 + self.speed**2) * self._reach
        return self._interval(point, point * exp(-scatter), point * exp(scatter))

    def cost(self, parts: Parts) -> Interval:
        """What some parts of a mix cost by themselves: how well the fit knows it. KeyError as above."""
        point, sd = self._point(parts)
        return self._at_any_speed(point, sd * self._reach)

    def saving(self, parts: Parts, instead: Parts) -> Interval:
        """What a mix costs less when it becomes another one, on the same process. KeyError as above.

        What is not explained of the parts that both have is the same in both; of those in which they differ
        it is another time, by their share.
        """
        point, sd = self._point(_less(parts, instead))
        half = hypot(sd, self._unexplained_of(parts, instead)) * self._reach
        return self._at_any_speed(point, half)

    def saved_share(self, parts: Parts, instead: Parts) -> Interval:
        """The same as a share of what the mix costs: how fast a machine is makes no difference to it.

        The variance of a quotient of two sums is, to first order, that of the sum whose amounts are those of
        the numerator less the quotient times those of the denominator, over the denominator (Cochran 1977,
        Sampling Techniques, 3rd edition, section 2.11).
        """
        less = _less(parts, instead)
        saved, whole = self._point(less)[0], self._point(parts)[0]
        share = saved / whole
        names = parts.keys() | less.keys()
        _, sd = self._point({name: less.get(name, 0.0) - share * parts.get(name, 0.0) for name in names})
        half = hypot(sd, self._unexplained_of(parts, instead)) * self._reach / whole
        return self._interval(share, share - half, share + half)

    def _unexplained_of(self, parts: Parts, instead: Parts) -> float:
        """What is not explained of the parts in which two mixes differ: in each of the two another time."""
        less = _less(parts, instead)
        exchanged = [{name: amount for name, amount in less.items() if sign * amount > 0} for sign in (1, -1)]
        sizes = [self._point(own)[0] for own in exchanged if own]
        return self._scatter * sqrt(sum(size**2 for size in sizes))

    def _at_any_speed(self, point: float, half: float) -> Interval:
        """So much on either side, and each end as far out again as the speed may be off."""
        off = exp(self.speed * self._reach)
        low, high = point - half, point + half
        return self._interval(
            point, low / off if low > 0 else low * off, high * off if high > 0 else high / off
        )

    @property
    def _scatter(self) -> float:
        """By what share another process is off, and what the parts do not explain."""
        return hypot(self.unexplained, PROCESSES)

    @property
    def _reach(self) -> float:
        from scipy.special import stdtrit  # noqa: PLC0415 (takes a third of a second to import)

        return float(stdtrit(self.spare, (1 + self.confidence) / 2))

    def _point(self, parts: Parts) -> tuple[float, float]:
        """The sum of the parts' costs, and its standard deviation as far as the costs are not known."""
        amounts = np.zeros(len(self.names))
        for name, amount in parts.items():
            amounts[self._place(name)] = amount
        variance = float(amounts @ self.covariance @ amounts)
        return float(amounts @ self.costs), sqrt(max(0.0, variance))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(name)
        return self.names.index(name)

    def _interval(self, point: float, low: float, high: float) -> Interval:
        return Interval(point=point, low=low, high=high, confidence=self.confidence, blocks=self.blocks)


def fitted(measured: Sequence[tuple[Parts, float]], *, blocks: int, confidence: float) -> Fit:
    """The costs of all parts that are in what was measured: mixes' parts, and what each of them cost.

    Raises UserMistake where that is not enough to tell the parts apart.
    """
    names = tuple(dict.fromkeys(name for parts, _ in measured for name in parts))
    spare = len(measured) - len(names)
    scaled = np.array([_row(parts, names) / value for parts, value in measured])
    if spare < FEWEST_SPARE or np.linalg.matrix_rank(scaled) < len(names):
        raise UserMistake(
            f"{len(measured)} mixes were measured, which do not tell their {len(names)} parts apart",
            remedy="run `tlstax study run components` to its end",
        )
    ones = np.ones(len(measured))
    inverse = np.linalg.inv(scaled.T @ scaled)
    costs = inverse @ scaled.T @ ones
    variance = float(np.sum((scaled @ costs - ones) ** 2)) / spare
    return Fit(names, costs, variance * inverse, sqrt(variance), spare, blocks, confidence)


def _less(parts: Parts, instead: Parts) -> dict[str, float]:
    """How much less there is of each part, where it is not as much."""
    names = dict.fromkeys((*parts, *instead))
    less = {name: parts.get(name, 0.0) - instead.get(name, 0.0) for name in names}
    return {name: amount for name, amount in less.items() if amount}


def _row(parts: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    return np.array([parts.get(name, 0.0) for name in names])
