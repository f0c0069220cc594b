"""The tables that workloads work on: made, filled, kept as a copy, put back as they were and settled.

What each product says of its own is in its room (`mysql/table.py`, `postgres/table.py`). Statements that fail
raise SqlError; the servers' `prepare_table` reports them in a sentence.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar

from tlstax.records.trial import TableState
from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.sql.ownership import PRIVATE, Mark, not_ours
from tlstax.sql.table_rows import LAYOUTS, Layout, Row, TableContent
from tlstax.study.workloads import KEPT, Shape
from tlstax.support.errors import UserMistake

Fill = Callable[[list[Row]], None]
"""Adds rows to a table."""


class Tables(ABC):
    """A product's way with them; `{0}` stands for a table's quoted name in its statements.

    `name_form` is the form of names, of which `letters` says what letters they have. An index is called by
    `index_name`: `{0}` is its table's bare name, `{1}` its own. `columns_asked` is answered by the names of a
    table's columns, `indexes_asked` by those of its indexes beside its key, at `index_place`.
    `sum_of_rows` adds up a number made of each row's columns, which stand for `{}`, with commas between.
    """

    quote: ClassVar[str]
    name_form: ClassVar[str]
    letters: ClassVar[str]
    index_name: ClassVar[str]
    columns_asked: ClassVar[str]
    indexes_asked: ClassVar[str]
    index_place: ClassVar[int] = 0
    sum_of_rows: ClassVar[str]

    @staticmethod
    @abstractmethod
    def row_number(row: bytes, /) -> int:
        """The number that a row adds to that sum."""

    def prepare(  # noqa: PLR0913 (the last three have a default)
        self,
        database: Database,
        name: str,
        content: TableContent,
        *,
        mark: Mark = PRIVATE,
        progress: Callable[[str], None] | None = None,
        between: Callable[[], None] = lambda: None,
    ) -> int:
        """Make and fill the table, or reuse the one that is there and equal; its row count.

        A table of this name that is ours but holds other data (left by a killed run, or changed by a
        workload) is replaced. UserMistake when a table of this name is not ours. `between` is called every
        now and then while it is filled.
        """
        self.check_name(name)
        report = progress or (lambda _: None)
        if self._is_there(database, name, mark):
            if self._is_equal(database, name, content):
                return content.rows
            self.drop(database, name)
        report(f"filling table {name} with {content.rows:,} rows")
        layout = LAYOUTS[content.shape]
        answers.carry_out(database, self._made_by(self.quoted(name), content.shape), mark.comment)
        fill = self._filling(database, self.quoted(name), layout.columns)
        for chunk in layout.chunks(content):
            between()
            fill(chunk)
        if layout.index:
            index = self.quoted(self._index(name, layout))
            asked = f"CREATE INDEX {index} ON {self.quoted(name)} ({layout.index[1]})"
            answers.carry_out(database, asked)
        self._settle(database, name)
        return content.rows

    def drop(self, database: Database, name: str) -> None:
        """Drop the table if it is there."""
        self.check_name(name)
        answers.carry_out(database, f"DROP TABLE IF EXISTS {self.quoted(name)}")

    def state(self, database: Database, name: str, shape: Shape) -> TableState:
        """What the table holds: its rows, and `sum_of_rows`."""
        layout = LAYOUTS[shape]
        # A CHAR may come with blanks at its end.
        columns = ", ".join(f"RTRIM({own})" if own in layout.padded else own for own in layout.columns)
        asked = f"SELECT COUNT(*), {self.sum_of_rows.format(columns)} FROM {self.quoted(name)}"  # noqa: S608
        rows, total = answers.row(database, asked, columns=2)
        return TableState(table=name, rows=answers.number(rows), checksum=answers.number(total or 0))

    def expected(self, name: str, content: TableContent) -> TableState:
        """What the table must hold."""
        return TableState(table=name, rows=content.rows, checksum=_checksum(content, self.row_number))

    def keep_copy(self, database: Database, name: str, shape: Shape, mark: Mark = PRIVATE) -> None:
        """A copy of the table beside it, from which it can be put back; one of ours is replaced.

        It has no index but its key: nobody asks it for less than all. UserMistake where its name is taken.
        """
        kept = name + KEPT
        self.check_name(kept)
        if self._is_there(database, kept, mark):
            self.drop(database, kept)
        answers.carry_out(database, self._made_by(self.quoted(kept), shape), mark.comment)
        self._copy(database, name, kept)

    def put_back(self, database: Database, name: str) -> None:
        """Make the table equal to its kept copy, from an empty file on: no gap of deleted rows is left."""
        self.check_name(name)
        answers.carry_out(database, f"TRUNCATE TABLE {self.quoted(name)}")
        self._copy(database, name + KEPT, name)
        self._settle(database, name)

    @abstractmethod
    def write_changed_pages(self, database: Database, table: str) -> None:
        """Have the table's changed pages written; nothing where the account may not do so."""

    @abstractmethod
    def is_purging(self, database: Database) -> bool:
        """Whether the server still clears away what was changed; False where the account may not ask."""

    def check_name(self, name: str) -> None:
        """UserMistake for a name that cannot stand in these statements."""
        if not re.fullmatch(self.name_form, name):
            raise UserMistake(
                f"{name!r} is not a table name that tlstax uses",
                remedy=f"use {self.letters}, digits and _",
            )

    def quoted(self, name: str) -> str:
        """A name that was checked, with its schema if it has one."""
        return ".".join(f"{self.quote}{part}{self.quote}" for part in name.split("."))

    @abstractmethod
    def _comments(self, database: Database, name: str) -> list[object]:
        """The comment of what has this name; none where nothing has."""

    @abstractmethod
    def _made_by(self, named: str, shape: Shape) -> str:
        """The statement that makes it, with a place for its comment."""

    @abstractmethod
    def _filling(self, database: Database, named: str, columns: Sequence[str]) -> Fill: ...

    @abstractmethod
    def _settle(self, database: Database, name: str) -> None:
        """Leave nothing to be done later that a trial would pay for."""

    def _copy(self, database: Database, name: str, into: str) -> None:
        asked = f"INSERT INTO {self.quoted(into)} SELECT * FROM {self.quoted(name)}"  # noqa: S608 (checked)
        answers.carry_out(database, asked)

    def _index(self, name: str, layout: Layout) -> str:
        return self.index_name.format(name.rpartition(".")[2], *layout.index or ())

    def _is_there(self, database: Database, name: str, mark: Mark) -> bool:
        """Whether there is a table of this name. UserMistake where it is not ours."""
        comments = self._comments(database, name)
        if not all(mark.is_ours(str(comment)) for comment in comments):
            raise not_ours(name)
        return bool(comments)

    def _is_equal(self, database: Database, name: str, content: TableContent) -> bool:
        """Whether the table has its columns, its index and exactly the rows that the seed gives."""
        layout, named = LAYOUTS[content.shape], self.quoted(name)
        columns = answers.column(database, self.columns_asked.format(named), place=0)
        if tuple(columns) != layout.columns:
            return False
        indexes = answers.column(database, self.indexes_asked.format(named), place=self.index_place)
        if set(indexes) != ({self._index(name, layout)} if layout.index else set()):
            return False
        return self.state(database, name, content.shape) == self.expected(name, content)


@lru_cache(maxsize=8)
def _checksum(content: TableContent, row_number: Callable[[bytes], int]) -> int:
    return sum(
        row_number(",".join(map(str, row)).encode("ascii"))
        for chunk in LAYOUTS[content.shape].chunks(content)
        for row in chunk
    )


def values_of(row: Row) -> str:
    """A row as SQL. Its text has no backslash, so a doubled quote is all the quoting that it takes."""
    values = (str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'" for value in row)
    return f"({','.join(values)})"
