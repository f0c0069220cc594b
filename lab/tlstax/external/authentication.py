"""How a password is proved to somebody else's server, and what is refused: nobody on the way may read it.

As the mysql client does (MySQL's manual, "Caching SHA-2 Pluggable Authentication" and "Client-Side Cleartext
Pluggable Authentication"): over TLS, verified or not, caching_sha2_password and sha256_password may take the
password itself, since that is their protocol and --ssl-mode is the user's word for how much is verified.
Without TLS they take its proof alone, never the password under a key of which nobody says whose it is (the
client's --get-server-public-key, which is off). mysql_clear_password, which the client has off too unless
set otherwise, is answered where the server's certificate was verified. Hashes of before MySQL 4.1, which
show the password to whoever sees them, and prompts of the server's are never answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymysql._auth import scramble_caching_sha2
from pymysql.constants import CR
from pymysql.err import OperationalError

from tlstax.external import failures as external_failures
from tlstax.external.access import ExternalAccess
from tlstax.external.tls import VERIFYING
from tlstax.mysql.answers import Malformed

Packet = Any
"""A packet of pymysql's."""

_PROVED, _WANTS_ALL = 3, 4
"""What caching_sha2_password says after the proof: it knows the password, or it wants all of it."""

_UNANSWERED = ("mysql_old_password", "dialog", "client_ed25519", "auth_gssapi_client")


def plugins(access: ExternalAccess) -> dict[str, Callable[[Any], Any]]:
    """What answers each method of authentication, for pymysql's `auth_plugin_map`."""
    ways: dict[str, type[_Way]] = {
        "caching_sha2_password": _CachingSha2,
        "sha256_password": _Sha256,
        "mysql_clear_password": _ClearText,
    }
    ways.update(dict.fromkeys(_UNANSWERED, _Unanswered))
    return {name: _made(way, access, name) for name, way in ways.items()}


def _made(way: type[_Way], access: ExternalAccess, name: str) -> Callable[[Any], Any]:
    return lambda connection: way(connection, access, name)


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
