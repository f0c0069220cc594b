"""What others published beside what was measured here: absolute, and as ratios to the same reference.

Absolute figures of other machines and years say little beside ours; a ratio that both sides take within
themselves says more. Ours is taken block by block, like every ratio here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import Any

from tlstax.records.trial import Machine
from tlstax.results.document import RunDocument
from tlstax.results.interval import DIFFERENCES, Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.contrasts import is_different, twins
from tlstax.stats.outcomes import OUTCOMES
from tlstax.stats.series import Series
from tlstax.stats.wording import MANY_TIMES, alike, change_words, percent
from tlstax.study import Published, within
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import NO_FAULT
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import columns, figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Section
from tlstax.topics.core.table import Cell, Number, Table
from tlstax.topics.core.topic import Run, Topic

FAULT = "fault"

FIGURE, HERE, FIX = "published", "published here", "published fix"
"""Roles of rows."""

NAME, PUBLISHED, AGAINST, SOURCE = "figure", "published", "against", "source"

MOST_NAMED = 4
"""The most figures with the same note that are named."""


def rows(run: Run) -> Iterator[Row]:
    """Every published figure of the study beside what stands in for it here, in the study's order.

    A row has the published figure as its value, and the ratio of what stands in for it and for its reference
    here; `published` is the same ratio of the published ones. What was measured follows, a geometric mean
    over blocks; and, where the two differ by a planted fault alone, whether taking it out is a fix.
    """
    series, machine = run.series, run.stored.header.machine
    by_label = {figure.label: figure for figure in run.study.published}
    for figure in run.study.published:
        reference, levels = by_label.get(figure.against), _stand_in(figure, series)
        value = None if levels is None else series.interval(series.logs(levels, figure.outcome))
        ratio = _ratio(figure, reference, series) if reference else None
        common: dict[str, Any] = {"outcome": figure.outcome, "unit": figure.unit, "label": figure.label}
        yield Row(
            **common,
            role=FIGURE,
            case=dict(figure.beside),
            baseline=dict(reference.beside) if reference else {},
            value=figure.value,
            baseline_value=reference.value if reference else None,
            interval=ratio,
            of="ratio",
            caveats=(_comparable(figure, value, machine),),
            more={
                NAME: figure.label,
                PUBLISHED: figure.value / reference.value if reference else None,
                AGAINST: figure.against,
                SOURCE: figure.source,
            },
        )
        if value is not None and levels is not None:
            yield Row(**common, role=HERE, case=levels, interval=value, more={NAME: figure.label})
        if reference is not None and ratio is not None:
            yield from _fix(figure, reference, ratio, series)


def _ratio(figure: Published, reference: Published, series: Series) -> Interval | None:
    """Our stand-in to the reference's, block by block; None where one of them was not measured."""
    own, other = _stand_in(figure, series), _stand_in(reference, series)
    if figure is reference or own is None or other is None or not figure.outcome:
        return None
    return series.interval(series.log_ratios(own, other, figure.outcome))


def _stand_in(figure: Published, series: Series) -> CaseLevels | None:
    if not figure.beside:
        return None
    return next((c.levels for c in series.cases.values() if within(c.levels, figure.beside)), None)


def _comparable(figure: Published, value: Interval | None, machine: Machine) -> str:
    """What may be compared and what may not."""
    if not figure.beside:
        return f"nothing stands in for it here{f': {figure.note}' if figure.note else ''}"
    if value is None:
        return "what stands in for it was not measured in this run"
    shared = len(machine.server_cpus) or machine.cores
    here = f"here the server has {shared} of {counted(machine.cores, 'processor')}"
    there = f"there: {figure.conditions}; " if figure.conditions else ""
    note = f"; {figure.note}" if figure.note else ""
    return f"{there}{here}, so compare ratios rather than absolute figures{note}"


