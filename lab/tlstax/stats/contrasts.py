"""Cases that differ in one factor, singly and pooled over the ladder of connections, and their noise floors.

A single cell of a large study has a handful of short, noisy trials. Its ladder has them all: in each
block the mean of the log ratios over the numbers of connections, then the interval over blocks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import expm1, log, sqrt
from statistics import fmean

from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats import stats
from tlstax.stats.judgements import judge
from tlstax.stats.outcomes import UNITS
from tlstax.stats.pooling import Pooling
from tlstax.stats.series import LADDER, Logs, Series, difference, pooled
from tlstax.study import Case, Contrast, Level, Levels, Study, within
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import POINT_SELECT

NEVER_ACROSS = ("workload",)
"""Noise is not carried from one of these levels to another: their trials do not scatter alike."""


LIBRARIES = ("client_tls_library", "tls_library")
"""What the baselines of several groups are set against one another by: the same work, by another library."""


def nearest(levels: CaseLevels, controls: Mapping[CaseLevels, Interval]) -> Interval | None:
    """The control that tells how much of a difference can be seen among cases with these levels.

    `controls` holds each control's ratio by its baseline's levels. Its own is the nearest; otherwise the
    one that shares most levels (the same server, library and TLS, another number of connections); of
    several, the one with the largest floor. None where no control ran under the same workload.
    """
    own = controls.get(levels)
    if own is not None:
        return own
    wanted, demanded = set(levels.items()), levels.only(*NEVER_ACROSS).items()
    found = [
        (len(wanted.intersection(at.items())), stats.noise_floor(control) or 0.0, control)
        for at, control in controls.items()
        if demanded <= at.items()
    ]
    return max(found, key=lambda candidate: candidate[:2])[2] if found else None


def group_counterpart(case: Case, every: Iterable[Case], study: Study) -> Case:
    """The baseline of another group that a group's baseline is set against; itself where there is none.

    It is the same over the first of the study's TLS libraries. In a study without treatments it may also be
    that which has the study's first level of any other factor, unless its trials scatter otherwise
    (`NEVER_ACROSS`) or its connections are of another number.
    """
    known = list(every)
    baselines = {other.levels: other for other in known if other.role == "baseline"}
    others = () if any(other.role == "treatment" for other in known) else tuple(study.factors)
    for factor in dict.fromkeys((*LIBRARIES, *others)):
        first = next(iter(study.factors.get(factor, ())), None)
        if first in {None, case.levels.get(factor)} or factor in {*NEVER_ACROSS, LADDER}:
            continue
        if other := baselines.get(case.levels | {factor: first}):
            return other
    return case


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
        """The floor that holds for the case with these levels."""
        server, workload = levels.get("server"), levels.get("workload", POINT_SELECT)
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
    modes: dict[tuple[Level | None, Level | None], dict[CaseLevels, dict[CaseLevels, Logs]]] = {}
    for case in series.cases.values():
        levels = case.levels
        other = levels | {INSTANCE: contrast.baseline}
        is_twin = levels.get(INSTANCE) != contrast.baseline and other in series.cases
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
            place = (case.levels.server, case.levels.workload)
            mode = modes.setdefault(place, {}).setdefault(levels.without(LADDER), {})
            mode[levels] = ratios
    return Twins({place: _floor(found, series.pooling) for place, found in modes.items()})


def _floor(modes: Mapping[CaseLevels, Mapping[CaseLevels, Logs]], pooling: Pooling) -> float:
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


def contrasts(series: Series) -> Iterator[Row]:
    """Every contrast of the study in every outcome worth it, in the plan's order."""
    floors = {outcome: twins(series, outcome) for outcome in CONTRASTED} if series.study.contrasts else {}
    for contrast in series.study.contrasts:
        for case in series.cases.values():
            other = counterpart(series, contrast, case.levels)
            if other is None:
                continue
            for outcome, of_twins in floors.items():
                interval = series.interval(series.log_ratios(case.levels, other, outcome))
                if interval is None:
                    continue
                own, baseline_value = series.geometric_means(case.levels, other, outcome)
                floor = of_twins.floor(case.levels)
                yield Row(
                    role="contrast",
                    outcome=outcome,
                    unit=UNITS[outcome],
                    case=dict(case.levels),
                    baseline=other,
                    value=stats.beside(baseline_value, interval, own),
                    baseline_value=baseline_value,
                    interval=interval,
                    of="ratio",
                    noise_floor=floor.relative,
                    judgement=judge(interval, floor.relative, series.study.alike_within),
                    more={"factor": contrast.factor, "noise_from": floor.source},
                )


