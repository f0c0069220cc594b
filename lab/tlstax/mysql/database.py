"""Connections to a server: logging in, and errors by their numbers.

Source of the numbers: MySQL's and MariaDB's error references (server errors: 1xxx, 3xxx, 4xxx; client errors:
2xxx).
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER
from pymysql.err import MySQLError

from tlstax.contract import Account, TcpEndpoint
from tlstax.sql.database import Database, SqlError

ACCESS_DENIED = frozenset({ER.ACCESS_DENIED_ERROR})
SCHEMA_EXISTS = frozenset({ER.DB_CREATE_EXISTS})
NO_SUCH_COLUMN = frozenset({ER.BAD_FIELD_ERROR})
NO_SUCH_TABLE = frozenset({ER.NO_SUCH_TABLE})
PARSE_ERROR = frozenset({ER.PARSE_ERROR})
TABLE_EXISTS = frozenset({ER.TABLE_EXISTS_ERROR})
UNKNOWN_SCHEMA = frozenset({ER.BAD_DB_ERROR})

OBJECT_EXISTS = frozenset({ER.TABLE_EXISTS_ERROR, ER.SP_ALREADY_EXISTS, ER.TRG_ALREADY_EXISTS, 1537})
"""The last is ER_EVENT_ALREADY_EXISTS, which pymysql has no name for."""

REFERRED_TO = frozenset({1217, 1451, 3730})
"""A foreign key refers to it: ER_ROW_IS_REFERENCED, ER_ROW_IS_REFERENCED_2, ER_FK_CANNOT_DROP_PARENT."""

NOT_ALLOWED = frozenset({1044, 1142})
"""The account lacks the right: ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR."""

READ_ONLY = frozenset({1290, 1792, 1836, 1874, 3989})
"""Nothing can be changed: read_only and its like, a transaction that only reads, a replica being set up."""

_CLIENT_ERRORS = range(2000, 3000)


@contextmanager
def raising_sql_errors() -> Iterator[None]:
    """Have pymysql's errors raised as SqlError."""
    try:
        yield
    except MySQLError as error:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        cause = getattr(error, "original_exception", None)
        raise SqlError(
            number,
            str(error.args[-1] if error.args else "") or type(error).__name__,
            is_of_connection=number in _CLIENT_ERRORS,
            cause=cause if isinstance(cause, BaseException) else None,
        ) from error


class MySqlDatabase(Database):
    """`Database` over a connection of pymysql's."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    @property
    def is_open(self) -> bool:
        """Whether it has neither been closed nor failed."""
        return bool(self._connection.open)

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS protects it that is thought safe."""
        return isinstance(self.channel, ssl.SSLSocket) and bool(getattr(self._connection, "_secure", False))

    @property
    def channel(self) -> socket.socket | None:
        """Its socket; None once it is closed."""
        channel = getattr(self._connection, "_sock", None)
        return channel if isinstance(channel, socket.socket) else None

    @property
    def server_capabilities(self) -> int:
        """The flags of the server's greeting."""
        return int(getattr(self._connection, "server_capabilities", 0))

    @property
    def number(self) -> int:
        """The server's own number of the connection."""
        return int(self._connection.thread_id())  # type: ignore[no-untyped-call]

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Carry out a statement; the rows of its answer. Raises SqlError."""
        with raising_sql_errors(), self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def close(self) -> None:
        """Say goodbye and close it; nothing where it is closed."""
        if self.is_open:
            with raising_sql_errors():
                self._connection.close()


LOGIN_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 600


def log_in_over_socket(socket_path: Path, account: Account) -> MySqlDatabase:
    """A connection with autocommit over a Unix socket, in the clear. Raises SqlError."""
    with raising_sql_errors():
        return MySqlDatabase(
            pymysql.connect(
                unix_socket=str(socket_path),
                user=account.user,
                password=account.password,
                database=account.database,
                autocommit=True,
                ssl_disabled=True,
                connect_timeout=LOGIN_TIMEOUT_S,
                read_timeout=STATEMENT_TIMEOUT_S,
            )
        )


def try_login_over_tls(endpoint: TcpEndpoint, account: Account, context: ssl.SSLContext) -> None:
    """Log in over TLS and leave at once. Raises SqlError; its `cause` is what the handshake failed on."""
    with raising_sql_errors():
        pymysql.connect(
            host=endpoint.host,
            port=endpoint.port,
            user=account.user,
            password=account.password,
            ssl=context,
            connect_timeout=LOGIN_TIMEOUT_S,
        ).close()
