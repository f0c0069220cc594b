"""Logging in to an external PostgreSQL, step by step, so that each way to fail is distinguished.

Who could read the password on the way, or could be somebody else, does not get it: where the server asks for
it in the clear (AuthenticationCleartextPassword), it is sent under a verified certificate alone, whatever
libpq would do. SCRAM's proof and that of md5 go to whoever answers, as with libpq. A server that breaks SCRAM
off is not taken for one that knows the password, and of the ways of logging in only those are taken that
`require_auth` and `channel_binding` allow.

Source: PostgreSQL documentation, "Message Flow" (SSL Session Encryption), "SASL Authentication" and "Database
Connection Control Functions"; CVE-2021-23222 for bytes that come before the handshake.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
from typing import Final, get_args

from tlstax.contract import AuthMethod
from tlstax.external import failures as external_failures
from tlstax.external import postgres_failures
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import Handshake
from tlstax.external.tls import VERIFYING
from tlstax.postgres import scram, session
from tlstax.postgres.guarded_connection import BoundedChannel, GuardedDatabase
from tlstax.postgres.scram import ScramClient, ScramError
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError

ALPN: Final = "postgresql"

_SSL_REQUEST: Final = struct.pack("!ii", 8, 80877103)
_LOOKED_AT_BYTES: Final = 4096

_OK, _CLEARTEXT, _MD5, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 3, 5, 10, 11, 12
"""Authentication requests (PostgreSQL documentation, "Message Formats")."""

_OTHERS = {2: "Kerberos V5", 7: "GSSAPI", 8: "GSSAPI", 9: "SSPI"}


def log_in(
    access: ExternalAccess,
    channel: socket.socket,
    timeout_s: float,
    context: ssl.SSLContext | None,
    seen: Handshake,
) -> GuardedDatabase:
    """Log in over this channel, with autocommit; UserMistake or MachineFault with the reason when it fails.

    As `connection.connect` says, which closes the channel then. `context` has the settings of TLS, None for
    none.
    """
    if context is not None and access.address.socket is None:
        channel = _begin_tls(access, channel, timeout_s, context, seen)
    bounded = BoundedChannel(channel, timeout_s)
    proof = _Proof(access, channel)
    name = access.database
    try:
        database = GuardedDatabase(bounded, proof.answer, access.user, name, proof.method)
    except SqlError as error:
        channel.close()
        raise postgres_failures.of_login(
            access, error, bounded.began, timeout_s, is_encrypted=isinstance(channel, ssl.SSLSocket)
        ) from error
    except BaseException:
        channel.close()
        raise
    try:
        proof.check_finished()
        database.scram_iterations = proof.scram_iterations
        session.settle(database)
    except SqlError as error:
        database.close()
        raise external_failures.of_refusal(access, error) from error
    except BaseException:
        database.close()
        raise
    return database


def _begin_tls(
    access: ExternalAccess,
    channel: socket.socket,
    timeout_s: float,
    context: ssl.SSLContext,
    seen: Handshake,
) -> socket.socket:
    """The channel, encrypted where the server offers that; refused where it does not and TLS is demanded."""
    if access.tls.direct:
        context.set_alpn_protocols([ALPN])
    elif not _offers_tls(access, channel, timeout_s):
        if access.tls.demanded_by:
            raise external_failures.without_tls(access)
        return channel
    try:
        encrypted = context.wrap_socket(channel, server_hostname=access.address.host)
    except (OSError, ValueError) as error:
        seen.failure = error if isinstance(error, ssl.SSLError) else None
        if access.tls.direct and isinstance(error, ssl.SSLEOFError | ConnectionError):
            raise postgres_failures.of_direct_tls(access) from error
        fault = error if isinstance(error, OSError) else OSError(str(error))
        raise external_failures.of_tls(access, fault, seen) from error
    if access.tls.direct and encrypted.selected_alpn_protocol() != ALPN:
        encrypted.close()
        raise postgres_failures.without_alpn(access)
    return encrypted


def _offers_tls(access: ExternalAccess, channel: socket.socket, timeout_s: float) -> bool:
    """What the server answers to SSLRequest, which is one byte and nothing more before TLS has begun."""
    try:
        channel.settimeout(timeout_s)
        channel.sendall(_SSL_REQUEST)
        said = channel.recv(_LOOKED_AT_BYTES, socket.MSG_PEEK)
        if said[:1] in {b"S", b"N"}:
            channel.recv(1)
            # What follows without our having said anything was put there by somebody.
            more = select.select([channel], [], [], 0)[0]
            said += channel.recv(_LOOKED_AT_BYTES, socket.MSG_PEEK) if more else b""
    except OSError as error:
        raise postgres_failures.of_silence(access, error, timeout_s) from error
    if said in {b"S", b"N"}:
        return said == b"S"
    raise postgres_failures.of_first_answer(access, said)


class _Proof:
    """How the account is proved on one connection, and what it was proved by."""

    def __init__(self, access: ExternalAccess, channel: socket.socket) -> None:
        self._access, self._channel = access, channel
        self._allowed: tuple[AuthMethod, ...] = access.require_auth or get_args(AuthMethod)
        self._scram: ScramClient | None = None
        self._method: AuthMethod = "none"
        self._is_done = False

    def method(self) -> str:
        """By what the account was proved."""
        return self._method

    @property
    def scram_iterations(self) -> int | None:
        """How often SCRAM had the password hashed; None where the account was proved otherwise."""
        return self._scram.iterations if self._scram is not None else None

    def answer(self, code: int, data: bytes) -> bytes | None:
        """What an authentication request is answered; None where nothing is to be said. TlstaxError."""
        try:
            return self._answer(code, data)
        except ScramError as error:
            raise postgres_failures.of_scram(self._access, str(error)) from error

    def check_finished(self) -> None:
        """See that the server has let the account in. Raises SqlError."""
        if not self._is_done:
            raise Malformed("the server was ready before it had let anybody in")

    def _answer(self, code: int, data: bytes) -> bytes | None:
        if code == _OK:
            if self._scram is not None and not self._scram.is_verified:
                raise ScramError("the server ended the exchange before it proved that it knows the password")
            if self._method == "none":
                self._demand("none")
            self._is_done = True
            return None
        if code == _CLEARTEXT:
            self._demand("password")
            if not self._is_verified:
                raise postgres_failures.password_in_the_clear(self._access, is_encrypted=self._is_encrypted)
            return self._password + b"\0"
        if code == _MD5:
            self._demand("md5")
            return scram.md5_proof(self._access.user.encode(), self._password, data[:4]) + b"\0"
        if code == _SASL:
            return self._first(data)
        if code == _SASL_CONTINUE and self._scram is not None:
            return self._scram.final(data)
        if code == _SASL_FINAL and self._scram is not None:
            self._scram.verify(data)
            return None
        raise postgres_failures.unknown_method(self._access, _OTHERS.get(code, f"request {code}"))

    def _first(self, data: bytes) -> bytes:
        """The first message of SCRAM, bound to the TLS channel where both sides can."""
        offered = data.split(b"\0")
        plus, plain = scram.PLUS.encode() in offered, scram.PLAIN.encode() in offered
        binds = self._is_encrypted and "scram-sha-256-plus" in self._allowed
        end_point = self._end_point() if plus and binds else None
        if end_point is not None:
            self._demand("scram-sha-256-plus")
        elif plain:
            self._demand("scram-sha-256")
        elif plus:
            raise postgres_failures.not_bound(self._access, is_encrypted=self._is_encrypted)
        else:
            said = b", ".join(filter(None, offered)).decode(errors="replace")
            raise postgres_failures.unknown_method(self._access, f"SASL {said}")
        self._scram = ScramClient(
            self._access.password if self._password else "",
            end_point=end_point,
            could_bind=binds and not plus,
        )
        first = self._scram.first()
        return self._scram.mechanism.encode() + b"\0" + struct.pack("!i", len(first)) + first

    @property
    def _password(self) -> bytes:
        if not self._access.password:
            raise postgres_failures.no_password(self._access)
        return self._access.password.encode()

    @property
    def _is_encrypted(self) -> bool:
        return isinstance(self._channel, ssl.SSLSocket)

    @property
    def _is_verified(self) -> bool:
        return self._is_encrypted and self._access.tls.mode in VERIFYING

    def _end_point(self) -> bytes | None:
        own = (
            self._channel.getpeercert(binary_form=True) if isinstance(self._channel, ssl.SSLSocket) else None
        )
        return scram.end_point_of(own) if own else None

    def _demand(self, method: AuthMethod) -> None:
        if method not in self._allowed:
            raise postgres_failures.method_not_allowed(self._access, method)
        self._method = method
