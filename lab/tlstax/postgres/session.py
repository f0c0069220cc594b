"""What holds for one connection to an external PostgreSQL: its settings, its end, and the locks that it has.

A lock is an advisory one of the session: the server releases it when it notices that the connection is gone.
It is known by a number, and to one database alone.

Source: PostgreSQL documentation, "Client Connection Defaults", "Advisory Locks", "pg_locks",
"pg_stat_activity" and "Server Signaling Functions"; CVE-2018-1058 for names that others may put in the way.
All functions raise SqlError.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal

from tlstax.sql import answers
from tlstax.sql.database import Database, GuardedDatabase, SqlError
from tlstax.sql.ownership import Lock

IDLE_S: Final = 7 * 24 * 3600
"""How long a connection of ours may be silent; where the server ends idle ones, that may be in a trial."""

JUST_ENDED_S: Final = 2
"""How long a server may take to notice that a run has just ended."""

TURNS_S: Final = 300
"""How long connections that are kept may be idle, at the most, while other cases have their turns."""

_LOOK_AGAIN_S: Final = 0.05

_OUR_OWN: Final = {
    "standard_conforming_strings": "on",
    "exit_on_error": "off",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "transaction_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
}
"""What a role's or a server's defaults may do to our statements is undone: read them otherwise, break them
off, hang up. That transactions only read is not: whoever set that meant it."""


def has_pooler(database: GuardedDatabase) -> bool:
    """Whether a pooler is in front: the process that serves statements is not the one that the login named.

    PgBouncer makes the number up with which a client would cancel a statement (BackendKeyData), as others do.
    """
    serves = answers.number(answers.row(database, "SELECT pg_backend_pid()", columns=1)[0])
    return serves != database.number


def pooler_leg(database: GuardedDatabase) -> Literal["TLS", "in the clear", "Unix socket"] | None:
    """How the pooler in front came to the server, by the server's word of the session; None without one.

    Of its own session any account is told that (`pg_stat_ssl`).
    """
    if not has_pooler(database):
        return None
    asked = (
        "SELECT CASE WHEN tls.ssl THEN 'TLS' WHEN client.client_addr IS NULL THEN '' ELSE 'tcp' END"
        " FROM pg_stat_activity client LEFT JOIN pg_stat_ssl tls ON tls.pid = client.pid"
        " WHERE client.pid = pg_backend_pid()"
    )
    for (came,) in answers.rows(database, asked, columns=1):
        if came == "TLS":
            return "TLS"
        return "in the clear" if came else "Unix socket"
    return None


def settle(database: GuardedDatabase) -> None:
    """Have names without a schema mean the server's own alone, and undo what defaults do to statements.

    Behind a pooler nothing is set: the session may be another client's with the next statement.
    """
    if has_pooler(database):
        return
    answers.carry_out(database, "SELECT pg_catalog.set_config('search_path', '', false)")
    _set(database, _OUR_OWN)


def _set(database: Database, wanted: Mapping[str, str]) -> None:
    """Have these settings in this session, as far as the server has them and they are not so already."""
    places = ", ".join(["(%s, %s)"] * len(wanted))
    asked = (
        f"SELECT set_config(v.name, v.value, false) FROM (VALUES {places}) AS v (name, value)"  # noqa: S608
        " JOIN pg_settings s ON s.name = v.name WHERE s.setting <> v.value"
    )
    answers.carry_out(database, asked, *(word for pair in wanted.items() for word in pair))


def hindrance(database: Database, *, writes: bool) -> tuple[str, str] | None:  # noqa: ARG001 (all commit)
    """What the server sets for all connections that keeps load clients from their work, and what helps.

    The first follows the server's name. None where nothing does.
    """
    asked = "SELECT reset_val FROM pg_settings WHERE name = 'idle_session_timeout'"
    for (idle_ms,) in answers.rows(database, asked, columns=1):
        idle_s = answers.number(idle_ms) / 1000
        if 0 < idle_s < TURNS_S:
            return (
                f"ends connections that say nothing for {idle_s:,.0f} s (idle_session_timeout), as those do "
                "that are kept while others have their turn",
                "ALTER ROLE … SET idle_session_timeout = 0 there for the run",
            )
    return None


def why_nothing_is_made(database: Database) -> tuple[str, str] | None:
    """What is known beforehand to let nothing be made there, and what helps; it follows the server's name."""
    asked = "SELECT pg_is_in_recovery()::text, current_setting('transaction_read_only')"
    recovers, reads_only = answers.row(database, asked, columns=2)
    if recovers == "true":
        return (
            "is a standby, at which nothing can be changed (pg_is_in_recovery)",
            "name its primary to have rows read and written",
        )
    if reads_only == "on":
        return (
            "lets this account's transactions only read (default_transaction_read_only)",
            "ALTER ROLE … SET default_transaction_read_only = off there for the run",
        )
    return None


