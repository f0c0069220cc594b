"""In which order a study's cases are run: pure, and the same for the same seed everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Literal, TypeVar

from pydantic import ConfigDict, Field, NonNegativeFloat

from tlstax.contract import Frozen
from tlstax.plan.timing import SERVER_START_S, block_s, trial_duration_s
from tlstax.records.trial import Trial, TrialRecord
from tlstax.study import Case, Level, Study, within
from tlstax.study.level_names import COUNT_LOCKS, ENGINE
from tlstax.study.needs import clients, faults, needs_distance, server_choices, tls_libraries

Thing = TypeVar("Thing")

CAPTURE_BLOCK = -1
"""The block of captured trials, before all others: they are not estimated from."""

COUNTED_BLOCKS = (-3, -2)
"""The blocks of trials whose locks are counted, before that. Each case is in both: a count comes again."""


class Excluded(Frozen):
    """A combination of levels that is not run, and why."""

    case: dict[str, Level]
    why: str


class Plan(Frozen):
    """What running a study would mean: its cases, how often, how long, and what is left out.

    `blocks` is how many blocks the budget has room for (at least the one that `--over-budget` runs), `trials`
    the trials in them, `profiled` how many of those are sampled; a study that reaches its precision sooner
    ends sooner. `captured` cases are run once before all blocks, through a tap, and before these `counted`
    trials on servers whose locks are counted. `block_s` is about how long one block takes, `starting_s` how
    long the servers take to start, `estimated_s` all of it. `servers` are those that are started, `specimens`
    what is named by the study and must be there. `study plan --json` prints it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    study: str
    cases: tuple[Case, ...]
    blocks: int
    trials: int
    profiled: int
    captured: int
    counted: int = 0
    trial_duration_s: float
    block_s: NonNegativeFloat
    starting_s: NonNegativeFloat
    estimated_s: NonNegativeFloat
    servers: tuple[str, ...]
    specimens: tuple[str, ...]
    excluded: tuple[Excluded, ...]


def cases(study: Study) -> tuple[Case, ...]:
    """All cases, group after group; in each group the baseline, then its control, then the treatments.

    A control is in the groups that `control_within` names; in all of them where it names none that is there.
    """
    groups: dict[tuple[tuple[str, Level], ...], list[Case]] = {}
    included = list(study.included())
    baselines = [levels for levels in included if study.is_baseline(levels)]
    wanted = study.control_within if any(within(b, study.control_within) for b in baselines) else {}
    for levels in included:
        group = groups.setdefault(tuple(study.group_of(levels).items()), [])
        if not study.is_baseline(levels):
            group.append(Case(levels=levels, role="treatment"))
            continue
        control = [Case(levels=levels, role="control")] if within(levels, wanted) else []
        group[:0] = [Case(levels=levels, role="baseline"), *control]
    return tuple(case for group in groups.values() for case in group)


def in_order(records: Iterable[TrialRecord], study: Study) -> list[TrialRecord]:
    """Trials' records in the order of their cases; those of one case, and of none of these, as they come."""
    places = {case.key(): place for place, case in enumerate(cases(study))}
    return sorted(records, key=lambda record: places.get(record.trial.case.key(), len(places)))


def baseline_of(case: Case, every: Iterable[Case], study: Study) -> Case:
    """The one of all cases that this one is compared with."""
    group = study.group_of(case.levels)
    baselines = (other for other in every if other.role == "baseline")
    return next(other for other in baselines if study.group_of(other.levels) == group)


def blocks(study: Study, seed: int, done: Collection[tuple[int, int]] = ()) -> Iterator[tuple[Trial, ...]]:
    """Blocks without end, each with every case once, in random order; profiled, every case once more.

    `done` holds the (block, position) of trials that a resumed run already has; they are left out, and
    so are the blocks that would be empty. The order of a block is the order of one draw a case from the
    Mersenne Twister's `random()`, seeded with `seed`: the one method of Python's generator that is
    documented to give the same sequence in every version (docs, `random`, "Notes on Reproducibility";
    `shuffle` is not).
    """
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    for before in (*counts(study), captures(study)):
        if still := tuple(trial for trial in before if trial.place not in done):
            yield still
    all_trials = [(case, False) for case in cases(study)]
    if study.profile:
        all_trials += [(case, True) for case, _ in all_trials]
    block = 0
    while True:
        trials = tuple(
            Trial(block=block, position=position, case=case, profiled=profiled)
            for position, (case, profiled) in enumerate(shuffled(all_trials, generator))
            if (block, position) not in done
        )
        if trials:
            yield trials
        block += 1


def shuffled(things: Sequence[Thing], generator: Random) -> list[Thing]:
    """The things in the order of one draw each from `random()` (see `blocks`)."""
    draws = [generator.random() for _ in things]
    return [things[place] for place in sorted(range(len(things)), key=draws.__getitem__)]


def captures(study: Study) -> tuple[Trial, ...]:
    """One captured trial of each case before whose server a tap can stand, in their order; none of a control.

    Where any case has a distance, all servers stand at its far end, where no tap is.
    """
    if not study.capture or needs_distance(study):
        return ()
    taken = (case for case in cases(study) if case.role != "control" and case.levels.can_be_captured)
    return tuple(
        Trial(block=CAPTURE_BLOCK, position=position, case=case, captured=True)
        for position, case in enumerate(taken)
    )


def counts(study: Study) -> tuple[tuple[Trial, ...], ...]:
    """Blocks with a trial of each case on a server whose locks are counted; none of a control.

    A server with something else of ours in it is left out: it can have one thing alone.
    """
    if study.count is None:
        return ()
    taken = [case for case in cases(study) if case.role != "control" and case.levels.counting is not None]
    return tuple(
        tuple(
            Trial(block=block, position=position, case=_counting(case), counted=True)
            for position, case in enumerate(taken)
        )
        for block in COUNTED_BLOCKS
    )


def _counting(case: Case) -> Case:
    return Case(levels={**case.levels, "fault": COUNT_LOCKS}, role=case.role)


def trials_per_block(study: Study) -> int:
    """How many trials a block has: one of each case, and one more where they are profiled."""
    return len(cases(study)) * (2 if study.profile else 1)


def plan(study: Study, external: Collection[str] = ()) -> Plan:
    """What a run of this study would do; `external` are levels of `server` that nobody starts or fetches."""
    all_cases = cases(study)
    duration_s = trial_duration_s(study, all_cases)
    one_block_s = block_s(study, all_cases, duration_s)
    room = max(1, int(study.budget_s / one_block_s))
    room = min(room, study.maximum_blocks or room)
    servers = [choice for choice in server_choices(study) if choice.server not in external]
    starting_s = SERVER_START_S * len(servers)
    return Plan(
        study=study.name,
        cases=all_cases,
        blocks=room,
        trials=room * trials_per_block(study),
        profiled=room * len(all_cases) if study.profile else 0,
        captured=len(captures(study)),
        counted=sum(map(len, counts(study))),
        trial_duration_s=duration_s,
        block_s=one_block_s,
        starting_s=starting_s,
        estimated_s=starting_s + room * one_block_s,
        servers=tuple(choice.words() for choice in servers),
        specimens=tuple(
            dict.fromkeys(
                (
                    *(c.server for c in servers if c.server),
                    *tls_libraries(study),
                    *faults(study),
                    *(name for name in clients(study) if name != ENGINE),
                )
            )
        ),
        excluded=tuple(
            Excluded(case=dict(levels), why=exclusion.why) for levels, exclusion in study.excluded()
        ),
    )
