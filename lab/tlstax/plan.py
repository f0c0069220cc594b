"""In which order a study's cases are run: pure, and the same for the same seed everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from random import Random

from pydantic import NonNegativeFloat

from tlstax.contract import Frozen
from tlstax.records import Trial
from tlstax.study import Case, Level, Study


class Excluded(Frozen):
    """A combination of levels that is not run, and why."""

    case: dict[str, Level]
    why: str


class Plan(Frozen):
    """What running a study would mean: its cases, how often, how long, and what is left out.

    `blocks` is how many blocks the budget has room for, `trials` the trials in them; a study that
    reaches its precision sooner ends sooner.
    """

    study: str
    cases: tuple[Case, ...]
    blocks: int
    trials: int
    estimated_s: NonNegativeFloat
    excluded: tuple[Excluded, ...]


def cases(study: Study) -> tuple[Case, ...]:
    """All cases, group after group; in each group the baseline, then its control, then the treatments."""
    groups: dict[tuple[tuple[str, Level], ...], list[Case]] = {}
    for levels in study.product():
        if study.exclusion_of(levels) is not None:
            continue
        group = groups.setdefault(tuple(study.group_of(levels).items()), [])
        if study.baseline.items() <= levels.items():
            group[:0] = [Case(levels=levels, role="baseline"), Case(levels=levels, role="control")]
        else:
            group.append(Case(levels=levels, role="treatment"))
    return tuple(case for group in groups.values() for case in group)


def blocks(study: Study, seed: int, done: Collection[tuple[int, int]] = ()) -> Iterator[tuple[Trial, ...]]:
    """Blocks without end, each with every case once, in random order.

    `done` holds the (block, position) of trials that a resumed run already has; they are left out, and
    so are the blocks that would be empty. The order of a block is the order of one draw a case from the
    Mersenne Twister's `random()`, seeded with `seed`: the one method of Python's generator that is
    documented to give the same sequence in every version (docs, `random`, "Notes on Reproducibility";
    `shuffle` is not).
    """
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    all_cases = cases(study)
    block = 0
    while True:
        draws = [generator.random() for _ in all_cases]
        order = sorted(range(len(all_cases)), key=draws.__getitem__)
        trials = tuple(
            Trial(block=block, position=position, case=all_cases[place])
            for position, place in enumerate(order)
            if (block, position) not in done
        )
        if trials:
            yield trials
        block += 1


def plan(study: Study, *, trial_s: float) -> Plan:
    """What a run of this study would do; `trial_s` is the time from one trial's start to the next."""
    all_cases = cases(study)
    block_s = trial_s * len(all_cases)
    room = max(1, int(study.budget_s / block_s))
    excluded = (
        Excluded(case=levels, why=exclusion.why)
        for levels in study.product()
        if (exclusion := study.exclusion_of(levels)) is not None
    )
    return Plan(
        study=study.name,
        cases=all_cases,
        blocks=room,
        trials=room * len(all_cases),
        estimated_s=room * block_s,
        excluded=tuple(excluded),
    )
