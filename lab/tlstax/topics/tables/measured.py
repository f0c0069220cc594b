"""What a run measured in the place of published tables: trials, processors' shares, times and their ratios.

A part whose trials are not valid is shown all the same, and said to be what it is: that others compared TLS
with TLS is seen from just such trials. A side that has valid trials is shown by them alone. Times of another
machine say little beside ours; the ratio of two sides, which both take within themselves, says more. Ours is
taken block by block, like every ratio here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from statistics import fmean
from typing import Any

from tlstax.records.trial import TrialRecord
from tlstax.records.window import CpuSlice
from tlstax.results.rows import More, Row
from tlstax.stats import stats
from tlstax.stats.contrasts import nearest
from tlstax.stats.estimates import counts_of, first_reason
from tlstax.stats.outcomes import log_ratio_between, outcome, shares, together
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.series import Series
from tlstax.study import (
    PROCESSOR_COLUMNS,
    Choice,
    Level,
    Part,
    ProcessorColumn,
    ProcessorTable,
    Study,
    TimeRow,
    TimeTable,
    within,
)
from tlstax.study import Column as SideColumn
from tlstax.study.factors import CaseLevels
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column

PLAINTEXT = "plaintext"

PART_ROLE, SIDE_ROLE = "table, part", "table, side"
"""Roles of rows: how the trials of a part came out, and those that stand for a side of a table there."""

PRINTED, MEASURED, RATIO = "table, published", "table, measured", "table, ratio"
"""Roles of rows: a published figure, what was measured in its place, and its ratio to that of the first side.

A processor's share that is until no time is of the whole window.
"""

TABLE, PART, SIDE, AGAINST, UNTIL, TRIALS = (
    "published_table",
    "part",
    "side",
    "against",
    "until_s",
    "trials",
)
STANDING, RAN, WHY, LEFT_OUT, OPERATIONS = "standing", "ran", "why", "left_out_trials", "operations"
INVALID, UNKNOWN, PUBLISHED, POINTS = "invalid_trials", "unknown_trials", "published", "published_points"

COLUMNS = (
    Column(TABLE, "TEXT", "the number of a published table"),
    Column(PART, "TEXT", "the part of the study that was measured in its place"),
    columns.SIDE,
    Column(UNTIL, "REAL", "when the step ends that a row of the table is of", "s"),
    Column(STANDING, "TEXT", "what the trials of a side were found to be: valid, invalid, unknown, not run"),
    Column(RAN, "TEXT", "what was seen on their connections: plaintext, TLSv1.3 or both"),
    Column(WHY, "TEXT", "the most frequent reason why trials are not valid"),
    columns.TRIALS,
    Column(LEFT_OUT, "INTEGER", "how many trials that are not valid are left out, as valid ones are shown"),
    Column(INVALID, "INTEGER", "how many trials of a part are invalid"),
    Column(UNKNOWN, "INTEGER", "of how many trials of a part that is not known"),
    Column(OPERATIONS, "INTEGER", "how many operations a round has"),
    Column(POINTS, "REAL", "the published difference, in percentage points"),
    columns.AGAINST,
    columns.PUBLISHED,
)

MEMORY, LENGTH = "server_rss_bytes", "window_s"
"""Outcomes of a side beside those shares: the server's memory, and how long windows were; means."""

LEAST_SHARE_OF_A_STEP = 0.5
"""A last step that is shorter than this is not shown: a row stands for a whole step."""

Shares = dict[ProcessorColumn, float]

Wanted = Mapping[str, Choice]


@dataclass(frozen=True)
class Shown:
    """The trials that stand for one side of a table in one part: how many, and what was found of them.

    `standing` is "valid", "invalid", "unknown" or "not run"; `why` the most frequent reason why they are not
    valid; `left_out` counts trials that are not valid, where valid ones are shown. `ran` is what the server
    or the client saw on the connections that did the work: "plaintext", "TLSv1.3", both; empty where neither
    said.
    """

    standing: str
    trials: int = 0
    left_out: int = 0
    why: str = ""
    ran: str = ""

    @classmethod
    def of(cls, row: Row) -> Shown:
        """What a row of a side says of it."""
        left_out = round(row.number(LEFT_OUT) or 0)
        return cls(row.word(STANDING), round(row.amount), left_out, row.word(WHY), row.word(RAN))

    def row(self, case: dict[str, Level], label: str, more: Mapping[str, More]) -> Row:
        """The same as a row of this place."""
        known = {STANDING: self.standing, RAN: self.ran, WHY: self.why, LEFT_OUT: self.left_out}
        return Row(
            role=SIDE_ROLE,
            outcome=TRIALS,
            unit="1",
            label=label,
            case=case,
            value=self.trials,
            more={**more, **known},
        )


@dataclass(frozen=True)
class Side:
    """The trials that are shown of a side, and what is said of them."""

    records: tuple[TrialRecord, ...]
    shown: Shown

    @property
    def levels(self) -> CaseLevels | None:
        """The levels of its case; None where none was run."""
        return self.records[0].trial.case.levels if self.records else None


@dataclass(frozen=True)
class Measured:
    """What a run measured for the tables of its study: every trial that was not sampled, valid or not."""

    study: Study
    parts: tuple[Part, ...]
    records: tuple[TrialRecord, ...]

    @property
    def pooling(self) -> Pooling:
        """How this run's blocks are pooled."""
        return Pooling(self.study.confidence, machines_of(self.records))

    def side(self, *wanted: Wanted) -> Side:
        """The trials whose case has all these levels, controls left out: the valid ones if there are any."""
        trials = [record for record in self.records if _stands(record, wanted)]
        valid = [record for record in trials if record.is_valid]
        kept = tuple(valid or trials)
        shown = Shown(
            standing=_standing(kept),
            trials=len(kept),
            left_out=len(trials) - len(kept),
            why="" if valid else first_reason(trials),
            ran=" and ".join(sorted({said for record in kept for said in _ran(record)})),
        )
        return Side(kept, shown)


