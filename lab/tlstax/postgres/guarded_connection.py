"""A connection of pg8000's to a server that may be anything: bounded, and every breach an error.

Where a server sends what pg8000 does not expect, its parsing may end in any exception; an answer may take for
ever and be of any length. Here all of it becomes SqlError, and the connection is closed, since nobody knows
where the next answer begins.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pg8000.core import Context

from tlstax.postgres.database import INTEGERS, TERMINATE, PostgresDatabase, Session, T
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError
from tlstax.support.errors import TlstaxError

ANSWER_AT_MOST_BYTES: Final = 64 * 1024 * 1024
"""More than anything that the laboratory asks for, or a user's statement that prepares a table."""

LOGIN_STEPS: Final = 3
"""A login may take this many times as long as one answer of it."""

GOODBYE_S: Final = 1.0
"""How long a server may take to close its end after the goodbye."""

_READ_BYTES: Final = 65536
_KEPT_BYTES: Final = 64

Prove = Callable[[int, bytes], bytes | None]
"""Answers an authentication request by its code and what follows it; None where nothing is to be said.

Raises TlstaxError for one that is not to be answered.
"""


class BoundedChannel:
    """A socket as pg8000 reads and writes it: an answer takes no longer, and has no more bytes, than allowed.

    `began` has the first bytes that the server sent.
    """

    def __init__(self, channel: socket.socket, answer_s: float) -> None:
        self.channel, self.answer_s = channel, answer_s
        self.began = b""
        self._unread, self._unsent = bytearray(), bytearray()
        self._deadline, self._left_bytes = 0.0, 0

    def allow(self, steps: int = 1) -> None:
        """Another answer, or a login of N steps, may begin now."""
        self._deadline = time.monotonic() + steps * self.answer_s
        self._left_bytes = ANSWER_AT_MOST_BYTES

    def makefile(self, mode: str) -> BoundedChannel:  # noqa: ARG002 (pg8000's call)
        """The channel itself, which pg8000 reads as a file."""
        return self

    def read(self, size: int) -> bytes:
        """As many bytes. Raises OSError where they do not come, Malformed where they are too many."""
        self._left_bytes -= size
        if size < 0 or self._left_bytes < 0:
            raise Malformed(f"an answer is longer than {ANSWER_AT_MOST_BYTES:,} bytes, or shorter than none")
        while len(self._unread) < size:
            left_s = self._deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("an answer took too long")
            self.channel.settimeout(min(left_s, self.answer_s))
            piece = self.channel.recv(_READ_BYTES)
            if not piece:
                raise ConnectionAbortedError("the server closed it")
            self.began = (self.began + piece)[:_KEPT_BYTES]
            self._unread += piece
        read = bytes(self._unread[:size])
        del self._unread[:size]
        return read

    def write(self, data: bytes) -> None:
        """Keep it until it is flushed."""
        self._unsent += data

    def flush(self) -> None:
        """Send what was written. Raises OSError."""
        data, self._unsent = bytes(self._unsent), bytearray()
        if data:
            self.channel.settimeout(self.answer_s)
            self.channel.sendall(data)

    def close(self) -> None:
        """Close the socket."""
        with suppress(OSError):
            self.channel.close()


AUTHENTICATION_OK = 0
"""Source: PostgreSQL documentation, 54.7, AuthenticationOk; it comes where no proof is asked for, too."""


class GuardedSession(Session):
    """pg8000's, for an external server: whether and how the account is proved, another decides."""

    def __init__(self, channel: BoundedChannel, prove: Prove, **account: Any) -> None:
        """Log in. Raises what pg8000 does, and SqlError and TlstaxError."""
        self._prove, self._is_let_in = prove, False
        channel.allow(LOGIN_STEPS)
        super().__init__(sock=channel, ssl_context=False, **account)
        if not self._is_let_in:
            channel.close()
            raise Malformed("a server that is ready before it has let anybody in")

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Context) -> None:  # noqa: N802, ARG002
        """What pg8000 would answer by itself, whoever asks."""
        (code,) = struct.unpack_from("!i", data)
        self._is_let_in = code == AUTHENTICATION_OK
        answer = self._prove(code, data[4:])
        if answer is not None:
            self._send_message(b"p", answer)
            self._sock.flush()

    @property
    def number(self) -> int:
        """The process that serves it, by its own word; 0 where it has none."""
        key = self._backend_key_data or b""
        return int.from_bytes(key[:4]) if len(key) >= 4 else 0


class GuardedDatabase(PostgresDatabase):
    """`Database` over a guarded session in one database, and what its login told; it is not opened again."""

    def __init__(
        self, channel: BoundedChannel, prove: Prove, user: str, database: str, method: Callable[[], str]
    ) -> None:
        """Log in. `method` tells afterwards by what the account was proved. Raises SqlError, TlstaxError."""
        self._channel, self._method = channel, method
        with self._guarded():
            super().__init__(lambda name: self._begin(prove, user, name), database)

    def _begin(self, prove: Prove, user: str, database: str) -> tuple[Session, socket.socket]:
        session = GuardedSession(
            self._channel,
            prove,
            user=user,
            database=database,
            application_name="tlstax",
            startup_params={"client_encoding": "UTF8"},
        )
        session.pg_types = defaultdict(lambda: str, dict.fromkeys(INTEGERS, int))
        self._number = session.number
        return session, self._channel.channel

    is_shared = True

    scram_iterations: int | None = None
    """How often SCRAM had the password hashed, once it has logged in; None where it was proved otherwise."""

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS protects it."""
        return isinstance(self._channel.channel, ssl.SSLSocket)

    @property
    def apart(self) -> GuardedDatabase:
        """The same: somebody else's server counts others' statements anyway."""
        return self

    @property
    def number(self) -> int:
        """The server's own number of the connection, its process."""
        return self._number

    @property
    def account_plugin(self) -> str:
        """What the account was proved by."""
        return self._method()

    @property
    def password_was_sent(self) -> bool:
        """Whether the login took the password itself, and not its proof alone."""
        return self._method() == "password"

    def wait_at_most(self, timeout_s: float) -> None:
        """How long an answer may take from now on."""
        self._channel.answer_s = timeout_s

    def leave(self) -> None:
        """Nothing: what others do is counted as well."""

    def close(self) -> None:
        """Say goodbye, and wait for the server to close its end: it counts the connection until then."""
        if self._is_closed:
            return
        self._is_closed, self._opened = True, None
        channel, deadline = self._channel.channel, time.monotonic() + GOODBYE_S
        with suppress(OSError):
            channel.settimeout(GOODBYE_S)
            channel.sendall(TERMINATE)
            while channel.recv(_READ_BYTES) and time.monotonic() < deadline:
                pass
        self._channel.close()

    def _run(self, ask: Callable[[Session], T]) -> T:
        self._channel.allow()
        with self._guarded():
            return super()._run(ask)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (SqlError, TlstaxError):
            raise
        except Exception as error:
            self._break_off()
            raise Malformed(f"{type(error).__name__} while reading an answer: {error}") from error
        except BaseException:
            # Interrupted in the middle of an answer.
            self._break_off()
            raise

    def _break_off(self) -> None:
        self._is_closed, self._opened = True, None
        self._channel.close()