def set_patience(database: Database, idle_s: int, locked_s: int) -> None:
    """How long the connection may be silent, and how long a statement of it waits for another's lock."""
    _set(database, {"idle_session_timeout": str(idle_s * 1000), "lock_timeout": str(locked_s * 1000)})


def heed_foreign_keys(database: Database) -> None:
    """Nothing: without CASCADE a DROP is refused where others refer to what it drops."""


def create(database: Database, statement: str, *, if_not_exists: bool) -> bool:
    """Carry out a CREATE; whether it is known to have made the object."""
    answers.carry_out(database, statement)
    return not if_not_exists


def of_account(database: Database) -> frozenset[int]:
    """The numbers of this account's connections that the server still has, this one among them."""
    asked = (
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND usesysid ="
        " (SELECT usesysid FROM pg_stat_activity WHERE pid = pg_backend_pid())"
    )
    return frozenset(answers.number(number) for (number,) in answers.rows(database, asked, columns=1))


_HOLDING = (
    " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted"
    " AND l.objsubid = 1 AND l.classid = %s AND l.objid = %s"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class NamedLock(Lock):
    """An advisory lock, whose number follows from its name."""

    def __init__(self, name: str) -> None:
        digest = hashlib.sha256(name.encode()).digest()
        self._halves = int.from_bytes(digest[:4]), int.from_bytes(digest[4:8])
        self._number = int.from_bytes(digest[:8], signed=True)
        self._began = ""

    def take(self, database: Database, wait_s: int = 0) -> bool:
        """Whether it is this session's now."""
        deadline = time.monotonic() + wait_s
        asked = (
            "SELECT pg_try_advisory_lock(%s)::text, pid, backend_start::text FROM pg_stat_activity"
            " WHERE pid = pg_backend_pid()"
        )
        while True:
            taken, session, began = answers.row(database, asked, self._number, columns=3)
            if taken == "true":
                self.taken_by, self._began = answers.number(session), str(began)
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_AGAIN_S)

    def is_held(self, database: Database) -> bool:
        """Whether this session, which took it, has it still."""
        asked = f"SELECT COUNT(*){_HOLDING} AND l.pid = pg_backend_pid()"
        return answers.number(answers.row(database, asked, *self._halves, columns=1)[0]) > 0

    def holder(self, database: Database) -> int | None:
        """The number of the session that has it, None where none has."""
        for (number,) in answers.rows(database, f"SELECT l.pid{_HOLDING}", *self._halves, columns=1):
            return answers.number(number)
        return None

    def end_holder(self, database: Database) -> None:
        """Have the server end the session that took the lock here, if it still holds it.

        A process's number may be another's by now, so the server itself compares, in the statement that ends
        it, when the session began and whose it is.
        """
        if self.taken_by is None:
            return
        asked = (
            f"SELECT pg_terminate_backend(l.pid){_HOLDING}"  # noqa: S608 (places)
            " AND l.pid = %s AND a.backend_start = %s"
            " AND a.usesysid = (SELECT usesysid FROM pg_stat_activity WHERE pid = pg_backend_pid())"
        )
        with suppress(SqlError):
            answers.carry_out(database, asked, *self._halves, self.taken_by, self._began)


class SchemaLock(NamedLock):
    """The lock of one schema of the connection's database."""

    def __init__(self, schema: str) -> None:
        super().__init__(f"tlstax-{schema}")
