"""Workloads by their numbers: so many selects of so many bytes, on a connection of their own or a kept one.

`session-10x2048` connects, selects ten times 2048 bytes and disconnects; `answer-2048` selects 2048 bytes on
a kept connection. What a connection and a statement cost is found from a few of them (`topics/prediction`).

Each select is of one row by its primary key, whose value is as long as the answer: a server does nothing with
it but to send it, and a compression finds what it finds in digits.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from tlstax.contract import Statement, UniformInt, Workload

MOST_STATEMENTS, MOST_BYTES = 1000, 1 << 20

MOST_ROWS_EACH, ROWS_BYTES = 1000, 1 << 20
"""How many rows the table of answers has of a size: as many as fit in these bytes, and never more."""

FIRST_ID = 10**9
"""All ids have ten digits, so that no statement is longer than another."""

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