def counterpart(series: Series, contrast: Contrast, levels: CaseLevels) -> CaseLevels | None:
    """The case that this one is contrasted with; None where the contrast does not speak of it."""
    if levels.get(contrast.factor) in {None, contrast.baseline} or not within(levels, contrast.within):
        return None
    other = levels | {contrast.factor: contrast.baseline}
    return other if other in series.cases else None


def pooled_ratios(series: Series) -> Iterator[Row]:
    """Every ladder against its own baseline, then along every contrast, in every outcome worth it."""
    rungs = list(_rungs(series))
    for outcome in CONTRASTED:
        controls, of_twins = _controls(series, outcome), twins(series, outcome)
        for factor, pairs in rungs:
            steps = {
                int(levels.get(LADDER, 1)): logs
                for levels, other in pairs
                if (logs := series.log_ratios(levels, other, outcome))
            }
            interval = series.interval(pooled(steps))
            if interval is None:
                continue
            levels, other = pairs[0]
            floor = of_twins.floor(levels) if factor else controls.get(levels.only(*NEVER_ACROSS), Floor())
            yield Row(
                role="pooled",
                outcome=outcome,
                unit=UNITS[outcome],
                case=without_ladder(levels),
                baseline=without_ladder(other),
                interval=interval,
                of="ratio",
                noise_floor=floor.relative,
                judgement=judge(interval, floor.relative, series.study.alike_within),
                more={"factor": factor, "noise_from": floor.source, "pooled_connections": tuple(steps)},
            )


def without_ladder(levels: Levels) -> dict[str, Level]:
    """The levels of a whole ladder."""
    return {name: level for name, level in levels.items() if name != LADDER}


def _rungs(series: Series) -> Iterator[tuple[str, list[tuple[CaseLevels, CaseLevels]]]]:
    """Ladders, each with what it is compared with step by step, and the factor in which both differ.

    None is named where that is the study's own baseline.
    """
    ladders = series.ladders().values()
    for ladder in ladders:
        if not series.study.baseline.items() <= ladder[0].items():
            yield "", [(levels, series.own_baseline(levels)) for levels in ladder]
    for contrast in series.study.contrasts:
        for ladder in ladders:
            others = ((levels, counterpart(series, contrast, levels)) for levels in ladder)
            pairs: list[tuple[CaseLevels, CaseLevels]] = [
                (own, other) for own, other in others if other is not None
            ]
            if pairs:
                yield contrast.factor, pairs


def _controls(series: Series, outcome: str) -> dict[CaseLevels, Floor]:
    """The floor of all controls under one workload, pooled: how far a process strays from itself.

    A control compares a process with itself, so its strays are the machine's, whichever server it is. The
    controls of one server alone are few (`Study.control_within`): their scatter is wider than that of a
    whole ladder, and would hide what the ladder shows.
    """
    under: dict[CaseLevels, dict[CaseLevels, Logs]] = {}
    for at in series.controls:
        if logs := series.control_logs(at, outcome):
            under.setdefault(at.only(*NEVER_ACROSS), {})[at] = logs
    pooled_controls = {like: series.interval(pooled(controls)) for like, controls in under.items()}
    floors = {like: stats.noise_floor(own) for like, own in pooled_controls.items() if own is not None}
    return {like: Floor(floor, "the controls") for like, floor in floors.items() if floor is not None}
