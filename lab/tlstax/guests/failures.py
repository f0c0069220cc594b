"""Why an external server could not be reached, in one sentence: address, greeting, TLS."""

from __future__ import annotations

import socket
import ssl

from tlstax.guests.access import GuestAccess
from tlstax.guests.greeting import Greeting
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

CERTIFICATE_EXPIRED = 10
CERTIFICATE_NOT_YET_VALID = 9
WRONG_HOST = (62, 63, 64)
UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)
"""Results of certificate verification (X509_V_ERR_*, OpenSSL's X509_STORE_CTX_get_error(3))."""


def of_address(access: GuestAccess, error: OSError, timeout_s: float) -> TlstaxError:
    """The TCP connection was not made."""
    where = access.address
    if isinstance(error, socket.gaierror):
        return UserMistake(
            f"the host {where.host} is unknown ({error.strerror})", remedy="check the server's URL"
        )
    if isinstance(error, TimeoutError):
        return MachineFault(
            f"{where} did not accept a connection within {timeout_s:.0f} s",
            remedy="check that the server runs and that no firewall is in the way",
        )
    if isinstance(error, ConnectionRefusedError):
        return UserMistake(f"nothing listens on {where}", remedy="check the URL, or start the server")
    return MachineFault(f"{where} cannot be reached ({error.strerror or error})", remedy="check the network")


def of_greeting(access: GuestAccess, greeting: Greeting, timeout_s: float) -> TlstaxError | None:
    """The port answers, but not as is needed; None when it does."""
    where = access.address
    if greeting.kind == "foreign":
        return UserMistake(
            f"what listens on {where} does not speak MySQL's protocol",
            remedy="check the port (MySQL's and MariaDB's own is 3306)",
        )
    if greeting.kind == "silent":
        return MachineFault(
            f"{where} accepted the connection and then sent nothing for {timeout_s:.0f} s",
            remedy="check that a MySQL or MariaDB server listens there and is not stopped or overloaded",
        )
    if greeting.kind == "closed":
        return MachineFault(
            f"{where} accepted the connection and closed it without sending anything",
            remedy="check that a MySQL or MariaDB server listens there",
        )
    return None


def without_tls(access: GuestAccess) -> UserMistake:
    """TLS was asked for and the server's greeting does not offer it."""
    return UserMistake(
        f"{access.address} does not offer TLS, which --ssl-mode={access.tls.mode} demands",
        remedy="turn TLS on at the server, or use --ssl-mode=DISABLED",
    )


def password_wanted(access: GuestAccess, plugin: str) -> UserMistake:
    """Without TLS the server wants all of the password, under a key of which nobody says whose it is."""
    return UserMistake(
        f"{access.address} wants the whole password of {access.user} over a connection without TLS "
        f"({plugin}), where the key to encrypt it with could be anybody's, so it was not sent",
        remedy="check the password, turn TLS on at the server, or use an account with mysql_native_password",
    )


def clear_text_wanted(access: GuestAccess, *, is_encrypted: bool) -> MachineFault:
    """The server wants the password in clear text, and may be somebody else's, or be overheard."""
    how = "whose certificate was not verified" if is_encrypted else "without TLS"
    return MachineFault(
        f"{access.address} wants the password of {access.user} in clear text (mysql_clear_password) over a "
        f"connection {how}, so it was not sent",
        remedy="use --ssl-mode=VERIFY_IDENTITY with --ssl-ca if the account is meant to log in this way, "
        "and find out who is in between if it is not",
    )


def of_tls(access: GuestAccess, error: OSError) -> TlstaxError:
    """The TLS handshake, or the connection during it, failed."""
    where = access.address
    if isinstance(error, ssl.SSLCertVerificationError):
        return _of_certificate(access, error)
    if isinstance(error, TimeoutError):
        return MachineFault(
            f"{where} sent its greeting and then nothing more", remedy="check the server's log"
        )
    reason = getattr(error, "reason", None) or error.strerror or str(error)
    return MachineFault(
        f"the TLS handshake with {where} failed ({reason})",
        remedy="check the TLS settings at both ends, or use --ssl-mode=DISABLED",
    )


def _of_certificate(access: GuestAccess, error: ssl.SSLCertVerificationError) -> TlstaxError:
    where, code = access.address, error.verify_code
    if code == CERTIFICATE_EXPIRED:
        return MachineFault(
            f"the certificate of {where} has expired",
            remedy="renew it, or use --ssl-mode=REQUIRED, which does not verify",
        )
    if code == CERTIFICATE_NOT_YET_VALID:
        return MachineFault(
            f"the certificate of {where} is not valid yet", remedy="check the clocks of both machines"
        )
    if code in WRONG_HOST:
        return UserMistake(
            f"the certificate of {where} was not issued for {where.host}",
            remedy="use a host name that it contains, or --ssl-mode=VERIFY_CA",
        )
    if code in UNKNOWN_AUTHORITY:
        return UserMistake(
            f"the certificate of {where} was not issued by the authority in {access.tls.ca_file}",
            remedy="give --ssl-ca the certificate of the authority that issued the server's",
        )
    return MachineFault(f"the certificate of {where} cannot be verified ({error.verify_message})")
