"""Connections to a server: logging in, and errors by their numbers.

Source of the numbers: MySQL's and MariaDB's error references (server errors: 1xxx, 3xxx, 4xxx; client errors:
2xxx).
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, TypeAlias

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER
from pymysql.err import MySQLError

from tlstax.contract import Account, TcpEndpoint

Database: TypeAlias = "Connection[Any]"
"""A connection of the laboratory's own, for statements that are not measured."""

SqlError = MySQLError
"""What a login or a statement raises where the server refuses it or the connection fails.

Its first argument is the number of the error, its last what the server says of it.
"""

ACCESS_DENIED: int = ER.ACCESS_DENIED_ERROR
SCHEMA_EXISTS: int = ER.DB_CREATE_EXISTS
NO_SUCH_COLUMN: int = ER.BAD_FIELD_ERROR
NO_SUCH_TABLE: int = ER.NO_SUCH_TABLE
PARSE_ERROR: int = ER.PARSE_ERROR
TABLE_EXISTS: int = ER.TABLE_EXISTS_ERROR
UNKNOWN_SCHEMA: int = ER.BAD_DB_ERROR

OBJECT_EXISTS = frozenset({ER.TABLE_EXISTS_ERROR, ER.SP_ALREADY_EXISTS, ER.TRG_ALREADY_EXISTS, 1537})
"""The last is ER_EVENT_ALREADY_EXISTS, which pymysql has no name for."""

REFERRED_TO = frozenset({1217, 1451, 3730})
"""A foreign key refers to it: ER_ROW_IS_REFERENCED, ER_ROW_IS_REFERENCED_2, ER_FK_CANNOT_DROP_PARENT."""

NOT_ALLOWED = frozenset({1044, 1142})
"""The account lacks the right: ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR."""

READ_ONLY = frozenset({1290, 1792, 1836, 1874, 3989})
"""Nothing can be changed: read_only and its like, a transaction that only reads, a replica being set up."""

_CLIENT_ERRORS = range(2000, 3000)


def error_number(error: SqlError) -> int:
    """The error's number; 0 where it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def is_connection_error(error: SqlError) -> bool:
    """Whether the connection failed, and not a statement."""
    return error_number(error) in _CLIENT_ERRORS


LOGIN_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 600


def log_in_over_socket(socket_path: Path, account: Account) -> Database:
    """A connection with autocommit over a Unix socket, in the clear. Raises SqlError."""
    return pymysql.connect(
        unix_socket=str(socket_path),
        user=account.user,
        password=account.password,
        database=account.database,
        autocommit=True,
        ssl_disabled=True,
        connect_timeout=LOGIN_TIMEOUT_S,
        read_timeout=STATEMENT_TIMEOUT_S,
    )


def try_login_over_tls(endpoint: TcpEndpoint, account: Account, context: ssl.SSLContext) -> None:
    """Log in over TLS and leave at once. Raises SqlError; `cause_of` has what the handshake failed on."""
    pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=account.user,
        password=account.password,
        ssl=context,
        connect_timeout=LOGIN_TIMEOUT_S,
    ).close()


def cause_of(error: SqlError) -> BaseException | None:
    """The error of the socket or of TLS on which a login failed; None where the server refused it."""
    cause = getattr(error, "original_exception", None)
    return cause if isinstance(cause, BaseException) else None
