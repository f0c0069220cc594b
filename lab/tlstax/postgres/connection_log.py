"""Connections that record themselves at the server: for load clients that do not say what they negotiated.

Each begins with a statement that records which connection it is and what the server says of its
encryption. It inserts one row, which the server counts among those of the load (`tup_inserted`); where the
server's log can be read, `login_log` costs less.

Source: PostgreSQL documentation, "pg_stat_ssl" (a session may read its own row) and "CREATE TABLE", UNLOGGED.
"""

from __future__ import annotations

from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.sql.recorded_connections import TABLE


def create(admin: Database) -> None:
    """Make the table in the load's database; without a log of its writes, so that a row costs little."""
    answers.carry_out(admin, f"DROP TABLE IF EXISTS {TABLE}")
    answers.carry_out(
        admin,
        f"CREATE UNLOGGED TABLE {TABLE} (process integer, began timestamptz, version text, cipher text,"
        " PRIMARY KEY (process, began)) WITH (autovacuum_enabled = false)",
    )


def statement(server_version: str) -> str:  # noqa: ARG001 (the same in all versions)
    """The statement by which a connection records itself; said twice, it records it once.

    A process's number may be another's later; with when it began it is one session's.
    """
    return (
        f"INSERT INTO {TABLE} SELECT a.pid, a.backend_start, s.version, s.cipher"  # noqa: S608 - our name
        " FROM pg_stat_activity a JOIN pg_stat_ssl s ON s.pid = a.pid WHERE a.pid = pg_backend_pid()"
        " ON CONFLICT DO NOTHING"
    )
