"""By how much a processor table's sides differ in a column's mean, as published and in each part. Pure.

A part is judged block by block: the difference must be told apart from nothing at all and exceed what the
control strayed by. A part whose trials are not what they claim tests nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tlstax.explained import Amount
from tlstax.findings import stats
from tlstax.findings.processor_tables import window_mean
from tlstax.findings.table_sides import Side, side, why_not_tested
from tlstax.findings.table_words import (
    answer_to_difference,
    points_words,
    sentence_of,
    untested,
    verdict_of,
    within_floor,
)
from tlstax.records import TrialRecord
from tlstax.study import Column, Part, ProcessorColumn, ProcessorTable, Study, within
from tlstax.tabulated import DifferenceHere, DifferenceResult


def load_differences(
    table: ProcessorTable, study: Study, parts: Sequence[Part], records: Sequence[TrialRecord]
) -> Iterator[DifferenceResult]:
    """For each column whose mean the text has for two sides: who has more, there and in every part."""
    told: dict[ProcessorColumn, dict[str, float]] = {}
    for claim in table.claims:
        if claim.kind == "mean":
            told.setdefault(claim.column, {})[claim.side] = claim.value
    first, *others = table.sides
    for column, means in told.items():
        for other in others:
            if first.name in means and other.name in means and means[first.name] != means[other.name]:
                published = (means[first.name], means[other.name])
                yield _result(table, column, (first, other), published, study, parts, records)


def _result(  # noqa: PLR0913, PLR0917 (a difference is of a table, a column and two sides)
    table: ProcessorTable,
    column: ProcessorColumn,
    sides: tuple[Column, Column],
    published: tuple[float, float],
    study: Study,
    parts: Sequence[Part],
    records: Sequence[TrialRecord],
) -> DifferenceResult:
    rises = published[1] > published[0]
    floor = _noise_floor(table, column, sides[0], study, records)
    here = tuple(_here(part, table, column, sides, rises, floor, study, records) for part in parts)
    way = "higher" if rises else "lower"
    return DifferenceResult(
        table=table.number,
        label=table.title,
        says=f"{table.title}: %{column} is {way} with {sides[1].name} on average ({published[1]:g} beside "
        f"{published[0]:g})",
        outcome=f"machine_{column}_percent",
        side=sides[1].name,
        against=sides[0].name,
        published=published,
        verdict=verdict_of(here),
        sentence=sentence_of(here),
        parts=here,
    )


def _here(  # noqa: PLR0913, PLR0917 (a difference is of a table, a column and two sides)
    part: Part,
    table: ProcessorTable,
    column: ProcessorColumn,
    sides: tuple[Column, Column],
    rises: bool,
    floor: float | None,
    study: Study,
    records: Sequence[TrialRecord],
) -> DifferenceHere:
    first, other = (side(records, part.within, table.within, column.levels) for column in sides)
    why = why_not_tested((first.shown, other.shown))
    values, others = _means(other, column), _means(first, column)
    blocks = sorted(values.keys() & others.keys())
    if why or not blocks:
        return untested(part.key, why or "nobody watched the processors in both of a block")
    found = stats.difference_interval([values[block] - others[block] for block in blocks], study.confidence)
    amount = Amount(
        point=found.point,
        low=found.low,
        high=found.high,
        confidence=study.confidence,
        blocks=found.blocks,
    )
    answer = answer_to_difference(found, floor, rises=rises)
    why_not = within_floor(floor, answer, told=found.excludes_zero, unit="points")
    return DifferenceHere(
        part=part.key,
        answer=answer,
        difference=amount,
        noise_floor=floor,
        sentence=f"{answer}: {points_words(amount)}{why_not}",
    )


def _means(found: Side, column: ProcessorColumn) -> dict[int, float]:
    """The column's share of the whole window, block by block."""
    means = {record.trial.block: window_mean(record) for record in found.records}
    return {block: mean[column] for block, mean in means.items() if mean is not None}


def _noise_floor(
    table: ProcessorTable,
    column: ProcessorColumn,
    first: Column,
    study: Study,
    records: Sequence[TrialRecord],
) -> float | None:
    """How far a control strays from its baseline among the cases of this table; of several, the farthest."""
    controls: dict[str, dict[int, TrialRecord]] = {}
    baselines: dict[str, dict[int, TrialRecord]] = {}
    for record in records:
        case = record.trial.case
        if record.verdict.value == "valid" and within(case.levels, {**table.within, **first.levels}):
            into = controls if case.role == "control" else baselines
            into.setdefault(str(sorted(case.levels.items())), {})[record.trial.block] = record
    reaches = [
        reach
        for name, own in controls.items()
        if (reach := _reach(own, baselines.get(name, {}), column, study.confidence)) is not None
    ]
    return max(reaches, default=None)


def _reach(
    control: Mapping[int, TrialRecord],
    baseline: Mapping[int, TrialRecord],
    column: ProcessorColumn,
    confidence: float,
) -> float | None:
    means = [
        (own[column], other[column])
        for block in sorted(control.keys() & baseline.keys())
        if (own := window_mean(control[block])) and (other := window_mean(baseline[block]))
    ]
    if not means:
        return None
    return stats.difference_interval([own - other for own, other in means], confidence).reach
