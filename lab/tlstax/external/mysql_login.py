"""Logging in to an external MySQL or MariaDB, step by step, so that each way to fail is distinguished.

Who could read the password on the way does not get it. As the mysql client does (MySQL's manual, "Caching
SHA-2 Pluggable Authentication" and "Client-Side Cleartext Pluggable Authentication"): over TLS, verified or
not, caching_sha2_password and sha256_password may take the password itself, since that is their protocol and
--ssl-mode is the user's word for how much is verified. Without TLS they take its proof alone, never the
password under a key of which nobody says whose it is (the client's --get-server-public-key, which is off).
mysql_clear_password, which the client has off too unless set otherwise, is answered where the server's
certificate was verified. Hashes of before MySQL 4.1, which show the password to whoever sees them, and
prompts of the server's are never answered.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from pymysql._auth import scramble_caching_sha2
from pymysql.constants import CR
from pymysql.err import OperationalError

from tlstax.external import failures as external_failures
from tlstax.external import greeting
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import Handshake
from tlstax.external.tls import DEMANDING, VERIFYING
from tlstax.mysql import session
from tlstax.mysql.database import raising_sql_errors
from tlstax.mysql.guarded_connection import GuardedConnection, GuardedDatabase
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError


class OldTlsConnection(GuardedConnection):
    """A connection under TLS that is no longer thought safe: its login counts it as one without TLS.

    So the server gets the answer to its challenge, and never the password.
    """

    @property
    def _secure(self) -> bool:
        return False

    @_secure.setter
    def _secure(self, _: bool) -> None:
        """Where pymysql notes that TLS is up."""

    def _get_server_information(self) -> None:
        """Begin with no method that sends the password first and asks later."""
        super()._get_server_information()  # type: ignore[misc]
        if getattr(self, "_auth_plugin_name", "") == "sha256_password":
            self._auth_plugin_name = "mysql_native_password"


def log_in(  # noqa: PLR0913, PLR0917 (who, where, over what, and what is told of it)
    access: ExternalAccess,
    channel: socket.socket,
    schema: str | None,
    timeout_s: float,
    context: ssl.SSLContext | None,
    seen: Handshake,
    *,
    is_old_tls: bool = False,
) -> GuardedDatabase:
    """Log in over this channel, with autocommit; UserMistake or MachineFault with the reason when it fails.

    As `connection.connect` says, which closes the channel then. `context` has the settings of TLS, None for
    none; with `is_old_tls` it is one that nobody's password is given to.
    """
    offers_tls = _greet(access, channel, timeout_s)
    kind = OldTlsConnection if is_old_tls else GuardedConnection
    connection = kind(
        host=access.address.host,
        port=access.address.port,
        user=access.user,
        password=access.password.encode("utf-8"),
        database=schema,
        autocommit=True,
        ssl=context if offers_tls else None,
        ssl_disabled=context is None or not offers_tls,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        auth_plugin_map=_answering_plugins(access),
        defer_connect=True,
    )
    return _log_in(access, connection, channel, seen)


def _greet(access: ExternalAccess, channel: socket.socket, timeout_s: float) -> bool:
    """Whether the server offers TLS, from its greeting; a refusal is left for the login to report."""
    try:
        seen = greeting.peek(channel, timeout_s)
    except OSError as error:
        raise external_failures.of_address(access, error, timeout_s) from error
    fault = external_failures.of_greeting(access, seen, timeout_s)
    if fault is not None:
        raise fault
    if seen.kind == "mysql" and not seen.offers_tls and access.tls.mode in DEMANDING:
        raise external_failures.without_tls(access)
    return seen.offers_tls


def _log_in(
    access: ExternalAccess, connection: GuardedConnection, channel: socket.socket, seen: Handshake
) -> GuardedDatabase:
    try:
        with raising_sql_errors():
            connection.connect(channel)
    except SqlError as error:
        seen.server_version = str(getattr(connection, "server_version", ""))
        if isinstance(error.cause, OSError):
            seen.failure = error.cause if isinstance(error.cause, ssl.SSLError) else None
            raise external_failures.of_tls(access, error.cause, seen) from error
        raise external_failures.of_refusal(access, error) from error
    database = GuardedDatabase(connection)
    try:
        session.settle(database)
    except SqlError as error:
        raise external_failures.of_refusal(access, error) from error
    return database


Packet = Any
"""A packet of pymysql's."""

_PROVED, _WANTS_ALL = 3, 4
"""What caching_sha2_password says after the proof: it knows the password, or it wants all of it."""

_UNANSWERED = ("mysql_old_password", "dialog", "client_ed25519", "auth_gssapi_client")


def _answering_plugins(access: ExternalAccess) -> dict[str, Callable[[Any], Any]]:
    """What answers each method of authentication, for pymysql's `auth_plugin_map`."""
    ways: dict[str, type[_Way]] = {
        "caching_sha2_password": _CachingSha2,
        "sha256_password": _Sha256,
        "mysql_clear_password": _ClearText,
    }
    ways.update(dict.fromkeys(_UNANSWERED, _Unanswered))
    return {name: partial(way, access=access, name=name) for name, way in ways.items()}


class _Way:
    """One method of authentication on one connection of pymysql's."""

    def __init__(self, connection: Any, access: ExternalAccess, name: str) -> None:
        self._connection, self._access, self._name = connection, access, name

    def _is_encrypted(self) -> bool:
        return bool(self._connection._secure)

    def _exchange(self, data: bytes) -> Packet:
        self._connection.write_packet(data)
        return self._connection._read_packet()

    def _send_password(self) -> Packet:
        self._connection.password_was_sent = True
        return self._exchange(self._connection.password + b"\0")


class _CachingSha2(_Way):
    """The proof first; all of the password where the server wants it and the connection is encrypted."""

    def authenticate(self, packet: Packet) -> Packet:
        """The answer to a switch to this method, or to what the server says of the proof."""
        if packet.is_auth_switch_request():
            self._connection.salt = packet.read_all().removesuffix(b"\0")
            return self._exchange(scramble_caching_sha2(self._connection.password, self._connection.salt))
        verdict = packet.get_all_data()[1:]
        if verdict == bytes([_PROVED]):
            return self._connection._read_packet()
        if verdict != bytes([_WANTS_ALL]):
            raise Malformed("an unknown verdict of caching_sha2_password")
        if not self._is_encrypted():
            raise external_failures.password_wanted(self._access, self._name)
        return self._send_password()


class _Sha256(_Way):
    """All of the password, over an encrypted connection."""

    def authenticate(self, _packet: Packet) -> Packet:
        """The answer to a switch to this method, or to a public key. An empty password is one NUL."""
        if not self._connection.password:
            return self._exchange(b"\0")
        if not self._is_encrypted():
            raise external_failures.password_wanted(self._access, self._name)
        return self._send_password()


class _ClearText(_Way):
    """All of the password, to a server whose certificate was verified."""

    def authenticate(self, _packet: Packet) -> Packet:
        """The answer to a switch to this method."""
        if not self._is_encrypted() or self._access.tls.mode not in VERIFYING:
            raise external_failures.clear_text_wanted(self._access, is_encrypted=self._is_encrypted())
        return self._send_password()


class _Unanswered(_Way):
    """A method that is not known here, or that would give the password away."""

    def authenticate(self, _packet: Packet) -> Packet:
        """Always an error: the client has no such plugin."""
        raise OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, f"Authentication plugin '{self._name}'")
