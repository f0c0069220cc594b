"""How throughput grows with connections or processors: the Universal Scalability Law of each case.

X(N) = λ·N / (1 + σ·(N − 1) + κ·N·(N − 1)): λ is what one alone achieves, σ the contention (the part that only
one at a time can do), κ the coherence (what each has to settle with each of the others). With κ = 0 it is
Amdahl's law; with κ above nothing throughput has a peak, at N = √((1 − σ)/κ) (Gunther, "Guerrilla Capacity
Planning", 2007, chapter 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log, sqrt
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tlstax.results.document import RunDocument
from tlstax.results.rows import More, Row, Told, by_label
from tlstax.stats.series import LADDER, Series
from tlstax.stats.wording import MINUS, case_label, percent
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import STORM
from tlstax.support.grouping import grouped
from tlstax.topics.core.columns import Column
from tlstax.topics.core.figures import significant
from tlstax.topics.core.section import Section, reading
from tlstax.topics.core.table import Number, Table
from tlstax.topics.core.topic import Run, Topic

FEWEST_SIZES = 4
"""Three sizes would be met exactly by three parameters, whatever was measured."""

PROCESSORS = "server_cpus"
RATE = "ops_per_s"

SINGLE, CONTENTION, COHERENCE = "throughput of one", "contention", "coherence"
OVER, SIZES, PEAK, MISFIT = "sizes_of", "sizes", "peak_size", "law_misfit"

OF = {LADDER: "Connections", PROCESSORS: "Processors of the server"}
HEADS = ("of one,\nops/s", "contention\nσ", "coherence\nκ", "highest\nat", "off the\nlaw by")
READING = (
    "The Universal Scalability Law (Gunther, 2007), X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted in each "
    "block; with {confidence} intervals over blocks. Contention is the part that only one at a time can do: "
    "many do at most 1/σ times as much as one. Coherence is what each has to settle with each other one, "
    "such as locks that move between processors: with it throughput falls beyond a number."
)


class Law(NamedTuple):
    """A law's parameters; `single` is in the unit of the throughputs, the others have none."""

    single: float
    contention: float
    coherence: float

    def at(self, size: float) -> float:
        """The throughput at this size."""
        slower = 1 + self.contention * (size - 1) + self.coherence * size * (size - 1)
        return self.single * size / slower

    @property
    def peak(self) -> float | None:
        """At which size throughput is highest; None where it never falls."""
        if self.coherence <= 0 or self.contention >= 1:
            return None
        return sqrt((1 - self.contention) / self.coherence)


def fitted(throughputs: Mapping[int, float]) -> Law | None:
    """The law nearest to throughputs (above zero) by their sizes; None for too few, or if none is near.

    N/X is linear in N − 1 and N·(N − 1), so that least squares has one answer and needs no start. Each
    equation is divided by its own N/X: what counts is how far a throughput is off relative to itself.
    Parameters may come out below nothing, by chance or because several do more than as many times one:
    what is cut off at nothing would be too high in the mean.
    """
    if len(throughputs) < FEWEST_SIZES:
        return None
    sizes = np.array(sorted(throughputs), dtype=float)
    times = sizes / np.array([throughputs[int(size)] for size in sizes])
    terms = np.stack([np.ones_like(sizes), sizes - 1, sizes * (sizes - 1)], axis=1) / times[:, None]
    (alone, contention, coherence), *_ = np.linalg.lstsq(terms, np.ones_like(sizes), rcond=None)
    if alone <= 0:
        return None
    return Law(float(1 / alone), float(contention / alone), float(coherence / alone))


def rows(run: Run) -> Iterator[Row]:
    """The law of each ladder of connections, then of processors, in the plan's order: a row a parameter.

    A law is fitted in each block that has all sizes. An open loop has the throughput that it was asked for,
    and a storm opens all its connections at once: they have no such law.
    """
    series = run.series
    if series.study.schedule.mode != "closed":
        return
    for factor in OF:
        for ladder in series.families(factor):
            if len(ladder) >= FEWEST_SIZES and ladder[0].get("workload") != STORM:
                yield from _law(series, factor, ladder)


def _law(series: Series, factor: str, ladder: Sequence[CaseLevels]) -> Iterator[Row]:
    steps = {int(levels[factor]): series.logs(levels, RATE) for levels in ladder}
    whole = {
        block: {size: exp(logs[block]) for size, logs in steps.items()}
        for block in sorted({block for logs in steps.values() for block in logs})
        if all(block in logs for logs in steps.values())
    }
    laws = {block: law for block, rates in whole.items() if (law := fitted(rates)) is not None}
    if not laws:
        return
    pooling = series.pooling
    single = pooling.interval({block: log(law.single) for block, law in laws.items()})
    contention = pooling.difference({block: law.contention for block, law in laws.items()})
    coherence = pooling.difference({block: law.coherence for block, law in laws.items()})
    mean = Law(single.point, contention.point, coherence.point)
    rates = {size: exp(fmean(logs[block] for block in laws)) for size, logs in steps.items()}
    case = ladder[0].without(factor)
    more: dict[str, More] = {
        OVER: factor,
        SIZES: tuple(sorted(steps)),
        PEAK: mean.peak if coherence.low is not None and coherence.low > 0 else None,
        MISFIT: max(abs(rate / mean.at(size) - 1) for size, rate in rates.items()),
    }
    for outcome, found in ((SINGLE, single), (CONTENTION, contention), (COHERENCE, coherence)):
        yield Row(
            outcome=outcome,
            unit="1/s" if outcome == SINGLE else "1",
            label=case_label(case, series.study),
            case=case,
            interval=found,
            more=more,
        )


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A table for each factor and sizes of it that were enough."""
    ladders = grouped(told.rows, lambda row: (row.word(OVER), row.word(SIZES)))
    tables = [
        Table(
            f"{OF[factor]}: {sizes}", HEADS, [_line(label, law) for label, law in by_label(own).items()], ()
        )
        for (factor, sizes), own in ladders.items()
    ]
    note = reading(READING, document.design.confidence)
    yield Section((*tables, note), told.title)


def _line(label: str, law: Sequence[Row]) -> tuple[str | Number, ...]:
    """A parameter is marked where it is not told apart from nothing."""
    single = law[0]
    parameters = (
        Number(row.value, row.known.low, row.known.high, _short, is_sure=row.known.excludes_zero)
        if row.known.low is not None
        else Number(row.value, said=_short)
        for row in law[1:]
    )
    peak = Number(single.number(PEAK), said=lambda size: significant(size, 2))
    return label, Number(single.value), *parameters, peak, Number(single.number(MISFIT), said=percent)


def _short(value: float) -> str:
    """Two digits, and no power of ten: "0.00083"."""
    text = f"{value:.2g}" if abs(value) >= 1e-4 or not value else f"{value:.6f}".rstrip("0")
    return text.replace("-", MINUS)


COLUMNS = (
    Column(OVER, "TEXT", "the factor whose sizes a law is over: connections or server_cpus"),
    Column(SIZES, "TEXT", "the sizes of it"),
    Column(PEAK, "REAL", "at which size throughput is highest; empty: it never falls, as far as is known"),
    Column(MISFIT, "REAL", "how far any size is off the law at most, relative: 0.02 is 2 %", "1"),
)

TOPIC = Topic("scaling", "How throughput grows", rows, sections, columns=COLUMNS)
