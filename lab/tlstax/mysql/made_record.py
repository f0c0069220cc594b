"""The table in which a run records what it makes in somebody else's schema; `guests/made.py` says why.

Rows are only added. All functions raise SqlError.
"""

from __future__ import annotations

from typing import NamedTuple

from tlstax.mysql import answers
from tlstax.mysql.database import Database

NAME = "tlstax_made"

_COLUMNS = (
    "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, run CHAR(32) NOT NULL, step VARCHAR(8) NOT NULL,"
    " kind VARCHAR(16) NOT NULL, name VARCHAR(64) NOT NULL, sign VARCHAR(128) NOT NULL"
)


class Entry(NamedTuple):
    """A step with an object of the schema: its kind, its name, and the sign by which it is known again."""

    step: str
    kind: str
    name: str
    sign: str


def create(database: Database, comment: str) -> None:
    """Create the table, empty; the comment marks it as ours."""
    answers.carry_out(
        database,
        f"CREATE TABLE {NAME} ({_COLUMNS}) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COMMENT %s",
        comment,
    )


def add(database: Database, run: str, entry: Entry) -> None:
    """Add an entry of this run."""
    answers.carry_out(
        database,
        f"INSERT INTO {NAME} (run, {', '.join(Entry._fields)}) VALUES (%s, %s, %s, %s, %s)",  # noqa: S608
        run,
        *entry,
    )


def has(database: Database, run: str) -> bool:
    """Whether it has an entry of this run."""
    asked = f"SELECT COUNT(*) FROM {NAME} WHERE run = %s"  # noqa: S608 - the name is our own
    return answers.number(answers.row(database, asked, run, columns=1)[0]) > 0


def entries(database: Database) -> list[Entry]:
    """All entries, of whichever run, in the order in which they were added."""
    asked = f"SELECT step, kind, name, sign FROM {NAME} ORDER BY id"  # noqa: S608 - the name is our own
    return [
        Entry(str(step), str(kind), str(name), str(sign or ""))
        for step, kind, name, sign in answers.rows(database, asked, columns=4)
    ]
