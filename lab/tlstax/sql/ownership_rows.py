"""What is asked in the same words of either product's ownership table; `table` is its name, quoted.

Each product's `ownership_table` makes it and adds to it. All functions raise SqlError.
"""

from __future__ import annotations

from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.schema_objects import Entry


def is_empty(database: Database, table: str) -> bool:
    """Whether it has no entry at all."""
    return answers.number(answers.row(database, f"SELECT COUNT(*) FROM {table}", columns=1)[0]) == 0  # noqa: S608


def entries(database: Database, table: str) -> list[Entry]:
    """All entries, of whichever run, in the order in which they were added."""
    asked = f"SELECT {', '.join(Entry._fields)} FROM {table} ORDER BY id"  # noqa: S608
    return [
        Entry(*("" if value is None else str(value) for value in row))
        for row in answers.rows(database, asked, columns=len(Entry._fields))
    ]


def claimed_things(database: Database, table: str) -> list[tuple[str, str, str]]:
    """Kind, name and sign in each row of a table of this name, whoever made it; none where it has none."""
    asked = f"SELECT DISTINCT kind, name, sign FROM {table} WHERE kind <> ''"  # noqa: S608
    try:
        return [
            (str(kind), str(name), str(sign)) for kind, name, sign in answers.rows(database, asked, columns=3)
        ]
    except SqlError as error:
        if error.is_of_connection:
            raise
        return []
