"""Why an external PostgreSQL did not let us in, in one sentence; `failures` has what is the same everywhere.

What a server says before it is known who answers is not repeated, unless it is an error of PostgreSQL's form.
"""

from __future__ import annotations

import re
import ssl

from tlstax.contract import AuthMethod
from tlstax.external import failures as external_failures
from tlstax.external import greeting
from tlstax.external.access import ExternalAccess
from tlstax.external.given_password import LIBPQ_VARIABLE, PASSWORD_VARIABLE
from tlstax.sql import answers
from tlstax.sql.database import SqlError
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

ITS_PORT = "check the port (PostgreSQL's own is 5432, PgBouncer's 6432)"

_FIRST_TYPES = b"REvNSK"
"""Messages that a server may begin with (PostgreSQL documentation, "Message Flow", Start-up)."""

_MYSQL = re.compile(rb".\0\0\0\x0a[0-9]", re.DOTALL)
"""A greeting of MySQL's, cut short: its length, its number, the protocol's version, the server's version."""

METHODS: dict[AuthMethod, str] = {
    "none": "lets whoever comes in without asking for a proof",
    "password": "asks for the password itself",
    "md5": "asks for the password's proof by md5",
    "scram-sha-256": "asks for SCRAM",
    "scram-sha-256-plus": "asks for SCRAM bound to the TLS channel",
}


TOO_MANY_CONNECTIONS = "53300"


def has_no_room(error: TlstaxError) -> bool:
    """Whether a login failed because the server, the database or the role has all connections that it may."""
    return isinstance(error.__cause__, SqlError) and error.__cause__.code == TOO_MANY_CONNECTIONS


def of_silence(access: ExternalAccess, error: OSError, timeout_s: float) -> TlstaxError:
    """The port was reached, and did not answer."""
    where = access.address
    if isinstance(error, TimeoutError):
        return MachineFault(
            f"{where} accepted the connection and then sent nothing for {timeout_s:.0f} s",
            remedy="check that a PostgreSQL server listens there and is not stopped or overloaded",
        )
    return _closed(access)


def of_first_answer(access: ExternalAccess, said: bytes) -> TlstaxError:
    """The answer to the question for TLS is not one of the two that there are."""
    where = access.address
    if not said:
        return _closed(access)
    if foreign := _foreign(access, said):
        return foreign
    if said[:1] in {b"S", b"N"}:
        return MachineFault(
            f"{where} sent more than its answer to the question for TLS, which somebody in between may have "
            "put there, so the connection was not used",
            remedy="find out what is in between, or use a server with the fix of CVE-2021-23222",
        )
    if said[:1] == b"E":
        return MachineFault(
            f"{where} answered the question for TLS with an error",
            remedy="check the server's log: it may be out of processes or memory, or too old",
        )
    return _not_postgresql(access)


def of_login(
    access: ExternalAccess, error: SqlError, began: bytes, timeout_s: float, *, is_encrypted: bool
) -> TlstaxError:
    """A login failed; `began` has the first bytes that the server sent after TLS had begun, or without."""
    if isinstance(error.cause, OSError):
        lost = _of_loss(access, error.cause, timeout_s, is_encrypted=is_encrypted, has_spoken=bool(began))
        if lost is not None:
            return lost
    if foreign := _foreign(access, began):
        return foreign
    if began and began[0] not in _FIRST_TYPES:
        return _not_postgresql(access)
    return of_refusal(access, error, is_encrypted=is_encrypted)


def _of_loss(
    access: ExternalAccess, cause: OSError, timeout_s: float, *, is_encrypted: bool, has_spoken: bool
) -> TlstaxError | None:
    """The connection failed, and that says more than what came before it; None where it does not."""
    reason = str(getattr(cause, "reason", ""))
    if any(known in reason for known in CLIENT_CERTIFICATE_ALERTS):
        return _of_client_certificate(access, reason)
    if has_spoken:
        return None
    if isinstance(cause, ConnectionError | ssl.SSLEOFError):
        if is_encrypted and access.tls.certificate_file is not None:
            # The server hangs up once it has said why, and what is sent meanwhile may lose that (tcp(7)).
            return _of_client_certificate(access, "it closed the connection")
        return _closed(access)
    return of_silence(access, cause, timeout_s) if isinstance(cause, TimeoutError) else None


def of_refusal(access: ExternalAccess, error: SqlError, *, is_encrypted: bool) -> TlstaxError:
    """The server refused the login; what 28000 means is told by words that are not translated."""
    message, where = answers.message_of(error), access.address
    for words, state in _POOLERS.items():
        if error.code == "08P01" and message.startswith(words):
            return external_failures.of_refusal(access, SqlError(state, message, is_of_connection=True))
    if error.code != "28000":
        return external_failures.of_refusal(access, error)
    if "pg_hba.conf" in message:
        how = "over TLS" if is_encrypted else "without TLS"
        return UserMistake(
            f"no line of pg_hba.conf at {where} lets {access.user} into {access.database} from this machine "
            f"{how} ({message})",
            remedy="add a line there and reload, or use an account, a database and an --ssl-mode that it has",
        )
    if "certificate" in message:
        return UserMistake(
            f"{where} lets {access.user} in only with a client certificate that it trusts ({message})",
            remedy="give it by sslcert and sslkey in the URL, or by --ssl-cert and --ssl-key",
        )
    return external_failures.of_refusal(access, error)


_POOLERS = {"no such database": "3D000", "no more connections allowed": "53300", "no such user": "28P01"}
"""What PgBouncer says under the code of a breach of protocol, and PostgreSQL's own codes for it."""

