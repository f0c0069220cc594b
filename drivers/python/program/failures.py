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
    ("resolve", frozenset({2005}), ("name or service not known", "unknown mysql server host")),
    ("access_denied", frozenset(), ("authentication", "public key")),
    ("connect", frozenset({2002, 2003}), ()),
    ("not_mysql", frozenset({2007, 2012, 2027}), ()),
    ("server_closed", frozenset(), ("not connected", "lost connection", "connection not available")),
)
"""By the client libraries' numbers (errmsg.h), or by words where a driver gives no number."""


class Refused(Exception):
    """What this adapter cannot give its driver, in one sentence."""

    def __init__(self, words: str, kind: str = "bad_job", code: int | None = None) -> None:
        super().__init__(words)
        self.kind, self.code = kind, code


def code_and_words(error: BaseException) -> tuple[int | None, str]:
    """MySQL's number for it, where it has one, and what it says."""
    if isinstance(error, Refused):
        return error.code, str(error)
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
    if isinstance(error, TypeError | ValueError | AttributeError | KeyError):
        # No driver raises these but for arguments that it does not take.
        return "bad_job"
    for cause in _causes(error):
        for type_, kind in CAUSES:
            if isinstance(cause, type_):
                return kind
    code, words = code_and_words(error)
    if code in BY_NUMBER:
        return BY_NUMBER[code]
    if code is not None and (1000 <= code < 2000 or code >= 3000):
        return "server_error"
    return _kind_by_words(code, words.lower())


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, as far as the driver keeps it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "original_exception", None) or error.__cause__ or error.__context__


def _kind_by_words(code: int | None, words: str) -> str:
    """A driver in C has one number for all that goes wrong with TLS (2026), and its words."""
    if code == 2026 or any(word in words for word in ("ssl", "tls", "certificate")):
        if "support" in words and "server" in words:
            return "no_tls"
        bad_certificate = any(word in words for word in ("certificate", "verif", "hostname"))
        return "certificate" if bad_certificate else "tls_handshake"
    for kind, codes, said in BY_WORDS:
        if code in codes or any(word in words for word in said):
            return kind
    return "internal" if code is None else "server_closed"
