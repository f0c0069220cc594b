"""What a program gets that copies a PostgreSQL: a table's rows, all files, or the log of their changes.

Of the log one whole segment is read, the second that the server ever wrote; where it has not been filled, the
server goes on to a new one. It is one since pg_receivewal takes the last segment that it finds begun in its
folder for the place to go on from: of files that lead nowhere there can be but one.

Source: PostgreSQL documentation, "System Administration Functions" (pg_switch_wal, pg_current_wal_flush_lsn,
pg_relation_filepath) and "WAL Internals" (a segment's name is its timeline and its place).
"""

from __future__ import annotations

from typing import Final

from tlstax.contract import StreamTerms
from tlstax.postgres.database import apart
from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.study.client_kinds import Copied

SEGMENT_BYTES: Final = 1 << 24
"""How long a segment is where initdb was not told otherwise."""

FIRST_SEGMENT: Final = 2
_SEGMENTS_EACH: Final = (1 << 32) // SEGMENT_BYTES


def terms(admin: Database, copied: Copied, table: str) -> StreamTerms:
    """What to ask for, and what a whole copy holds. Raises SqlError."""
    if copied == "dump":
        asked = f"SELECT COUNT(*) FROM {table}"  # noqa: S608 (the laboratory's own table)
        return StreamTerms(names=(table,), holds={"rows": _number(admin, asked)})
    if copied == "base backup":
        # Its longest file, of which everything else is an index, a map or the server's own.
        path, size = answers.row(
            admin, "SELECT pg_relation_filepath(%s), pg_relation_size(%s)", table, table, columns=2
        )
        return StreamTerms(holds={answers.name(path): answers.number(size)})
    _write_until(admin, (FIRST_SEGMENT + 1) * SEGMENT_BYTES)
    return StreamTerms(names=(segment_name(FIRST_SEGMENT),), holds={"bytes": SEGMENT_BYTES})


def segment_name(number: int) -> str:
    """The name of a segment of the first timeline, as its file has it."""
    return f"{1:08X}{number // _SEGMENTS_EACH:08X}{number % _SEGMENTS_EACH:08X}"


def _write_until(admin: Database, end: int) -> None:
    """Have the server's log reach this place, by as many empty segments as are missing."""
    server = apart(admin)
    while _number(server, "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint") < end:
        answers.carry_out(server, "SELECT pg_logical_emit_message(false, 'tlstax', 'a change')")
        answers.carry_out(server, "SELECT pg_switch_wal()")


def _number(database: Database, statement: str, *values: object) -> int:
    return answers.number(answers.row(database, statement, *values, columns=1)[0])
