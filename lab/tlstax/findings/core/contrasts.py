"""Cases that differ in one factor, singly and pooled over the ladder of connections, and their noise floors.

A single cell of a large study has a handful of short, noisy trials. Its ladder has them all: in each
block the mean of the log ratios over the numbers of connections, then the interval over blocks. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import expm1, log, sqrt
from statistics import fmean

from tlstax.findings.core import stats
from tlstax.findings.core.judgements import judge
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.pooling import Pooling
from tlstax.findings.core.series import LADDER, Frozen, Logs, Series, difference, frozen, pooled
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import Contrast, Level, Levels, within
from tlstax.study.factors import CaseLevels

NEVER_ACROSS = ("workload",)
"""Noise is not carried from one of these levels to another: their trials do not scatter alike."""


def nearest(levels: Levels, controls: Mapping[Frozen, Interval]) -> Interval | None:
    """The control that tells how much of a difference can be seen among cases with these levels.

    `controls` holds each control's ratio by its baseline's levels. Its own is the nearest; otherwise the
    one that shares most levels (the same server, library and TLS, another number of connections); of
    several, the one with the largest floor. None where no control ran under the same workload.
    """
    own = controls.get(frozen(levels))
    if own is not None:
        return own
    wanted = set(levels.items())
    found = [
        (len(wanted.intersection(at)), stats.noise_floor(control) or 0.0, control)
        for at, control in controls.items()
        if all((name, levels.get(name)) in at for name in NEVER_ACROSS if name in levels)
    ]
    return max(found, key=lambda candidate: candidate[:2])[2] if found else None


INSTANCE = "instance"
"""The factor whose levels are processes of the same server."""


PROCESSES = 0.03
"""By how much two processes of one server differ in what the same costs, where no twin was measured: twins
did by up to 4 % (docs/openssl-versions.md)."""

WIDTH = 2.0
"""Standard deviations of the luck of a pair of processes that make the floor: 95 % of a normal one's."""


@dataclass(frozen=True)
class Floor:
    """A noise floor (relative; None where none is known) and whose twins it is from."""

    relative: float | None = None
    source: str = ""


@dataclass(frozen=True)
class Twins:
    """The floors of one outcome, by server and workload."""

    floors: Mapping[tuple[Level | None, Level | None], float]

    def floor(self, levels: Levels) -> Floor:
        """The floor that holds for this case."""
        case = CaseLevels.of(levels)
        server, workload = case.server, case.workload
        if (server, workload) in self.floors:
            return Floor(self.floors[server, workload], _named([server]))
        others = {s: floor for (s, w), floor in self.floors.items() if w == workload}
        return Floor(max(others.values()), _named(list(others))) if others else Floor()


def twins(series: Series, outcome: str, *, to_own_baseline: bool = False) -> Twins:
    """The floors of this outcome; with `to_own_baseline`, of ratios to each process's own baseline.

    Such ratios are what processes of different servers can be compared by; a process's luck cancels in
    them as far as it bears on the baseline too.
    """
    contrast = next((c for c in series.study.contrasts if c.factor == INSTANCE), None)
    if contrast is None:
        return Twins({})
    modes: dict[tuple[Level | None, Level | None], dict[Frozen, dict[Frozen, Logs]]] = {}
    for case in series.cases.values():
        levels = case.levels
        other = {**levels, INSTANCE: contrast.baseline}
        is_twin = levels.get(INSTANCE) != contrast.baseline and frozen(other) in series.cases
        if not is_twin or (to_own_baseline and case.role == "baseline"):
            continue
        if to_own_baseline:
            own, others = series.own_baseline(levels), series.own_baseline(other)
            ratios = difference(
                series.log_ratios(levels, own, outcome), series.log_ratios(other, others, outcome)
            )
        else:
            ratios = series.log_ratios(levels, other, outcome)
        if ratios:
            place = (case.typed.server, case.typed.workload)
            mode = modes.setdefault(place, {}).setdefault(frozen(levels, LADDER), {})
            mode[frozen(levels)] = ratios
    return Twins({place: _floor(found, series.pooling) for place, found in modes.items()})


