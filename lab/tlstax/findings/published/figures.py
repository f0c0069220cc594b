"""What others published beside what was measured here: absolute, and as ratios to the same reference. Pure.

Absolute figures of other machines and years say little beside ours; a ratio that both sides take within
themselves says more. Ours is taken block by block, like every ratio here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log

from tlstax.findings.core.contrasts import twins
from tlstax.findings.core.judgements import is_different
from tlstax.findings.core.outcomes import OUTCOMES
from tlstax.findings.core.series import Series
from tlstax.findings.core.wording import MANY_TIMES, alike, change_words, percent
from tlstax.records.trial import Machine
from tlstax.results.document import (
    PublishedFigure,
)
from tlstax.results.interval import Interval
from tlstax.study import Levels, Published, within
from tlstax.study.level_names import NO_FAULT

FAULT = "fault"


def published(series: Series, machine: Machine) -> tuple[PublishedFigure, ...]:
    """Every published figure of the study beside what stands in for it here, in the study's order."""
    by_label = {figure.label: figure for figure in series.study.published}
    return tuple(_beside(figure, by_label, series, machine) for figure in series.study.published)


def _beside(
    figure: Published, by_label: Mapping[str, Published], series: Series, machine: Machine
) -> PublishedFigure:
    reference = by_label.get(figure.against)
    value = _value(figure, series)
    ratio = _ratio(figure, reference, series) if reference else None
    return PublishedFigure(
        label=figure.label,
        outcome=figure.outcome,
        unit=figure.unit,
        value=figure.value,
        source=figure.source,
        note=figure.note,
        beside=dict(figure.beside),
        measured=value.point if value else None,
        measured_low=value.low if value else None,
        measured_high=value.high if value else None,
        blocks=value.blocks if value else 0,
        against=figure.against,
        published_ratio=figure.value / reference.value if reference else None,
        ratio=ratio,
        comparable=_comparable(figure, value, machine),
        verdict=_verdict(figure, reference, ratio, series) if reference and ratio else "",
    )


def _value(figure: Published, series: Series) -> Interval | None:
    """What the case that stands in for it did here: the geometric mean over blocks."""
    levels = _stand_in(figure, series)
    return None if levels is None else series.interval(series.logs(levels, figure.outcome))


def _ratio(figure: Published, reference: Published, series: Series) -> Interval | None:
    """Our stand-in to the reference's, block by block; None where one of them was not measured."""
    own, other = _stand_in(figure, series), _stand_in(reference, series)
    if figure is reference or own is None or other is None or not figure.outcome:
        return None
    return series.interval(series.log_ratios(own, other, figure.outcome))


def _stand_in(figure: Published, series: Series) -> Levels | None:
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
    here = f"here the server has {shared} of {machine.cores} processors"
    there = f"there: {figure.conditions}; " if figure.conditions else ""
    note = f"; {figure.note}" if figure.note else ""
    return f"{there}{here}, so compare ratios rather than absolute figures{note}"


def _verdict(figure: Published, reference: Published, ratio: Interval, series: Series) -> str:
    """Whether taking a fault out comes out as the fix; empty where the two differ by more than a fault."""
    sound, faulty = (dict(_stand_in(side, series) or {}) for side in (figure, reference))
    planted = faulty.get(FAULT, NO_FAULT)
    if sound.get(FAULT, NO_FAULT) != NO_FAULT or planted == NO_FAULT or {**sound, FAULT: planted} != faulty:
        return ""
    floor = twins(series, figure.outcome).floor(sound)
    there = figure.value / reference.value
    lower = bool(OUTCOMES[figure.outcome].lower_is_better)
    seen = f"{_sized(ratio)}; published: {_times(there)}"
    if not is_different(ratio, floor.relative):
        return f"whether taking {planted} out is a fix is inconclusive here ({seen})"
    if (ratio.point < 1) != lower:
        return f"taking {planted} out made it worse here, and does not come out as the fix ({seen})"
    share = _share(ratio.point, there)
    return f"taking {planted} out comes out as the fix, as it did there: {seen}{share}"


def _sized(ratio: Interval) -> str:
    """The ratio as a factor, or where it is small as a change, with its interval."""
    if _is_many(ratio) and ratio.low is not None and ratio.high is not None and ratio.is_telling:
        point, low, high = alike(ratio.point, ratio.low, ratio.high)
        return f"{point}× ({low} to {high}×)"
    return change_words(ratio)


def _is_many(ratio: Interval) -> bool:
    return max(ratio.point, 1 / ratio.point) >= MANY_TIMES


def _times(ratio: float) -> str:
    return f"{ratio:.2g}×"


def _share(here: float, there: float) -> str:
    """How much of the published effect is seen here, on the scale on which ratios add up."""
    if there == 1:
        return ""
    share = log(here) / log(there)
    size = "the whole of" if share >= 1 else f"{percent(share)} of"
    return f" ({size} the published effect, as logarithms)" if share > 0 else ""
