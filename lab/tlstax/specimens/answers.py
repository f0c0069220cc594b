"""A server's answers, of the shape that was asked for: anything else is the server's fault and said so."""

from __future__ import annotations

import re
from typing import Any

from pymysql.constants import CR
from pymysql.err import OperationalError

from tlstax.specimens.server import Database

_NUMBER = re.compile(r"-?[0-9]{1,20}")
"""What a 64-bit integer of a server's looks like. Unicode has digits of which int() makes nothing."""


class Malformed(OperationalError):
    """The server did not keep to its protocol, or answered another question than was asked."""

    def __init__(self, what: str) -> None:
        super().__init__(CR.CR_MALFORMED_PACKET, what)


def rows(database: Database, statement: str, *values: object, columns: int) -> list[tuple[Any, ...]]:
    """All rows of the answer, each with so many columns. Raises pymysql's errors, Malformed among them."""
    with database.cursor() as cursor:
        cursor.execute(statement, values or None)
        found = list(cursor.fetchall())
    for row in found:
        if len(row) != columns:
            raise Malformed(f"{len(row)} columns came where {columns} were asked for")
    return found


def row(database: Database, statement: str, *values: object, columns: int) -> tuple[Any, ...]:
    """The first row of the answer, which must have one. Raises as `rows` does."""
    for found in rows(database, statement, *values, columns=columns):
        return found
    raise Malformed("no row came where one was asked for")


def as_number(value: object) -> int | None:
    """The integer that a server's value is, None for anything else."""
    text = str(value)
    return int(text) if _NUMBER.fullmatch(text) else None


def number(value: object) -> int:
    """The integer that a server's value must be. Raises Malformed."""
    found = as_number(value)
    if found is None:
        raise Malformed(f"{str(value)[:40]!r} came where a number was asked for")
    return found
