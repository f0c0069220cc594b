"""What the processors did while a part of a run was measured, beside a published table of that.

By how much the table's sides differ in a column's mean is judged block by block: the difference must be
distinguished from none and exceed what the control strayed by. A part whose trials are not what they claim
tests nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from tlstax.findings.core.outcomes import outcome, shares, together
from tlstax.findings.core.pooling import Pooling
from tlstax.findings.core.series import difference
from tlstax.findings.core.wording import with_sign
from tlstax.records.trial import TrialRecord
from tlstax.records.window import CpuSlice
from tlstax.results.rows import Row
from tlstax.study import PROCESSOR_COLUMNS, Column, Part, ProcessorColumn, ProcessorTable, within
from tlstax.topics.tables.answers import (
    DIFFERENCE,
    answer_to_difference,
    points_words,
    ruled_out,
    within_floor,
)
from tlstax.topics.tables.sides import (
    AGAINST,
    PART,
    POINTS,
    SIDE,
    TABLE,
    TRIALS,
    UNTIL,
    Measured,
    Side,
    case_of,
    own_levels,
    why_not_tested,
)

PRINTED, MEASURED = "table, published", "table, measured"
"""Roles of rows: a cell of the table, and a share here; one that is until no time is of the whole window."""

MEMORY, LENGTH = "server_rss_bytes", "window_s"
"""Outcomes of a side beside those shares: the server's memory, and how long windows were; means."""

LEAST_SHARE_OF_A_STEP = 0.5
"""A last step that is shorter than this is not shown: a row stands for a whole step."""

Shares = dict[ProcessorColumn, float]


def load_rows(table: ProcessorTable, run: Measured) -> Iterator[Row]:
    """The cells of the table, and for each part and side what was measured."""
    for side in table.sides:
        for place, cells in enumerate(table.rows.get(side.name, ())):
            for name, value in zip(PROCESSOR_COLUMNS, cells, strict=True):
                if not isinstance(value, str):
                    more = {TABLE: table.number, SIDE: side.name, UNTIL: (place + 1) * table.step_s}
                    yield _share(PRINTED, name, value, case_of(table.within, side.levels), more)
    for part in run.parts:
        for side in table.sides:
            yield from _measured(side, table, part, run)


def _measured(column: Column, table: ProcessorTable, part: Part, run: Measured) -> Iterator[Row]:
    found = run.side(part.within, table.within, column.levels)
    case = case_of(table.within, own_levels(part, run.study), column.levels)
    place: dict[str, Any] = {TABLE: table.number, PART: part.key, SIDE: column.name}
    yield found.shown.row(case, "", place)
    for until_s, trials, values in steps(found.records, int(table.step_s)):
        for name, value in values.items():
            yield _share(MEASURED, name, value, case, {**place, UNTIL: until_s, TRIALS: trials})
    windows = [r.window.cpus for r in found.records if r.window is not None and r.window.cpus]
    means = [mean for slices in windows if (mean := _row(slices)) is not None]
    for name, value in _mean(means).items() if means else ():
        yield _share(MEASURED, name, value, case, {**place, TRIALS: found.shown.trials})
    rss_bytes = [rss for record in found.records if (rss := outcome(record, MEMORY)) is not None]
    lengths_s = [_length_s(slices) for slices in windows]
    for beside, unit, known in ((LENGTH, "s", lengths_s), (MEMORY, "B", rss_bytes)):
        if known:
            yield Row(role=MEASURED, outcome=beside, unit=unit, case=case, value=fmean(known), more=place)


def _share(role: str, column: str, value: float, case: dict[str, Any], more: dict[str, Any]) -> Row:
    outcome = f"machine_{column}_percent"
    return Row(role=role, outcome=outcome, unit="%", case=case, value=value, more=more)


def window_mean(record: TrialRecord) -> Shares | None:
    """The shares of one trial's whole window; None where nobody watched."""
    return _row(record.window.cpus) if record.window is not None else None


def steps(records: Sequence[TrialRecord], step_s: int) -> list[tuple[int, int, Shares]]:
    """The windows in steps of `step_s`: when each ends, of how many trials that reached it, their mean."""
    reached: dict[int, list[Shares]] = {}
    for record in records:
        for place, row in _steps_of(record, step_s).items():
            reached.setdefault(place, []).append(row)
    return [((place + 1) * step_s, len(rows), _mean(rows)) for place, rows in sorted(reached.items())]


def _steps_of(record: TrialRecord, step_s: int) -> dict[int, Shares]:
    """One trial's rows by their place; a slice belongs to the step that it begins in."""
    slices: dict[int, list[CpuSlice]] = {}
    for part in record.window.cpus if record.window is not None else ():
        slices.setdefault(round(part.at_s) // step_s, []).append(part)
    return {
        place: row
        for place, parts in slices.items()
        if sum(part.took_s for part in parts) >= LEAST_SHARE_OF_A_STEP * step_s
        and (row := _row(parts)) is not None
    }


def _row(slices: Sequence[CpuSlice]) -> Shares | None:
    ticks = together(slices)
    found = shares(ticks) if ticks is not None else None
    return None if found is None else {name: asdict(found)[name] for name in PROCESSOR_COLUMNS}


def _mean(rows: Sequence[Shares]) -> Shares:
    return {name: fmean(row[name] for row in rows) for name in PROCESSOR_COLUMNS}


def _length_s(slices: Sequence[CpuSlice]) -> float:
    """When the last of a window's slices ended, of which there is one at least."""
    return max(part.at_s + part.took_s for part in slices)


@dataclass(frozen=True)
class _Question:
    """Whether a column's mean is higher, or lower, with one side than with another, as was published."""

    table: ProcessorTable
    column: ProcessorColumn
    first: Column
    other: Column
    published: tuple[float, float]


def load_differences(table: ProcessorTable, run: Measured) -> Iterator[Row]:
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
                asked = _Question(table, column, first, other, published)
                floor = _noise_floor(asked, run)
                yield from (_here(part, asked, floor, run) for part in run.parts)


def _here(part: Part, asked: _Question, floor: float | None, run: Measured) -> Row:
    first, other = (
        run.side(part.within, asked.table.within, column.levels) for column in (asked.first, asked.other)
    )
    why = why_not_tested((first.shown, other.shown))
    points = difference(_means(other, asked.column), _means(first, asked.column))
    before, after = asked.published
    published = after - before
    found, answer = None, "not tested"
    sentence = f"not tested: {why or 'nobody watched the processors in both of a block'}"
    if points and not why:
        found = run.pooling.difference(points)
        answer = answer_to_difference(found, floor, published=published)
        why = within_floor(floor, answer, is_clear=found.excludes_zero, unit="points")
        why += ruled_out(answer, f"{with_sign(f'{published:.2f}')} points")
        sentence = f"{answer}: {points_words(found)}{why}"
    way = "higher" if after > before else "lower"
    says = (
        f"{asked.table.title}: %{asked.column} is {way} with {asked.other.name} on average ({after:g} "
        f"beside {before:g})"
    )
    return Row(
        role=DIFFERENCE,
        outcome=f"machine_{asked.column}_percent",
        unit="points" if found is not None else "",
        label=asked.table.title,
        interval=found,
        noise_floor=floor if found is not None else None,
        judgement=answer,
        caveats=(says, sentence),
        more={
            TABLE: asked.table.number,
            PART: part.key,
            SIDE: asked.other.name,
            AGAINST: asked.first.name,
            POINTS: published,
        },
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
