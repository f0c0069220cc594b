"""What a table is: columns with a type, a unit and a meaning, and rows that hold to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Literal

Value = str | int | float | None

Values = dict[str, Value]
"""A row by the names of its columns; what is None or left out stays empty."""

ColumnType = Literal["TEXT", "INTEGER", "REAL"]
"""As SQLite and DuckDB have it; yes and no are 1 and 0."""

_TYPES: dict[ColumnType, type[str | int | float]] = {"TEXT": str, "INTEGER": int, "REAL": float}


@dataclass(frozen=True)
class Column:
    """A column: its unit stands last in its name where it has one; `unit` spells it out."""

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""

    def holds(self, value: object) -> Value:
        """The value as this column's type. TypeError for one that is of another.

        None for what is no finite number, as in JSON.
        """
        if value is None or (isinstance(value, float) and not isfinite(value)):
            return None
        if isinstance(value, bool) or (isinstance(value, int) and self.type == "REAL"):
            value = _TYPES[self.type](value)
        if isinstance(value, int | float) and self.type == "TEXT":
            value = str(value)
        if not isinstance(value, _TYPES[self.type]):
            raise TypeError(f"column {self.name} is {self.type}, and a row has {value!r} there")
        return value


GROUP = Column("group_words", "TEXT", "what the case shares with others of its group, in words")
TRIALS = Column("trials", "INTEGER", "how many valid trials the row is from")
SIDE = Column("side", "TEXT", "client or server; of a published table, its side")
MACHINE = Column("machine", "TEXT", "the machine that the row is of")
FUNCTION = Column("function", "TEXT", "the function; empty: it has no name there")
LIBRARY = Column("library", "TEXT", "the file that the function is in")
POOLED = Column("pooled_connections", "TEXT", "the numbers of connections that a ratio is pooled over")
NOISE_FROM = Column("noise_from", "TEXT", "whose processes show the noise floor")
KEPT = Column("kept_workload", "TEXT", "the workload on kept connections that one which makes them is beside")
PUBLISHED = Column("published", "REAL", "the same ratio or share of figures that others published", "1")
AGAINST = Column(
    "against", "TEXT", "the published figure, or the side of a table, that this one is set in ratio to"
)
SOURCE = Column("source", "TEXT", "who published it, and where")
"""What several topics' rows have: all of these."""


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row is, by which columns a row is told from all others, its columns."""

    name: str
    one_row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    def checked(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Values]:
        """The rows with all columns in their order, each value of its column's type.

        What a row leaves out is None. KeyError for a column that is not the table's.
        """
        for row in rows:
            values = {name: self._by_name[name].holds(value) for name, value in row.items()}
            yield {name: values.get(name) for name in self._by_name}