def _floor(modes: Mapping[Frozen, Mapping[Frozen, Logs]], pooling: Pooling) -> float:
    strays = [log(pooling.interval(pooled(steps)).point) for steps in modes.values()]
    everything = pooled({cell: logs for steps in modes.values() for cell, logs in steps.items()})
    by_chance = pooling.interval(everything).half_width or 0.0
    return max(expm1(WIDTH * sqrt(fmean(stray**2 for stray in strays))), by_chance)


def _named(servers: list[Level | None]) -> str:
    names = [str(server) for server in servers if server is not None]
    return f"the twins of {' and '.join(names)}" if names else "the twins"


CONTRASTED = (
    "ops_per_s",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p99_us",
    "connect_p50_us",
    "tls_handshake_p50_us",
    "server_cpu_us_per_op",
    "server_instructions_per_op",
    "client_cpu_us_per_op",
)
"""The outcomes that are contrasted: speed, and what each side spends. Memory is not: it grows over a
process's life, and two processes have not lived alike. Bytes are the same whatever the library."""


def contrasts(series: Series) -> tuple[Row, ...]:
    """Every contrast of the study in every outcome worth it, in the plan's order."""
    if not series.study.contrasts:
        return ()
    floors = {outcome: twins(series, outcome) for outcome in CONTRASTED}
    return tuple(
        finding
        for contrast in series.study.contrasts
        for case in series.cases.values()
        if (other := counterpart(series, contrast, case.levels)) is not None
        for outcome, floor in floors.items()
        if (finding := _finding(series, contrast.factor, case.levels, other, outcome, floor)) is not None
    )


def counterpart(series: Series, contrast: Contrast, levels: Levels) -> dict[str, Level] | None:
    """The case that this one is contrasted with; None where the contrast does not speak of it."""
    if levels.get(contrast.factor) in {None, contrast.baseline} or not within(levels, contrast.within):
        return None
    other = {**levels, contrast.factor: contrast.baseline}
    return other if frozen(other) in series.cases else None


def _finding(  # noqa: PLR0913, PLR0917 (the two cases, the outcome and what it is judged by)
    series: Series, factor: str, levels: Levels, other: Levels, outcome: str, floors: Twins
) -> Row | None:
    interval = series.interval(series.log_ratios(levels, other, outcome))
    if interval is None:
        return None
    own, baseline_value = series.geometric_means(levels, other, outcome)
    floor = floors.floor(levels)
    return Row(
        role="contrast",
        outcome=outcome,
        unit=UNITS[outcome],
        case=dict(levels),
        baseline=dict(other),
        value=stats.beside(baseline_value, interval, own),
        baseline_value=baseline_value,
        interval=interval,
        of="ratio",
        noise_floor=floor.relative,
        judgement=judge(interval, floor.relative, series.study.alike_within),
        more={"factor": factor, "noise_from": floor.source},
    )


Ladder = Sequence[Levels]


@dataclass(frozen=True)
class Rung:
    """A ladder and what it is compared with, step by step."""

    factor: str
    steps: Ladder
    against: Ladder


def pooled_ratios(series: Series) -> tuple[Row, ...]:
    """Every ladder against its own baseline, then along every contrast, in every outcome worth it."""
    found: list[Row] = []
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


def _ratio(series: Series, rung: Rung, outcome: str, floor_of: Callable[[Levels], Floor]) -> Iterator[Row]:
    steps: dict[int, Logs] = {}
    for levels, other in zip(rung.steps, rung.against, strict=True):
        if logs := series.log_ratios(levels, other, outcome):
            steps[int(levels.get(LADDER, 1))] = logs
    interval = series.interval(pooled(steps))
    if interval is None:
        return
    floor = floor_of(rung.steps[0])
    yield Row(
        role="pooled",
        outcome=outcome,
        unit=UNITS[outcome],
        case=without_ladder(rung.steps[0]),
        baseline=without_ladder(rung.against[0]),
        interval=interval,
        of="ratio",
        noise_floor=floor.relative,
        judgement=judge(interval, floor.relative, series.study.alike_within),
        more={"factor": rung.factor, "noise_from": floor.source, "pooled_connections": tuple(steps)},
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
