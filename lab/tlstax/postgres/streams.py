"""What a program gets that copies a PostgreSQL: a table's rows, all files, the log, or its changes decoded.

Of the log one whole segment is read, the second that the server ever wrote; where it has not been filled, the
server goes on to a new one. It is one since pg_receivewal takes the last segment that it finds begun in its
folder for the place to go on from: of files that lead nowhere there can be but one.

Changes are decoded from a slot on, which is used up by that: each copy has its own, made before the changes
and dropped after the trial, since a slot has the server keep its log. The changes are rows of the table that
are put into another one, which is gone again when they are read.

Source: PostgreSQL documentation, "System Administration Functions" (pg_switch_wal, pg_current_wal_flush_lsn,
pg_relation_filepath, pg_create_logical_replication_slot), "Logical Decoding Concepts" and "WAL Internals" (a
segment's name is its timeline and its place).
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


SLOT: Final = "tlstax_copy_"
"""How the names of slots begin."""

CHANGES: Final = "tlstax_changes"
"""The table of which each row is a change."""

MOST_CHANGES: Final = 100_000
"""This many rows are some 20 MiB of log, about as much as the segment that pg_receivewal copies."""

PLUGIN: Final = "test_decoding"
"""It writes changes as text, and comes with the server."""


def terms(admin: Database, copied: Copied, table: str, copies: int) -> StreamTerms:
    """What to ask for, and what each of N whole copies holds. Raises SqlError."""
    clear(admin)
    if copied == "changes":
        return _changes(admin, table, copies)
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


def clear(admin: Database) -> None:
    """Drop the slots of earlier copies. Raises SqlError."""
    of_ours = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE %s"
    answers.carry_out(admin, of_ours, f"{SLOT}%")


def _changes(admin: Database, table: str, copies: int) -> StreamTerms:
    slots = tuple(f"{SLOT}{number}" for number in range(copies))
    for slot in slots:
        answers.carry_out(admin, "SELECT pg_create_logical_replication_slot(%s, %s)", slot, PLUGIN)
    answers.carry_out(admin, f"DROP TABLE IF EXISTS {CHANGES}")
    answers.carry_out(
        admin,
        f"CREATE TABLE {CHANGES} AS SELECT * FROM {table} LIMIT {MOST_CHANGES}",  # noqa: S608 (names of ours)
    )
    rows = _number(admin, f"SELECT COUNT(*) FROM {CHANGES}")  # noqa: S608 (the same)
    # What is not decoded lies between the changes and the place to which is read, so that none is cut off.
    answers.carry_out(admin, f"DROP TABLE {CHANGES}")
    until = answers.name(answers.row(admin, "SELECT pg_current_wal_insert_lsn()::text", columns=1)[0])
    # A change after that, where the reader sees that it has them all; of one at that place it reads some.
    answers.carry_out(admin, "SELECT pg_logical_emit_message(true, 'tlstax', 'the end')")
    return StreamTerms(names=slots, holds={"rows": rows}, until=until)


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
