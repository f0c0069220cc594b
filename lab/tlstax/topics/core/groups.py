"""A run arranged as people read it: one group a comparison, one row a case, and the group's main table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlstax.contract import OpenLoop
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import Finding, RunDocument
from tlstax.results.rows import Row as TopicRow
from tlstax.stats.wording import no_valid_trial
from tlstax.study import Case, Level, Study
from tlstax.study.design import DECIDES_AT_A_RATE
from tlstax.study.labels import finding_levels, group_label, label_levels
from tlstax.study.outcomes import percentile_name
from tlstax.topics.core import figures, palette
from tlstax.topics.core.charts import Style, level_style
from tlstax.topics.core.figures import NOTHING, Scale
from tlstax.topics.core.outcome_names import MAIN_OUTCOMES, in_order


@dataclass(frozen=True)
class Row:
    """A case, how it is drawn, what was found for it and the trials behind it.

    `findings` and `unpaired` are by outcome; both are empty where no trial of the case was valid.
    """

    case: Case
    style: Style
    findings: Mapping[str, Finding] = field(default_factory=dict)
    unpaired: Mapping[str, TopicRow] = field(default_factory=dict)
    trials: tuple[TrialRecord, ...] = ()

    @property
    def label(self) -> str:
        """What the case is called in its group."""
        return self.style.label

    @property
    def valid(self) -> tuple[TrialRecord, ...]:
        """The trials that findings were drawn from."""
        return tuple(record for record in self.trials if record.is_valid)

    @property
    def negotiated(self) -> str:
        """What was negotiated, in short; empty where nothing valid ran."""
        return next((finding.negotiated for finding in self.findings.values()), "")

    @property
    def treatment_seen(self) -> str:
        """What was negotiated, where that says more than the label and is not the baseline's once more."""
        return "" if self.case.role == "control" or self.negotiated == self.label else self.negotiated

    def value(self, outcome: str) -> Finding | TopicRow | None:
        """What was found for this outcome, with a ratio where the baseline has it too."""
        return self.findings.get(outcome) or self.unpaired.get(outcome)

    def why_empty(self) -> str:
        """Why there is no finding: the first reason of its trials' verdicts."""
        if not self.trials:
            return "not run"
        return "no valid trial of the baseline beside it" if self.valid else no_valid_trial(self.trials)


@dataclass(frozen=True)
class Group:
    """The cases of one comparison: they share all levels outside the baseline's factors.

    `asked` are the outcomes that the run was made for; their differences are told with intervals.
    """

    label: str
    rows: tuple[Row, ...]
    asked: tuple[str, ...]

    @property
    def baseline_label(self) -> str:
        """What the others are compared with."""
        return next(row.label for row in self.rows if row.case.role == "baseline")

    def outcomes(self) -> list[str]:
        """The outcomes found here, in a report's order."""
        return in_order({outcome for row in self.rows for outcome in (*row.findings, *row.unpaired)})

    def main_outcomes(self) -> list[str]:
        """The outcomes of the main table that were found here, those that are asked for first."""
        found = [outcome for outcome in self.outcomes() if outcome in MAIN_OUTCOMES]
        return sorted(found, key=lambda outcome: outcome not in self.asked)

    def answers(self) -> list[str]:
        """Those of the main table that are asked for; where there is none of them, its first."""
        shown = self.main_outcomes()
        return [outcome for outcome in shown if outcome in self.asked] or shown[:1]

    def found(self) -> tuple[Row, ...]:
        """The rows that have findings."""
        return tuple(row for row in self.rows if row.findings)

    def compared(self) -> tuple[Row, ...]:
        """The rows that have a ratio worth drawing: all with findings but the baseline."""
        return tuple(row for row in self.found() if row.case.role != "baseline")

    def noise_floor(self, outcome: str) -> float | None:
        """Below which relative difference of this outcome nothing can be told here; None without control."""
        findings = (row.findings.get(outcome) for row in self.rows)
        return next((f.noise_floor for f in findings if f is not None and f.noise_floor is not None), None)


