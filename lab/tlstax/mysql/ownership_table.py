"""The table in which a run records what it makes at an external server, and that it is at work there.

Rows are only added. Each says until when its run is at work, by the server's clock; the newest counts.
`external/made.py` says why. All functions raise SqlError.
"""

from __future__ import annotations

from tlstax.mysql.database import NO_SUCH_TABLE, TABLE_EXISTS, error_number
from tlstax.mysql.schema import quoted
from tlstax.sql import answers, ownership
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import RECORD, Entry

LEASE_S = 15 * 60
"""How long a run counts as being at work after its last row."""

_COLUMNS = (
    "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, run CHAR(32) NOT NULL, step VARCHAR(8) NOT NULL,"
    " kind VARCHAR(16) NOT NULL, name VARCHAR(64) NOT NULL, sign VARCHAR(128) NOT NULL,"
    " proof CHAR(64) NOT NULL, node CHAR(64) NOT NULL, until_utc DATETIME NOT NULL"
)


def _in(schema: str, *, with_values: bool = False) -> str:
    """Its name there; in a statement with places for values a % is doubled."""
    return f"{quoted(schema.replace('%', '%%') if with_values else schema)}.{RECORD}"


def create(database: Database, schema: str, comment: str) -> bool:
    """Create the table, empty; the comment marks it as ours. False where there is one of its name."""
    try:
        named = _in(schema, with_values=True)
        answers.carry_out(
            database,
            f"CREATE TABLE {named} ({_COLUMNS}) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COMMENT %s",
            comment,
        )
    except SqlError as error:
        if error_number(error) == TABLE_EXISTS:
            return False
        raise
    return True


def add(database: Database, schema: str, run: str, node: str, entry: Entry) -> None:
    """Add an entry of this run, which is at work on this node for the length of a lease from now on."""
    named = _in(schema, with_values=True)
    answers.carry_out(
        database,
        f"INSERT INTO {named} (run, {', '.join(Entry._fields)}, node, until_utc) VALUES"  # noqa: S608
        f" (%s, %s, %s, %s, %s, %s, %s, UTC_TIMESTAMP() + INTERVAL {LEASE_S} SECOND)",
        run,
        *entry,
        node,
    )


def has(database: Database, schema: str, run: str) -> bool | None:
    """Whether it has an entry of this run; None where there is no such table."""
    asked = f"SELECT COUNT(*) FROM {_in(schema, with_values=True)} WHERE run = %s"  # noqa: S608 - quoted
    try:
        return answers.number(answers.row(database, asked, run, columns=1)[0]) > 0
    except SqlError as error:
        if error_number(error) == NO_SUCH_TABLE:
            return None
        raise


def is_empty(database: Database, schema: str) -> bool:
    """Whether it has no entry at all."""
    return ownership.is_empty(database, _in(schema))


def busy_elsewhere_s(database: Database, schema: str, node: str) -> int:
    """How long a run on another node is known to be at work, 0 where none is.

    A row that claims more than a lease is nobody's of ours. A table without these columns, as an older tlstax
    makes it, says nothing.
    """
    named = _in(schema, with_values=True)
    asked = (
        f"SELECT MAX(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), until_utc)) FROM {named} WHERE node <> %s"  # noqa: S608
        f" AND until_utc BETWEEN UTC_TIMESTAMP() AND UTC_TIMESTAMP() + INTERVAL {LEASE_S} SECOND"
    )
    try:
        left_s = answers.row(database, asked, node, columns=1)[0]
    except SqlError as error:
        if error.is_of_connection:
            raise
        return 0
    return 0 if left_s is None else max(answers.number(left_s), 1)


def entries(database: Database, schema: str) -> list[Entry]:
    """All entries, of whichever run, in the order in which they were added."""
    return ownership.entries(database, _in(schema))


def claimed_things(database: Database, schema: str) -> list[tuple[str, str, str]]:
    """Kind, name and sign in each row of a table of this name, whoever made it; none where it has none."""
    return ownership.claimed_things(database, _in(schema))
