"""Blocks as long as fill the budget, going by how long those before them took. Pure.

A block that would not end within the budget is not begun, so blocks of one length leave up to a whole one of
it unused. Each further block is made a little longer or shorter, so that the last ends with the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tlstax.plan.timing import SHORTEST_S, block_s
from tlstax.study import Case, Study

SPARE_SHARE = 0.005
"""The share of the budget that is left to chance: no two blocks take equally long."""

STRETCHED_SHARE = 0.25
"""By how much trials may measure longer or shorter than was planned. Blocks count alike in every interval."""


@dataclass(frozen=True)
class Took:
    """A block that has ended: how long its shortest trials measured and how long it took, in seconds."""

    shortest_s: float
    block_s: float


@dataclass(frozen=True)
class Fitting:
    """Fits blocks to a budget.

    By the plan the shortest trials measure `planned_s`; a block takes `each_s` more for every second longer.
    """

    budget_s: float
    planned_s: float
    each_s: float

    @classmethod
    def of(cls, study: Study, cases: Sequence[Case], planned_s: float) -> Fitting:
        """From the plan's own estimate; `planned_s` is how long the shortest trials measure by it."""
        more_s = STRETCHED_SHARE * planned_s
        longer_s = block_s(study, cases, planned_s + more_s) - block_s(study, cases, planned_s)
        return cls(study.budget_s, planned_s, longer_s / more_s)

    def next_s(self, past: Sequence[Took], spent_s: float) -> float:
        """How long the shortest trials of the next block measure, in seconds, when so much is spent.

        As planned where no block has ended yet, or where trials last as long as their operations take.
        """
        if not past or not self.each_s:
            return self.planned_s
        as_planned = [took.block_s - self.each_s * (took.shortest_s - self.planned_s) for took in past]
        left_s = (1 - SPARE_SHARE) * self.budget_s - spent_s
        blocks = max(1, round(left_s / fmean(as_planned)))
        longer_s = (left_s / blocks - fmean(as_planned)) / self.each_s
        most_s = STRETCHED_SHARE * self.planned_s
        return max(SHORTEST_S, self.planned_s + min(max(longer_s, -most_s), most_s))
