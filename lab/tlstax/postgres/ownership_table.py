"""The table in which a run records what it makes at an external server, and that it is at work there.

Rows are only added. `external/made.py` says why. All functions raise SqlError.
"""

from __future__ import annotations

from typing import Final

from tlstax.postgres.database import is_no_such_table, is_table_exists, is_unknown_schema
from tlstax.postgres.schema import quoted_table
from tlstax.sql import answers, ownership
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import RECORD, Entry

_COLUMNS: Final = (
    "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, step text NOT NULL,"
    " kind text NOT NULL, name text NOT NULL, sign text NOT NULL, proof text NOT NULL, node text NOT NULL,"
    " said_at timestamptz NOT NULL DEFAULT now()"
)


def create(database: Database, schema: str, comment: str) -> bool:
    """Create the table, empty, with the comment that marks it as ours, both or neither.

    False where there is one of its name.
    """
    named = quoted_table(schema, RECORD)
    try:
        answers.carry_out(
            database, f"CREATE TABLE {named} ({_COLUMNS}); COMMENT ON TABLE {named} IS %s", comment
        )
    except SqlError as error:
        if is_table_exists(error):
            return False
        raise
    return True


def add(database: Database, schema: str, run: str, node: str, entry: Entry) -> None:
    """Add an entry of this run, which is at work on this node."""
    answers.carry_out(
        database,
        f"INSERT INTO {quoted_table(schema, RECORD)} (run, {', '.join(Entry._fields)}, node)"  # noqa: S608
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        run,
        *entry,
        node,
    )


def has(database: Database, schema: str, run: str) -> bool | None:
    """Whether it has an entry of this run; None where there is no such table."""
    asked = f"SELECT COUNT(*) FROM {quoted_table(schema, RECORD)} WHERE run = %s"  # noqa: S608 (quoted)
    try:
        return answers.number(answers.row(database, asked, run, columns=1)[0]) > 0
    except SqlError as error:
        if is_no_such_table(error) or is_unknown_schema(error):
            return None
        raise


def is_empty(database: Database, schema: str) -> bool:
    """Whether it has no entry at all."""
    return ownership.is_empty(database, quoted_table(schema, RECORD))


def busy_elsewhere_s(database: Database, schema: str, node: str) -> int:  # noqa: ARG001
    """0: of the servers of a cluster one alone takes writes, and there the lock says who is at work."""
    return 0


def entries(database: Database, schema: str) -> list[Entry]:
    """All entries, of whichever run, in the order in which they were added."""
    return ownership.entries(database, quoted_table(schema, RECORD))


def claimed_things(database: Database, schema: str) -> list[tuple[str, str, str]]:
    """Kind, name and sign in each row of a table of this name, whoever made it; none where it has none."""
    return ownership.claimed_things(database, quoted_table(schema, RECORD))