CLIENT_CERTIFICATE_ALERTS = (
    "ALERT_UNKNOWN_CA",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_CERTIFICATE_EXPIRED",
    "ALERT_CERTIFICATE_REVOKED",
    "ALERT_UNSUPPORTED_CERTIFICATE",
    "ALERT_CERTIFICATE_UNKNOWN",
    "CERTIFICATE_REQUIRED",
)
"""What a server says of a client's certificate, after its own handshake is done (RFC 8446, section 6.2)."""


def _of_client_certificate(access: ExternalAccess, reason: str) -> UserMistake:
    own = access.tls.certificate_file
    said = reason.lower().replace("_", " ")
    if own is None:
        return UserMistake(
            f"{access.address} demands a client certificate ({said})",
            remedy="give it by sslcert and sslkey in the URL, or by --ssl-cert and --ssl-key",
        )
    return UserMistake(
        f"{access.address} does not take the client certificate in {own} ({said})",
        remedy="have one issued by an authority in the server's ssl_ca_file",
    )


def without_alpn(access: ExternalAccess) -> UserMistake:
    """TLS was begun at once, and who answers speaks another protocol over it, or does not say."""
    return UserMistake(
        f"{access.address} does not confirm that it speaks PostgreSQL's protocol over TLS (ALPN)",
        remedy="leave sslnegotiation=direct out; servers know it from 17 on",
    )


def of_direct_tls(access: ExternalAccess) -> UserMistake:
    """TLS was begun at once, and the server hung up."""
    return UserMistake(
        f"{access.address} closed the connection when TLS was begun at once",
        remedy="leave sslnegotiation=direct out; servers know it from 17 on, where TLS is on",
    )


def of_scram(access: ExternalAccess, why: str) -> MachineFault:
    """The exchange by SCRAM was not carried out as both must."""
    return MachineFault(
        f"the login of {access.user} at {access.address} by SCRAM was broken off: {why}",
        remedy="check what listens there, and what is in between",
    )


def password_in_the_clear(access: ExternalAccess, *, is_encrypted: bool) -> MachineFault:
    """The server wants the password itself, and may be somebody else's, or be overheard."""
    how = "whose certificate was not verified" if is_encrypted else "without TLS"
    return MachineFault(
        f"{access.address} wants the password of {access.user} in clear text over a connection {how}, so it "
        "was not sent",
        remedy="use sslmode=verify-full with sslrootcert if the account is meant to log in this way (method "
        "password, ldap, pam or radius of pg_hba.conf), and find out who is in between if it is not",
    )


def unknown_method(access: ExternalAccess, method: str) -> UserMistake:
    """The account is to be proved in a way that is not known here."""
    return UserMistake(
        f"the account {access.user} at {access.address} logs in by a method that tlstax does not support "
        f"({method})",
        remedy="use an account with scram-sha-256, md5, a client certificate or trust in pg_hba.conf",
    )


def not_bound(access: ExternalAccess, *, is_encrypted: bool) -> MachineFault:
    """The server offers SCRAM bound to a channel alone, and it cannot be bound, or must not."""
    if access.auth_by and is_encrypted:
        return MachineFault(
            f"{access.address} takes SCRAM bound to the TLS channel alone, which {access.auth_by} does not "
            "allow",
            remedy="leave that out",
        )
    why = (
        "its certificate is signed in a way for which there is no digest"
        if is_encrypted
        else "there is no TLS"
    )
    return MachineFault(
        f"{access.address} takes SCRAM bound to the TLS channel alone, and {why}",
        remedy="check what is in between",
    )


def no_password(access: ExternalAccess) -> UserMistake:
    """The server asks for a password, and there is none."""
    return UserMistake(
        f"{access.address} asks for a password of {access.user}, and none was given",
        remedy=f"set {PASSWORD_VARIABLE} or {LIBPQ_VARIABLE}, or have a line for it in ~/.pgpass",
    )


def method_not_allowed(access: ExternalAccess, method: AuthMethod) -> MachineFault:
    """The server proves nothing, or less than is demanded of it."""
    what = METHODS[method]
    if method == "scram-sha-256" and "scram-sha-256-plus" in access.require_auth:
        what += " without binding it to a TLS channel"
    return MachineFault(
        f"{access.address} {what}, which {access.auth_by} does not allow, so nothing was sent",
        remedy="find out who answers there, or what pg_hba.conf asks of the account; or allow that method",
    )


def _foreign(access: ExternalAccess, said: bytes) -> UserMistake | None:
    """Who answers, where that is told by the first bytes; None where it is not."""
    known = greeting.parse(said)
    if _MYSQL.match(said) or (known is not None and known.kind in {"mysql", "refusal"}):
        return UserMistake(
            f"what listens on {access.address} is a MySQL or MariaDB server",
            remedy=f"write its URL with mysql://, or {ITS_PORT}",
        )
    if said.startswith((b"HTTP/", b"SSH-", b"220 ", b"-ERR", b"+OK", b"\x15\x03")):
        return _not_postgresql(access)
    return None


def _not_postgresql(access: ExternalAccess) -> UserMistake:
    return UserMistake(
        f"what listens on {access.address} does not speak PostgreSQL's protocol", remedy=ITS_PORT
    )


def _closed(access: ExternalAccess) -> MachineFault:
    return MachineFault(
        f"{access.address} accepted the connection and closed it without sending anything",
        remedy="check that a PostgreSQL server listens there, and its log",
    )
