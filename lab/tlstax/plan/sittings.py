"""Which trials of a block sit together and take turns, how often and in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tlstax.contract import Job
from tlstax.plan import timing, turns
from tlstax.plan.elsewhere import ExternalLimits, Promise
from tlstax.plan.jobs import rounds_of
from tlstax.plan.order import blocks, shuffled, trials_per_block
from tlstax.records.trial import Trial
from tlstax.study import Study, workloads
from tlstax.study.level_names import DIRECT, UNIX_SOCKET
from tlstax.support.grouping import grouped

MOST_IN_ROUND = 6
"""Slices of one round, the baseline's among them: with more, the first and the last are no neighbours."""

FEWEST_ROUNDS = 5
"""Rounds of a sitting, however short its windows: of fewer pairs a median leaves nothing out."""

WARMUP_S = 0.002
"""Unmeasured work of each client before it is watched. That warms it further, and the first rounds the rest;
a trial by itself is warmed up for longer (`jobs.WARMUP_S`)."""

WATCHED_S, WATCHED_SLICES = 0.02, 1 / 3
"""How long each client works under all observers before the turns begin, at least: this long, and this many
slices. That is enough for an operation of every connection, and what it takes is time without turns."""


@dataclass(frozen=True)
class Sitting:
    """Trials of a block whose clients are ready at once and take turns.

    `number` is its own within the block. Each slice lasts `slice_s`, and every trial has `rounds` of them;
    before that each works for `watched_s` alone. Without rounds there is one trial, and no turns. With
    `full_load` what counts of a slice is what is done while all connections are at work: where every client
    reports that, since what is compared is measured in the same way.
    """

    number: int
    trials: tuple[Trial, ...]
    slice_s: float = 0.0
    rounds: int = 0
    watched_s: float = 0.0
    full_load: bool = False

    @property
    def takes_turns(self) -> bool:
        """Whether it is measured in slices, with others in turn or, where a length is named, alone."""
        return self.rounds > 0

    @property
    def anchor(self) -> Trial:
        """The trial that is in every round: the baseline's, or the only one."""
        return next((trial for trial in self.trials if trial.case.role == "baseline"), self.trials[0])

    @property
    def work_s(self) -> float:
        """How long the client works at the most that has most of the slices, all of them together."""
        return self.watched_s + self.rounds * self.parts * self.slice_s

    @property
    def parts(self) -> int:
        """In how many rounds each of the other cases has one slice, and the baseline one in each."""
        return max(1, -(-(len(self.trials) - 1) // (MOST_IN_ROUND - 1)))

    def slices_of(self, trial: Trial) -> int:
        """How many turns the trial has."""
        return self.rounds * (self.parts if trial is self.anchor else 1)


def sittings(
    study: Study,
    block: Sequence[Trial],
    window_s: float,
    elsewhere: ExternalLimits | None = None,
    shared_slice_s: float | None = None,
) -> tuple[Sitting, ...]:
    """The sittings of a block, in the order of their first trials, each trial in one.

    Those that are compared with each other sit together, if they and their baseline can take turns; each
    works for `window_s` all in all, or longer where that would be too few rounds. `elsewhere` has external
    servers: where one has no room for all of them at once, some sit together after the others, with the
    baseline once more, whose further trials come after the last position of the block. Where several machines
    share the load, `shared_slice_s` is the shortest slice that they can begin together; None where one has
    it.
    """
    found, seated, position = [], set[int](), trials_per_block(study)
    for company in companies(study, block):
        parts = [company]
        if elsewhere is not None and len(company) > 1:
            parts = elsewhere.parted(company, study)
        for number, part in enumerate(parts):
            trials = part if number == 0 else [_again(trial, position) for trial in part]
            position += number > 0
            found.append(_sitting(trials, study, window_s, elsewhere, shared_slice_s))
            seated.update(trial.position for trial in trials)
    found += [Sitting(trial.position, (trial,)) for trial in block if trial.position not in seated]
    return tuple(sorted(found, key=lambda sitting: sitting.number))


def companies(study: Study, block: Sequence[Trial]) -> Iterator[list[Trial]]:
    """The trials of a block that would sit together at a server of our own, with their baseline.

    One whose slices are named sits alone where it has no company.
    """
    together = grouped((trial for trial in block if _can_sit(trial, study)), lambda t: _company(t, study))
    for everyone in together.values():
        company = _each_on_its_own_way(everyone)
        connections = Promise.of((trial.case.levels for trial in company), study).held
        with_baseline = any(trial.case.role == "baseline" for trial in company)
        if len(company) > 1 and with_baseline and connections <= turns.MOST_CONNECTIONS:
            yield company
        else:
            # Slices that are named are kept to although nobody is there to take turns with.
            yield from ([trial] for trial in company if trial.case.levels.slice_ms)


def most_connections(study: Study) -> int:
    """How many connections a server must have room for: the most that a case has."""
    return max(int(level) for level in study.levels_of().get("connections", (1,)))


def most_held(study: Study, seed: int) -> int:
    """How many connections a server of our own has to take: the most of a case, or of all who take turns."""
    block = next(block for block in blocks(study, seed) if not block[0].goes_before)
    together = companies(study, block)
    held = (Promise.of((trial.case.levels for trial in company), study).held for company in together)
    return max([most_connections(study), *held])


def order(sitting: Sitting, seed: int) -> Iterator[tuple[Trial, ...]]:
    """The rounds of a sitting, each in fresh random order.

    In every round stands the baseline, or who is alone. Of more cases than a round holds, some are in one and
    the others in the next, drawn anew each time; all come as often.
    """
    block = sitting.trials[0].block
    generator = Random(f"{seed} {block} {sitting.number}")  # noqa: S311 (an order, not a secret)
    anchor = sitting.anchor
    others = [trial for trial in sitting.trials if trial is not anchor]
    for _ in range(sitting.rounds):
        mixed = shuffled(others, generator)
        for part in range(sitting.parts):
            yield tuple(shuffled([anchor, *mixed[part :: sitting.parts]], generator))


def _can_sit(trial: Trial, study: Study) -> bool:
    return trial.is_measured and turns.takes_turns(trial.case.levels, study)


def _company(trial: Trial, study: Study) -> tuple[object, ...]:
    """Equal for trials that sit together.

    Storms, whose slices are rounds, sit with storms alone, and those that change data with those that change
    it alike.
    """
    levels = trial.case.levels
    writing = levels.workload if study.workload_of(levels).changes_data else ""
    return levels.is_storm, writing, tuple(study.group_of(levels).items())


def _each_on_its_own_way(company: Sequence[Trial]) -> list[Trial]:
    """The trials of which no two share the programs of a path: what those count is of one client then."""
    taken, found = set[object](), []
    for trial in sorted(company, key=lambda trial: trial.case.role != "baseline"):
        case = trial.case.levels
        way = None if case.path in {DIRECT, UNIX_SOCKET} else (case.server_choice, case.path)
        if way is None or way not in taken:
            found.append(trial)
            taken.add(way)
    return sorted(found, key=lambda trial: trial.position)


def _again(trial: Trial, position: int) -> Trial:
    """A baseline's trial at another position; any other as it is."""
    return trial.model_copy(update={"position": position}) if trial.case.role == "baseline" else trial


def _sitting(
    company: Sequence[Trial],
    study: Study,
    window_s: float,
    elsewhere: ExternalLimits | None,
    shared_slice_s: float | None,
) -> Sitting:
    """One company's; all of a slice counts where no client can read the server's CPU clock."""
    levels = [trial.case.levels for trial in company]
    whole = shared_slice_s is not None or (elsewhere is not None and elsewhere.reads_afar(levels))
    full_load = not whole and turns.tell_full_load(levels)
    slice_s = turns.slice_s(levels, study, whole=not full_load)
    slice_s = max(slice_s, shared_slice_s or 0.0)
    if elsewhere is not None:
        slice_s = elsewhere.slice_s(levels, study, slice_s)
    number = min(trial.position for trial in company)
    if company[0].case.levels.is_storm:
        # The first of its rounds is watched alone.
        rounds = min(rounds_of(trial.case.levels) for trial in company) - 1
        return Sitting(number, tuple(company), slice_s, rounds, watched_s=slice_s)
    watched_s = max(WATCHED_S, WATCHED_SLICES * slice_s)
    of_each_s = max(timing.window_s(trial.case.levels, window_s, study) for trial in company)
    return Sitting(
        number=number,
        trials=tuple(company),
        slice_s=slice_s,
        rounds=max(FEWEST_ROUNDS, round((of_each_s - watched_s) / slice_s)),
        watched_s=watched_s,
        full_load=full_load,
    )


def seated(job: Job, trial: Trial, sitting: Sitting) -> Job:
    """The job of a client that is watched for a while and then takes its turns.

    A storm has a round for each, and no time by which it is over. What is cold alone is cold here.
    Of clients that change the same data each has a part of the ids that may be there once.
    """
    if job.workload.storm:
        rounds = 1 + sitting.slices_of(trial)
        return job.model_copy(update={"rounds": rounds, "operations": rounds * job.connections})
    terms = {"duration_s": round(sitting.work_s, 6), "warmup_s": min(job.warmup_s, WARMUP_S)}
    if workloads.writes(job.workload):
        place, clients = sitting.trials.index(trial), len(sitting.trials)
        return job.model_copy(update={**terms, "workload": workloads.part_of(job.workload, place, clients)})
    return job.model_copy(update=terms)
