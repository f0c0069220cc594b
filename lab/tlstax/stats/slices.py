"""What slices tell: a value for each, the median slice's, and ratios of two trials that took turns. Pure.

Other work on the machine comes in bursts, which take the processor from whoever's turn it is. They make
single slices slower and dearer, and none better, so that means are drawn to one side and scatter, while
most slices are untouched. So an absolute figure of a trial is its median slice's, and the ratio of two
trials is the median of the ratios of neighbours: of slices of the same round, within a fraction of a second,
which share whatever changes more slowly. That is the ratio of undisturbed operation. The ratio of totals
charges every burst to the case that it hit, and includes what a case itself does but rarely; it stands beside
it.

Why the median: a pair is spoilt when either slice is hit, so that bursts over 15 % of the slices spoil 28 %
of the pairs. The median withstands nearly half, the Hodges-Lehmann estimator 29 %, the mean of the middle
half 25 %. Simulated without any burst, those scatter by a fifth and a tenth less, but it is not slices that
decide: connections that are made anew differ from block to block by more than either saves.

A baseline and its control are two sets of connections that do the same. A case's ratio is the geometric mean
of those to either, so that the luck of either counts by half: where every set has luck of its own, a ratio
scatters by sqrt(3/2) of it from block to block, and not by sqrt(2). Each of the two is a median of pairs.
Averaging slices of both first would be off: a burst hits one of two slices more often than one. A control is
compared with its baseline alone.

Sources. Breakdown points: Donoho and Huber (1983), The Notion of Breakdown Point, in A Festschrift for Erich
L. Lehmann, 157-184. The estimator set beside it: Hodges and Lehmann (1963), Ann. Math. Stat. 34, 598-611.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from statistics import fmean, median

import numpy as np

from tlstax.records.trial import TrialRecord
from tlstax.records.window import Slices

Array = np.ndarray

SLICED = (
    "ops_per_s",
    "connections_per_s",
    "round_s",
    "latency_mean_us",
    "server_cpu_us_per_op",
    "client_cpu_us_per_op",
    "path_cpu_us_per_op",
    "all_cpu_us_per_op",
    "server_cpu_share",
)
"""The outcomes that slices have, where the processes are in reach."""

_COLUMNS = {
    "latency_mean_us": ("latency_sum_s",),
    "server_cpu_us_per_op": ("server_cpu_us",),
    "client_cpu_us_per_op": ("client_cpu_us",),
}
"""What costs are made of, but those of paths."""

_SHARES = {"server_cpu_share": "server_cpu_us", "client_cpu_share": "client_cpu_us"}
_OF_STORMS = ("connections_per_s", "round_s")
_COMPARED = frozenset((*SLICED, *_SHARES))
"""The outcomes whose ratios are taken of slices; the value of the client's share is its busiest thread's."""

_UNITS = {"latency_mean_us": 1e6}

FEWEST_OPERATIONS = 4
"""A slice ends with the answer of its last operation, which is a long one more often than not: of few, that
decides. Simulated, the median of pairs is off by 8 % of a ratio of 3 where slices have one or two operations,
by 0.4 % from here on and by nothing to speak of from ten on. The ratio of totals never is."""

FEWEST_PAIRS = 5
"""Of fewer pairs a median leaves nothing out, and the ratio is that of the trials' own figures."""


@dataclass(frozen=True)
class Amounts:
    """What an outcome is made of, slice by slice: an amount divided by another one, as totals are."""

    above: Array
    below: Array

    @property
    def total(self) -> float | None:
        """All of the one divided by all of the other; None where either is nothing."""
        above, below = float(self.above.sum()), float(self.below.sum())
        return above / below if above and below else None

    @property
    def logs(self) -> Array:
        """Ln of each slice's value; no finite number for one without an operation."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = np.log(self.above / self.below)
        return found


@dataclass(frozen=True)
class Turns:
    """The slices of one trial of `block`; `has_path` is None where the study compares no paths.

    `again` has those of its control, where what a case is compared with is both. `elsewhere` has those of the
    same case in further sittings of the block.
    """

    block: int
    has_path: bool | None
    slices: Slices
    again: Turns | None = None
    elsewhere: tuple[Turns, ...] = ()

    @property
    def sitting(self) -> tuple[int, int]:
        """Equal for trials that took turns with each other."""
        return self.block, self.slices.sitting

    @property
    def each(self) -> tuple[Turns, ...]:
        """Its own, and its control's."""
        return (self, self.again) if self.again is not None else (self,)

    @cached_property
    def are_full(self) -> bool:
        """Whether the median slice has enough operations to have a value of its own."""
        return median(self.slices.operations) >= FEWEST_OPERATIONS

    @cached_property
    def _known(self) -> dict[str, Array | None]:
        return {}

    def logs(self, name: str) -> Array | None:
        """Ln of each slice's value, worked out once; None for an outcome that these slices do not have."""
        if name not in self._known:
            found = self.amounts(name)
            self._known[name] = None if found is None else found.logs
        return self._known[name]

    def amounts(self, name: str) -> Amounts | None:
        """What an outcome is made of; None for one that these slices do not have."""
        if name in _OF_STORMS or (name == "ops_per_s" and self.slices.rounds_s):
            return self._of_storm(name)
        if name == "ops_per_s":
            return Amounts(self._column("operations"), self._column("elapsed_s"))
        if name in _SHARES:
            used_us = self._column(_SHARES[name])
            return Amounts(used_us, self._column("elapsed_s") * 1e6) if len(used_us) else None
        columns = [self._column(column) for column in self._spent(name)]
        if not columns or not all(len(column) for column in columns):
            return None
        return Amounts(sum(columns[1:], columns[0]) * _UNITS.get(name, 1.0), self._column("operations"))

    def value(self, name: str) -> float | None:
        """The median slice's value, or that of all together where a slice has too few operations.

        None for an outcome that slices do not have.
        """
        found = self.amounts(name)
        if found is None:
            return None
        middle = _middle(found.logs) if self.are_full else None
        return found.total if middle is None else exp(middle)

    def _of_storm(self, name: str) -> Amounts | None:
        """A storm's rate counts the time until its connections are open, and not their closing."""
        rounds_s = self._column("rounds_s")
        if not len(rounds_s):
            return None
        if name == "round_s":
            return Amounts(rounds_s, np.ones(len(rounds_s)))
        return Amounts(self._column("operations"), rounds_s)

    def _spent(self, name: str) -> tuple[str, ...]:
        """The columns that make up a cost; those of paths where paths are compared."""
        between = ("path_cpu_us",) if self.has_path else ()
        if name == "path_cpu_us_per_op":
            return between
        if name == "all_cpu_us_per_op":
            return () if self.has_path is None else ("client_cpu_us", "server_cpu_us", *between)
        return _COLUMNS.get(name, ())

    def _column(self, name: str) -> Array:
        return np.asarray(getattr(self.slices, name))


