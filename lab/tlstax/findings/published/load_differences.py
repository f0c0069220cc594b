"""By how much a processor table's sides differ in a column's mean, as published and in each part. Pure.

A part is judged block by block: the difference must be distinguished from none and exceed what the
control strayed by. A part whose trials are not what they claim tests nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tlstax.findings.core.pooling import Pooling
from tlstax.findings.core.series import difference
from tlstax.findings.core.wording import with_sign
from tlstax.findings.published.answers import answer_to_difference
from tlstax.findings.published.processor_tables import window_mean
from tlstax.findings.published.sides import Measured, Side, why_not_tested
from tlstax.findings.published.words import (
    points_words,
    ruled_out,
    sentence_of,
    untested,
    verdict_of,
    within_floor,
)
from tlstax.records.trial import TrialRecord
from tlstax.results.published_tables import DifferenceHere, DifferenceResult
from tlstax.study import Column, Part, ProcessorColumn, ProcessorTable, within


@dataclass(frozen=True)
class _Question:
    """Whether a column's mean is higher, or lower, with one side than with another, as was published."""

    table: ProcessorTable
    column: ProcessorColumn
    first: Column
    other: Column
    published: tuple[float, float]

    @property
    def rises(self) -> bool:
        return self.published[1] > self.published[0]


def load_differences(table: ProcessorTable, run: Measured) -> Iterator[DifferenceResult]:
    """For each column whose mean the text has for two sides: who has more, there and in every part."""
    printed: dict[ProcessorColumn, dict[str, float]] = {}
    for claim in table.claims:
        if claim.kind == "mean":
            printed.setdefault(claim.column, {})[claim.side] = claim.value
    first, *others = table.sides
    for column, means in printed.items():
        for other in others:
            if first.name in means and other.name in means and means[first.name] != means[other.name]:
                published = (means[first.name], means[other.name])
                yield _result(_Question(table, column, first, other, published), run)


def _result(asked: _Question, run: Measured) -> DifferenceResult:
    floor = _noise_floor(asked, run)
    here = tuple(_here(part, asked, floor, run) for part in run.parts)
    (before, after), way = asked.published, "higher" if asked.rises else "lower"
    return DifferenceResult(
        table=asked.table.number,
        label=asked.table.title,
        says=f"{asked.table.title}: %{asked.column} is {way} with {asked.other.name} on average ({after:g} "
        f"beside {before:g})",
        outcome=f"machine_{asked.column}_percent",
        side=asked.other.name,
        against=asked.first.name,
        published=asked.published,
        verdict=verdict_of(here),
        sentence=sentence_of(here),
        parts=here,
    )


def _here(part: Part, asked: _Question, floor: float | None, run: Measured) -> DifferenceHere:
    first, other = (
        run.side(part.within, asked.table.within, column.levels) for column in (asked.first, asked.other)
    )
    why = why_not_tested((first.shown, other.shown))
    points = difference(_means(other, asked.column), _means(first, asked.column))
    if why or not points:
        return untested(part.key, why or "nobody watched the processors in both of a block")
    found = run.pooling.difference(points)
    published = asked.published[1] - asked.published[0]
    answer = answer_to_difference(found, floor, published=published)
    why = within_floor(floor, answer, is_clear=found.excludes_zero, unit="points")
    why += ruled_out(answer, f"{with_sign(f'{published:.2f}')} points")
    return DifferenceHere(
        part=part.key,
        answer=answer,
        difference=found,
        noise_floor=floor,
        sentence=f"{answer}: {points_words(found)}{why}",
    )


def _means(found: Side, column: ProcessorColumn) -> dict[int, float]:
    """The column's share of the whole window, block by block."""
    means = {record.trial.block: window_mean(record) for record in found.records}
    return {block: mean[column] for block, mean in means.items() if mean is not None}


def _noise_floor(asked: _Question, run: Measured) -> float | None:
    """How far a control strays from its baseline among the cases of this table; of several, the farthest."""
    controls: dict[str, dict[int, TrialRecord]] = {}
    baselines: dict[str, dict[int, TrialRecord]] = {}
    wanted = {**asked.table.within, **asked.first.levels}
    for record in run.records:
        case = record.trial.case
        if record.verdict.value == "valid" and within(case.levels, wanted):
            into = controls if case.role == "control" else baselines
            into.setdefault(str(sorted(case.levels.items())), {})[record.trial.block] = record
    pooling = run.pooling
    reaches = [
        reach
        for name, own in controls.items()
        if (reach := _reach(own, baselines.get(name, {}), asked.column, pooling)) is not None
    ]
    return max(reaches, default=None)


def _reach(
    control: Mapping[int, TrialRecord],
    baseline: Mapping[int, TrialRecord],
    column: ProcessorColumn,
    pooling: Pooling,
) -> float | None:
    strays = {
        block: own[column] - other[column]
        for block in sorted(control.keys() & baseline.keys())
        if (own := window_mean(control[block])) and (other := window_mean(baseline[block]))
    }
    return pooling.difference(strays).reach if strays else None
