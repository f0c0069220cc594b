"""Ratios pooled over the ladder of connections: to the study's own baseline and along its contrasts. Pure.

A single cell of a large study has a handful of short, noisy trials. Its ladder has them all: in each
block the mean of the log ratios over the numbers of connections, then the interval over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlstax.findings.core import stats
from tlstax.findings.core.contrasts import CONTRASTED, counterpart
from tlstax.findings.core.controls import NEVER_ACROSS
from tlstax.findings.core.judgements import judge
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.series import LADDER, Frozen, Logs, Series, frozen, pooled
from tlstax.findings.core.twins import Floor, twins
from tlstax.results.document import PooledRatio
from tlstax.results.interval import Interval
from tlstax.study import Level, Levels

Ladder = Sequence[Levels]


@dataclass(frozen=True)
class Rung:
    """A ladder and what it is compared with, step by step."""

    factor: str
    steps: Ladder
    against: Ladder


def pooled_ratios(series: Series) -> tuple[PooledRatio, ...]:
    """Every ladder against its own baseline, then along every contrast, in every outcome worth it."""
    found: list[PooledRatio] = []
    for outcome in CONTRASTED:
        controls = _controls(series, outcome)
        twin_floors = twins(series, outcome)
        for rung in (*_to_own_baseline(series), *_contrasted(series)):
            floor = twin_floors.floor if rung.factor else _floor_of(controls)
            found += _ratio(series, rung, outcome, floor)
    return tuple(found)


def without_ladder(levels: Levels) -> dict[str, Level]:
    """The levels of a whole ladder."""
    return {name: level for name, level in levels.items() if name != LADDER}


def _to_own_baseline(series: Series) -> Iterator[Rung]:
    for ladder in series.ladders().values():
        if not series.study.baseline.items() <= ladder[0].items():
            yield Rung("", ladder, [series.own_baseline(levels) for levels in ladder])


def _contrasted(series: Series) -> Iterator[Rung]:
    for contrast in series.study.contrasts:
        for ladder in series.ladders().values():
            pairs = [(levels, counterpart(series, contrast, levels)) for levels in ladder]
            both = [(levels, other) for levels, other in pairs if other is not None]
            if both:
                yield Rung(contrast.factor, [levels for levels, _ in both], [other for _, other in both])


def _ratio(
    series: Series, rung: Rung, outcome: str, floor_of: Callable[[Levels], Floor]
) -> Iterator[PooledRatio]:
    steps: dict[int, Logs] = {}
    for levels, other in zip(rung.steps, rung.against, strict=True):
        if logs := series.log_ratios(levels, other, outcome):
            steps[int(levels.get(LADDER, 1))] = logs
    interval = series.interval(pooled(steps))
    if interval is None:
        return
    floor = floor_of(rung.steps[0])
    yield PooledRatio(
        factor=rung.factor,
        outcome=outcome,
        unit=UNITS[outcome],
        case=without_ladder(rung.steps[0]),
        baseline=without_ladder(rung.against[0]),
        connections=tuple(steps),
        ratio=interval,
        noise_floor=floor.relative,
        noise_from=floor.source,
        judgement=judge(interval, floor.relative, series.study.alike_within),
    )


def _controls(series: Series, outcome: str) -> dict[Frozen, Interval]:
    """All controls under one workload, pooled: how far a process strays from itself.

    A control compares a process with itself, so its strays are the machine's, whichever server it is. The
    controls of one server alone are few (`Study.control_within`): their scatter is wider than that of a
    whole ladder, and would hide what the ladder shows.
    """
    under: dict[Frozen, dict[Frozen, Logs]] = {}
    for at in series.controls:
        if logs := series.control_logs(dict(at), outcome):
            under.setdefault(_like(dict(at)), {})[at] = logs
    found = {like: series.interval(pooled(controls)) for like, controls in under.items()}
    return {like: control for like, control in found.items() if control is not None}


def _floor_of(controls: dict[Frozen, Interval]) -> Callable[[Levels], Floor]:
    def floor(levels: Levels) -> Floor:
        control = controls.get(_like(levels))
        relative = stats.noise_floor(control) if control else None
        return Floor(relative, "the controls" if relative is not None else "")

    return floor


def _like(levels: Levels) -> Frozen:
    """The levels between which controls are never pooled."""
    return frozen({name: levels[name] for name in NEVER_ACROSS if name in levels})
