"""What a run that goes on has told so far: its ratios in short, and which are the most telling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from tlstax.findings.core.stopping import Progress
from tlstax.plan.order import cases
from tlstax.results.interval import Interval
from tlstax.study import Study
from tlstax.study.labels import full_label, label_levels
from tlstax.study.outcomes import OUTCOMES


@dataclass(frozen=True)
class RatioSoFar:
    """A case's ratio to its baseline; `precise` once it is as well known as the study wants."""

    label: str
    ratio: Interval
    precise: bool


@dataclass(frozen=True)
class SoFar:
    """What `blocks` blocks have told of the deciding outcome, in words, against the baseline.

    `ratios` are in the plan's order; a ratio is precise once it is known to `wanted`.
    """

    outcome: str
    baseline: str
    blocks: int
    wanted: float
    ratios: tuple[RatioSoFar, ...]


def so_far(progress: Progress, study: Study, labels: Mapping[str, str]) -> SoFar:
    """What the progress holds of ratios. `labels` are those of `short_labels`."""
    return SoFar(
        outcome=OUTCOMES[study.deciding_outcome].words,
        baseline=label_levels(study.baseline, study),
        blocks=progress.blocks,
        wanted=progress.wanted,
        ratios=tuple(
            RatioSoFar(labels[known.case.key()], known.ratio, known.precise) for known in progress.known
        ),
    )


def short_labels(study: Study) -> dict[str, str]:
    """What each case is called, by its key, without what all of them say."""
    parts = {case.key(): full_label(case, study).split(", ") for case in cases(study)}
    first, *others = parts.values()
    shared = set(first).intersection(*others)
    return {key: ", ".join([part for part in own if part not in shared] or own) for key, own in parts.items()}


def most_telling(ratios: Sequence[RatioSoFar], count: int) -> list[RatioSoFar]:
    """The `count` ratios that are farthest from 1 beyond doubt, in their order; of equal ones the first."""
    by_size = sorted(range(len(ratios)), key=lambda place: -_certainly_off(ratios[place].ratio))
    return [ratios[place] for place in sorted(by_size[: max(0, count)])]


def _certainly_off(ratio: Interval) -> float:
    """How far from 1, as a logarithm, a ratio is at the least; nothing where its interval holds 1."""
    low, high = ratio.low, ratio.high
    if low is None or high is None or low <= 1 <= high:
        return 0.0
    return min(abs(log(low)), abs(log(high)))
