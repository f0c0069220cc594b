"""A server's answers, of the shape that was asked for: anything else is the server's fault and said so."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from tlstax.contract import RowSample
from tlstax.sql.database import Database, SqlError
from tlstax.support.errors import MachineFault
from tlstax.support.text import counted, integer

MESSAGE_AT_MOST = 300
"""Characters; MySQL's own messages have no more than 512 bytes."""


NAME_AT_MOST = 64
"""Characters of a name (MySQL reference manual, "Identifier Length Limits"); PostgreSQL's have 63 bytes."""


ASKED_TIMES = 10
"""How often a round trip is taken."""


class Malformed(SqlError):
    """The server did not keep to its protocol, or answered another question than was asked."""

    def __init__(self, what: str) -> None:
        super().__init__("", what, is_of_connection=True)


def message_of(error: SqlError) -> str:
    """What the server or the connection says is wrong: on one line, and no more than a sentence holds."""
    text = " ".join(error.message.split())
    return text if len(text) <= MESSAGE_AT_MOST else f"{text[:MESSAGE_AT_MOST]}..."


def rows(database: Database, statement: str, *values: object, columns: int) -> list[tuple[Any, ...]]:
    """All rows of the answer, each with N columns. Raises SqlError, Malformed among them."""
    answer = database.rows(statement, values)
    for row in answer:
        if len(row) != columns:
            raise Malformed(f"an answer has {counted(len(row), 'column')} where {columns} were expected")
    return answer


def carry_out(database: Database, statement: str, *values: object) -> None:
    """Carry out a statement and pass over its answer. Raises SqlError."""
    database.rows(statement, values)


def commit(database: Database) -> None:
    """End the connection's transaction, if one was begun. Raises SqlError."""
    carry_out(database, "COMMIT")


def demand(admin: Database, statement: str, *values: object) -> tuple[tuple[Any, ...], ...]:
    """The rows of the answer; MachineFault, which names the statement, where the server does not give one."""
    try:
        return tuple(admin.rows(statement, values))
    except (SqlError, OSError) as error:
        raise MachineFault(f"the server did not carry out {statement} ({error.args[-1]})") from error


def column(database: Database, statement: str, *values: object, place: int) -> list[Any]:
    """The values of one column, counted from 0, of an answer that has it. Raises as `rows` does."""
    answer = database.rows(statement, values)
    if any(len(row) <= place for row in answer):
        raise Malformed(f"an answer has no column {place + 1} where one was expected")
    return [row[place] for row in answer]


def row(database: Database, statement: str, *values: object, columns: int) -> tuple[Any, ...]:
    """The first row of the answer, which must have one. Raises as `rows` does."""
    for first in rows(database, statement, *values, columns=columns):
        return first
    raise Malformed("an answer has no row where one was expected")


def pairs(database: Database, statement: str) -> dict[str, str]:
    """Names and their values: an answer of two columns, as to SHOW VARIABLES. Raises as `rows` does."""
    return {str(name): str(value) for name, value in rows(database, statement, columns=2)}


def name(value: object) -> str:
    """The name of an object or a schema that a server's value must be. Raises Malformed."""
    text = str(value)
    if value is None or not 0 < len(text) <= NAME_AT_MOST:
        raise Malformed(f"{text[:40]!r} was answered where a name was expected")
    return text


def as_number(value: object) -> int | None:
    """The integer that a server's value is, None for anything else."""
    return integer(str(value))


def number(value: object) -> int:
    """The integer that a server's value must be. Raises Malformed."""
    integer = as_number(value)
    if integer is None:
        raise Malformed(f"{str(value)[:40]!r} was answered where a number was expected")
    return integer


def round_trip_s(database: Database) -> float:
    """How long this connection's shortest question takes, the fastest of a few. Raises SqlError."""
    took = []
    for _ in range(ASKED_TIMES):
        began = time.perf_counter()
        row(database, "SELECT 1", columns=1)
        took.append(time.perf_counter() - began)
    return min(took)


def mismatches(admin: Database, samples: Sequence[RowSample], before: Iterable[str] = ()) -> tuple[str, ...]:
    """The statements whose rows, read again here, are not those of the sample.

    `before` is said first, where there are samples: what the statements need of their connection. Values are
    compared as text, NULL with None alone. A statement that the server refuses as text is among them:
    prepared, its parameters may have had other types. Raises SqlError where the server does not answer.
    """
    for statement in before if samples else ():
        carry_out(admin, statement)
    if _agree_at_once(admin, samples):
        return ()
    return tuple(sample.sql for sample in samples if not _agrees(admin, sample))


def _agrees(admin: Database, sample: RowSample) -> bool:
    """Whether the server answers the sample's statement with its rows."""
    try:
        return tuple(tuple(map(_as_text, row)) for row in admin.rows(sample.sql)) == sample.rows
    except SqlError as error:
        if error.is_of_connection:
            raise
        return False


def _agree_at_once(admin: Database, samples: Sequence[RowSample]) -> bool:
    """Whether one statement, which costs one round trip, shows that all rows are those of the samples.

    It asks where each has one row of a SELECT. Where it shows anything else, or cannot be carried out (two
    columns of one name, for example), that says nothing of the samples.
    """
    if not samples or any(len(one.rows) != 1 or not one.sql.startswith("SELECT ") for one in samples):
        return False
    asked = " UNION ALL ".join(
        f"SELECT {place}, one.* FROM ({sample.sql}) AS one"  # noqa: S608 (what the client said, as below)
        for place, sample in enumerate(samples)
    )
    with suppress(SqlError):
        rows = {int(place): tuple(map(_as_text, row)) for place, *row in admin.rows(asked)}
        return rows == {place: sample.rows[0] for place, sample in enumerate(samples)}
    return False


def _as_text(value: object) -> str | None:
    """A value as clients report it; bytes are those of a text."""
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
