"""A published table of times beside what each part of a run measured, line by line. Pure.

Times of another machine say little beside ours; the ratio of two sides, which both take within themselves,
says more. Ours is taken block by block, like every ratio here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from tlstax.findings.core import stats
from tlstax.findings.core.contrasts import nearest
from tlstax.findings.core.outcomes import log_ratio_between, outcome
from tlstax.findings.core.series import Series
from tlstax.findings.published.sides import Measured, Side
from tlstax.results.published_tables import MeasuredTime, PartOfTime, TimeLine, TimeTableResult
from tlstax.study import Levels, Part, TimeRow, TimeTable


def time_table(table: TimeTable, run: Measured, series: Series) -> TimeTableResult:
    """The table, and for each line, part and side what was measured."""
    lines = tuple(_line(table, row, run, series) for row in table.rows)
    return TimeTableResult(published=table, lines=lines, reading=_reading(table, lines))


def _line(table: TimeTable, row: TimeRow, run: Measured, series: Series) -> TimeLine:
    first = table.sides[0].name
    return TimeLine(
        label=row.label,
        published=row.values,
        published_ratios={
            name: value / row.values[first] for name, value in row.values.items() if name != first
        },
        parts=tuple(_part(table, row, part, run, series) for part in run.parts),
    )


def _part(table: TimeTable, row: TimeRow, part: Part, run: Measured, series: Series) -> PartOfTime:
    sides = {column.name: run.side(part.within, row.within, column.levels) for column in table.sides}
    logs = {name: _logs(found, table.outcome) for name, found in sides.items()}
    first, *others = logs
    ratios = {name: _log_ratios(sides[name], sides[first], table.outcome) for name in others}
    return PartOfTime(
        part=part.key,
        sides=tuple(
            MeasuredTime(
                side=name,
                shown=found.shown,
                seconds=series.interval(logs[name]),
                operations=_operations(found),
            )
            for name, found in sides.items()
        ),
        ratios={
            name: ratio for name, blocks in ratios.items() if (ratio := series.interval(blocks)) is not None
        },
        noise_floor=_noise_floor(sides[first].levels, table.outcome, series),
    )


def _logs(found: Side, name: str) -> dict[int, float]:
    values = {record.trial.block: outcome(record, name) for record in found.records}
    return {block: log(value) for block, value in values.items() if value}


def _log_ratios(own: Side, other: Side, name: str) -> dict[int, float]:
    """Ln of the ratio of the two in each block that has both."""
    records, others = ({r.trial.block: r for r in side.records} for side in (own, other))
    found = {
        block: log_ratio_between(records[block], others[block], name)
        for block in sorted(records.keys() & others.keys())
    }
    return {block: ratio for block, ratio in found.items() if ratio is not None}


def _operations(found: Side) -> int | None:
    """How many operations a round has here."""
    jobs = [record.job for record in found.records if record.job is not None]
    rounds = {job.operations // job.rounds for job in jobs if job.operations is not None}
    return rounds.pop() if len(rounds) == 1 else None


def _noise_floor(levels: Levels | None, name: str, series: Series) -> float | None:
    """From the control of this very case, or of the nearest one under the same workload."""
    if levels is None:
        return None
    control = nearest(levels, series.control_ratios(name))
    return stats.noise_floor(control) if control is not None else None


def _reading(table: TimeTable, lines: Sequence[TimeLine]) -> str:
    """What may be compared: seconds of as many operations, or ratios alone."""
    here = {
        found.operations
        for line in lines
        for part in line.parts
        for found in part.sides
        if found.operations is not None
    }
    if not here or table.queries is None:
        return "Another machine took the published times: compare ratios rather than seconds."
    rounds = " or ".join(f"{number:,}" for number in sorted(here))
    if here == {table.queries}:
        return (
            f"A round has {rounds} operations, there as here; but another machine took the published times, "
            "so compare ratios rather than seconds."
        )
    return (
        f"A round has {rounds} operations here and {table.queries:,} there, and the time "
        "of an operation may change within a round: so seconds are not comparable, and the ratios alone are."
    )
