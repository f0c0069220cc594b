"""By how much two processes of one kind differ: the noise floor of comparisons between processes. Pure.

A control (the same process once more) shows how far trials stray, but not the luck of a process: its
memory layout, its hash seeds, its place in the page cache. A second process of the same server over the
same library, a twin, shows both.

One cell's twin ratio is itself a noisy number, so a floor from the twin of the same cell would be the
luck of that cell: nearly nothing here, a fifth there. A process keeps its luck whatever the number of
connections, so the twin's ratio is pooled over the ladder first. Of the TLS modes the floor takes the
root of the mean square (the largest of several noisy numbers would grow with their number), twice, as one
in twenty pairs of equal processes strays farther. It is never less than what the twin, pooled over all
modes, could have strayed by chance. There is one floor for a server, a workload and an outcome. A server
without a twin takes the largest floor of the others' twins under the same workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import expm1, log, sqrt
from statistics import fmean

from tlstax.findings.core.pooling import Pooling
from tlstax.findings.core.series import LADDER, Frozen, Logs, Series, difference, frozen, pooled
from tlstax.study import Level, Levels
from tlstax.study.case_levels import CaseLevels

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
