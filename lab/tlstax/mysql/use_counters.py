"""How a server is used: its counters since its start or between two readings, and who is connected to it now.

Source: MySQL reference manual, "Server Status Variables" and "Performance Schema Connection Attribute
Tables".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.sql.facts import Connected

ASKED: Final[Literal["statements"]] = "statements"
"""What it counts of what clients ask."""

PERMIT: Final = "the account would need SELECT on performance_schema"

OWN: Final = 2
"""That the server counts as asked between two readings: who is connected, and the second reading."""

COUNTERS = {
    "Uptime": "uptime_s",
    "Connections": "connections",
    "Questions": "statements",
    "Bytes_received": "received_bytes",
    "Bytes_sent": "sent_bytes",
    "Aborted_connects": "aborted_connects",
    "Ssl_finished_accepts": "handshakes",
    "Ssl_session_cache_hits": "session_lookups",
}
"""What is read, and its name here. `Connections` are attempts, `Questions` statements that clients sent."""

_PROGRAMS = """
SELECT COALESCE(name.ATTR_VALUE, ''), COALESCE(version.ATTR_VALUE, ''), COALESCE(program.ATTR_VALUE, ''),
       COALESCE(thread.CONNECTION_TYPE, ''), COALESCE(tls.VARIABLE_VALUE, ''),
       COALESCE(compressed.VARIABLE_VALUE, '') = 'ON', COUNT(*)
FROM performance_schema.threads thread
LEFT JOIN performance_schema.session_connect_attrs name
       ON name.PROCESSLIST_ID = thread.PROCESSLIST_ID AND name.ATTR_NAME = '_client_name'
LEFT JOIN performance_schema.session_connect_attrs version
       ON version.PROCESSLIST_ID = thread.PROCESSLIST_ID AND version.ATTR_NAME = '_client_version'
LEFT JOIN performance_schema.session_connect_attrs program
       ON program.PROCESSLIST_ID = thread.PROCESSLIST_ID AND program.ATTR_NAME = 'program_name'
LEFT JOIN performance_schema.status_by_thread tls
       ON tls.THREAD_ID = thread.THREAD_ID AND tls.VARIABLE_NAME = 'Ssl_version'
LEFT JOIN performance_schema.status_by_thread compressed
       ON compressed.THREAD_ID = thread.THREAD_ID AND compressed.VARIABLE_NAME = 'Compression'
WHERE thread.TYPE = 'FOREGROUND' AND thread.PROCESSLIST_ID <> CONNECTION_ID()
  AND thread.PROCESSLIST_COMMAND <> 'Daemon'
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 7 DESC, 1, 2, 3
"""


def read(database: Database) -> dict[str, int]:
    """The counters that this server has, by their names here.

    Needs no privilege. Raises SqlError, as all functions here do.
    """
    names = ", ".join(f"'{name}'" for name in COUNTERS)
    found = answers.rows(database, f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})", columns=2)
    numbers = {COUNTERS[str(name)]: answers.as_number(value) for name, value in found}
    return {name: number for name, number in numbers.items() if number is not None}


def connected(database: Database) -> tuple[Connected, ...]:
    """Who is connected now, but for this connection; needs SELECT on performance_schema."""
    found = answers.rows(database, _PROGRAMS, columns=7)
    return tuple(_connected(*map(str, row[:-2]), counted=row[-2:]) for row in found)


def unread(counters: dict[str, int], found: Sequence[Connected]) -> tuple[str, ...]:  # noqa: ARG001
    """Nothing: who may read these tables sees all of them."""
    return ()


def _connected(  # noqa: PLR0913 (a row of the answer)
    client: str, version: str, program: str, transport: str, tls: str, *, counted: Sequence[object]
) -> Connected:
    compression, connections = map(answers.number, counted)
    return Connected(client, version, program, transport, tls, bool(compression), connections)