def parts_of(study: Study) -> tuple[Part, ...]:
    """The study's parts; a study without any is one."""
    return study.parts or (Part(key="all", title="this run"),)


def part_row(part: Part, run: Measured) -> Row:
    """How many trials of a part are valid; of its levels, those that set it apart."""
    own = [record for record in run.records if within(record.trial.case.levels, part.within)]
    counts = counts_of(own)
    return Row(
        role=PART_ROLE,
        outcome=TRIALS,
        unit="1",
        label=part.title,
        case=case_of(own_levels(part, run.study)),
        value=counts.valid,
        more={
            PART: part.key,
            INVALID: counts.invalid,
            UNKNOWN: counts.unknown,
            WHY: first_reason(own),
        },
    )


def own_levels(part: Part, study: Study) -> dict[str, Choice]:
    """Of a part's levels those of the study's factors."""
    return {name: choice for name, choice in part.within.items() if name in study.levels_of()}


def case_of(*chosen: Mapping[str, Choice]) -> dict[str, Level]:
    """The levels of a case, those of later choices first; of a choice among several levels, none."""
    known = {name: choice for own in chosen for name, choice in own.items()}
    several = {name: choice if isinstance(choice, tuple) else (choice,) for name, choice in known.items()}
    return {name: levels[0] for name, levels in several.items() if len(levels) == 1}


def why_not_tested(sides: Sequence[Shown]) -> str:
    """Why these sides cannot be compared as what they are called; empty where they can.

    In short: the reasons of verdicts stand with the part and with each side.
    """
    if any(shown.standing == "not run" for shown in sides):
        return "it was not run"
    bad = [shown for shown in sides if shown.standing != "valid"]
    if not bad:
        return ""
    if all(shown.ran and PLAINTEXT not in shown.ran for shown in sides):
        return "TLS was compared with TLS"
    if all(shown.ran == PLAINTEXT for shown in sides):
        return "plaintext was compared with plaintext"
    return f"its trials are {bad[0].standing}"


def _stands(record: TrialRecord, wanted: Sequence[Wanted]) -> bool:
    case = record.trial.case
    return case.role != "control" and all(within(case.levels, levels) for levels in wanted)


def _standing(records: Sequence[TrialRecord]) -> str:
    verdicts = {record.verdict.value for record in records}
    if not verdicts:
        return "not run"
    if verdicts == {"valid"}:
        return "valid"
    return "invalid" if "invalid" in verdicts else "unknown"


def _ran(record: TrialRecord) -> set[str]:
    """What the connections that did the work spoke, as the server saw it, else as both sides said before."""
    if record.server is not None and record.server.connections:
        return {seen.version or PLAINTEXT for seen in record.server.connections}
    if record.done is not None and record.done.window.handshakes:
        return {seen.version for seen in record.done.window.handshakes}
    negotiated = record.ready.negotiated if record.ready is not None else ()
    return {view.version if (view := seen.server or seen.client) else PLAINTEXT for seen in negotiated}


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
            yield from _loads(side, table, part, run)


def _loads(column: SideColumn, table: ProcessorTable, part: Part, run: Measured) -> Iterator[Row]:
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
    """The shares of one trial's whole window; None where it was not watched."""
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


def time_rows(table: TimeTable, run: Measured, series: Series) -> Iterator[Row]:
    """The published times, then what was measured of each line, part and side."""
    first = table.sides[0].name
    for line in table.rows:
        for side in table.sides:
            if side.name in line.values:
                ratio = line.values[side.name] / line.values[first] if side.name != first else None
                yield Row(
                    role=PRINTED,
                    outcome=table.outcome,
                    unit="s",
                    label=line.label,
                    case=case_of(line.within, side.levels),
                    value=line.values[side.name],
                    more={TABLE: table.number, SIDE: side.name, PUBLISHED: ratio},
                )
        for part in run.parts:
            yield from _times(table, line, part, run, series)


def _times(table: TimeTable, line: TimeRow, part: Part, run: Measured, series: Series) -> Iterator[Row]:
    first = table.sides[0]
    sides = {column.name: run.side(part.within, line.within, column.levels) for column in table.sides}
    floor = _floor(sides[first.name].levels, table.outcome, series)
    cases = {
        column.name: case_of(line.within, own_levels(part, run.study), column.levels)
        for column in table.sides
    }
    for name, found in sides.items():
        place = {TABLE: table.number, PART: part.key, SIDE: name}
        yield found.shown.row(cases[name], line.label, {**place, OPERATIONS: _operations(found)})
        common: dict[str, Any] = {"outcome": table.outcome, "label": line.label, "case": cases[name]}
        logs = _logs(found, table.outcome)
        yield from series.rows(logs, role=MEASURED, unit="s", more=place, **common)
        if name != first.name:
            yield from series.rows(
                _log_ratios(found, sides[first.name], table.outcome),
                role=RATIO,
                baseline=cases[first.name],
                of="ratio",
                noise_floor=floor,
                more={**place, AGAINST: first.name},
                **common,
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


def _floor(levels: CaseLevels | None, name: str, series: Series) -> float | None:
    """From the control of this very case, or of the nearest one under the same workload."""
    if levels is None:
        return None
    control = nearest(levels, series.control_ratios(name))
    return stats.noise_floor(control) if control is not None else None
