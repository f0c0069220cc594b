"""Workloads by their sizes: results of so many rows of so many bytes, and statements of so many bytes.

`rows-100x1024` selects 100 rows of 1024 bytes on a kept connection; `sent-1024` sends 1024 bytes in a
statement, and gets their number back. What a byte costs either way is in the slope over the sizes.
"""

from __future__ import annotations

import re
from math import ceil
from typing import NamedTuple, Self

from tlstax.contract import Statement, Workload
from tlstax.study.workloads.sessions import ROW_BYTES

MOST_RESULT_BYTES = 64 << 20
MOST_ROW_BYTES, MOST_SENT_BYTES = 8 << 20, 8 << 20
"""Less than max_allowed_packet, which is 16 MiB at the least (MariaDB's default)."""

MOST_KEPT_ROWS, MOST_KEPT_BYTES = 20_000, 1 << 20
"""What the engine keeps of a result at the most (`load/src/connection/asking.rs`, `load/src/shared.rs`)."""

_ROWS = re.compile(r"rows-([1-9][0-9]{0,6})x([1-9][0-9]{0,6})")
_SENT = re.compile(r"sent-([1-9][0-9]{0,6})")

FORM = "rows-RxB and sent-B, such as rows-100x1024"
"""How such names are made, for a message."""


class Rows(NamedTuple):
    """One select of `rows` rows, each of `row_bytes` bytes, on a kept connection."""

    rows: int
    row_bytes: int

    @classmethod
    def named(cls, name: str) -> Self | None:
        """What a workload's name stands for; None where it is not such a name, or of numbers too large."""
        found = _ROWS.fullmatch(name)
        if found is None:
            return None
        own = cls(int(found[1]), int(found[2]))
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
        return f"selects of {what} of {self.row_bytes:,} bytes"

    def workload(self, table: str, rows: int) -> Workload:
        """The contract's workload; a table of fewer rows than are selected is joined with itself."""
        source = table if self.rows <= rows else f"{table} CROSS JOIN {table} AS again"
        column = f"LEFT(REPEAT({table}.c, {ceil(self.row_bytes / ROW_BYTES)}), {self.row_bytes})"
        sql = f"SELECT {column} FROM {source} LIMIT {self.rows}"  # noqa: S608 - our name
        return Workload(protocol="text", statements=(Statement(sql=sql),))


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
        sql = f"SELECT LENGTH('{'x' * self.sent_bytes}')"
        return Workload(protocol="text", statements=(Statement(sql=sql),))
