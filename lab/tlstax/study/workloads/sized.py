"""Workloads by their sizes: N selects, or rows, of M bytes, and statements of M bytes.

`session-10x2048` connects, selects ten times 2048 bytes and disconnects; `answer-2048` selects 2048 bytes on
a kept connection. What a connection and a statement cost is found from a few of them (`topics/prediction`).
Each select is of one row by its primary key, whose value is as long as the answer: a server does nothing with
it but to send it, and a compression finds what it finds in digits.

`rows-100x1024` selects 100 rows of 1024 bytes on a kept connection; `sent-1024` sends 1024 bytes in a
statement, and gets their number back; `insert-1024` inserts a row of 1024 bytes, `insert-100x1024` a hundred
of them in one statement. What a byte costs either way is in the slope over the sizes.

All that travels is random digits, as in sysbench's table: a compression halves them, and none does much
better. Rows longer than the table's are values that a connection sets when it is made, as many different ones
in turn that nothing repeats within the 32 KiB in which zlib looks for repetitions. A value that the server
repeats would be compressed to nothing, and one that it joins for each row would cost more than to send it.

`connect-rows-100x1024` makes a connection for such a select. It has no time to set values, and repeats one.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache
from math import ceil
from typing import NamedTuple, Self

from tlstax.contract import Statement, UniformInt, Workload
from tlstax.study.product import DEFAULT, ProductName

MOST_STATEMENTS, MOST_BYTES = 1000, 1 << 20

MOST_ROWS_EACH, ROWS_BYTES = 1000, 1 << 20
"""How many rows the table of answers has of a size: as many as fit in these bytes, and never more."""

FIRST_ID = 10**9
"""All ids have ten digits, so that no statement is longer than another."""

FEW_STATEMENTS = 20
"""Below this many statements on a connection, making it is two fifths of what a server spends on it."""

_SESSION = re.compile(r"session-([1-9][0-9]{0,3})x([1-9][0-9]{0,6})|answer-([1-9][0-9]{0,6})")

SESSION_FORM = "session-QxB and answer-B, such as session-10x2048"
"""How such names are made, for a message."""


class Session(NamedTuple):
    """Selects on one connection, and how many bytes each returns. `statements` None: it is kept."""

    statements: int | None
    answer_bytes: int

    @classmethod
    def named(cls, name: str) -> Self | None:
        """What a workload's name stands for; None where it is not such a name, or of numbers too large."""
        found = _SESSION.fullmatch(name)
        if found is None:
            return None
        statements = int(found[1]) if found[1] else None
        session = cls(statements, int(found[2] or found[3]))
        large = session.answer_bytes > MOST_BYTES or (statements or 0) > MOST_STATEMENTS
        return None if large else session

    @property
    def name(self) -> str:
        """The workload's name."""
        if self.statements is None:
            return f"answer-{self.answer_bytes}"
        return f"session-{self.statements}x{self.answer_bytes}"

    @property
    def words(self) -> str:
        """What the workload is called in a report."""
        size = f"{self.answer_bytes:,} bytes"
        if self.statements is None:
            return f"selects of {size} on kept connections"
        selects = "one select" if self.statements == 1 else f"{self.statements} selects"
        return f"a connection for {selects} of {size}"

    def workload(self, table: str, rows: int) -> Workload:  # noqa: ARG002 (its size says how many there are)
        """The contract's workload, as text queries by the primary key of `table`, which holds answers.

        They have more than 50 bytes, as most real ones do: shorter packets are not compressed.
        """
        ids = ids_of(self.answer_bytes)
        by_id = Statement(
            sql=f"SELECT answer FROM {table} AS asked WHERE asked.id={{id}}",  # noqa: S608 - our name
            parameters={"id": UniformInt(low=ids[0], high=ids[-1])},
            repeat=self.statements or 1,
        )
        return Workload(reconnect=self.statements is not None, protocol="text", statements=(by_id,))


