"""A connection of the laboratory's own to a server, and what it raises, whichever product the server is."""

from __future__ import annotations

import socket
from typing import Any, Protocol, Self


class SqlError(Exception):
    """A login or a statement that the server refused, or a connection that failed.

    `code` is the product's own: a number of MySQL's, or a SQLSTATE; it is 0 or empty where there is none.
    `is_of_connection` says that the connection failed, and not a statement; `cause` is the error of the
    socket or of TLS that it failed on, None where the server refused.
    """

    def __init__(
        self,
        code: int | str,
        message: str,
        *,
        is_of_connection: bool = False,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.is_of_connection = is_of_connection
        self.cause = cause


class Database(Protocol):
    """A connection with autocommit, for statements that are not measured."""

    @property
    def is_open(self) -> bool:
        """Whether it has neither been closed nor failed."""
        ...

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS protects it."""
        ...

    @property
    def channel(self) -> socket.socket | None:
        """Its socket; None once it is closed."""
        ...

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Carry out a statement, with the values in place of its `%s`; the rows of its answer, if any.

        Without values, a `%` stands for itself. Raises SqlError.
        """
        ...

    def close(self) -> None:
        """Close it; nothing where it is closed."""
        ...

    def __enter__(self) -> Self:
        """The connection itself, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class GuardedDatabase(Database, Protocol):
    """A connection to somebody else's server, whose answers may be anything: bounded in time and in bytes."""

    @property
    def number(self) -> int:
        """The server's own number of the connection."""
        ...

    @property
    def account_plugin(self) -> str:
        """What the account is proved by, as the server names it."""
        ...

    @property
    def password_was_sent(self) -> bool:
        """Whether the login took the password itself, and not its proof alone."""
        ...

    def wait_at_most(self, timeout_s: float) -> None:
        """How long an answer may take from now on."""
        ...
