"""When has a study seen enough, what is left to do, and what has it told so far? Pure and cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import median
from typing import Literal

from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.live import KnownRatio
from tlstax.stats.estimates import Comparison, Pair, compare
from tlstax.stats.outcomes import log_ratio_between
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.wording import known_to, percent
from tlstax.study import Study
from tlstax.study.labels import full_label, label_levels
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.text import counted

HOPELESS_BLOCKS = 3
"""A comparison that has not given one usable pair in this many blocks is no longer waited for."""


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    `worst_half_width` is the relative half width of the widest interval so far (None while a comparison
    has fewer than two blocks), `worst` the comparison that it belongs to, `wanted` the precision asked
    for. `left_blocks` and `left_s` predict what is left if blocks go on to scatter as they have so far;
    `left_s` is never more than the budget leaves, nor are the blocks of several machines, which may differ by
    more than was asked for. `ratios` are waited for, half of which are known to
    `median_half_width` or better (None as for the widest). `known` has those of them that there are yet, in
    the plan's order: ratios of the `outcome`, in words, to the `baseline`.
    """

    blocks: int
    worst_half_width: float | None
    worst: str
    wanted: float
    left_blocks: int
    left_s: float
    ratios: int = 0
    median_half_width: float | None = None
    known: tuple[KnownRatio, ...] = ()
    outcome: str = ""
    baseline: str = ""


@dataclass(frozen=True)
class Stop:
    """No further block; `why` is a clause for the reader, `reason` the same for the program."""

    reason: Literal["precision", "blocks", "budget", "hopeless"]
    why: str
    progress: Progress


@dataclass(frozen=True)
class Continue:
    """Another block."""

    progress: Progress


