"""The values of a run's valid trials by case and block; how ladders of connections are pooled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from math import exp, log
from statistics import fmean, median
from typing import Any

from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.outcomes import outcomes, phases
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.slices import Turns, alone, log_ratio, together, turns
from tlstax.study import Case, Study
from tlstax.study.factors import CaseLevels
from tlstax.support.grouping import grouped

LADDER = "connections"
"""The factor that ratios are pooled over: steps of one ladder are like things, workloads are not."""

Logs = Mapping[int, float]
"""A logarithm for each block."""

Values = dict[tuple[int, int], dict[str, float]]
"""The outcomes of each valid trial, by its block and position."""

Blocks = Mapping[int, Mapping[str, float]]
"""The outcomes of a case in each block."""

Taken = Mapping[int, Turns]
"""The slices of a case in each block in which it took turns with others."""


def valid_values(study: Study, records: Iterable[TrialRecord]) -> Values:
    """The outcomes of all valid trials. Raises MachineFault where a histogram cannot be decoded."""
    told = phases(study)
    return {record.trial.place: outcomes(record, told) for record in records if record.is_valid}


@dataclass(frozen=True)
class Series:
    """What was measured of each case, block by block; the controls, which have a baseline's levels, apart.

    `cases` holds every case that the study plans but the controls, by its levels. `turns` has the slices of
    those that took turns, a baseline's with its control's; `control_turns` has the controls' alone.
    `machines` has the machine of each block, nothing where there is but one.
    """

    study: Study
    cases: Mapping[CaseLevels, Case]
    values: Mapping[CaseLevels, Blocks]
    controls: Mapping[CaseLevels, Blocks]
    turns: Mapping[CaseLevels, Taken] = field(default_factory=dict)
    control_turns: Mapping[CaseLevels, Taken] = field(default_factory=dict)
    machines: Mapping[int, str] = field(default_factory=dict)

    @property
    def pooling(self) -> Pooling:
        """How this run's blocks are pooled."""
        return Pooling(self.study.confidence, self.machines)

    @property
    def outcomes(self) -> frozenset[str]:
        """The names of all outcomes that a case has in a block."""
        return frozenset(name for blocks in self.values.values() for own in blocks.values() for name in own)

    def logs(self, levels: CaseLevels, outcome: str) -> dict[int, float]:
        """Ln of the outcome in each block that has it above zero."""
        return _logs(self.values.get(levels, {}), outcome)

    def log_ratios(self, levels: CaseLevels, against: CaseLevels, outcome: str) -> dict[int, float]:
        """Ln of the ratio to the other case in each block that has both, as `slices.log_ratio` takes it."""
        own, other = ((self.values.get(at, {}), self.turns.get(at, {})) for at in (levels, against))
        return _log_ratios(own, other, outcome)

    def control_logs(self, levels: CaseLevels, outcome: str) -> dict[int, float]:
        """Ln of the control's ratio to the baseline with these levels, in each block that has both."""
        baselines = {block: alone(taken) for block, taken in self.turns.get(levels, {}).items()}
        return _log_ratios(
            (self.controls.get(levels, {}), self.control_turns.get(levels, {})),
            (self.values.get(levels, {}), baselines),
            outcome,
        )

    def own_baseline(self, levels: CaseLevels) -> CaseLevels:
        """The levels of the case that the study compares this one with."""
        return levels | self.study.baseline

    def families(self, *factors: str) -> list[list[CaseLevels]]:
        """The cases (as levels) that have these factors and differ in nothing but them, together."""
        every = (case.levels for case in self.cases.values() if set(factors) <= case.levels.keys())
        return list(grouped(every, lambda levels: levels.without(*factors)).values())

    def ladders(self) -> dict[CaseLevels, list[CaseLevels]]:
        """The cases (as levels) that differ in nothing but the number of connections, ladder by ladder."""
        return grouped((case.levels for case in self.cases.values()), lambda at: at.without(LADDER))

    def interval(self, logs: Logs) -> Interval | None:
        """The geometric mean of what these are the logarithms of, with its interval; None without any."""
        return self.pooling.interval(logs) if logs else None

    def rows(self, logs: Logs, **row: Any) -> Iterator[Row]:
        """The row of what these are the logarithms of, with its interval; none without any."""
        if logs:
            yield Row(interval=self.pooling.interval(logs), **row)

    def geometric_means(self, levels: CaseLevels, other: CaseLevels, outcome: str) -> tuple[float, float]:
        """The outcome of both cases over the blocks that both have. Needs a block."""
        own, others = self.logs(levels, outcome), self.logs(other, outcome)
        both = sorted(own.keys() & others.keys())
        return exp(fmean(own[block] for block in both)), exp(fmean(others[block] for block in both))

    def control_ratios(self, outcome: str) -> dict[CaseLevels, Interval]:
        """How far each control strayed from its baseline, by the levels of both."""
        found = {at: self.interval(self.control_logs(at, outcome)) for at in self.controls}
        return {at: ratio for at, ratio in found.items() if ratio is not None}


