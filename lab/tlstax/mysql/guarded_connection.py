"""A connection of pymysql's to a server that may be anything: bounded, and every breach an error.

Where a server sends what pymysql does not expect, its parsing may end in any exception; an answer may take
for ever and be of any length. Here all of it becomes an error of pymysql's or SqlError, and the connection is
closed, since nobody knows where the next answer begins.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from pymysql.connections import Connection
from pymysql.constants import COMMAND, CR
from pymysql.cursors import Cursor
from pymysql.err import MySQLError, OperationalError

from tlstax.mysql.database import MySqlDatabase
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError
from tlstax.support.errors import TlstaxError

ANSWER_AT_MOST_BYTES = 64 * 1024 * 1024
"""More than anything that the laboratory asks for, or a user's statement that prepares a table."""

LOGIN_STEPS = 3
"""A login may take this many times as long as one answer of it."""

GOODBYE_S, _GOODBYE_BYTES = 1.0, 4096
"""How long a server may say nothing after the goodbye, and how much of what it says is read at once."""

_QUIT = struct.pack("<iB", 1, COMMAND.COM_QUIT)

FILE_REFUSED = 2068
"""CR_LOAD_DATA_LOCAL_INFILE_REJECTED of MySQL's client, which pymysql has no name for."""


if TYPE_CHECKING:
    _PyMySql = Connection[Cursor]
else:
    _PyMySql = Connection


class GuardedConnection(_PyMySql):
    """pymysql's, for an external server; it raises only MySQLError and SqlError, and TlstaxError in a login.

    An answer, and a login, as a whole take no longer than the time limit and have no more bytes than
    `ANSWER_AT_MOST_BYTES`.
    """

    _sock: Any
    _rfile: Any
    _current_timeout: float | None
    _read_timeout: float
    _auth_plugin_name: str
    _switched_to = ""
    password_was_sent = False
    """Whether the login took the password itself, and not its proof alone."""
    _deadline = 0.0
    _left_bytes = 0
    _answer_begins = False

    def connect(self, sock: Any = None) -> None:
        """Log in over this socket."""
        self._allow(LOGIN_STEPS * self._read_timeout)
        with self._guarded():
            super().connect(sock)

    @property
    def account_plugin(self) -> str:
        """What the account is proved by: what the server switched to, or else what its greeting named."""
        return self._switched_to or self._auth_plugin_name

    def query(self, sql: Any, unbuffered: bool = False) -> int:
        """Carry out a statement and read all of its answer."""
        with self._guarded():
            return super().query(sql, unbuffered)

    def next_result(self, unbuffered: bool = False) -> int:
        """Read the next answer of a statement that has several."""
        self._answer_begins = True
        with self._guarded():
            return super().next_result(unbuffered)

    def close(self) -> None:
        """Say goodbye, and wait for the server to close its end: it counts the connection until then."""
        if self._sock is None:
            super().close()
            return
        self._closed = True
        deadline = time.monotonic() + GOODBYE_S
        try:
            self._sock.settimeout(GOODBYE_S)
            self._sock.sendall(_QUIT)
            self._sock.shutdown(socket.SHUT_WR)
            # Of TLS nothing is left after that: what comes is as it crossed the wire.
            while self._sock.recv(_GOODBYE_BYTES) and time.monotonic() < deadline:
                pass
        except OSError:
            pass
        finally:
            self._force_close()

    def _process_auth(self, plugin_name: Any, auth_packet: Any, handler: Any = None) -> Any:
        self._switched_to = plugin_name.decode(errors="replace")
        return super()._process_auth(plugin_name, auth_packet, handler)  # type: ignore[misc]

    def _execute_command(self, command: int, sql: Any) -> None:
        self._allow(self._read_timeout)
        super()._execute_command(command, sql)  # type: ignore[misc]
        self._answer_begins = True

    def _read_packet(self, *arguments: Any) -> Any:
        packet = super()._read_packet(*arguments)  # type: ignore[no-untyped-call]
        begins, self._answer_begins = self._answer_begins, False
        if begins and packet.is_load_local_packet():
            self._force_close()
            raise OperationalError(FILE_REFUSED, "LOAD DATA LOCAL INFILE")
        return packet

    def _read_bytes(self, count: int) -> bytes:
        """As pymysql's, which waits anew for every piece that comes."""
        self._left_bytes -= count
        if self._left_bytes < 0:
            self._lost(f"an answer is longer than {ANSWER_AT_MOST_BYTES:,} bytes")
        read = bytearray()
        while len(read) < count:
            left_s = self._deadline - time.monotonic()
            if left_s <= 0:
                self._lost("an answer took too long")
            self._sock.settimeout(min(left_s, self._read_timeout))
            self._current_timeout = None
            try:
                piece = self._rfile.read1(count - len(read))
            except OSError as error:
                self._lost(str(error))
            if not piece:
                self._lost("the server closed it")
            read += piece
        return bytes(read)

    def _lost(self, why: str) -> NoReturn:
        self._force_close()
        raise OperationalError(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({why})")

    def _allow(self, time_s: float) -> None:
        self._deadline = time.monotonic() + time_s
        self._left_bytes = ANSWER_AT_MOST_BYTES

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (MySQLError, SqlError, TlstaxError):
            raise
        except Exception as error:
            self._force_close()
            raise Malformed(f"{type(error).__name__} while reading an answer: {error}") from error
        except BaseException:
            # Interrupted in the middle of an answer.
            self._force_close()
            raise

    def _force_close(self) -> None:
        super()._force_close()  # type: ignore[misc]


class GuardedDatabase(MySqlDatabase):
    """`Database` over a guarded connection that has logged in, and what its login told."""

    def __init__(self, connection: GuardedConnection) -> None:
        super().__init__(connection)
        self._guarded = connection

    @property
    def account_plugin(self) -> str:
        """What the account is proved by."""
        return self._guarded.account_plugin

    @property
    def password_was_sent(self) -> bool:
        """Whether the login took the password itself, and not its proof alone."""
        return self._guarded.password_was_sent

    def wait_at_most(self, timeout_s: float) -> None:
        """How long an answer may take from now on. pymysql has no public way to change it after the login."""
        for name in ("_read_timeout", "_write_timeout"):
            setattr(self._guarded, name, timeout_s)