def arranged(stored: StoredRun, document: RunDocument) -> tuple[Group, ...]:
    """Every group of the run's study, in the study's order; cases without findings stay in."""
    study, planned = stored.header.study, list(cases(stored.header.study))
    unpaired = document.rows_of("unpaired")
    asked: tuple[str, ...] = (study.deciding_outcome,)
    if isinstance(study.schedule, OpenLoop) and study.deciding_outcome == DECIDES_AT_A_RATE:
        # At a given rate the median of latencies does not go without their tail.
        asked = (study.deciding_outcome, percentile_name("operation", 99))
    # A number for each treatment, the same in every group: its colour and shape.
    apart = {case.key(): tuple(case.levels[name] for name in study.baseline) for case in planned}
    treatments = list(dict.fromkeys(apart[case.key()] for case in planned if case.role == "treatment"))
    rows: dict[tuple[tuple[str, Level], ...], list[Row]] = {}
    for case in planned:
        named, levels = finding_levels(case), apart[case.key()]
        row = Row(
            case=case,
            style=_style(case, study, treatments.index(levels) if levels in treatments else 0),
            findings={found.outcome: found for found in document.findings if found.case == named},
            unpaired={found.outcome: found for found in unpaired if found.case == named},
            trials=tuple(record for record in stored.measured if record.trial.case == case),
        )
        rows.setdefault(tuple(study.group_of(case.levels).items()), []).append(row)
    return tuple(
        Group(group_label(dict(shared), study) or "all cases", tuple(own), asked)
        for shared, own in rows.items()
    )


def _style(case: Case, study: Study, place: int) -> Style:
    label = label_levels(case.levels, study)
    if case.role == "baseline":
        return Style(label, palette.BASELINE.light, "circle")
    if case.role == "control":
        return Style(f"{label} again", palette.CONTROL.light, "circle", hollow=True)
    return level_style(label, place, shape=0)


@dataclass(frozen=True)
class Cell:
    """A value in its column's unit, and the change against the baseline with its interval.

    `judgement` is the finding's, or empty where there is nothing to judge.
    """

    value: str
    change: str = ""
    interval: str = ""
    judgement: str = ""

    @property
    def mark(self) -> str:
        """The sign of a change that is not seen to be one: alike, or not known yet."""
        return figures.mark(self.judgement)


@dataclass(frozen=True)
class Column:
    """An outcome's column: its head, the unit of its values, and whether it `is_answer` of its group."""

    outcome: str
    head: str
    unit: str
    cells: tuple[Cell, ...]
    is_answer: bool


def main_columns(group: Group) -> tuple[Column, ...]:
    """A column for each main outcome found here, a cell for each row of the group."""
    columns = []
    for outcome in group.main_outcomes():
        known = [found for row in group.rows if (found := row.value(outcome)) is not None]
        scale = figures.column_scale((found.value or 0.0 for found in known), known[0].unit)
        unit = "" if scale.unit == "/s" else scale.unit
        cells = tuple(cell(row, outcome, scale) for row in group.rows)
        columns.append(Column(outcome, MAIN_OUTCOMES[outcome].head, unit, cells, outcome in group.answers()))
    return tuple(columns)


def cell(row: Row, outcome: str, scale: Scale | None = None) -> Cell:
    """What a row shows of an outcome: in the column's unit, or without one in the unit that suits."""
    found = row.value(outcome)
    if found is None or found.value is None:
        return Cell(NOTHING)
    if scale is None:
        value = figures.quantity(found.value, found.unit)
    else:
        value = figures.significant(found.value / scale.divisor)
    if not isinstance(found, Finding) or found.role == "baseline":
        return Cell(value)
    return Cell(
        value=value,
        change=figures.change(found.ratio),
        interval=figures.interval(found.ratio),
        judgement=found.judgement,
    )