@dataclass(frozen=True)
class Taken:
    """What stays from block to block: cases' labels by their keys, and ln of the ratio of each pair.

    A pair of trials is named by the places of the two and of the control.
    """

    labels: Mapping[str, str]
    ratios: dict[tuple[tuple[int, int] | None, ...], float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> Taken:
        """Of a study, before its first block."""
        return cls(short_labels(study))


def decide(
    study: Study, records: Sequence[TrialRecord], elapsed_s: float, taken: Taken | None = None
) -> Stop | Continue:
    """Stop or go on, from all records so far and the seconds since the first trial began.

    Stops when the interval of every ratio of the deciding outcome (the control's too) is known to the
    study's precision and no comparison has fewer than its minimum of blocks; or with as many blocks as it is
    to have at the most; or when another block would not end within the budget, which a study with `overtime`
    does not heed; or when no comparison can
    give a ratio at all. The intervals are those of
    `Pooling`, which keep what they promise although the width decides. Histograms are decoded
    only where the deciding outcome is a percentile. Who asks after every block hands in the same `taken`, for
    stored trials do not change.
    """
    taken = Taken.of(study) if taken is None else taken
    blocks = len({record.trial.block for record in records})
    pooling = Pooling(study.confidence, machines_of(records))
    compared = [c for c in compare(study, records) if c.case.role != "baseline"]
    ratios = [_ratio(study, comparison, pooling, taken) for comparison in compared]
    waited_for = [r for r in ratios if r.interval or r.comparison.tried_blocks < HOPELESS_BLOCKS]
    time = _Time.of(study, blocks, elapsed_s, machines=len(set(pooling.machines.values())) or 1)
    progress = _progress(study, blocks, waited_for, time, taken.labels)
    if not waited_for:
        why = f"no comparison has a valid pair of trials with {study.deciding_outcome}"
        return Stop("hopeless", why, progress)
    if all(_precise(study, ratio.interval) for ratio in waited_for):
        which = "every ratio" if len(waited_for) == len(compared) else "every ratio that could be measured"
        return Stop("precision", f"{which} is known to ±{percent(study.precision)}", progress)
    if study.maximum_blocks is not None and blocks >= study.maximum_blocks:
        return Stop("blocks", f"{counted(blocks, 'block')} had been asked for", progress)
    if not time.has_room and not study.overtime:
        return Stop("budget", _spent(study, progress, time.machines), progress)
    return Continue(progress)


@dataclass(frozen=True)
class _Time:
    """What the budget leaves, and how long a block takes: as many run at a time as there are machines."""

    left_s: float
    block_s: float
    machines: int
    has_room: bool

    @classmethod
    def of(cls, study: Study, blocks: int, elapsed_s: float, *, machines: int) -> _Time:
        """From all blocks so far; without any there is always room."""
        block_s = elapsed_s / blocks if blocks else 0.0
        has_room = elapsed_s + machines * block_s <= study.budget_s
        return cls(max(0.0, study.budget_s - elapsed_s), block_s, machines, has_room)

    def capped(self, blocks: int | None) -> int:
        """N blocks, of several machines at most those that there is time for; these instead of None."""
        room = max(1, int(self.left_s / self.block_s)) if self.block_s else 1
        if blocks is None:
            return room
        return blocks if self.machines == 1 else min(blocks, room)


@dataclass(frozen=True)
class _Ratio:
    """A comparison's ratio so far, and how many further blocks it takes; None where no number is enough."""

    comparison: Comparison
    interval: Interval | None
    left_blocks: int | None


def _ratio(study: Study, comparison: Comparison, pooling: Pooling, taken: Taken) -> _Ratio:
    found = {pair.block: _log_ratio(study.deciding_outcome, pair, taken) for pair in comparison.pairs}
    logs = {block: ratio for block, ratio in found.items() if ratio is not None}
    interval = pooling.interval(logs) if logs else None
    if interval is None or interval.half_width is None:
        return _Ratio(comparison, interval, max(1, study.minimum_blocks - len(logs)))
    needed = pooling.blocks_needed(logs, study.precision)
    left = None if needed is None else max(0, max(needed, study.minimum_blocks) - len(logs))
    return _Ratio(comparison, interval, left)


def _log_ratio(name: str, pair: Pair, taken: Taken) -> float | None:
    """The pair's ratio, taken once."""
    trials = (pair.record, pair.baseline, pair.control)
    places = tuple(record.trial.place if record is not None else None for record in trials)
    if places not in taken.ratios:
        taken.ratios[places] = log_ratio_between(pair.record, pair.baseline, name, pair.control)
    return taken.ratios[places]


def _precise(study: Study, ratio: Interval | None) -> bool:
    if ratio is None or ratio.half_width is None or ratio.blocks < study.minimum_blocks:
        return False
    return ratio.half_width <= study.precision


def _progress(
    study: Study, blocks: int, ratios: Sequence[_Ratio], time: _Time, labels: Mapping[str, str]
) -> Progress:
    known = [(ratio.comparison.case, ratio.interval) for ratio in ratios if ratio.interval is not None]
    widths = [(r.half_width, case) for case, r in known if r.half_width is not None]
    worst = max(widths, key=lambda width: width[0], default=None) if len(widths) == len(ratios) else None
    left = max((time.capped(ratio.left_blocks) for ratio in ratios), default=0)
    if study.maximum_blocks is not None:
        left = min(left, max(0, study.maximum_blocks - blocks))
    return Progress(
        blocks=blocks,
        worst_half_width=worst[0] if worst else None,
        worst=full_label(worst[1], study) if worst else "",
        wanted=study.precision,
        left_blocks=left,
        left_s=_left_s(study, left, time),
        ratios=len(ratios),
        median_half_width=median(width for width, _ in widths) if worst else None,
        known=tuple(
            KnownRatio(
                label=labels[case.key()],
                history=(ratio,),
                precise=_precise(study, ratio),
                levels=case.levels,
                is_control=case.role == "control",
            )
            for case, ratio in known
        ),
        outcome=OUTCOMES[study.deciding_outcome].words,
        baseline=label_levels(study.baseline, study),
    )


def _left_s(study: Study, blocks: int, time: _Time) -> float:
    """How long N blocks may take; no longer than the budget leaves, where that ends it."""
    if not time.block_s:
        return time.left_s
    return blocks * time.block_s if study.overtime else min(blocks * time.block_s, time.left_s)


def _spent(study: Study, progress: Progress, machines: int) -> str:
    spent = f"the budget of {study.budget_s:g} s is spent"
    if progress.worst_half_width is None:
        where = " on one machine" if machines > 1 else ""
        return f"{spent} before every ratio had two blocks{where}"
    return f"{spent}; the widest ratio is {known_to(progress.worst_half_width)} ({progress.worst})"


def short_labels(study: Study) -> dict[str, str]:
    """What each case is called, by its key, without what all of them say."""
    parts = {case.key(): full_label(case, study).split(", ") for case in cases(study)}
    first, *others = parts.values()
    shared = set(first).intersection(*others)
    return {key: ", ".join([part for part in own if part not in shared] or own) for key, own in parts.items()}


def most_telling(ratios: Sequence[KnownRatio], count: int) -> list[KnownRatio]:
    """The `count` ratios that are farthest from 1 beyond doubt, in their order; of equal ones the first."""
    by_size = sorted(range(len(ratios)), key=lambda place: -_certainly_off(ratios[place].now))
    return [ratios[place] for place in sorted(by_size[: max(0, count)])]


def _certainly_off(ratio: Interval) -> float:
    """How far from 1, as a logarithm, a ratio is at the least; nothing where its interval holds 1."""
    return min(abs(log(end)) for end in ratio.ends) if ratio.excludes_one else 0.0
