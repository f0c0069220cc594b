"""Rows that a client says it read, compared with what the server answers when it is asked again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from tlstax.contract import RowSample
from tlstax.mysql.database import Database, SqlError


def mismatches(admin: Database, samples: Sequence[RowSample], before: Iterable[str] = ()) -> tuple[str, ...]:
    """The statements whose rows, read again here, are not those of the sample.

    `before` is said first, where there are samples: what the statements need of their connection. Values are
    compared as text, NULL with None alone. Raises SqlError where the server does not answer.
    """
    wrong = []
    with admin.cursor() as cursor:
        for statement in before if samples else ():
            cursor.execute(statement)
        if _agree_at_once(admin, samples):
            return ()
        for sample in samples:
            cursor.execute(sample.sql)
            rows = tuple(tuple(map(_text, row)) for row in cursor.fetchall())
            if rows != sample.rows:
                wrong.append(sample.sql)
    return tuple(wrong)


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
    with suppress(SqlError), admin.cursor() as cursor:
        cursor.execute(asked)
        rows = {int(place): tuple(map(_text, row)) for place, *row in cursor.fetchall()}
        return rows == {place: sample.rows[0] for place, sample in enumerate(samples)}
    return False


def _text(value: object) -> str | None:
    """A value as clients report it; bytes are those of a text."""
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