Sides = tuple[Turns | None, Turns | None]
"""The turns of two trials of which a ratio is taken."""


def turns(record: TrialRecord, control: TrialRecord | None = None) -> Turns | None:
    """What a trial did in turns with others; None of one that did not.

    `control` is that of a baseline, where it is valid and a case is to be compared with both.
    """
    if record.slices is None or not record.slices.rounds:
        return None
    has_path = record.path is not None if "path" in record.trial.case.levels else None
    again = turns(control) if control is not None else None
    return together(Turns(record.trial.block, has_path, record.slices), again)


def together(baseline: Turns, control: Turns | None) -> Turns:
    """A baseline with its control, where the two took turns with each other."""
    if control is None:
        return baseline
    if control.sitting == baseline.sitting:
        return replace(baseline, again=control)
    return replace(baseline, elsewhere=tuple(together(other, control) for other in baseline.elsewhere))


def alone(baseline: Turns) -> Turns:
    """A baseline without its control."""
    return replace(baseline, again=None, elsewhere=tuple(map(alone, baseline.elsewhere)))


def values(record: TrialRecord) -> dict[str, float]:
    """Every outcome that slices have of a trial; none of one that did not take turns."""
    found = turns(record)
    known = {name: found.value(name) for name in SLICED} if found is not None else {}
    return {name: value for name, value in known.items() if value is not None}


def log_ratio(name: str, own: float | None, other: float | None, slices: Sides) -> float | None:
    """Ln of the ratio of two trials of one block: that by which everything is compared.

    `own` and `other` are the outcome of each, `slices` the turns of each. Of trials that took turns with each
    other it is that of neighbours (`log_ratio_of_neighbours`), else that of `own` to `other`: None where one
    of them is not above zero.
    """
    found = log_ratio_of_neighbours(name, slices)
    if found is None and own is not None and other is not None and own > 0 and other > 0:
        return log(own / other)
    return found


def log_ratio_of_neighbours(name: str, slices: Sides) -> float | None:
    """The median of the log ratios of slices of the same round; None of trials that share too few rounds.

    Of one that has a control, the mean of the ratios to (or of) either. A slice without an operation has no
    value, and its pair is left out: as what was begun in a slice is finished in it, however long that takes,
    nothing was begun, which tells of the client's processor and not of the case. Where fewer than half of the
    pairs are left, or slices have too few operations (`FEWEST_OPERATIONS`), it is the ratio of all slices
    together.
    """
    return _mean_over_each(_of_neighbours, name, slices)


def log_ratio_of_totals(name: str, slices: Sides) -> float | None:
    """Ln of the ratio of all slices together; None of trials that did not take turns with each other."""
    return _mean_over_each(_of_totals, name, slices)


def _mean_over_each(
    of: Callable[[str, Turns, Turns], float | None], name: str, slices: Sides
) -> float | None:
    own, other = _of_one_sitting(*slices)
    if name not in _COMPARED or own is None or other is None:
        return None
    found = [ratio for one in own.each for two in other.each if (ratio := of(name, one, two)) is not None]
    return fmean(found) if found else None


def _of_one_sitting(own: Turns | None, other: Turns | None) -> Sides:
    """What both did in turns with each other; None for trials that never did."""
    if own is None or other is None:
        return None, None
    both = ((one, two) for one in (own, *own.elsewhere) for two in (other, *other.elsewhere))
    return next((pair for pair in both if pair[0].sitting == pair[1].sitting), (None, None))


def _of_neighbours(name: str, own: Turns, other: Turns) -> float | None:
    one, two = own.logs(name), other.logs(name)
    if one is None or two is None:
        return None
    if own.slices.rounds != other.slices.rounds:
        _, places, other_places = np.intersect1d(own.slices.rounds, other.slices.rounds, return_indices=True)
        one, two = one[places], two[other_places]
    if len(one) < FEWEST_PAIRS:
        return None
    with np.errstate(invalid="ignore"):
        ratios = one - two
    middle = _middle(ratios) if own.are_full and other.are_full else None
    return _of_totals(name, own, other) if middle is None else middle


def _of_totals(name: str, own: Turns, other: Turns) -> float | None:
    amounts, others = own.amounts(name), other.amounts(name)
    total, against = amounts and amounts.total, others and others.total
    return log(total / against) if total and against else None


def _middle(logs: Array) -> float | None:
    """The median of those that are numbers; None where they are fewer than half."""
    known = np.sort(logs[np.isfinite(logs)])
    if not len(known) or 2 * len(known) < len(logs):
        return None
    # numpy's median takes several times as long for a hundred values, and a report asks for thousands.
    return float(known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