def series_of(stored: StoredRun) -> Series:
    """The series of a run's valid trials. Raises MachineFault where a histogram cannot be decoded."""
    study = stored.header.study
    return series(study, stored.measured, valid_values(study, stored.measured))


def series(study: Study, records: Iterable[TrialRecord], values: Values) -> Series:
    """The series of a run from its trials and their values."""
    planned = {case.levels: case for case in cases(study) if case.role != "control"}
    found: dict[CaseLevels, dict[int, Mapping[str, float]]] = {}
    controls: dict[CaseLevels, dict[int, Mapping[str, float]]] = {}
    found_turns: dict[CaseLevels, dict[int, Turns]] = {}
    control_turns: dict[CaseLevels, dict[int, Turns]] = {}
    known = tuple(records)
    for record in known:
        trial = record.trial
        place, at = trial.place, trial.case.levels
        if place in values:
            into, taken = (controls, control_turns) if trial.case.role == "control" else (found, found_turns)
            into.setdefault(at, {}).setdefault(trial.block, values[place])
            if (own := turns(record)) is not None:
                of_case = taken.setdefault(at, {})
                first = of_case.get(trial.block)
                both = None if first is None else replace(first, elsewhere=(*first.elsewhere, own))
                of_case[trial.block] = both or own
    with_controls = {
        at: {block: together(own, control_turns.get(at, {}).get(block)) for block, own in taken.items()}
        for at, taken in found_turns.items()
    }
    return Series(study, planned, found, controls, with_controls, control_turns, machines_of(known))


def _logs(blocks: Blocks, outcome: str) -> dict[int, float]:
    return {block: log(found[outcome]) for block, found in blocks.items() if found.get(outcome, 0) > 0}


def _log_ratios(own: tuple[Blocks, Taken], other: tuple[Blocks, Taken], outcome: str) -> dict[int, float]:
    (values, taken), (others, others_taken) = own, other
    found = {
        block: log_ratio(
            outcome,
            values[block].get(outcome),
            others[block].get(outcome),
            (taken.get(block), others_taken.get(block)),
        )
        for block in sorted(values.keys() & others.keys())
    }
    return {block: ratio for block, ratio in found.items() if ratio is not None}


def difference(logs: Logs, against: Logs) -> dict[int, float]:
    """One less the other in the blocks that both have, in their order."""
    return {block: logs[block] - against[block] for block in sorted(logs.keys() & against.keys())}


def pooled(steps: Mapping[Any, Logs]) -> dict[int, float]:
    """One number a block from the same quantity on the steps of a ladder: blocks stay the unit.

    A step that lacks a block must not tilt that block's mean by its own level. So a block's number is the
    mean over all steps of each step's own mean, and to it the mean of what the steps that the block has
    are off their own means. With nothing missing this is the plain mean of each block. A block that has
    fewer than half of the steps is left out; a step without any block does not count.
    """
    means = {step: fmean(logs.values()) for step, logs in steps.items() if logs}
    if not means:
        return {}
    middle = fmean(means.values())
    found = {}
    for block in sorted({block for step in means for block in steps[step]}):
        off = [steps[step][block] - mean for step, mean in means.items() if block in steps[step]]
        if 2 * len(off) >= len(means):
            found[block] = middle + fmean(off)
    return found


@dataclass(frozen=True)
class BlockRow:
    """One valid trial: its case, block and machine (empty where the run has one), and outcomes by name.

    `ratios` has those of the outcomes to the baseline's of the same block, as findings take them: of cases
    that took turns, slice by slice with their neighbours, which is not the quotient of the two values.
    """

    role: str
    levels: CaseLevels
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
        ratios = {name: run.control_logs(at, name) for name in outcomes}
        yield from _rows(run, "control", at, blocks, ratios)


def _rows(
    run: Series, role: str, at: CaseLevels, blocks: Blocks, ratios: Mapping[str, Logs]
) -> Iterator[BlockRow]:
    for block, values in sorted(blocks.items()):
        yield BlockRow(
            role=role,
            levels=at,
            block=block,
            machine=run.machines.get(block, ""),
            values={name: values[name] for name in ratios if name in values},
            ratios={name: exp(logs[block]) for name, logs in ratios.items() if block in logs},
        )
