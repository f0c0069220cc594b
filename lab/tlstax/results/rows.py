"""A row of a topic: one outcome of a case, by itself or beside another, as numbers that no format has seen.

Every topic gives such rows, and every format reads them: the JSON, the one table of results (CSV, SQL,
Parquet), the tables of text. What a topic alone knows of a row has a column of its own in `more`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.study import Level
from tlstax.study.factors import CaseLevels

Of = Literal["value", "ratio", "difference"]

More = str | int | float | bool | tuple[int, ...] | None
"""What a topic's own column holds."""


def _is_left_out(value: object) -> bool:
    """Whether a field says nothing, so that the JSON of a row has what is known alone."""
    return value is None or value in ("", (), {})


def _optional(default: Any = None) -> Any:
    return Field(default=default, exclude_if=_is_left_out)


class Row(Frozen):
    """One outcome of a case, and what it is beside another case.

    `role` is the kind of row, where a topic has several; empty, it is the topic's name. `value` is in `unit`,
    as is `baseline_value`, the same of what the case is compared with (whose levels are `baseline`).
    `interval` is what is known of the value itself, of its ratio to the baseline's, or of the difference of
    both, as `of` says; `blocks` is there without one. `noise_floor` is the difference below which nothing can
    be told, in the terms of the interval. `more` has the topic's own columns, which its `Topic` declares.
    """

    outcome: str = _optional("")
    unit: str = _optional("")
    role: str = _optional("")
    label: str = _optional("")
    case: CaseLevels = _optional(CaseLevels())
    baseline: CaseLevels = _optional(CaseLevels())
    value: float | None = _optional()
    baseline_value: float | None = _optional()
    interval: Interval | None = _optional()
    of: Of = "value"
    blocks: int | None = _optional()
    noise_floor: float | None = _optional()
    judgement: str = _optional("")
    negotiated: str = _optional("")
    caveats: tuple[str, ...] = _optional(())
    more: dict[str, More] = _optional({})

    @model_validator(mode="before")
    @classmethod
    def _point_is_the_value(cls, data: Any) -> Any:
        """An interval of the value says what the value is, and from how many blocks any is."""
        interval = data.get("interval")
        if not isinstance(interval, Interval):
            return data
        known: dict[str, Any] = {"blocks": interval.blocks}
        if data.get("of", "value") == "value":
            known["value"] = interval.point
        return {**known, **{name: value for name, value in data.items() if value is not None}}

    @property
    def ratio(self) -> Interval:
        """The interval of a row that is of a ratio. ValueError for another."""
        return self._interval_of("ratio")

    @property
    def known(self) -> Interval:
        """The interval of a row that has one. ValueError for one without."""
        if self.interval is None:
            raise ValueError(f"the row of {self.outcome} has no interval")
        return self.interval

    @property
    def difference(self) -> Interval:
        """The interval of a row that is of a difference. ValueError for another."""
        return self._interval_of("difference")

    def _interval_of(self, kind: Of) -> Interval:
        if self.of != kind:
            raise ValueError(f"the row of {self.outcome} is of a {self.of}, not of a {kind}")
        return self.known

    @property
    def amount(self) -> float:
        """The value as a number to reckon with: 0 where there is none."""
        return self.value or 0.0

    @property
    def baseline_amount(self) -> float:
        """The same of the baseline's value."""
        return self.baseline_value or 0.0

    def numbers(self, column: str) -> tuple[int, ...]:
        """The several numbers that one of the topic's own columns has; none where it has nothing."""
        value = self.more.get(column)
        return value if isinstance(value, tuple) else ()

    def number(self, column: str) -> float | None:
        """What one of the topic's own columns has as a number; None where it has nothing."""
        value = self.more.get(column)
        return float(value) if isinstance(value, int | float) else None

    def word(self, column: str) -> str:
        """What one of the topic's own columns has as text; empty where it has nothing."""
        value = self.more.get(column)
        return "" if value is None else text_of(value)


def text_of(value: More) -> str:
    """What stands in a column as text; of several numbers each."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


class Told(Frozen):
    """What a run shows of a topic: its rows, and the same in sentences."""

    title: str
    sentences: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    def of(self, *outcomes: str, role: str | None = None) -> tuple[Row, ...]:
        """The rows of these outcomes (none: of all), and of a role where one is named."""
        return tuple(
            row
            for row in self.rows
            if (not outcomes or row.outcome in outcomes) and (role is None or row.role == role)
        )


class Document(Frozen):
    """A document that is printed as JSON: what is the version of its form here is `schema` there."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)


class ToldOfRun(Document):
    """What a command tells of one topic of a run: `explain`, of one that counted locks, who takes more."""

    schema_version: Literal[2] = Field(default=2, alias="schema")
    run: str
    told: Told


@dataclass(frozen=True)
class RowSet:
    """The rows of one thing, found by their outcomes, with or without what is before a colon there."""

    rows: Sequence[Row]

    def row(self, outcome: str, unit: str = "") -> Row | None:
        """The row of an outcome, in this unit where several have it; None where there is none."""
        every = (row for row in self.rows if outcome in (row.outcome, row.outcome.rpartition(": ")[2]))
        return next((row for row in every if unit in ("", row.unit)), None)

    def interval(self, outcome: str, unit: str = "") -> Interval | None:
        """What is known of it; None where nothing is."""
        row = self.row(outcome, unit)
        return None if row is None else row.interval

    def known(self, outcome: str, unit: str = "") -> Interval:
        """What is known of an outcome that the thing has. KeyError where it has none, or no interval."""
        found = self.interval(outcome, unit)
        if found is None:
            raise KeyError(outcome)
        return found


def by_case(rows: Iterable[Row]) -> tuple[RowSet, ...]:
    """The rows of each case, in the order in which cases first come."""
    grouped: dict[frozenset[tuple[str, Level]], list[Row]] = {}
    for row in rows:
        grouped.setdefault(frozenset(row.case.items()), []).append(row)
    return tuple(map(RowSet, grouped.values()))


def by_label(rows: Iterable[Row]) -> Mapping[str, tuple[Row, ...]]:
    """The rows of each label, in the order in which labels first come."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.label, []).append(row)
    return {label: tuple(own) for label, own in grouped.items()}
