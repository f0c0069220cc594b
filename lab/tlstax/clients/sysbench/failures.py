"""What went wrong in sysbench, in the contract's words, from what it wrote."""

from __future__ import annotations

import re

from tlstax.clients.adapter import Fault, failure
from tlstax.contract import ErrorEvent, ErrorKind

FATAL = "FATAL:"
"""How sysbench begins a line that means its end."""

_SERVER_ERROR = re.compile(
    r"FATAL: error (?P<connect>[0-9]{1,6}): (?P<connect_text>.*)"
    r"|returned error (?P<query>[0-9]{1,6}) \((?P<query_text>.*?)\)(?: for query|$)"
    r"|FATAL: MySQL error: (?P<prepare>[0-9]{1,6}) \"(?P<prepare_text>.*)\"",
    re.MULTILINE,
)
"""The three ways in which sysbench's driver gives an error number (drv_mysql.c)."""

_ADDRESS_NOT_AVAILABLE = "(99)"
"""errno EADDRNOTAVAIL as libmariadb prints it behind its sentence: no local port is free."""

_KINDS: dict[int, tuple[ErrorKind, Fault]] = {
    1045: ("access_denied", "server"),
    1044: ("access_denied", "server"),
    1698: ("access_denied", "server"),
    2002: ("connect", "network"),
    2003: ("connect", "network"),
    2005: ("resolve", "network"),
    2006: ("server_closed", "server"),
    2013: ("server_closed", "server"),
    2007: ("not_mysql", "job"),
    2026: ("tls_handshake", "server"),
}
"""Errors of the server (1000 to 1999) and of the client library (2000 to 2999) that have a kind of their
own; the library's are in libmariadb's errmsg.h."""


def has_failed(log: str) -> bool:
    """Whether sysbench has reported that it gives up."""
    return FATAL in log


def failure_in(log: str) -> ErrorEvent | None:
    """The first error that sysbench gave a number, else the first line by which it gave up."""
    match = _SERVER_ERROR.search(log)
    if match is not None:
        place = next(name for name in ("connect", "query", "prepare") if match[name])
        return _numbered(int(match[place]), match[f"{place}_text"])
    line = next((line for line in log.splitlines() if FATAL in line), None)
    if line is None:
        return None
    return failure("internal", "client", f"sysbench gave up: {line.partition(FATAL)[2].strip()}")


def death(status: int, log: str) -> ErrorEvent:
    """The end of a sysbench that should still run."""
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    last = log.strip().splitlines()[-1:]
    return failure_in(log) or failure("internal", "client", ": ".join([f"sysbench {how}", *last]))


def _numbered(code: int, text: str) -> ErrorEvent:
    kind, fault = _KINDS.get(code, ("server_error", "server") if code < 2000 else ("protocol", "server"))
    if text.startswith("Plugin "):
        kind, fault = "internal", "client"
    if code == 2026:
        kind, fault = _tls_failure(text)
    if code in {2002, 2003} and text.endswith(_ADDRESS_NOT_AVAILABLE):
        kind, fault = "limits", "client"
        text = "this machine has run out of local ports, which closed connections keep for a minute"
    return failure(kind, fault, text, code)


def _tls_failure(text: str) -> tuple[ErrorKind, Fault]:
    """The client library has one number for all of TLS and says the rest in words, OpenSSL's or its own."""
    if "not support" in text or "SSL is required" in text:
        return "no_tls", "server"
    if "certificate" in text or "issuer" in text:
        return "certificate", "server"
    return "tls_handshake", "server"
