"""What each case did in each block, and its ratio to the baseline there: what intervals are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import exp
from statistics import median

from tlstax.findings.core.series import Blocks, Frozen, Logs, Series, series_of
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.study import Level


@dataclass(frozen=True)
class BlockRow:
    """One valid trial: its case, block and machine (empty where the run has one), and outcomes by name.

    `ratios` has those of the outcomes to the baseline's of the same block, as findings take them: of cases
    that took turns, slice by slice with their neighbours, which is not the quotient of the two values.
    """

    role: str
    levels: Mapping[str, Level]
    block: int
    machine: str
    values: Mapping[str, float]
    ratios: Mapping[str, float]


def block_rows(stored: StoredRun, outcomes: Sequence[str]) -> tuple[BlockRow, ...]:
    """The run's valid trials by case, baselines first as planned, and block; controls come last.

    `outcomes` are names of `OUTCOMES`. Raises MachineFault where a stored histogram cannot be decoded.
    """
    run = series_of(stored)
    return (*_planned(run, outcomes), *_controls(run, outcomes))


def seconds_of_a_block(records: Iterable[TrialRecord]) -> float | None:
    """How long a block usually takes, between the beginnings of two in a row; None of one block."""
    starts: dict[int, str] = {}
    for record in records:
        block = record.trial.block
        starts[block] = min(starts.get(block, record.started_at), record.started_at)
    times = [datetime.fromisoformat(starts[block]) for block in sorted(starts)]
    gaps = [(after - before).total_seconds() for before, after in pairwise(times)]
    return median(gaps) if gaps else None


def _planned(run: Series, outcomes: Sequence[str]) -> Iterator[BlockRow]:
    for at, case in run.cases.items():
        baseline = run.own_baseline(case.levels)
        ratios = {name: run.log_ratios(case.levels, baseline, name) for name in outcomes}
        yield from _rows(run, case.role, at, run.values.get(at, {}), ratios)


def _controls(run: Series, outcomes: Sequence[str]) -> Iterator[BlockRow]:
    for at, blocks in run.controls.items():
        ratios = {name: run.control_logs(dict(at), name) for name in outcomes}
        yield from _rows(run, "control", at, blocks, ratios)


def _rows(
    run: Series, role: str, at: Frozen, blocks: Blocks, ratios: Mapping[str, Logs]
) -> Iterator[BlockRow]:
    for block, values in sorted(blocks.items()):
        yield BlockRow(
            role=role,
            levels=dict(at),
            block=block,
            machine=run.machines.get(block, ""),
            values={name: values[name] for name in ratios if name in values},
            ratios={name: exp(logs[block]) for name, logs in ratios.items() if block in logs},
        )
