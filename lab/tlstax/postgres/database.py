"""Connections to PostgreSQL: logging in, statements, and errors by their SQLSTATE.

A login has one session in the database of the load, and one apart from it, in `postgres`, for questions
whose answers they must not change: the server counts by database, the laboratory's own statements among them.

Source: PostgreSQL documentation, "PostgreSQL Error Codes", "Frontend/Backend Protocol" (Message Flow,
Termination) and "The Cumulative Statistics System".
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pg8000 import native
from pg8000.core import Context
from scramp import ScramException

from tlstax.contract import Account, TcpEndpoint
from tlstax.sql.database import Database, SqlError

T = TypeVar("T")

LOGIN_TIMEOUT_S: Final = 10
STATEMENT_TIMEOUT_S: Final = 600

APART: Final = "postgres"
"""The database that every cluster has, and in which no load works ("Template Databases")."""

CONNECTION_FAILED: Final = "08006"
"""connection_failure: what a connection that broke is given where the server said nothing itself."""

PROTOCOL_VIOLATION: Final = "08P01"
TERMINATE: Final = b"X\x00\x00\x00\x04"
COPY_FAIL: Final = b"f"
NO_ROWS: Final = "tlstax has no rows for it; write an INSERT"
"""What the server says beside its own words where it is told so ("COPY Operations")."""

_ENDING_S: Final = 10.0
_CLOSING_S: Final = 1.0
"""How long the end of a session is waited for: where its counts are read next, and where none are."""

INTEGERS: Final = (20, 21, 23, 26)
"""The types int8, int2, int4 and oid, by their numbers (pg_type.dat)."""

_ENDS_SESSIONS: Final = frozenset({"FATAL", "PANIC"})

_BROKEN = (OSError, native.InterfaceError, ScramException)
_MALFORMED = (struct.error, LookupError, ValueError, AttributeError, TypeError)
"""What pg8000 raises where a server does not keep to the protocol."""


ACCESS_DENIED: Final = frozenset({"28P01", "28000"})
"""invalid_password, invalid_authorization_specification."""

UNKNOWN_SCHEMA: Final = frozenset({"3D000", "3F000"})
"""There is no such database, or no such schema: invalid_catalog_name, invalid_schema_name."""

TABLE_EXISTS: Final = frozenset({"42P07"})
"""A relation of the name is there already: duplicate_table."""

OBJECT_EXISTS: Final = frozenset({"42P07", "42P06", "42723", "42710"})
"""An object of the name is there already, of whichever kind (duplicate_…, class 42)."""

NO_SUCH_TABLE: Final = frozenset({"42P01"})
"""undefined_table."""

PARSE_ERROR: Final = frozenset({"42601"})
"""syntax_error."""

REFERRED_TO: Final = frozenset({"2BP01", "23503"})
"""Something depends on it: dependent_objects_still_exist, foreign_key_violation."""

NOT_ALLOWED: Final = frozenset({"42501"})
"""insufficient_privilege."""

READ_ONLY: Final = frozenset({"25006"})
"""read_only_sql_transaction, as on a standby."""


class _Nowhere:
    """Takes what is written to it."""

    def write(self, data: bytes) -> None:
        """Forget it."""


class Session(native.Connection):  # type: ignore[misc]
    """A session of pg8000, which has no types, that knows by the last message of the server why it ended."""

    def handle_ERROR_RESPONSE(self, data: bytes, context: Context) -> None:  # noqa: N802 (pg8000's name)
        """Keep it, and raise it where it is the last that comes."""
        super().handle_ERROR_RESPONSE(data, context)
        # Nothing follows, and pg8000 would wait for what does.
        if context.error.args[0].get("V") in _ENDS_SESSIONS:
            raise context.error

    def handle_COPY_IN_RESPONSE(self, data: bytes, context: Context) -> None:  # noqa: N802 (the same)
        """Where a statement of the user's asks for rows, say that none come: the server refuses it then."""
        if context.stream is not None:
            super().handle_COPY_IN_RESPONSE(data, context)
            return
        self._send_message(COPY_FAIL, NO_ROWS.encode() + b"\0")
        self._sock.flush()

    def handle_COPY_OUT_RESPONSE(self, data: bytes, context: Context) -> None:  # noqa: N802 (the same)
        """Rows that nobody asked to see are read and forgotten."""
        context.stream = context.stream or _Nowhere()
        super().handle_COPY_OUT_RESPONSE(data, context)

    def close(self) -> None:
        """Close it, whatever becomes of the farewell: a failure of that would hide why it is closed."""
        with suppress(*_BROKEN):
            super().close()


