"""Workloads by their numbers: so many selects of so many bytes, on a connection of their own or a kept one.

`session-10x2048` connects, selects ten times 2048 bytes and disconnects; `answer-2048` selects 2048 bytes on
a kept connection. What a connection and a statement cost is found from a few of them (`findings/model`).
"""

from __future__ import annotations

import re
from math import ceil
from typing import NamedTuple, Self

from tlstax.contract import Statement, UniformInt, Workload
from tlstax.study.workloads.bulk import VALUE_BYTES

MOST_STATEMENTS, MOST_BYTES = 1000, 1 << 20

FEW_STATEMENTS = 20
"""Below so many statements on a connection, making it is two fifths of what a server spends on it."""

_NAME = re.compile(r"session-([1-9][0-9]{0,3})x([1-9][0-9]{0,6})|answer-([1-9][0-9]{0,6})")

FORM = "session-QxB and answer-B, such as session-10x2048"
"""How such names are made, for a message."""


class Session(NamedTuple):
    """Selects on one connection, and how many bytes each returns. `statements` None: it is kept."""

    statements: int | None
    answer_bytes: int

    @classmethod
    def named(cls, name: str) -> Self | None:
        """What a workload's name stands for; None where it is not such a name, or of numbers too large."""
        found = _NAME.fullmatch(name)
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

    def workload(self, table: str, rows: int) -> Workload:
        """The contract's workload, as text queries by the primary key of `table` of so many rows."""
        by_id = Statement(
            sql=f"SELECT {_column(self.answer_bytes)} FROM {table} WHERE id={{id}}",  # noqa: S608 - our name
            parameters={"id": UniformInt(low=1, high=rows)},
            repeat=self.statements or 1,
        )
        return Workload(reconnect=self.statements is not None, protocol="text", statements=(by_id,))


def _column(answer_bytes: int) -> str:
    """An expression of exactly so many bytes, made of a row's by copying.

    It is of one form for all sizes: each function that a statement calls costs the server some microseconds.
    Of bytes rather than characters, since a server that cuts characters counts them one by one: in MariaDB
    that takes several times as long as sending them.
    """
    return f"LEFT(REPEAT(CAST(c AS BINARY), {ceil(answer_bytes / VALUE_BYTES)}), {answer_bytes})"
