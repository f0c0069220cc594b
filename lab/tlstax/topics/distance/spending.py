"""What a case takes, block by block; which workloads make connections or keep them; and how both are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, log10

from tlstax.results.interval import Interval
from tlstax.stats.contrasts import INSTANCE
from tlstax.stats.series import LADDER, Series
from tlstax.stats.wording import MINUS, alike, set_ends, with_ends
from tlstax.study import Study
from tlstax.study.factors import FACTORS, CaseLevels
from tlstax.study.labels import label_levels
from tlstax.support.text import with_commas
from tlstax.topics.core import figures
from tlstax.topics.core.table import Number

WORKLOAD, RTT, PATH, SERVER = "workload", "rtt_ms", "path", "server"
RECONNECT = "reconnect"

CONNECT_US, OPERATION_US, RATE = "connect_p50_us", "latency_p50_us", "ops_per_s"

_HOW = (WORKLOAD, LADDER, "rounds", "queries", "protocol")
"""The factors that say what is done, and not to what."""

_USUAL = {**{factor.name: factor.unsaid for factor in FACTORS.values()}, INSTANCE: 1}
"""What goes without saying of a treatment."""

_HANDSHAKE = ("certificate", "resumption", "group")
"""The factors that bear on how a TLS connection is made, and on nothing after."""

WIDEST = 10.0
"""An interval over more than this factor shows nothing."""

ByBlock = Mapping[int, float]
"""A value for each block."""


def first_processes(series: Series) -> Iterator[CaseLevels]:
    """The levels of all cases but the twins', which show nothing of their own, in the plan's order."""
    for case in series.cases.values():
        if case.levels.get(INSTANCE, 1) == 1:
            yield case.levels


def place_of(levels: CaseLevels, study: Study) -> CaseLevels:
    """What neighbours share that are measured beside each other, whatever they do: server and distance."""
    return levels.without(*study.baseline, *_HOW)


def treatment_of(levels: CaseLevels, study: Study) -> CaseLevels:
    """What is done to the connection: the levels in which a case may differ from its baseline."""
    return levels.only(*study.baseline)


def treatment_label(levels: CaseLevels, study: Study) -> str:
    """What a treatment is called, where it stands beside others of its server; what is usual is not said."""
    treatment = treatment_of(levels, study).items()
    return label_levels({name: level for name, level in treatment if level != _USUAL.get(name)}, study)


def rtt_of(case: CaseLevels) -> float:
    """The round trip time that was asked for, in milliseconds; 0 without a distance."""
    return case.distance.rtt_ms


def kept_beside(made: CaseLevels, kept: Sequence[CaseLevels], study: Study) -> CaseLevels | None:
    """Of the cases on kept connections the one that belongs to a case which makes them; None without any.

    It has the same treatment, or, where none does, one that differs from it in the handshake alone: what a
    statement costs does not depend on that. Of several, that with as many connections, or the fewest.
    """
    place, treatment = place_of(made, study), treatment_of(made, study)
    beside = [levels for levels in kept if place_of(levels, study) == place]
    like = [levels for levels in beside if treatment_of(levels, study) == treatment]
    if not like:
        bulk = treatment.without(*_HANDSHAKE)
        like = [levels for levels in beside if treatment_of(levels, study).without(*_HANDSHAKE) == bulk]
    wanted = made.get(LADDER, 1)
    return min(
        like, key=lambda levels: (levels.get(LADDER, 1) != wanted, levels.get(LADDER, 1)), default=None
    )


def column(series: Series, levels: CaseLevels, outcome: str) -> dict[int, float]:
    """The outcome in each block that has it."""
    blocks = series.values.get(levels, {})
    return {block: values[outcome] for block, values in blocks.items() if outcome in values}


def log_quotients(one: ByBlock, other: ByBlock) -> dict[int, float]:
    """Ln of the one to the other in each block that has both above zero."""
    both = sorted(one.keys() & other.keys())
    return {block: log(one[block] / other[block]) for block in both if one[block] > 0 and other[block] > 0}


def place_words(server: str, rtt_ms: float) -> str:
    """The server where it has a name, and how far away it is: "mysql-9.7, 45 ms away"."""
    return with_commas(server, away(rtt_ms))


def away(rtt_ms: float) -> str:
    """How far apart client and server are: "45 ms away"."""
    return f"{rtt_ms:.10g} ms away" if rtt_ms else "on the same machine"


def number(found: Interval) -> str:
    """A value and its interval: "2.03 (2.01 to 2.05)"."""
    if found.between is None:
        return f"{alike(found.point)[0]} (one block alone)"
    low, high = found.between
    if low > 0 and high > WIDEST * low:
        return "a number that is not known to a factor of ten of"
    point, *ends = _alike(found.point, low, high)
    return point if ends == [point, point] else with_ends(found, _alike)


def _alike(*values: float) -> list[str]:
    """To three digits at most where the interval is narrower than that."""
    largest = max(abs(value) for value in values)
    texts = alike(*values)
    if max(values) - min(values) < largest / 200:
        decimals = max(0, 2 - int(log10(largest))) if largest >= 1 else 2
        texts = [f"{value:.{decimals}f}" for value in values]
    return [text.replace("-", MINUS) for text in texts]


@dataclass(frozen=True)
class Rounded(Number):
    """A number that is rounded as its interval deserves; alone, where room is short, to three digits."""

    sign: str = ""

    def text(self, *, roomy: bool) -> str:
        """The number and its interval, or as much of it as there is room for."""
        if self.point is None:
            return figures.NOTHING
        alone = f"{self.said(self.point)}{self.sign}"
        if self.low is None or self.high is None:
            return alone
        if self.low > 0 and self.high > WIDEST * self.low:
            return "too wide"
        point, low, high = (text.replace("-", MINUS) for text in alike(self.point, self.low, self.high))
        if self.is_sure and not roomy:
            return alone
        mark = "" if self.is_sure else f"{figures.UNKNOWN} "
        ends = f" {set_ends(low, high, '[…]')}" if roomy and low != high else ""
        return f"{mark}{point}{self.sign}{ends}"


def cell(found: Interval | None, *, nothing: float | None = 0.0) -> Rounded:
    """A value and its interval as a cell.

    What is not told apart from `nothing` is marked; 1 is that of a ratio, None of what is never nothing.
    """
    if found is None:
        return Rounded(None)
    is_sure = nothing is None or found.between is None or found.side_of(nothing) != 0
    sign = figures.TIMES if nothing == 1 else ""
    return Rounded(found.point, found.low, found.high, is_sure=is_sure, sign=sign)
