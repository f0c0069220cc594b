"""What PostgreSQL counts of the work in the load's database, read from a session in another one.

Names are those of its views and their columns: `pg_stat_database.xact_commit`. Where clients have ended,
these are exact, as seen with 10 to 18: `sessions` (14 on), `tup_inserted`, `tup_updated`, `tup_deleted`, and
`xact_commit`, which has one more for each login, and two for each visit of autovacuum to the database. It
comes once in `autovacuum_naptime` (a minute), so a server that is measured has that longer than a trial.
`tup_returned`, `tup_fetched` and `blks_*` also have what each session reads of the catalogue. Before 15 a
collector is told over UDP, which may lose some of it.

Source: PostgreSQL documentation, "The Cumulative Statistics System": a session reports at most once in a
second, and when it ends. A backend reports before it leaves pg_stat_activity (`pgstat_beshutdown_hook`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Final

from tlstax.postgres import settings
from tlstax.postgres.database import PostgresDatabase, apart, named_database
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.facts import Traffic
from tlstax.support.errors import MachineFault

CONNECTED: Final = "pg_stat_activity.client_backends"

_SETTLING_S, _LOOK_AGAIN_S = 1.0, 0.001

COUNTS_AT_ONCE: Final = False
"""A session that works says once in a second what it has done, and all of it when it ends."""

_STALE_S: Final = 0.55
"""Before 15, how old what is read may be (PGSTAT_STAT_INTERVAL, half a second), and a little."""

_COLLECTING_S: Final = 10.0
"""How long a collector on a busy machine may take to count what it was told."""

_COLLECTING_BESIDE_OTHERS_S: Final = 2.0
"""How long that is waited for at somebody else's server, which may never be still."""

_FIRST_WITHOUT_COLLECTOR: Final = 150000
_FIRST_WITH_CHECKPOINTER: Final = 170000

_BACKENDS = "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"

_OF_DATABASE = "SELECT 'pg_stat_database', row_to_json(d)::text FROM pg_stat_database d WHERE datname = {}"
_OF_SERVER = (
    " UNION ALL SELECT 'pg_stat_bgwriter', row_to_json(b)::text FROM pg_stat_bgwriter b"
    " UNION ALL SELECT 'pg_stat_activity', json_build_object('client_backends', COUNT(*))::text"
    " FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " UNION ALL SELECT 'pg_stat_ssl', json_build_object('encrypted', COUNT(*))::text"
    " FROM pg_stat_ssl WHERE ssl"
)
_OF_CHECKPOINTER = (
    " UNION ALL SELECT 'pg_stat_checkpointer', row_to_json(c)::text FROM pg_stat_checkpointer c"
)

_NO_COUNTERS: Final = frozenset({"datid", "numbackends"})
"""Whole numbers in pg_stat_database that count nothing, or what another view counts better."""


def read_status(connection: Database) -> dict[str, int]:
    """The counters of the load's database and of the server. Raises MachineFault.

    The connection's own session in that database is left before, so that it is among neither: between two
    readings nothing may be asked there. `pg_stat_checkpointer` is there from 17 on. A server before 15 is
    read again until nothing has changed for longer than its answers may be old: what it is told late of
    sessions that have ended, this one's among them, would else be counted after this reading.
    """
    if isinstance(connection, PostgresDatabase):
        connection.leave()
    try:
        return _settled(connection)
    except SqlError as error:
        raise _unreadable(error) from None


def read_settled_status(connection: Database, expected: int) -> dict[str, int]:
    """`read_status`, once no more than `expected` clients are left, or after a second."""
    if isinstance(connection, PostgresDatabase):
        connection.leave()
    try:
        deadline = time.monotonic() + _SETTLING_S
        while answers.number(answers.row(apart(connection), _BACKENDS, columns=1)[0]) > expected:
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOK_AGAIN_S)
        return _settled(connection)
    except SqlError as error:
        raise _unreadable(error) from None


def _settled(connection: Database) -> dict[str, int]:
    """The counters, with all that sessions which have ended told the server."""
    version = settings.version_number(connection)
    if version >= _FIRST_WITHOUT_COLLECTOR:
        return _counters(connection, version)
    return _collected(connection, version)


def _collected(connection: Database, version: int) -> dict[str, int]:
    """The counters, once two readings that cannot be the same old one agree."""
    is_shared = getattr(connection, "is_shared", False)
    deadline = time.monotonic() + (_COLLECTING_BESIDE_OTHERS_S if is_shared else _COLLECTING_S)
    before: dict[str, int] = {}
    while True:
        time.sleep(_STALE_S)
        now = _counters(connection, version)
        if now == before or time.monotonic() > deadline:
            return now
        before = now


def connected(counters: Mapping[str, int]) -> int:
    """How many clients were connected; 0 where the server does not report it."""
    return counters.get(CONNECTED, 0)


def sessions_resumed(before: Mapping[str, int], after: Mapping[str, int]) -> int:  # noqa: ARG001
    """None: PostgreSQL resumes no TLS session.

    It keeps no sessions and gives no tickets (`be_tls_init`: SSL_SESS_CACHE_OFF, SSL_OP_NO_TICKET).
    """
    return 0


def traffic(connection: Database) -> Traffic:
    """How many transactions the server has ended in all databases, for want of a count of statements.

    Raises MachineFault.
    """
    began_s = time.monotonic()
    asked = "SELECT SUM(xact_commit + xact_rollback)::bigint FROM pg_stat_database"
    try:
        ended = answers.number(answers.row(apart(connection), asked, columns=1)[0])
    except SqlError as error:
        raise _unreadable(error) from None
    return Traffic(ended, (began_s + time.monotonic()) / 2)


def _counters(connection: Database, version: int) -> dict[str, int]:
    """What the views have, by view and column."""
    asked = _OF_DATABASE.format(named_database(connection)) + _OF_SERVER
    if version >= _FIRST_WITH_CHECKPOINTER:
        asked += _OF_CHECKPOINTER
    views = answers.rows(apart(connection), asked, columns=2)
    return {
        f"{view}.{column}": value
        for view, text in views
        for column, value in _columns(text).items()
        if type(value) is int and column not in _NO_COUNTERS
    }


def _columns(text: object) -> dict[str, object]:
    try:
        columns = json.loads(str(text))
    except ValueError:
        columns = None
    if not isinstance(columns, dict):
        raise answers.Malformed(f"{str(text)[:40]!r} was answered where a view's row was expected")
    return columns


def _unreadable(error: SqlError) -> MachineFault:
    return MachineFault(f"the server's counters could not be read ({answers.message_of(error)})")
