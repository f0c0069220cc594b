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

Sources. Breakdown points: Donoho and Huber (1983), The Notion of Breakdown Point, in A Festschrift for Erich
L. Lehmann, 157-184. The estimator set beside it: Hodges and Lehmann (1963), Ann. Math. Stat. 34, 598-611.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, isfinite, log

import numpy as np

from tlstax.records.slices import Slices
from tlstax.records.trial import TrialRecord

Array = np.ndarray

FEWEST_OPERATIONS = 4
"""A slice ends with the answer of its last operation, which is a long one more often than not: of few, that
decides. Simulated, the median of pairs is off by 8 % of a ratio of 3 where slices have one or two operations,
by 0.4 % from here on and by nothing to speak of from ten on. The ratio of totals never is."""

FEWEST_PAIRS = 5
"""Of fewer pairs a median leaves nothing out, and the ratio is that of the trials' own figures."""


@dataclass(frozen=True)
class Amounts:
    """What an outcome is made of, slice by slice: an amount divided by another one, as totals are.

    `worst` is what a slice without an operation counts as: a rate of nothing is less than any other, a cost
    of nothing done more than any.
    """

    above: Array
    below: Array
    worst: float

    @property
    def total(self) -> float | None:
        """All of the one divided by all of the other; None where either is nothing."""
        above, below = float(self.above.sum()), float(self.below.sum())
        return above / below if above > 0 and below > 0 else None

    @property
    def logs(self) -> Array:
        """Ln of each slice's value; of one without an operation, without end."""
        known = (self.above > 0) & (self.below > 0)
        found = np.full(len(self.above), self.worst)
        found[known] = np.log(self.above[known] / self.below[known])
        return found


@dataclass(frozen=True)
class Turns:
    """The slices of one trial, by outcome: `logs` of their values. `rounds` ascend.

    `place` is its block and sitting. `are_full` is whether the median slice has enough operations to have a
    value of its own.
    """

    place: tuple[int, int]
    are_full: bool
    rounds: Array
    amounts: Mapping[str, Amounts]
    logs: Mapping[str, Array]

    def value(self, name: str) -> float | None:
        """The median slice's value, or that of all together where a slice has too few operations.

        None for an outcome that slices do not have.
        """
        if name not in self.amounts:
            return None
        middle = _middle(self.logs[name]) if self.are_full else None
        return self.amounts[name].total if middle is None else exp(middle)


Sides = tuple[Turns | None, Turns | None]
"""The turns of two trials of which a ratio is taken."""


def turns(record: TrialRecord) -> Turns | None:
    """What a trial did in turns with others; None of one that did not."""
    found = record.slices
    if found is None or not found.rounds:
        return None
    amounts = _amounts(record, found)
    return Turns(
        place=(record.trial.block, found.sitting),
        are_full=bool(np.median(found.operations) >= FEWEST_OPERATIONS),
        rounds=np.asarray(found.rounds),
        amounts=amounts,
        logs={name: amount.logs for name, amount in amounts.items()},
    )


def log_ratio(name: str, own: float | None, other: float | None, slices: Sides) -> float | None:
    """Ln of the ratio of two trials of one block: that by which everything is compared.

    `own` and `other` are the outcome of each, `slices` the turns of each. Where the two took turns with each
    other it is the median of the log ratios of slices of the same round; a slice without an operation is
    worse than any other, as leaving it out would favour the case that has more of them. Where slices have too
    few operations (`FEWEST_OPERATIONS`) it is the ratio of all slices together. Of trials that did not take
    turns it is that of `own` to `other`, None where one of them is not above zero.
    """
    found = _of_rounds(name, *slices)
    if found is None and own is not None and other is not None and own > 0 and other > 0:
        return log(own / other)
    return found


def log_ratio_of_totals(name: str, slices: Sides) -> float | None:
    """Ln of the ratio of all slices together; None of trials that did not take turns with each other."""
    pair = _neighbours(name, *slices)
    if pair is None:
        return None
    own, other = (turns.amounts[name].total for turns in pair)
    return log(own / other) if own and other else None


def _of_rounds(name: str, own: Turns | None, other: Turns | None) -> float | None:
    pair = _neighbours(name, own, other)
    if pair is None:
        return None
    rounds, places, other_places = np.intersect1d(
        pair[0].rounds, pair[1].rounds, assume_unique=True, return_indices=True
    )
    if len(rounds) < FEWEST_PAIRS:
        return None
    one, two = pair[0].logs[name][places], pair[1].logs[name][other_places]
    known = np.isfinite(one) | np.isfinite(two)
    middle = _middle(one[known] - two[known]) if pair[0].are_full and pair[1].are_full else None
    return log_ratio_of_totals(name, (own, other)) if middle is None else middle


def _neighbours(name: str, own: Turns | None, other: Turns | None) -> tuple[Turns, Turns] | None:
    """The two, if they took turns with each other and have the outcome."""
    if own is None or other is None or own.place != other.place:
        return None
    return (own, other) if name in own.amounts and name in other.amounts else None


def _middle(logs: Array) -> float | None:
    """The median; None where there is none, or it lies among those without a value."""
    if not len(logs):
        return None
    ordered = np.sort(logs)
    low, high = float(ordered[(len(logs) - 1) // 2]), float(ordered[len(logs) // 2])
    return (low + high) / 2 if isfinite(low) and isfinite(high) else None


def _amounts(record: TrialRecord, found: Slices) -> dict[str, Amounts]:
    operations = np.asarray(found.operations, dtype=float)
    elapsed_s = np.asarray(found.elapsed_s)
    columns = {
        "client_cpu_us_per_op": np.asarray(found.client_cpu_us),
        "server_cpu_us_per_op": np.asarray(found.server_cpu_us),
        "latency_mean_us": np.asarray(found.latency_sum_s) * 1e6,
    }
    if "path" in record.trial.case.levels:
        columns |= _with_path(record, found)
    costs = {name: Amounts(us, operations, worst=inf) for name, us in columns.items() if len(us)}
    shares = {"server_cpu_share": Amounts(columns["server_cpu_us_per_op"], elapsed_s * 1e6, worst=-inf)}
    return {
        "ops_per_s": Amounts(operations, elapsed_s, worst=-inf),
        **costs,
        **(shares if found.server_cpu_us else {}),
    }


def _with_path(record: TrialRecord, found: Slices) -> dict[str, Array]:
    """What the programs between client and server used, and the whole, where paths are compared."""
    between = np.asarray(found.path_cpu_us)
    both = np.asarray(found.client_cpu_us) + np.asarray(found.server_cpu_us) if found.server_cpu_us else None
    if record.path is None:
        return {"all_cpu_us_per_op": both} if both is not None else {}
    if not len(between):
        return {}
    whole = {"all_cpu_us_per_op": both + between} if both is not None else {}
    return {"path_cpu_us_per_op": between, **whole}
