"""What a driver raised, by the contract's kinds (contract/README.md)."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

REFUSED = frozenset({1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061})
"""Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like."""

CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "certificate"),
    (ssl.SSLError, "tls_handshake"),
    (socket.gaierror, "resolve"),
    (TimeoutError, "timeout"),
    (ConnectionResetError, "server_closed"),
    (BrokenPipeError, "server_closed"),
)
"""What Python itself raised beneath a driver's error, the narrowest first."""

BY_NUMBER = {
    2006: "server_closed",
    2013: "server_closed",
    2055: "server_closed",
    1040: "limits",
    **dict.fromkeys(REFUSED, "access_denied"),
}

BY_WORDS: tuple[tuple[str, frozenset[int], tuple[str, ...]], ...] = (
    (
        "resolve",
        frozenset({2005}),
        ("name or service not known", "unknown mysql server host", "could not translate host name"),
    ),
    ("access_denied", frozenset(), ("authentication", "public key")),
    ("connect", frozenset({2002, 2003}), ("connection refused", "create a connection", "no such file")),
    ("not_mysql", frozenset({2007, 2012, 2027}), ()),
    (
        "server_closed",
        frozenset(),
        (
            "not connected",
            "lost connection",
            "connection not available",
            "closed the connection",
            "connection is closed",
            "network error",
        ),
    ),
)
"""By the client libraries' numbers (errmsg.h), or by words where a driver gives no number."""


OF_POSTGRESQL: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "access_denied",
        (
            "authentication failed",
            "no pg_hba.conf entry",
            "no password supplied",
            "requires a valid client certificate",
        ),
    ),
    ("no_tls", ("server does not support ssl", "rejected ssl upgrade", "server refuses ssl")),
    ("bad_job", ("invalid connection option", "invalid dsn", "invalid sslmode value")),
)
"""What libpq and drivers of PostgreSQL say where they give no SQLSTATE."""

LOST = {"57P01", "57P02", "57P03", "08003", "08006"}
"""SQLSTATEs of a connection that is there no more, or of a server that goes (PostgreSQL, "Error Codes")."""


class Refused(Exception):
    """What this adapter cannot give its driver, in one sentence."""

    def __init__(self, words: str, kind: str = "bad_job", code: int | str | None = None) -> None:
        super().__init__(words)
        self.kind, self.code = kind, code


def code_and_words(error: BaseException) -> tuple[int | str | None, str]:
    """MySQL's number for it or PostgreSQL's SQLSTATE, where it has one, and what it says."""
    if isinstance(error, Refused):
        return error.code, str(error)
    told = error.args[0] if error.args else None
    if isinstance(told, dict) and "C" in told:
        # pg8000 hands over the fields of the server's message, by their letters.
        return str(told["C"]), str(told.get("M", ""))
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if isinstance(state, str) and state:
        return state, str(error)
    number = getattr(error, "errno", None)
    if isinstance(number, int) and number > 0:
        return number, str(getattr(error, "msg", None) or error)
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        return (arguments[0] if arguments[0] > 0 else None), str(arguments[1])
    return None, str(error) or type(error).__name__


def kind_of(error: BaseException) -> str:
    """Which of the contract's kinds it is."""
    if isinstance(error, Refused):
        return error.kind
    of_its_cause = _kind_by_cause(error)
    if of_its_cause is not None:
        return of_its_cause
    if isinstance(error, TypeError | ValueError | AttributeError | KeyError):
        # No driver raises these but for arguments that it does not take.
        return "bad_job"
    code, words = code_and_words(error)
    if isinstance(code, str):
        return _kind_by_state(code)
    if code is not None and code not in BY_NUMBER and (1000 <= code < 2000 or code >= 3000):
        return "server_error"
    return BY_NUMBER.get(code or 0) or _kind_by_words(code, words.lower())


def _kind_by_cause(error: BaseException) -> str | None:
    """By what Python raised: an `ssl.SSLCertVerificationError` is a ValueError, too."""
    causes = ((cause, type_, kind) for cause in _causes(error) for type_, kind in CAUSES)
    return next((kind for cause, type_, kind in causes if isinstance(cause, type_)), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, as far as the driver keeps it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "original_exception", None) or error.__cause__ or error.__context__


def _kind_by_state(state: str) -> str:
    """By a SQLSTATE's class ("28": invalid authorization specification) or itself (too_many_connections)."""
    if state.startswith("28"):
        return "access_denied"
    if state == "53300":
        return "limits"
    return "server_closed" if state in LOST else "server_error"


def _kind_by_words(code: int | None, words: str) -> str:
    """A driver in C has one number for all that goes wrong with TLS (2026), and its words."""
    for kind, said in OF_POSTGRESQL:
        if any(word in words for word in said):
            return kind
    if code == 2026 or any(word in words for word in ("ssl", "tls", "certificate")):
        if "support" in words and "server" in words:
            return "no_tls"
        bad_certificate = any(word in words for word in ("certificate", "verif", "hostname"))
        return "certificate" if bad_certificate else "tls_handshake"
    for kind, codes, said in BY_WORDS:
        if code in codes or any(word in words for word in said):
            return kind
    return "internal" if code is None else "server_closed"
