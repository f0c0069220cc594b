"""What the processors did while a part of a run was measured, in the rows of a published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean

from tlstax.findings.core.outcomes import outcome, shares, together
from tlstax.findings.published.sides import Measured
from tlstax.records.trial import TrialRecord
from tlstax.records.window import CpuSlice
from tlstax.results.published_tables import (
    MeasuredProcessors,
    PartOfProcessors,
    ProcessorStep,
    ProcessorTableResult,
)
from tlstax.study import PROCESSOR_COLUMNS, Column, Part, ProcessorColumn, ProcessorTable

LEAST_SHARE_OF_A_STEP = 0.5
"""A last step that is shorter than this is not shown: a row stands for a whole step."""

Row = dict[ProcessorColumn, float]


def processor_table(table: ProcessorTable, run: Measured) -> ProcessorTableResult:
    """The table, and for each part and side what was measured."""
    return ProcessorTableResult(
        published=table,
        parts=tuple(
            PartOfProcessors(
                part=part.key, sides=tuple(_measured(column, table, part, run) for column in table.sides)
            )
            for part in run.parts
        ),
    )


def _measured(column: Column, table: ProcessorTable, part: Part, run: Measured) -> MeasuredProcessors:
    found = run.side(part.within, table.within, column.levels)
    windows = [r.window.cpus for r in found.records if r.window is not None and r.window.cpus]
    means = [mean for slices in windows if (mean := _row(slices)) is not None]
    rss_bytes = [rss for record in found.records if (rss := outcome(record, "server_rss_bytes")) is not None]
    return MeasuredProcessors(
        side=column.name,
        shown=found.shown,
        steps=steps(found.records, int(table.step_s)),
        mean=_mean(means) if means else None,
        window_s=fmean(map(_length_s, windows)) if windows else None,
        rss_bytes=fmean(rss_bytes) if rss_bytes else None,
    )


def window_mean(record: TrialRecord) -> Row | None:
    """The shares of one trial's whole window; None where nobody watched."""
    return _row(record.window.cpus) if record.window is not None else None


def steps(records: Sequence[TrialRecord], step_s: int) -> tuple[ProcessorStep, ...]:
    """The windows in steps of `step_s`, each a mean over the trials that reached it."""
    reached: dict[int, list[Row]] = {}
    for record in records:
        for place, row in _steps_of(record, step_s).items():
            reached.setdefault(place, []).append(row)
    return tuple(
        ProcessorStep(from_s=place * step_s, to_s=(place + 1) * step_s, trials=len(rows), values=_mean(rows))
        for place, rows in sorted(reached.items())
    )


def _steps_of(record: TrialRecord, step_s: int) -> dict[int, Row]:
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


def _row(slices: Sequence[CpuSlice]) -> Row | None:
    ticks = together(slices)
    found = shares(ticks) if ticks is not None else None
    return None if found is None else {name: asdict(found)[name] for name in PROCESSOR_COLUMNS}


def _mean(rows: Sequence[Row]) -> Row:
    return {name: fmean(row[name] for row in rows) for name in PROCESSOR_COLUMNS}


def _length_s(slices: Sequence[CpuSlice]) -> float:
    """When the last of a window's slices ended, of which there is one at least."""
    return max(part.at_s + part.took_s for part in slices)