class PostgresDatabase(Database):
    """A login over a Unix socket, with autocommit: a session in the account's database, and one apart.

    Integers come as such, other values as the server writes them, NULL as None.
    """

    is_shared = False
    """Whether the server is somebody else's, where others are counted as well."""

    def __init__(self, log_in: Callable[[str], tuple[Session, socket.socket]], database: str) -> None:
        """`log_in` opens a session in a database. Raises SqlError where the first is not opened."""
        self._log_in = log_in
        self.name = database
        self._apart: PostgresDatabase | None = None
        self._is_closed = False
        self._opened: tuple[Session, socket.socket] | None = _carefully(partial(log_in, database))

    @property
    def is_open(self) -> bool:
        """Whether it has neither been closed nor failed."""
        return not self._is_closed

    @property
    def is_encrypted(self) -> bool:
        """No: a Unix socket needs no TLS."""
        return False

    @property
    def channel(self) -> socket.socket | None:
        """Its socket, that of the session apart while the other is left; None once it is closed."""
        if self._opened is not None:
            return self._opened[1]
        return None if self._is_closed else self.apart.channel

    @property
    def apart(self) -> PostgresDatabase:
        """The session whose statements do not count among those of the load's database."""
        if self.name == APART:
            return self
        if self._apart is None or not self._apart.is_open:
            self._apart = PostgresDatabase(self._log_in, APART)
        return self._apart

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Carry out a statement, with the values in place of its `%s`; the rows of its answer, if any.

        They stand in it as literals, since statements that define something take no parameters. Raises
        SqlError.
        """
        if values:
            statement %= tuple(map(native.literal, values))
        return [tuple(row) for row in self._run(lambda session: session.run(statement)) or ()]

    def copy(self, statement: str, text: str) -> None:
        """Carry out a COPY ... FROM STDIN with this text. Raises SqlError."""
        self._run(lambda session: session.run(statement, stream=iter([text])))

    def leave(self) -> None:
        """Close the session in the load's database, so that the server has all that it counted of it.

        The server closes the socket of a session after it has reported, and after it has taken it off the
        list of those that there are. The next statement opens another.
        """
        if self._opened is not None and self.name != APART:
            _end(*self._opened, _ENDING_S)
            self._opened = None

    def close(self) -> None:
        """Close both sessions; nothing where it is closed."""
        self._is_closed = True
        if self._opened is not None:
            _end(*self._opened, _CLOSING_S)
            self._opened = None
        if self._apart is not None:
            self._apart.close()

    def _run(self, ask: Callable[[Session], T]) -> T:
        """What is asked of the session, which is opened if it is left. Where it failed, all is closed."""
        if self._is_closed:
            raise SqlError(CONNECTION_FAILED, "the connection is closed", is_of_connection=True)
        try:
            if self._opened is None:
                self._opened = _carefully(partial(self._log_in, self.name))
            session = self._opened[0]
            return _carefully(lambda: ask(session))
        except SqlError as error:
            if error.is_of_connection:
                self.close()
            raise


def apart(database: Database) -> Database:
    """The session of this login whose statements do not count among those of the load's database."""
    return database.apart if isinstance(database, PostgresDatabase) else database


def named_database(database: Database) -> str:
    """The database of this login's load, as a statement of the session apart names it."""
    return native.literal(database.name) if isinstance(database, PostgresDatabase) else "current_database()"


def log_in_over_socket(socket_path: Path, account: Account) -> PostgresDatabase:
    """A connection with autocommit over a Unix socket, in the clear. Raises SqlError."""

    def log_in(database: str) -> tuple[Session, socket.socket]:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            channel.settimeout(LOGIN_TIMEOUT_S)
            channel.connect(str(socket_path))
            session = Session(
                account.user,
                sock=channel,
                password=account.password,
                database=database,
                ssl_context=False,
                application_name="tlstax",
            )
        except BaseException:
            channel.close()
            raise
        channel.settimeout(STATEMENT_TIMEOUT_S)
        session.pg_types = defaultdict(lambda: str, dict.fromkeys(INTEGERS, int))
        return session, channel

    return PostgresDatabase(log_in, account.database or APART)


def try_login_over_tls(endpoint: TcpEndpoint, account: Account, context: ssl.SSLContext) -> None:
    """Log in over TLS, begun by SSLRequest, and leave at once.

    SCRAM is bound to the TLS channel where the server offers it. Raises SqlError; its `cause` is what the
    handshake failed on.
    """
    session = _carefully(
        lambda: Session(
            account.user,
            host=endpoint.host,
            port=endpoint.port,
            password=account.password,
            database=account.database or APART,
            ssl_context=context,
            timeout=LOGIN_TIMEOUT_S,
        )
    )
    session.close()


def _carefully(ask: Callable[[], T]) -> T:
    """What is asked for. Raises SqlError for whatever pg8000 raises."""
    try:
        return ask()
    except native.DatabaseError as error:
        said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
        ended = said.get("V") in _ENDS_SESSIONS
        raise SqlError(said.get("C", ""), said.get("M", str(error)), is_of_connection=ended) from error
    except _BROKEN as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        message = str(cause or error) or type(error).__name__
        raise SqlError(CONNECTION_FAILED, message, is_of_connection=True, cause=cause) from error
    except _MALFORMED as error:
        message = "the server does not keep to the protocol"
        raise SqlError(PROTOCOL_VIOLATION, message, is_of_connection=True, cause=error) from error


def _end(session: Session, channel: socket.socket, wait_s: float) -> None:
    """Ask the server to end the session, and wait until it has; a server that is paused does not."""
    with suppress(OSError):
        channel.settimeout(wait_s)
        channel.sendall(TERMINATE)
        while channel.recv(4096):
            pass
    channel.close()
    session.close()
