"""What holds for one connection: its settings, its warnings, its end, and the named locks that it has.

The server releases a named lock (GET_LOCK) when it notices that the connection that holds it is gone. A
firewall that drops an idle connection may make that now, later or never. A lock is known to one server alone:
the nodes of a cluster have each their own (MySQL reference manual, "Locking Functions"; MariaDB Knowledge
Base, "GET_LOCK"), so `ownership_table.py` says there too who is at work.

Source: MySQL reference manual, "Server System Variables", "SHOW WARNINGS Statement", "KILL Statement" and
"The INFORMATION_SCHEMA PROCESSLIST Table". All functions raise SqlError.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from tlstax.mysql.database import OBJECT_EXISTS
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import Lock
from tlstax.support.text import counted

ASKS_NOTHING = "DO 0"
"""A statement that reads and writes nothing, and needs no table, for whoever only wants to be connected."""


IDLE_S = 7 * 24 * 3600
"""How long a connection of ours may be silent; a server's wait_timeout may be shorter than a trial."""


def settle(database: Database) -> None:
    """Undo what a server's defaults would do to our statements: cut answers, break off, refuse, hang up.

    `max_execution_time` is MySQL's from 5.7.8 on, `max_statement_time` MariaDB's from 10.1.1 on; each reads
    over the other's comment (MariaDB passes over those with versions from 50700 to 50799).
    """
    answers.carry_out(
        database,
        "SET SESSION sql_select_limit = 18446744073709551615, SESSION sql_big_selects = 1,"
        f" SESSION sql_safe_updates = 0, SESSION completion_type = 0, SESSION wait_timeout = {IDLE_S}"
        " /*!50708 , SESSION max_execution_time = 0 */ /*M!100101 , SESSION max_statement_time = 0 */",
    )


LEAST_ROWS = 1000
"""An answer may have as many rows at the least."""


def hindrance(database: Database, *, writes: bool) -> tuple[str, str] | None:
    """What the server sets for all connections that keeps load clients from their work, and what helps.

    The first follows the server's name. `writes` says whether they change data. None where nothing does; an
    account needs no right to read these settings.
    """
    asked = "SELECT @@GLOBAL.sql_select_limit, @@GLOBAL.autocommit"
    for rows, commits in answers.rows(database, asked, columns=2):
        at_most = answers.number(rows)
        if at_most < LEAST_ROWS:
            return (
                f"cuts every answer to {counted(at_most, 'row')} (sql_select_limit)",
                "SET GLOBAL sql_select_limit = 18446744073709551615 there for the run",
            )
        if writes and answers.number(commits) == 0:
            return (
                "opens connections without autocommit, so that what a workload writes would never be "
                "committed",
                "set autocommit=ON there for the run, or choose workloads that only read",
            )
    return None


def has_pooler(database: Database) -> bool:  # noqa: ARG001
    """No: whatever is in front is not known of, or named as a way to the server."""
    return False


def pooler_leg(database: Database) -> None:
    """None: no pooler is known of."""


def why_nothing_is_made(database: Database) -> None:
    """None: the server says so when something is to be made."""


def set_patience(database: Database, idle_s: int, locked_s: int) -> None:
    """How long the connection may be silent, and how long a statement of it waits for another's lock."""
    answers.carry_out(
        database, "SET SESSION wait_timeout = %s, SESSION lock_wait_timeout = %s", idle_s, locked_s
    )


def heed_foreign_keys(database: Database) -> None:
    """Have the server refuse to drop what tables of others refer to, whatever its default is."""
    answers.carry_out(database, "SET SESSION foreign_key_checks = 1")


def create(database: Database, statement: str, *, if_not_exists: bool) -> bool:
    """Carry out a CREATE; whether it made the object, which `if_not_exists` leaves to a note of the server's.

    Where statements of this connection leave no notes (`sql_notes`), it is not known to.
    """
    if not if_not_exists:
        answers.carry_out(database, statement)
        return True
    notes = answers.row(database, "SELECT @@SESSION.sql_notes", columns=1)[0] == 1
    answers.carry_out(database, statement)
    codes = {answers.number(code) for _, code, _ in answers.rows(database, "SHOW WARNINGS", columns=3)}
    return notes and not codes & OBJECT_EXISTS


def is_of_this_account(database: Database, connection: int) -> bool:
    """Whether the server has a connection of that number, which the user of this one has logged in on."""
    host = "SUBSTRING_INDEX(USER(), '@', -1)"
    asked = (
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %s"  # noqa: S608
        f" AND USER = LEFT(USER(), CHAR_LENGTH(USER()) - CHAR_LENGTH({host}) - 1)"
    )
    return bool(answers.row(database, asked, connection, columns=1)[0] == 1)


def of_account(database: Database) -> frozenset[int]:
    """The numbers of this account's connections that the server still has, this one among them.

    An ordinary account is shown its own alone, others everybody's: those of the same name are its own.
    """
    asked = (
        "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = "
        "(SELECT USER FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID())"
    )
    return frozenset(answers.number(number) for (number,) in answers.rows(database, asked, columns=1))


JUST_ENDED_S = 2
"""How long a server may take to notice that a run has just ended."""


class NamedLock(Lock):
    """A lock of GET_LOCK."""

    def __init__(self, name: str) -> None:
        self._name = name

    def take(self, database: Database, wait_s: int = 0) -> bool:
        """Whether it is this connection's now."""
        asked = "SELECT GET_LOCK(%s, %s), CONNECTION_ID()"
        taken, connection = answers.row(database, asked, self._name, wait_s, columns=2)
        if taken != 1:
            return False
        self.taken_by = answers.number(connection)
        return True

    def is_held(self, database: Database) -> bool:
        """Whether this connection, which took it, has it still."""
        asked = "SELECT IS_USED_LOCK(%s) = CONNECTION_ID()"
        return bool(answers.row(database, asked, self._name, columns=1)[0] == 1)

    def holder(self, database: Database) -> int | None:
        """The number of the connection that has it, None where none has."""
        number = answers.row(database, "SELECT IS_USED_LOCK(%s)", self._name, columns=1)[0]
        return None if number is None else answers.number(number)

    def end_holder(self, database: Database) -> None:
        """Have the server end the connection that took the lock here, if it still holds it.

        A number alone may be another's by now, and behind a proxy another's from the first. So the server
        itself compares, in the KILL, and the connection must be one of this account.
        """
        if self.taken_by is None or not is_of_this_account(database, self.taken_by):
            return
        # Where another holds it, or none, the number is 0, which no connection has.
        ended = "KILL CONNECTION IF(IS_USED_LOCK(%s) = %s, %s, 0)"
        with suppress(SqlError):
            answers.carry_out(database, ended, self._name, self.taken_by, self.taken_by)


class SchemaLock(NamedLock):
    """The lock of one schema, by the server's own name for it; short enough for MySQL whatever that is."""

    def __init__(self, schema: str) -> None:
        super().__init__("tlstax-" + hashlib.sha256(schema.encode()).hexdigest()[:32])
