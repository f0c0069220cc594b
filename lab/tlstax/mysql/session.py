"""What holds for one connection, and what a server says of it or of another: limits, warnings, its end.

Source: MySQL reference manual, "Server System Variables", "SHOW WARNINGS Statement", "KILL Statement" and
"The INFORMATION_SCHEMA PROCESSLIST Table". All functions raise SqlError.
"""

from __future__ import annotations

from typing import NamedTuple

from tlstax.mysql import answers
from tlstax.mysql.database import Database

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


class Defaults(NamedTuple):
    """What a new connection begins with: the longest answer in rows, and whether statements are committed."""

    rows_at_most: int
    commits: bool


def defaults(database: Database) -> Defaults:
    """Those of the server for all connections; an account needs no right to read them."""
    for rows, commits in answers.rows(
        database, "SELECT @@GLOBAL.sql_select_limit, @@GLOBAL.autocommit", columns=2
    ):
        return Defaults(answers.number(rows), commits=answers.number(commits) != 0)
    return Defaults(2**64 - 1, commits=True)


def set_patience(database: Database, idle_s: int, locked_s: int) -> None:
    """How long the connection may be silent, and how long a statement of it waits for another's lock."""
    answers.carry_out(
        database, "SET SESSION wait_timeout = %s, SESSION lock_wait_timeout = %s", idle_s, locked_s
    )


def heed_foreign_keys(database: Database) -> None:
    """Have the server refuse to drop what tables of others refer to, whatever its default is."""
    answers.carry_out(database, "SET SESSION foreign_key_checks = 1")


def commit(database: Database) -> None:
    """End the connection's transaction, if one was begun."""
    answers.carry_out(database, "COMMIT")


def warns_of_notes(database: Database) -> bool:
    """Whether statements of this connection leave notes among the warnings (`sql_notes`)."""
    return bool(answers.row(database, "SELECT @@SESSION.sql_notes", columns=1)[0] == 1)


def warning_codes(database: Database) -> set[int]:
    """The numbers of the warnings and notes that the statement before this left."""
    return {answers.number(code) for _, code, _ in answers.rows(database, "SHOW WARNINGS", columns=3)}


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
