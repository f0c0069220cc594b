"""How far a run is, how long it will take, and who hears of it. Pure: it is given the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

from tlstax.plan.budget import no_room
from tlstax.plan.order import captures, cases, counts, trials_per_block
from tlstax.plan.timing import block_s
from tlstax.records.trial import Trial
from tlstax.stats.stopping import Progress
from tlstax.study import Case, Study
from tlstax.study.labels import full_label


@dataclass(frozen=True)
class Step:
    """A trial that begins: the `place`-th of the `of` in its block (both from 1), and what is known so far.

    `progress` is what was known after the last block, `left_s` how long the run may still take, `share` how
    much of the whole is done.
    """

    block: int
    place: int
    of: int
    label: str
    progress: Progress | None
    left_s: float
    share: float = 0.0

    def on(self, machine: str) -> Step:
        """The same on one of several machines."""
        return replace(self, label=f"{self.label}, on {machine}")


class Outlook:
    """Follows a run from trial to trial.

    `spent_s` is what a resumed run had spent of its budget before, `now_s` the time now by a clock that
    only goes forward.
    """

    def __init__(self, study: Study, shortest_s: float, spent_s: float, now_s: float) -> None:
        self._study = study
        self._spent_before_s, self._started_s = spent_s, now_s
        self._estimated_block_s = block_s(study, cases(study), shortest_s)
        self.trials_in_block = trials_per_block(study)
        before = (*counts(study), captures(study))
        self._before = {block[0].block: len(block) for block in before if block}
        self._begun = 0
        self._block, self._place = -1, 0
        self._progress: Progress | None = None
        self._decided_s = now_s

    @property
    def warning(self) -> str:
        """That the budget has no room for two blocks, in a sentence; empty where it has."""
        message = no_room(self._study, self._estimated_block_s)
        return message and f"{message}; at least one is run to its end all the same"

    def spent_s(self, now_s: float) -> float:
        """What the run has taken of its budget, before it was resumed and since."""
        return self._spent_before_s + now_s - self._started_s

    def decided(self, progress: Progress, now_s: float) -> None:
        """A block has ended and another is to follow; `progress` says what is known."""
        self._progress, self._decided_s = progress, now_s

    def turns(self, last: Trial, clients: int, now_s: float) -> Step:
        """The client of the trial begun last is ready, and takes turns with those before it."""
        return replace(self._step(last, now_s), label=f"{clients} cases take turns")

    def step(self, trial: Trial, now_s: float) -> Step:
        """A trial begins."""
        if not trial.goes_before:
            if not self._begun:
                # What went before is beside the budget.
                self._started_s = now_s
            self._begun += 1
            self._place = self._place + 1 if trial.block == self._block else 1
            self._block = trial.block
        return self._step(trial, now_s)

    def rest(self, now_s: float) -> tuple[float, float]:
        """Between two blocks or sittings: how much of the whole is done, and how long the rest may take."""
        left_s = max(0.0, self._left_s(now_s))
        return self._share(left_s, now_s), left_s

    def _left_s(self, now_s: float) -> float:
        """What is left of the budget, or less where less is needed; below nothing where that is overdrawn.

        Of a study with `overtime` what is needed alone.
        """
        left_s = inf if self._study.overtime else self._study.budget_s - self.spent_s(now_s)
        if self._progress is None:
            most = self._study.maximum_blocks
            return (
                left_s if most is None else min(left_s, most * self._estimated_block_s - self.spent_s(now_s))
            )
        return min(left_s, self._progress.left_s - (now_s - self._decided_s))

    def _share(self, left_s: float, now_s: float) -> float:
        spent_s = self.spent_s(now_s)
        return spent_s / (spent_s + left_s) if spent_s else 0.0

    def _known(self, case: Case) -> Case:
        """The case by the levels that the study has."""
        return case.model_copy(update={"levels": self._study.known(case.levels)})

    def _step(self, trial: Trial, now_s: float) -> Step:
        if trial.goes_before:
            doing = "capturing" if trial.captured else "counting the locks of"
            return Step(
                block=trial.block,
                place=trial.position + 1,
                of=self._before.get(trial.block, 0),
                label=f"{doing} {full_label(self._known(trial.case), self._study)}",
                progress=None,
                left_s=self._study.budget_s,
            )
        each_s = self._estimated_block_s / self.trials_in_block
        if self._begun > self.trials_in_block // 10 + 1:
            each_s = (now_s - self._started_s) / (self._begun - 1)
        left_s = max(self._left_s(now_s), each_s * (self.trials_in_block - self._place + 1))
        return Step(
            block=trial.block,
            place=self._place,
            of=max(self.trials_in_block, self._place),
            label=full_label(trial.case, self._study) + (", profiled" if trial.profiled else ""),
            progress=self._progress,
            left_s=left_s,
            share=self._share(left_s, now_s),
        )


class Watcher(Protocol):
    """Hears what goes on in an experiment that is no run."""

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...

    def now(self, words: str, *, share: float | None = None, left_s: float | None = None) -> None:
        """What is tried now, which share of all is done, and how long the rest may take."""
        ...
