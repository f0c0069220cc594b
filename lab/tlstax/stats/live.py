"""What is known of a run while it goes on: how its intervals shrink, what became of its trials.

Kept from block to block as the run goes, or computed anew from its trials once it has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import ceil

from tlstax.records.trial import RunHeader, StoredRun, TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.live import KnownRatio, LiveRun, LiveTrials
from tlstax.stats import stats
from tlstax.stats.contrasts import nearest
from tlstax.stats.stopping import (
    Progress,
    Taken,
    decide,
    most_telling,
)
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import label_levels
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped

MOST_RATIOS = 24
"""How many are shown while a run goes on: the most telling; its report has all."""

MOST_POINTS = 40
"""How many points of a ratio's history are kept: from here on every other one goes."""

MOST_REASONS, MOST_WARNINGS = 8, 5


class Account:
    """Follows a run from block to block, and says what can be shown of it in between."""

    def __init__(self, header: RunHeader, records: Iterable[TrialRecord] = ()) -> None:
        self._header = header
        self._histories: dict[Key, list[Interval]] = {}
        self._progress: Progress | None = None
        self._verdicts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._warnings: list[str] = []
        self.took(records)

    def took(self, records: Iterable[TrialRecord]) -> None:
        """Trials have ended."""
        for record in records:
            self._verdicts[record.verdict.value] += 1
            self._reasons.update(record.verdict.reasons)

    def warned(self, text: str) -> None:
        """The user was warned of something; the last few are kept."""
        self._warnings = [*self._warnings, text][-MOST_WARNINGS:]

    def decided(self, progress: Progress) -> None:
        """A block has ended, and `progress` says what is known; without a valid pair that is as before."""
        self._progress = progress
        for known in progress.known:
            history = self._histories.setdefault(_key(known), [])
            if history and history[-1].blocks == known.now.blocks:
                history.pop()
            history.append(known.now)
            if len(history) > MOST_POINTS:
                history[:] = [*history[:-1:2], history[-1]]

    def between(self, doing: str, at: str, *, share: float | None, left_s: float | None) -> LiveRun:
        """What is known now that nothing is being measured; `doing` comes next. See `LiveRun`."""
        study, progress = self._header.study, self._progress
        ratios = tuple(self._ratios(progress)) if progress is not None else ()
        reasons = self._reasons.most_common()
        return LiveRun(
            run=self._header.run,
            title=study.title,
            question=study.question,
            status="running",
            at=at,
            doing=doing,
            outcome=OUTCOMES[study.deciding_outcome].words,
            baseline=label_levels(study.baseline, study),
            wanted=study.precision,
            alike_within=study.alike_within,
            blocks=progress.blocks if progress is not None else 0,
            share=share,
            left_s=left_s,
            ratios=ratios,
            more_ratios=len(progress.known) - len(ratios) if progress is not None else 0,
            trials=LiveTrials(
                valid=self._verdicts["valid"],
                invalid=self._verdicts["invalid"],
                unknown=self._verdicts["unknown"],
                reasons=tuple(reasons[:MOST_REASONS]),
                more_reasons=max(0, len(reasons) - MOST_REASONS),
            ),
            warnings=tuple(self._warnings),
        )

    def _ratios(self, progress: Progress) -> Iterator[KnownRatio]:
        """The most telling ones with their histories, in the plan's order."""
        controls = {known.levels: known.now for known in progress.known if known.is_control}
        for known in most_telling(progress.known, MOST_RATIOS):
            control = nearest(known.levels, controls)
            floor = stats.noise_floor(control) if control is not None else None
            history = tuple(self._histories[_key(known)])
            yield known.model_copy(update={"history": history, "noise_floor": floor})


Key = tuple[CaseLevels, bool]


def _key(known: KnownRatio) -> Key:
    """The control has the levels of its baseline."""
    return known.levels, known.is_control


def ended(stored: StoredRun, at: str) -> LiveRun:
    """The run at its end, as whoever followed it would see it. `at` is when this is put together.

    Of a run of very many blocks not every one is looked at. Raises MachineFault where a histogram cannot be
    decoded.
    """
    study = stored.header.study
    account = Account(stored.header, stored.trials)
    by_block = list(grouped(stored.measured, lambda record: record.trial.block).values())
    taken = Taken.of(study)
    each = ceil(len(by_block) / MOST_POINTS)
    for number, records in enumerate(accumulate(by_block), 1):
        if number % each == 0 or number == len(by_block):
            spent_s = sum(record.took_s for record in records)
            account.decided(decide(study, records, spent_s, taken).progress)
    found = account.between("", at, share=None, left_s=None)
    return found.model_copy(update={"status": stored.status, "stopped_because": stored.stopped_because})
