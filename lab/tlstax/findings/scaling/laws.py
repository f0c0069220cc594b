"""The law of every case that was measured at enough sizes: numbers of connections, or of processors. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from statistics import fmean

from tlstax.findings.core.series import LADDER, Series, frozen
from tlstax.findings.core.wording import case_label
from tlstax.findings.scaling.law import FEWEST_SIZES, Law, fitted
from tlstax.results.interval import Interval
from tlstax.results.scaling import Scaling
from tlstax.study import Levels
from tlstax.study.level_names import STORM
from tlstax.support.grouping import grouped

PROCESSORS = "server_cpus"
RATE = "ops_per_s"


def scalings(series: Series) -> tuple[Scaling, ...]:
    """What can be said of each ladder of connections, then of processors, in the plan's order.

    An open loop has the throughput that it was asked for, and a storm opens all its connections at once:
    they have no such law.
    """
    if series.study.schedule.mode != "closed":
        return ()
    return tuple(found for factor in (LADDER, PROCESSORS) for found in _along(series, factor))


def _along(series: Series, factor: str) -> Iterator[Scaling]:
    cases = (case.levels for case in series.cases.values() if factor in case.levels)
    for ladder in grouped(cases, lambda levels: frozen(levels, factor)).values():
        if len(ladder) >= FEWEST_SIZES and ladder[0].get("workload") != STORM:
            found = _scaling(series, factor, ladder)
            if found is not None:
                yield found


def _scaling(series: Series, factor: str, ladder: Sequence[Levels]) -> Scaling | None:
    steps = {int(levels[factor]): series.logs(levels, RATE) for levels in ladder}
    blocks = {block for logs in steps.values() for block in logs}
    whole = {
        block: {size: exp(logs[block]) for size, logs in steps.items()}
        for block in sorted(blocks)
        if all(block in logs for logs in steps.values())
    }
    laws = {block: law for block, rates in whole.items() if (law := fitted(rates)) is not None}
    if not laws:
        return None
    case = {name: level for name, level in ladder[0].items() if name != factor}
    pooling = series.pooling
    single = pooling.interval({block: log(law.single) for block, law in laws.items()})
    contention = pooling.difference({block: law.contention for block, law in laws.items()})
    coherence = pooling.difference({block: law.coherence for block, law in laws.items()})
    mean = Law(single.point, contention.point, coherence.point)
    return Scaling(
        case=case,
        label=case_label(case, series.study),
        factor=factor,
        sizes=tuple(sorted(steps)),
        single_per_s=single,
        contention=contention,
        coherence=coherence,
        peak=mean.peak if _is_above_nothing(coherence) else None,
        misfit=_misfit(mean, {size: exp(fmean(logs[b] for b in laws)) for size, logs in steps.items()}),
    )


def _is_above_nothing(found: Interval) -> bool:
    return found.low is not None and found.low > 0


def _misfit(law: Law, rates: dict[int, float]) -> float:
    """How far any of these throughputs is off the law, relative."""
    return max(abs(rate / law.at(size) - 1) for size, rate in rates.items())
