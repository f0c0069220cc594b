"""What each component costs per operation, block by block, and how far two equal cases stray."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import TypeVar

from tlstax.plan.order import baseline_of, cases
from tlstax.records.profiles.components import classifier
from tlstax.records.profiles.stacks import SIDES, Side
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.interval import Interval
from tlstax.stats import stats
from tlstax.stats.contrasts import NEVER_ACROSS, group_counterpart
from tlstax.stats.outcomes import outcome
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.stack_costs import Stacks, stack_costs, valid_by_block
from tlstax.study import Case, Levels
from tlstax.study.level_names import NO_FAULT, VARIANTS

Thing = TypeVar("Thing", bound=Hashable)
Seen = TypeVar("Seen")

Place = tuple[Side, str]
"""A component on one side."""


@dataclass(frozen=True)
class Sampled:
    """What is known of one case: the stacks' cost of each side in each block, and its unsampled trials."""

    stacks: Mapping[Side, Mapping[int, Stacks]]
    measured: Mapping[int, TrialRecord]


class Costs:
    """The sampled cases of a run, each worked out once."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.study = stored.header.study
        self.cases = cases(self.study)
        self._known: dict[str, Sampled] = {}
        self.pooling = Pooling(self.study.confidence, machines_of(stored.trials))
        self._differences: dict[tuple[str, str], dict[Place, dict[int, float]]] = {}

    def of(self, case: Case) -> Sampled:
        """What is known of a case."""
        key = case.key()
        if key not in self._known:
            self._known[key] = Sampled(
                stacks={side: stack_costs(self.stored, case, side) for side in SIDES},
                measured=valid_by_block(self.stored.measured, case),
            )
        return self._known[key]

    def baseline_of(self, case: Case) -> Case:
        """What a case is explained against: itself without its planted fault, or its group's baseline.

        A group's baseline itself: see `group_counterpart`.
        """
        if case.role == "baseline":
            return group_counterpart(case, self.cases, self.study)
        if case.role != "control" and case.levels.fault not in {NO_FAULT, *VARIANTS}:
            without = self._with_levels({**case.levels, "fault": NO_FAULT})
            if without is not None:
                return without
        return baseline_of(case, self.cases, self.study)

    def total_costs(self, case: Case, baseline: Case) -> dict[int, tuple[float, float]]:
        """CPU time per operation of the case and of the baseline, block by block, unsampled."""
        trials = in_both(self.of(case).measured, self.of(baseline).measured)
        return {
            block: (cost, base)
            for block, (own, other) in trials.items()
            if (cost := cost_us(own)) and (base := cost_us(other))
        }

    def total_logs(self, case: Case, baseline: Case) -> dict[int, float]:
        """Ln of the ratio of the two: a slow block makes both dearer, whatever they cost."""
        return {block: log(cost / base) for block, (cost, base) in self.total_costs(case, baseline).items()}

    def stacks(self, case: Case, baseline: Case, side: Side) -> dict[int, tuple[Stacks, Stacks]]:
        """What the stacks of a side cost in case and baseline, in the blocks in which both were sampled."""
        return in_both(self.of(case).stacks[side], self.of(baseline).stacks[side])

    def component_differences(self, case: Case, baseline: Case) -> dict[Place, dict[int, float]]:
        """The same by component; each component of a side has all blocks of that side."""
        pair = case.key(), baseline.key()
        if pair not in self._differences:
            differences = self._differences[pair] = {}
            for side in SIDES:
                both = self.stacks(case, baseline, side)
                rows = {block: tuple(map(by_component, own)) for block, own in both.items()}
                for name in dict.fromkeys(name for row in rows.values() for costs in row for name in costs):
                    differences[side, name] = {
                        block: more.get(name, 0.0) - less.get(name, 0.0)
                        for block, (more, less) in rows.items()
                    }
        return self._differences[pair]

    def gauge(self, case: Case, baseline: Case) -> tuple[Case, Case] | None:
        """Two equal cases, the nearest to these that were sampled, which show the noise.

        Of several that are as near, the noisier. A control beside its baseline is one, and so is a twin, a
        second process of the same kind. None where there is none, and for a control, which cannot be its own.
        """
        if case.role == "control":
            return None
        found = [
            (shared, self._floor(equal, other), equal, other)
            for equal, other in self._equals()
            if (shared := _shared(baseline.levels, other.levels)) is not None
            and len(self.total_logs(equal, other)) > 1
            and equal != case
        ]
        best = max(found, key=lambda candidate: candidate[:2], default=None)
        return best and best[2:]

    def _floor(self, equal: Case, other: Case) -> float:
        return stats.noise_floor(self.pooling.interval(self.total_logs(equal, other))) or 0.0

    def noise(self, case: Case, baseline: Case) -> Noise | None:
        """How far two equal cases stray here, scaled to what the baseline costs; None without a gauge."""
        gauge = self.gauge(case, baseline)
        gauge_us = self._mean_cost(gauge[1]) if gauge is not None else 0.0
        if gauge is None or gauge_us <= 0:
            return None
        scale = self._mean_cost(baseline) / gauge_us
        return Noise(
            floor=self._floor(*gauge),
            by_place={
                place: scale * (self.pooling.difference(values).reach or 0.0)
                for place, values in self.component_differences(*gauge).items()
            },
        )

    def _equals(self) -> list[tuple[Case, Case]]:
        pairs = []
        for case in self.cases:
            if case.role == "control":
                pairs.append((case, self.baseline_of(case)))
            elif case.levels.instance != 1 and (first := self._with_levels({**case.levels, "instance": 1})):
                pairs.append((case, first))
        return pairs

    def _with_levels(self, levels: Levels) -> Case | None:
        """The case that has these levels and is no control; None where there is none."""
        every = (case for case in self.cases if case.levels == levels and case.role != "control")
        return next(every, None)

    def _mean_cost(self, case: Case) -> float:
        costs = map(cost_us, self.of(case).measured.values())
        return mean(cost for cost in costs if cost is not None)


@dataclass(frozen=True)
class Noise:
    """How far the CPU time per operation of two equal cases strays: all of it, relative, and by component."""

    floor: float
    by_place: Mapping[Place, float]


def cost_us(record: TrialRecord) -> float | None:
    """CPU time per operation of a trial, of both sides where both can be seen; None without a result."""
    known = [cost for side in SIDES if (cost := outcome(record, f"{side}_cpu_us_per_op")) is not None]
    return sum(known) if known else None


def summed(costs: Iterable[tuple[Thing, float]]) -> dict[Thing, float]:
    """The costs of each thing added up, in the order in which things first come."""
    found: dict[Thing, float] = {}
    for thing, us in costs:
        found[thing] = found.get(thing, 0.0) + us
    return found


def by_component(stacks: Stacks) -> dict[str, float]:
    """The cost of stacks, added up by component."""
    return summed((classifier().component(stack), us) for stack, us in stacks.items())


def in_both(own: Mapping[int, Seen], other: Mapping[int, Seen]) -> dict[int, tuple[Seen, Seen]]:
    """What is known of two cases in each block in which it is known of both, in the order of blocks."""
    return {block: (own[block], other[block]) for block in sorted(own.keys() & other.keys())}


def is_clear(difference: Interval, noise_us: float | None) -> bool:
    """Whether a difference is clear: its interval excludes zero and it is beyond the noise."""
    return difference.excludes_zero and (noise_us is None or abs(difference.point) > noise_us)


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean; costs add up, so theirs is not the geometric one. Zero for none."""
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def _shared(wanted: Levels, at: Levels) -> int | None:
    """How many levels two cases share; None where a noise must not be carried between them."""
    if any(wanted.get(name) != at.get(name) for name in NEVER_ACROSS):
        return None
    return len(set(wanted.items()) & set(at.items()))
