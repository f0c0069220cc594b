"""The main table of a group as cells of text, the same for terminal, Markdown and page."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.results.document import Finding
from tlstax.topics.core import figures
from tlstax.topics.core.figures import NOTHING, Scale
from tlstax.topics.core.groups import Group, Row
from tlstax.topics.core.outcome_names import MAIN_OUTCOMES


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
    return tuple(_column(group, outcome) for outcome in group.main_outcomes())


def _column(group: Group, outcome: str) -> Column:
    found = [row.value(outcome) for row in group.rows]
    unit = next((finding.unit for finding in found if finding), "")
    scale = figures.column_scale((finding.value for finding in found if finding), unit)
    unit = "" if scale.unit == "/s" else scale.unit
    cells = tuple(cell(row, outcome, scale) for row in group.rows)
    head, is_answer = MAIN_OUTCOMES[outcome].head, outcome in group.answers()
    return Column(outcome=outcome, head=head, unit=unit, cells=cells, is_answer=is_answer)


def cell(row: Row, outcome: str, scale: Scale | None = None) -> Cell:
    """What a row shows of an outcome: in the column's unit, or without one in the unit that suits."""
    found = row.value(outcome)
    if found is None:
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
