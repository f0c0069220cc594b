"""Contrasts: cases that differ in one factor, singly and pooled over the ladder, and what is said of them.

A single cell of a large study has a handful of short, noisy trials. Its ladder has them all: in each
block the mean of the log ratios over the numbers of connections, then the interval over blocks. Pure.

One rule for every figure, wherever it is read. **Different** (higher, lower): the interval excludes no
difference, and the effect is larger than the noise floor. **Alike**: the whole interval lies within a margin
that is named beforehand, and the noise floor does too; this is the two one-sided tests procedure (Schuirmann
1987, J. Pharmacokinet. Biopharm. 15, 657-680), with the interval of the run in place of that of 1 - 2 alpha,
so that it errs less often than it might. **Inconclusive**: everything else. No difference seen is no proof of
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, expm1, log, log1p, sqrt
from statistics import fmean
from typing import Literal

from tlstax.results.interval import Interval, Judgement
from tlstax.results.rows import Row
from tlstax.stats import stats
from tlstax.stats.outcomes import UNITS
from tlstax.stats.pooling import Pooling
from tlstax.stats.series import LADDER, Logs, Series, difference, pooled
from tlstax.stats.stats import ROUNDING, relative_difference
from tlstax.study import Case, Contrast, Level, Levels, Study, within
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import POINT_SELECT

Reason = Literal["one block", "too wide", "floor", "interval"]
"""Why a ratio is inconclusive: one block shows no scatter; the interval spans more than a factor of ten;
equal things differ by as much; the interval holds both no difference and one that counts."""

MOST_TIMES = 100
"""A wait for more than this many times the blocks is too long."""


def judge(ratio: Interval, floor: float | None, within: float) -> Judgement:
    """What may be said of a ratio; `within` is the factor within which two things count as alike.

    Simulated with trials that scatter by 2 %, run until every ratio is known to 2 %: of two equal things,
    under 2 % of studies call one higher or lower; a true difference of 3 % is found in more than 90 %. Two
    things that differ by the margin are called alike in under 5 %
    (tests/unit/stats/test_judgements_simulated.py).
    """
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if is_different(ratio, floor):
        return "higher" if ratio.point > 1 else "lower"
    is_alike = 1 / within < ratio.low and ratio.high < within and (floor or 0.0) < within - 1
    return "alike" if is_alike else "inconclusive"


def is_different(ratio: Interval, floor: float | None) -> bool:
    """Whether the interval excludes 1, and the effect is larger than the noise floor."""
    return ratio.excludes_one and relative_difference(ratio.point) > max(floor or 0.0, ROUNDING)


def judge_difference(amount: Interval, floor: float | None, margin: float) -> Judgement:
    """The same of a difference; `floor` and `margin` are in its unit."""
    if amount.low is None or amount.high is None:
        return "inconclusive"
    if amount.excludes_zero and abs(amount.point) > (floor or 0.0):
        return "higher" if amount.point > 0 else "lower"
    is_alike = -margin < amount.low and amount.high < margin and (floor or 0.0) < margin
    return "alike" if is_alike else "inconclusive"


def why_inconclusive(ratio: Interval, floor: float | None, within: float) -> Reason:
    """Of a ratio that is inconclusive, what stands in the way."""
    if ratio.low is None or ratio.high is None:
        return "one block"
    if not ratio.is_telling:
        return "too wide"
    hides = relative_difference(ratio.point) <= (floor or 0.0) and (floor or 0.0) >= within - 1
    return "floor" if hides or (ratio.excludes_one and floor) else "interval"


def times_needed(ratio: Interval, floor: float | None, within: float) -> float | None:
    """How many times as many blocks would tell, if the ratio stays as it is and blocks go on to scatter so.

    An interval's half-width falls with the square root of the number of blocks. It has to be shorter than the
    way from the ratio to the next line that it must not hold: no difference, or the margin. None where no
    number that anybody would wait for is enough: one block shows no scatter, the ratio lies on the line, or
    equal things differ by as much (which more blocks take away only if it was chance).
    """
    if ratio.half_width is None:
        return None
    room = max(rooms(ratio, floor or 0.0, within), default=0.0)
    if room <= 0.0:
        return None
    times = max(2.0, ceil((log1p(ratio.half_width) / room) ** 2))
    return times if times <= MOST_TIMES else None


def seconds_needed(
    ratio: Interval, floor: float | None, within: float, block_s: float | None
) -> float | None:
    """How many more seconds of blocks that take `block_s` each would tell; None as for `times_needed`."""
    times = times_needed(ratio, floor, within)
    return None if times is None or block_s is None else (times - 1) * ratio.blocks * block_s


def rooms(ratio: Interval, floor: float, within: float) -> Iterator[float]:
    """How far the ratio lies from each line, on a logarithmic scale, where crossing it would be an answer."""
    size = abs(log(ratio.point))
    if expm1(size) > floor:
        yield size
    if floor < within - 1:
        yield log(within) - size


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
                    case=case.levels,
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
                case=levels.without(LADDER),
                baseline=other.without(LADDER),
                interval=interval,
                of="ratio",
                noise_floor=floor.relative,
                judgement=judge(interval, floor.relative, series.study.alike_within),
                more={"factor": factor, "noise_from": floor.source, "pooled_connections": tuple(steps)},
            )


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
