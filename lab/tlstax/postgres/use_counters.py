"""How a PostgreSQL is used: its counters between two readings, and who is connected to it now.

Source: PostgreSQL documentation, "The Cumulative Statistics System" (`pg_stat_database`, `pg_stat_ssl`,
`pg_stat_activity`) and "Predefined Roles".
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Literal

from tlstax.postgres import settings
from tlstax.postgres.database import apart
from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.sql.facts import Connected

ASKED: Final[Literal["transactions"]] = "transactions"
"""What it counts of what clients ask."""

PERMIT: Final = "the account would need the role pg_read_all_stats"

OWN: Final = 4
"""That the server counts between two readings: the first, who is connected, and what has them reported."""

_FIRST_WITH_SESSIONS, _FIRST_WITH_FLUSH = 140000, 150000
_FLUSH: Final = "SELECT pg_stat_force_next_flush()"
"""Have this session report what it has counted, which else comes within some seconds."""

_REPORTED_S: Final = 0.6
"""Before 15 a session reports at most twice a second, to a collector whose answers are as old at most."""

_CONNECTED = """
SELECT COALESCE(client.application_name, ''),
       CASE WHEN client.client_addr <<= '127.0.0.0/8' OR client.client_addr = '::1' THEN 'TCP/IP (loopback)'
            WHEN client.client_addr IS NOT NULL THEN 'TCP/IP'
            WHEN client.client_port = -1 THEN 'Socket' ELSE '' END,
       COALESCE(tls.version, ''), COUNT(*)
FROM pg_stat_activity client LEFT JOIN pg_stat_ssl tls ON tls.pid = client.pid AND tls.ssl
WHERE COALESCE(client.backend_type, 'client backend') = 'client backend'
  AND client.usesysid IS NOT NULL AND client.datid IS NOT NULL AND client.pid <> pg_backend_pid()
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3
"""
"""Of others' sessions an ordinary account sees the program's name, and no kind, address or encryption."""


def read(database: Database) -> dict[str, int]:
    """The counters of all databases, by their names here. Needs no privilege. Raises SqlError.

    They outlive a restart, so nothing is said of how long they have been counted. Sessions are counted from
    14 on.
    """
    version = settings.version_number(database)
    counts: dict[str, str] = {ASKED: "xact_commit + xact_rollback"}
    if version >= _FIRST_WITH_SESSIONS:
        counts["connections"] = "sessions"
    if version >= _FIRST_WITH_FLUSH:
        answers.row(apart(database), _FLUSH, columns=1)
    else:
        time.sleep(_REPORTED_S)
        answers.row(apart(database), "SELECT 1", columns=1)
        time.sleep(_REPORTED_S)
    asked = ", ".join(f"COALESCE(SUM({count}), 0)::bigint" for count in counts.values())
    found = answers.row(apart(database), f"SELECT {asked} FROM pg_stat_database", columns=len(counts))  # noqa: S608
    return dict(zip(counts, map(answers.number, found), strict=True))


def connected(database: Database) -> tuple[Connected, ...]:
    """Who is connected now, but for this connection. Raises SqlError."""
    return tuple(
        Connected("", "", str(program), str(transport), str(tls), False, answers.number(count))
        for program, transport, tls, count in answers.rows(apart(database), _CONNECTED, columns=4)
    )


def unread(counters: dict[str, int], found: Sequence[Connected]) -> tuple[str, ...]:
    """What of it was not told, and what would permit it or why there is none."""
    hidden = sum(own.connections for own in found if not own.transport)
    missing = []
    if "connections" not in counters:
        missing.append("how many connections are made: PostgreSQL counts sessions from 14 on")
    if hidden:
        missing.append(f"how {hidden} of those that are connected came, and whether by TLS; {PERMIT}")
    return tuple(missing)