def ids_of(answer_bytes: int) -> range:
    """The ids of the rows of this size in the table of answers; those of two sizes have none in common."""
    first = FIRST_ID + answer_bytes * MOST_ROWS_EACH
    return range(first, first + max(1, min(MOST_ROWS_EACH, ROWS_BYTES // answer_bytes)))


VALUE_BYTES = 119
"""How long the values in the column `c` of sysbench's table are."""

VALUE = "@tlstax_{}"
"""The variables in which a connection has its values."""

SETTING = "tlstax.value_{}"
"""The same of PostgreSQL: settings of a session may have any name with a point in it, and any text."""

WINDOW_BYTES = 32 << 10
"""How far back zlib looks for repetitions (RFC 1951, section 2). Zstandard looks further, but no further than
a compressed packet, in which servers put some 16 KiB of short rows, or one that is longer."""

MOST_RESULT_BYTES = 64 << 20
MOST_ROW_BYTES, MOST_SENT_BYTES = 8 << 20, 8 << 20
"""Less than max_allowed_packet, which is 16 MiB at the least (MariaDB's default)."""

MOST_KEPT_ROWS, MOST_KEPT_BYTES = 20_000, 1 << 20
"""What the engine keeps of a result at the most (`load/src/connection/asking.rs`, `load/src/shared.rs`)."""

_ROWS = re.compile(r"(connect-)?rows-([1-9][0-9]{0,6})x([1-9][0-9]{0,6})")
_SENT = re.compile(r"sent-([1-9][0-9]{0,6})")
_INSERTED = re.compile(r"insert-(?:([1-9][0-9]{0,5})x)?([1-9][0-9]{0,6})")

BULK_FORM = "rows-RxB, connect-rows-RxB, sent-B, insert-B and insert-RxB, such as rows-100x1024"
"""How such names are made, for a message."""


class Rows(NamedTuple):
    """One select of `rows` rows, each of `row_bytes` bytes, on a kept connection or on one of its own."""

    rows: int
    row_bytes: int
    connects: bool = False

    @classmethod
    def named(cls, name: str) -> Self | None:
        """What a workload's name stands for; None where it is not such a name, or of numbers too large."""
        found = _ROWS.fullmatch(name)
        if found is None:
            return None
        own = cls(int(found[2]), int(found[3]), found[1] is not None)
        large = own.row_bytes > MOST_ROW_BYTES or own.rows * own.row_bytes > MOST_RESULT_BYTES
        return None if large else own

    @property
    def is_too_large_to_keep(self) -> bool:
        """Whether the engine keeps no such result for the server to be asked again."""
        return self.rows > MOST_KEPT_ROWS or self.rows * self.row_bytes > MOST_KEPT_BYTES

    @property
    def words(self) -> str:
        """What the workload is called in a report."""
        what = "one row" if self.rows == 1 else f"{self.rows:,} rows"
        if self.connects:
            return f"a connection for {what} of {self.row_bytes:,} bytes"
        return f"selects of {what} of {self.row_bytes:,} bytes"

    @property
    def is_made_of_values(self) -> bool:
        """Whether its rows are longer than the table's, and so values that connections have set.

        A connection that is there for one select sets none: that would be most of its cost.
        """
        return self.row_bytes > VALUE_BYTES and not self.connects

    def workload(self, table: str, rows: int, product: ProductName = DEFAULT) -> Workload:
        """The contract's workload; a table of fewer rows than are selected is joined with itself.

        Where a statement names no rows, MySQL takes it to want all of them, and reads thousands ahead.
        """
        in_settings = product == "postgresql"
        source = f"{table} WHERE {table}.id <= {self.rows}"
        if self.rows > rows:
            source = f"{table} CROSS JOIN {table} AS again"
        column = self._column(table, in_settings=in_settings)
        sql = f"SELECT {column} FROM {source} LIMIT {self.rows}"  # noqa: S608 - our name
        statements = (Statement(sql=sql),)
        values = self._settings(table, rows) if in_settings else self._values(table, rows)
        return Workload(reconnect=self.connects, protocol="text", statements=statements, on_connect=values)

    def _column(self, table: str, *, in_settings: bool) -> str:
        if not self.is_made_of_values:
            times = ceil(self.row_bytes / VALUE_BYTES)
            value = f"{table}.c" if times == 1 else f"REPEAT({table}.c, {times})"
            return f"LEFT({value}, {self.row_bytes})"
        if in_settings:
            return self._setting_of(table)
        values = ", ".join(VALUE.format(number) for number in range(self._distinct))
        return values if self._distinct == 1 else f"ELT(1 + {table}.id % {self._distinct}, {values})"

    def _setting_of(self, table: str) -> str:
        """The value of a row, of which the others are not even read."""
        values = [f"current_setting('{SETTING.format(number)}')" for number in range(self._distinct)]
        if len(values) == 1:
            return values[0]
        cases = " ".join(f"WHEN {number} THEN {value}" for number, value in enumerate(values))
        return f"CASE {table}.id % {self._distinct} {cases} END"

    @property
    def _distinct(self) -> int:
        """How many values the rows are made of in turn."""
        return min(self.rows, ceil(WINDOW_BYTES / self.row_bytes) + 1)

    def _values(self, table: str, rows: int) -> tuple[str, ...]:
        """What sets the values on a connection: of each the rows of another part of the table, joined.

        A part that is shorter than the value is repeated.
        """
        if not self.is_made_of_values:
            return ()
        each, times = self._parts(rows)
        sets = []
        for number in range(self._distinct):
            part = f"SELECT c FROM {table} LIMIT {each} OFFSET {number * each}"  # noqa: S608 - our name
            joined = f"(SELECT GROUP_CONCAT(c SEPARATOR '') FROM ({part}) AS part)"  # noqa: S608
            sets.append(f"{VALUE.format(number)} = LEFT(REPEAT({joined}, {times}), {self.row_bytes})")
        return f"SET SESSION group_concat_max_len = {each * VALUE_BYTES}", f"SET {', '.join(sets)}"

    def _settings(self, table: str, rows: int) -> tuple[str, ...]:
        """The same of PostgreSQL; only the lengths of the values come back."""
        if not self.is_made_of_values:
            return ()
        each, times = self._parts(rows)
        sets = []
        for number in range(self._distinct):
            part = f"SELECT id, c FROM {table} ORDER BY id LIMIT {each} OFFSET {number * each}"  # noqa: S608
            joined = f"(SELECT string_agg(c, '' ORDER BY id) FROM ({part}) AS part)"  # noqa: S608 - our name
            value = f"LEFT(REPEAT({joined}, {times}), {self.row_bytes})"
            sets.append(f"LENGTH(set_config('{SETTING.format(number)}', {value}, false))")
        return (f"SELECT {', '.join(sets)}",)

    def _parts(self, rows: int) -> tuple[int, int]:
        """How many rows of the table a value is made of, and how often these are repeated."""
        each = max(1, min(ceil(self.row_bytes / VALUE_BYTES), rows // self._distinct))
        return each, ceil(self.row_bytes / (each * VALUE_BYTES))


class Sent(NamedTuple):
    """One statement of `sent_bytes` bytes beside its words, on a kept connection."""

    sent_bytes: int

    @classmethod
    def named(cls, name: str) -> Self | None:
        """What a workload's name stands for; None where it is not such a name, or of a number too large."""
        found = _SENT.fullmatch(name)
        own = cls(int(found[1])) if found else None
        return own if own and own.sent_bytes <= MOST_SENT_BYTES else None

    @property
    def words(self) -> str:
        """What the workload is called in a report."""
        return f"statements of {self.sent_bytes:,} bytes"

    def workload(self, table: str, rows: int) -> Workload:  # noqa: ARG002 (it reads no table)
        """The contract's workload: the server counts the bytes, and keeps none."""
        sql = f"SELECT LENGTH('{digits(self.sent_bytes)}')"
        return Workload(protocol="text", statements=(Statement(sql=sql),))


class Inserted(NamedTuple):
    """One statement that inserts `rows` rows, each with `row_bytes` bytes beside its id, and commits."""

    rows: int
    row_bytes: int

    @classmethod
    def named(cls, name: str) -> Self | None:
        """What a workload's name stands for; None where it is not such a name, or of numbers too large."""
        found = _INSERTED.fullmatch(name)
        own = cls(int(found[1] or 1), int(found[2])) if found else None
        return own if own and own.rows * own.row_bytes <= MOST_SENT_BYTES else None

    @property
    def words(self) -> str:
        """What the workload is called in a report."""
        what = "one row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"inserts of {what} of {self.row_bytes:,} bytes"

    def workload(self, table: str, rows: int) -> Workload:  # noqa: ARG002 (it reads no table)
        """The contract's workload; each of its rows has digits of its own."""
        drawn = digits(self.rows * self.row_bytes)
        bodies = (drawn[at : at + self.row_bytes] for at in range(0, len(drawn), self.row_bytes))
        values = ", ".join(f"('{body}')" for body in bodies)
        sql = f"INSERT INTO {table} (body) VALUES {values}"  # noqa: S608 - our name
        return Workload(protocol="text", statements=(Statement(sql=sql),))


@lru_cache(maxsize=8)
def digits(length: int) -> str:
    """N random digits, the same ones every time."""
    drawn = random.Random(length).randbytes(length)  # noqa: S311 (no secret)
    return drawn.translate(bytes(ord("0") + byte % 10 for byte in range(256))).decode("ascii")
