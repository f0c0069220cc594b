"""A connection to an external server: the way there, a login by the product's own module, and what it can do.

Who could read the password on the way, or could be somebody else, does not get it: see `mysql_login` and
`postgres_login`.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from dataclasses import replace

from tlstax.external import chain as chains
from tlstax.external import failures as external_failures
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import Handshake
from tlstax.external.tls import VERIFYING, SslMode
from tlstax.products.external import external_product
from tlstax.sql import answers
from tlstax.sql.database import Database, GuardedDatabase, SqlError
from tlstax.study.product import release_of
from tlstax.study.server_abilities import ServerAbilities, of_postgresql
from tlstax.support.errors import MachineFault

CONNECT_TIMEOUT_S = 10.0
STATEMENT_TIMEOUT_S = 600.0
"""An index on a large table takes its time."""

KEPT_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
)
"""Firewalls forget a connection that is silent for minutes; the kernel asks after two hours (tcp(7))."""


def connect(
    access: ExternalAccess,
    schema: str | None,
    timeout_s: float = CONNECT_TIMEOUT_S,
    *,
    old_tls: ssl.SSLContext | None = None,
    seen: Handshake | None = None,
) -> GuardedDatabase:
    """Log in, with autocommit; UserMistake or MachineFault with the reason when it fails.

    `schema` is what MySQL's login names, None for none. PostgreSQL's names the address's database, and who
    says something there names the schema with each table.
    `timeout_s` holds for each step: the TCP connection, the greeting, and each answer of the login.
    A server without TLS is refused before the password is sent when TLS is demanded; and who could read the
    password on the way, or could be somebody else, does not get it. With `old_tls`, the
    settings for TLS that is no longer thought safe (MySQL's family alone), nobody gets it. `seen` is told
    what the server shows.
    """
    seen = seen or Handshake()
    context = old_tls or access.tls.context()
    if context is not None:
        seen.watch(context)
    channel = _reach(access, timeout_s)
    database: GuardedDatabase
    try:
        if access.product == "postgresql":
            # The rooms of other products than the server's are not imported.
            from tlstax.external import postgres_login  # noqa: PLC0415

            database = postgres_login.log_in(access, channel, timeout_s, context, seen)
        else:
            from tlstax.external import mysql_login  # noqa: PLC0415

            is_old = old_tls is not None
            database = mysql_login.log_in(
                access, channel, schema, timeout_s, context, seen, is_old_tls=is_old
            )
    except BaseException:
        channel.close()
        raise
    database.wait_at_most(STATEMENT_TIMEOUT_S)
    return database


def chain_verified_by(access: ExternalAccess, file: str, option: str) -> tuple[list[bytes], list[bytes]]:
    """Log in once, verifying the server with the authorities in `file`: the verified chain, what was sent.

    Both as DER, the server's own certificate first. UserMistake or MachineFault where that does not succeed,
    above all where the file does not verify the server; `option` is what named it.
    """
    mode: SslMode = access.tls.mode if access.tls.mode in VERIFYING else "VERIFY_CA"
    tls = replace(access.tls, mode=mode, ca_file=file, mode_by=option, ca_by=option)
    database = connect(replace(access, tls=tls), access.address.schema)
    try:
        channel = database.channel
        chain, sent = chains.verified(channel) if isinstance(channel, ssl.SSLSocket) else ([], [])
    finally:
        close(database)
    if not chain:
        raise MachineFault(
            f"this Python does not tell by which authority {access.address} was verified",
            remedy="leave --trust out",
        )
    return chain, sent


def close(connection: Database) -> None:
    """Close it, whatever state it is in."""
    with suppress(SqlError, OSError):
        connection.close()


def _reach(access: ExternalAccess, timeout_s: float) -> socket.socket:
    if access.address.socket is not None:
        return _reach_socket(access, access.address.socket, timeout_s)
    try:
        channel = socket.create_connection((access.address.host, access.address.port), timeout=timeout_s)
    except OSError as error:
        raise external_failures.of_address(access, error, timeout_s) from error
    except UnicodeError as error:
        unknown = socket.gaierror(socket.EAI_NONAME, "not a host name")
        raise external_failures.of_address(access, unknown, timeout_s) from error
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for level, option, value in KEPT_ALIVE:
        channel.setsockopt(level, option, value)
    return channel


def _reach_socket(access: ExternalAccess, path: str, timeout_s: float) -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.settimeout(timeout_s)
    try:
        channel.connect(path)
    except OSError as error:
        channel.close()
        raise external_failures.of_socket(access, error, timeout_s) from error
    return channel


def abilities_of(access: ExternalAccess) -> ServerAbilities:
    """Log in once and ask for its version, and for the TLS that it is configured to accept.

    UserMistake or MachineFault where nobody is let in, or it does not answer.
    """
    product = external_product(access.product)
    database = connect(access, access.address.schema)
    try:
        version = product.server_facts.version(database)
        versions = product.server_tls.facts(database).versions
    except SqlError as error:
        raise MachineFault(
            f"{access.address} does not say what it is ({answers.message_of(error)})"
        ) from error
    finally:
        close(database)
    known = of_postgresql(release_of(version)[0])
    names = tuple(name.removeprefix("TLSv") for name in versions)
    accepted = tuple("1.0" if name == "1" else name for name in names)
    return known.model_copy(update={"tls_versions": accepted}) if accepted else known
