"""Rows that a client says it read, compared with what the server answers when it is asked again."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tlstax.contract import RowSample
from tlstax.mysql.database import Database


def mismatches(
    admin: Database, samples: Collection[RowSample], before: Iterable[str] = ()
) -> tuple[str, ...]:
    """The statements whose rows, read again here, are not those of the sample.

    `before` is said first, where there are samples: what the statements need of their connection. Values are
    compared as text, NULL with None alone. Raises SqlError where the server does not answer.
    """
    wrong = []
    with admin.cursor() as cursor:
        for statement in before if samples else ():
            cursor.execute(statement)
        for sample in samples:
            cursor.execute(sample.sql)
            rows = tuple(tuple(map(_text, row)) for row in cursor.fetchall())
            if rows != sample.rows:
                wrong.append(sample.sql)
    return tuple(wrong)


def _text(value: object) -> str | None:
    """A value as clients report it; bytes are those of a text."""
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
