"""The server's own counters, read over a connection that stays open for the whole study."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.facts import Traffic
from tlstax.support.errors import MachineFault

_OWN_STATEMENTS = frozenset({"Questions", "Queries", "Com_show_status", "Bytes_sent", "Bytes_received"})
"""Counters that reading them changes; they are left out."""

COUNTS_AT_ONCE = True
"""Each statement is counted when it is over."""

_SETTLING_S, _LOOK_AGAIN_S = 1.0, 0.001


def read_status(connection: Database) -> dict[str, int]:
    """Every numeric counter of SHOW GLOBAL STATUS; needs no privilege on MySQL or MariaDB."""
    return _numbers(connection, "SHOW GLOBAL STATUS")


def traffic(connection: Database) -> Traffic:
    """The server's count of statements; the question for it is one of them. Raises MachineFault."""
    began_s = time.monotonic()
    try:
        row = answers.row(connection, "SHOW GLOBAL STATUS LIKE 'Questions'", columns=2)
    except SqlError as error:
        raise MachineFault(f"the server's counters could not be read ({answers.message_of(error)})") from None
    return Traffic(answers.number(row[1]), (began_s + time.monotonic()) / 2)


def connected(counters: Mapping[str, int]) -> int:
    """How many connections were open; 0 where the server does not report it."""
    return counters.get("Threads_connected", 0)


def sessions_resumed(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """How many TLS sessions the server resumed from its cache between two readings."""
    return after.get("Ssl_session_cache_hits", 0) - before.get("Ssl_session_cache_hits", 0)


def read_settled_status(connection: Database, expected: int) -> dict[str, int]:
    """`read_status`, once no more than `expected` connections are left, or after a second.

    A server adds what a session counted to its own counters while it closes the session; in between it is
    in neither (MySQL 9.7: a busy server was seen to count some SELECTs of closed sessions late).
    """
    deadline = time.monotonic() + _SETTLING_S
    # Asked for alone: an answer of some five hundred rows takes longer to read than a session to close.
    while connected(_numbers(connection, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")) > expected:
        if time.monotonic() > deadline:
            break
        time.sleep(_LOOK_AGAIN_S)
    return read_status(connection)


def _numbers(connection: Database, statement: str) -> dict[str, int]:
    """Numeric counters of the answer, less those that asking changes. MachineFault where there is none."""
    try:
        rows = answers.rows(connection, statement, columns=2)
    except SqlError as error:
        raise MachineFault(f"the server's counters could not be read ({answers.message_of(error)})") from None
    numbers = {str(name): answers.as_number(value) for name, value in rows}
    return {
        name: number for name, number in numbers.items() if number is not None and name not in _OWN_STATEMENTS
    }
