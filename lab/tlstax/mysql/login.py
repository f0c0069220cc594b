"""Logging in to a server of this machine's: over its socket, or over TLS to see what it shows of itself."""

from __future__ import annotations

import ssl
from pathlib import Path

import pymysql

from tlstax.contract import Account, TcpEndpoint
from tlstax.mysql.database import Database, SqlError

LOGIN_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 600


def over_socket(socket_path: Path, account: Account) -> Database:
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


def try_over_tls(endpoint: TcpEndpoint, account: Account, context: ssl.SSLContext) -> None:
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
