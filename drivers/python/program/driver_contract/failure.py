"""What went wrong, in the contract's words, from whatever a driver raised."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

SERVER_CLOSED = frozenset({2006, 2013, 2055})
"""CR_SERVER_GONE_ERROR, CR_SERVER_LOST, CR_SERVER_LOST_EXTENDED (MySQL's errmsg.h)."""

REFUSED = frozenset({1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061})
"""Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like."""

FAULTS = {
    "bad_job": "job",
    "resolve": "job",
    "connect": "network",
    "timeout": "network",
    "not_mysql": "server",
    "server_closed": "server",
    "server_error": "server",
    "access_denied": "job",
    "no_tls": "server",
    "tls_handshake": "server",
    "certificate": "server",
    "limits": "client",
    "internal": "client",
}
"""Where to look, by the kind of a failure."""


@dataclass(frozen=True)
class Failure(Exception):
    """A failure as the contract tells it; `lost` says that the connection is of no more use."""

    kind: str
    message: str
    code: int | None = None
    lost: bool = False

    @property
    def fault(self) -> str:
        """Where to look."""
        return FAULTS[self.kind]


def bad_job(message: str) -> Failure:
    """The job asks for what this client cannot do."""
    return Failure("bad_job", message)


def failure_of(error: BaseException, driver: str, secret: str) -> Failure:
    """What a driver raised, while connecting or later; `secret` is cut out of its words."""
    if isinstance(error, Failure):
        return error
    code, words = _code_and_words(error)
    words = " ".join(words.split())
    if secret:
        words = words.replace(secret, "(the password)")
    kind = _kind(error, code, words)
    lost = kind != "server_error"
    return Failure(kind, f"{driver} says: {words}", code, lost)


def option_refused(error: BaseException, driver: str, secret: str) -> Failure:
    """A driver's refusal of what it was told, before it spoke to any server."""
    told = failure_of(error, driver, secret)
    return Failure("bad_job", told.message)


def _code_and_words(error: BaseException) -> tuple[int | None, str]:
    number = getattr(error, "errno", None)
    if isinstance(number, int) and number > 0:
        return number, str(getattr(error, "msg", None) or error)
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        return (arguments[0] if arguments[0] > 0 else None), str(arguments[1])
    return None, str(error) or type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, as far as the driver keeps it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "original_exception", None) or error.__cause__ or error.__context__


CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "certificate"),
    (ssl.SSLError, "tls_handshake"),
    (socket.gaierror, "resolve"),
    (TimeoutError, "timeout"),
    (ConnectionResetError, "server_closed"),
    (BrokenPipeError, "server_closed"),
)
"""What Python itself raised beneath a driver's error, the narrowest first."""


def _kind(error: BaseException, code: int | None, words: str) -> str:
    for cause in _causes(error):
        for type_, kind in CAUSES:
            if isinstance(cause, type_):
                return kind
    if code in REFUSED:
        return "access_denied"
    if code == 1040:
        return "limits"
    if code in SERVER_CLOSED:
        return "server_closed"
    if code is not None and (1000 <= code < 2000 or code >= 3000):
        return "server_error"
    return _kind_by_words(code, words.lower())


def _kind_by_words(code: int | None, words: str) -> str:
    """A driver in C has one number for all that goes wrong with TLS (2026), and its words."""
    if code == 2026 or any(word in words for word in ("ssl", "tls", "certificate")):
        return _kind_of_tls(words)
    for kind, codes, said in BY_WORDS:
        if code in codes or any(word in words for word in said):
            return kind
    return "internal" if code is None else "server_closed"


BY_WORDS: tuple[tuple[str, frozenset[int], tuple[str, ...]], ...] = (
    (
        "resolve",
        frozenset({2005}),
        ("name or service not known", "unknown mysql server host"),
    ),
    ("access_denied", frozenset(), ("authentication", "public key")),
    ("connect", frozenset({2002, 2003}), ()),
    ("not_mysql", frozenset({2007, 2012, 2027}), ()),
    ("server_closed", frozenset(), ("not connected", "lost connection", "connection not available")),
)
"""Kinds by the client libraries' numbers (errmsg.h), or by words where a driver gives no number."""


def _kind_of_tls(words: str) -> str:
    if "support" in words and "server" in words:
        return "no_tls"
    bad_certificate = any(word in words for word in ("certificate", "verif", "hostname"))
    return "certificate" if bad_certificate else "tls_handshake"