def _fix(figure: Published, reference: Published, ratio: Interval, series: Series) -> Iterator[Row]:
    """What taking a fault out comes to; nothing where the two differ by more than a fault."""
    sound, faulty = (dict(_stand_in(side, series) or {}) for side in (figure, reference))
    planted = faulty.get(FAULT, NO_FAULT)
    if sound.get(FAULT, NO_FAULT) != NO_FAULT or planted == NO_FAULT or {**sound, FAULT: planted} != faulty:
        return
    floor = twins(series, figure.outcome).floor(sound).relative
    way = "higher" if ratio.point > 1 else "lower"
    yield Row(
        role=FIX,
        outcome=figure.outcome,
        label=figure.label,
        case=sound,
        baseline=faulty,
        interval=ratio,
        of="ratio",
        noise_floor=floor,
        judgement=way if is_different(ratio, floor) else "inconclusive",
        more={NAME: figure.label, PUBLISHED: figure.value / reference.value},
    )


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """Whether taking a planted fault out comes out as the fix."""
    yield from (_verdict(row) for row in shown if row.role == FIX)


def _verdict(row: Row) -> str:
    planted, there, here = row.baseline[FAULT], row.number(PUBLISHED) or 0.0, row.ratio
    better = "lower" if OUTCOMES[row.outcome].lower_is_better else "higher"
    seen = f"{_sized(here)}; published: {there:.2g}×"
    if row.judgement not in DIFFERENCES:
        return f"whether taking {planted} out is a fix is inconclusive here ({seen})"
    if row.judgement != better:
        return f"taking {planted} out made it worse here, and does not come out as the fix ({seen})"
    # How much of the published effect is seen here, on the scale on which ratios add up.
    share = log(here.point) / log(there) if there != 1 else 0.0
    size = "the whole of" if share >= 1 else f"{percent(share)} of"
    of_effect = f" ({size} the published effect, as logarithms)" if share > 0 else ""
    return f"taking {planted} out comes out as the fix, as it did there: {seen}{of_effect}"


def _sized(ratio: Interval) -> str:
    """The ratio as a factor, or where it is small as a change, with its interval."""
    is_many = max(ratio.point, 1 / ratio.point) >= MANY_TIMES
    if is_many and ratio.between and ratio.is_telling:
        point, low, high = alike(ratio.point, *ratio.between)
        return f"{point}× ({low} to {high}×)"
    return change_words(ratio)


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """Every figure beside what stands in for it."""
    here = {row.label: row.value for row in told.of(role=HERE)}
    lines: list[tuple[Cell, ...]] = []
    for row in told.of(role=FIGURE):
        then, ratio = Number(row.number(PUBLISHED), said="{:.2f}".format), Number(None)
        if (now := row.interval) is not None:
            ratio = Number(now.point, now.low, now.high, "{:.2f}".format, is_whole=True)
        values = (_quantity(value, row.unit) for value in (row.value, here.get(row.label)))
        lines.append((row.label, *values, then, ratio))
    heads = ("published", "here", "ratio then", "ratio here")
    notes = ("Here: what stands in for it in this run.", _sources(told))
    yield Section((Table("", heads, lines, notes, of="figure"),), told.title)


def _quantity(value: float | None, unit: str) -> str:
    if value is None:
        return figures.NOTHING
    return f"{value:.3g}{unit}" if unit == "×" else figures.quantity(value, unit)


def _sources(told: Told) -> str:
    """Who published the figures, and what they are set in ratio to."""
    own = told.of(role=FIGURE)
    named = " and ".join(dict.fromkeys(row.word(SOURCE) for row in own))
    against = _named([f"“{label}”" for label in dict.fromkeys(row.word(AGAINST) for row in own) if label])
    if not against:
        return f"Published in {named}."
    return (
        f"Published in {named}. Ratios are to {against}; what those here are taken from was measured in the "
        "same blocks."
    )


def notes(document: RunDocument) -> Iterator[str]:
    """What may be compared and what may not: a sentence for each, those that are alike once."""
    for caveats, own in grouped(document.rows_of(TOPIC.name, role=FIGURE), lambda row: row.caveats).items():
        yield f"{_named([row.label for row in own])}: {'; '.join(caveats)}"


def _named(labels: list[str]) -> str:
    """Which figures a note is of; of many the first and the last."""
    if len(labels) > MOST_NAMED:
        return f"{len(labels)} figures, from {labels[0]} to {labels[-1]}"
    return " and ".join(labels)


COLUMNS = (
    Column(NAME, "TEXT", "what a published figure is called"),
    columns.PUBLISHED,
    columns.AGAINST,
    columns.SOURCE,
)

TOPIC = Topic("published", "Published figures", rows, sections, sentences, COLUMNS)
