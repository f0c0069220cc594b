"""Whether a budget has room for the least that gives an answer and, where it has not, what would fit."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from statistics import fmean

from tlstax.plan.order import cases, trials_per_block
from tlstax.plan.timing import SHORTEST_S, block_s
from tlstax.study import Case, Level, Study, override
from tlstax.study.changes import OWN_OPTIONS
from tlstax.study.design import LONGEST_BUDGET_S
from tlstax.study.level_names import OPTION
from tlstax.support.errors import UserMistake
from tlstax.support.text import duration

LEAST_BLOCKS = 2
"""An interval is one over blocks, and needs two: one alone does not show how much blocks scatter."""

_STEPS_S = ((120, 1, 1, "s"), (590, 10, 1, "s"), (7140, 60, 60, "m"), (math.inf, 900, 3600, "h"))
"""Up to how many seconds a budget is rounded up to a multiple of how many, and the unit that it is then
written in. Quarters of an hour, unlike tenths, are exact as floating-point numbers of hours."""

_AMOUNTS = ("queries", "rounds", "connections")
"""Factors that say how much is done, and not what. They are named first: less of them asks the same."""


def check_budget(study: Study, *, own_options: bool = False) -> None:
    """Raises UserMistake where the budget has no room for two blocks of the shortest trials.

    The sentence names what would fit: with `own_options` by the options of `tlstax run`, else by --set.
    """
    message = no_room(study, least_block_s(study))
    if message:
        fits = " or ".join(what_fits(study, own_options=own_options))
        remedy = f"give {fits}" if fits else "measure less"
        raise UserMistake(message, remedy=f"{remedy}, or run it anyway with --over-budget")


def no_room(study: Study, one_block_s: float) -> str:
    """That the budget has no room for two blocks that take so long each, in a clause; empty where it has."""
    if LEAST_BLOCKS * one_block_s <= study.budget_s:
        return ""
    return (
        f"the budget of {duration(study.budget_s)} has no room for two blocks, the fewest that give an "
        f"interval: one block of {trials_per_block(study)} trials takes about {duration(one_block_s)}"
    )


def what_fits(study: Study, *, own_options: bool = False) -> tuple[str, ...]:
    """Options as they would be typed, each of which is enough by itself: a budget, levels of one factor.

    The levels are those that leave the most cases. None are named of what is compared (the baseline's
    factors), of a driver's own options (any words, some of which would have to be quoted), nor workloads of
    the user's own, which may have been given by their files. With `own_options` only factors that `tlstax
    run` has an option for.
    """
    budget = least_budget(LEAST_BLOCKS * least_block_s(study))
    fewer = _fewer_levels(study, own_options=own_options)
    return (*([f"--budget {budget}"] if budget else []), *([fewer] if fewer else []))


def least_budget(least_s: float) -> str:
    """A budget of at least N seconds in the words that --budget takes: `320s`, `17m`, `5.25h`.

    Empty where none can be given that is long enough.
    """
    if least_s > LONGEST_BUDGET_S:
        return ""
    _, step_s, unit_s, unit = next(step for step in _STEPS_S if least_s <= step[0])
    return f"{math.ceil(least_s / step_s) * step_s / unit_s:.12g}{unit}"


def least_block_s(study: Study) -> float:
    """About how long a block of the shortest trials takes."""
    return block_s(study, cases(study), SHORTEST_S)


def _fewer_levels(study: Study, *, own_options: bool) -> str:
    """The option that fits and leaves the most cases, an amount's where one fits; empty where none does."""
    factors = [name for name in study.levels_of() if _may_be_named(study, name, own_options=own_options)]
    for among in (
        [name for name in factors if name in _AMOUNTS],
        [name for name in factors if name not in _AMOUNTS],
    ):
        fitting = [(name, found) for name in among if (found := _most_that_fit(study, name)) is not None]
        if fitting:
            name, (levels, _) = max(fitting, key=lambda option: option[1][1])
            return _typed(name, levels, own_option=own_options)
    return ""


def _may_be_named(study: Study, factor: str, *, own_options: bool) -> bool:
    if factor in study.baseline or factor.startswith(OPTION) or (factor == "workload" and study.workloads):
        return False
    return factor in OWN_OPTIONS if own_options else True


def _most_that_fit(study: Study, factor: str) -> tuple[tuple[Level, ...], int] | None:
    """The most levels of the factor with which the study fits, and how many cases it then has, if any do."""
    choices = _ever_more(study, factor)
    fitting = bisect_left(choices, True, key=lambda levels: not _fits(_with_levels(study, factor, levels)))
    narrowed = _with_levels(study, factor, choices[fitting - 1]) if fitting else None
    return (choices[fitting - 1], len(cases(narrowed))) if narrowed else None


def _fits(study: Study | None) -> bool:
    return study is not None and LEAST_BLOCKS * least_block_s(study) <= study.budget_s


def _ever_more(study: Study, factor: str) -> list[tuple[Level, ...]]:
    """The factor's quickest level, the two quickest and so on, without all of them.

    Of `queries`, which may be any number, round ones come before that are smaller than all levels.
    """
    levels, in_all = study.levels_of()[factor], cases(study)

    def takes_s(level: Level) -> float:
        return block_s(study, [case for case in in_all if case.levels[factor] == level], SHORTEST_S)

    quickest = sorted(levels, key=takes_s)
    fewer = [tuple(level for level in levels if level in quickest[:most]) for most in range(1, len(levels))]
    if factor == "queries":
        return [*((number,) for number in _round_numbers(min(map(int, levels)))), *fewer]
    return fewer


def _round_numbers(below: int) -> Iterator[int]:
    """1, 2 and 5 times powers of ten below this number, from ten on.

    Fewer operations are not suggested: what is measured would be a trial's beginning and end.
    """
    numbers = (times * 10**power for power in count(1) for times in (1, 2, 5))
    return takewhile(lambda number: number < below, numbers)


def _with_levels(study: Study, factor: str, levels: Sequence[Level]) -> Study | None:
    """The study as --set would make it; None where it cannot be."""
    try:
        return override(study, factor, [str(level) for level in levels])
    except UserMistake:
        return None


def _typed(factor: str, levels: Sequence[Level], *, own_option: bool) -> str:
    listed = ",".join(map(str, levels))
    return f"--{factor.replace('_', '-')} {listed}" if own_option else f"--set {factor}={listed}"


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
        """How long the shortest trials of the next block measure, in seconds, when `spent_s` is spent.

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
