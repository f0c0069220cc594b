"""What paths do to TLS, and the cases that they cannot carry, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.study.case_levels import CaseLevels
from tlstax.study.factors import DIRECT, ENGINE, UNIX_SOCKET

SSH_CIPHERS = {
    "ssh-aes256-cbc": "aes256-cbc",
    "ssh-aes256-ctr": "aes256-ctr",
    "ssh-aes128-gcm": "aes128-gcm@openssh.com",
    "ssh-chacha20-poly1305": "chacha20-poly1305@openssh.com",
}
"""The levels of `path` that are OpenSSH's, and its name for the cipher of each (ssh_config(5), Ciphers)."""

PROTECTION = {**SSH_CIPHERS, "stunnel": "TLSv1.3", "haproxy-tls": "TLSv1.3"}
"""How the word of a path for what protects its bytes must begin; paths that are not here protect nothing."""

ENDS_TLS = frozenset({"router-terminate", "router-reencrypt"})
"""Paths that end a client's TLS, by which there must be some."""

BEGINS_TLS = frozenset({"router-reencrypt", "router-encrypt"})
"""Paths that speak TLS of their own to the server."""

OWN_TLS = "default"
"""The level of `tls` at the server of paths that begin TLS: whatever the two of them agree on."""

_NO_SUCH_GROUP = frozenset({"X25519", "X25519MLKEM768"})
"""MySQL Router takes P-256, P-384 and P-521 alone, as the servers of its era do."""

_OLD_CIPHERS = frozenset({"AES256-SHA", "DHE-RSA-AES256-SHA"})
"""Cipher suites that MySQL Router does not take: by SHA-1, without forward secrecy."""

_BEFORE_TLS_1_2 = ("mysql-5.", "mariadb-10.1-")
"""How the names of servers begin that have no TLS 1.2."""

Levels = Mapping[str, str | int | float]


def tls_at_server(levels: Levels) -> str:
    """What the server must see, as a level of `tls`: what the client speaks, unless the path ends it."""
    path = _path(levels)
    if path in BEGINS_TLS:
        return OWN_TLS
    return "off" if path in ENDS_TLS else CaseLevels.of(levels).tls


def is_of_client(levels: Levels) -> bool:
    """Whether the TLS that the server sees is the client's own, which no path has ended or begun."""
    return _path(levels) not in ENDS_TLS | BEGINS_TLS


def asks_for_passwords(levels: Levels) -> bool:
    """Whether the path asks clients for their passwords itself: it logs in to the server for them."""
    return _path(levels) in ENDS_TLS


def why_not(levels: Levels) -> str:
    """Why the case with these levels cannot be carried by its path; empty where it can."""
    path = _path(levels)
    if path == DIRECT:
        return ""
    return next((f"{path} {words}" for impossible, words in _limits(path, levels) if impossible), "")


def _limits(path: str, levels: Levels) -> list[tuple[bool, str]]:
    case = CaseLevels.of(levels)
    tls, server = case.tls, str(levels.get("server", ""))
    ends, begins = path in ENDS_TLS, path in BEGINS_TLS
    over = any(levels.get(factor, 0) for factor in ("rtt_ms", "jitter_ms", "rate_mbit"))
    old_server = server.startswith(_BEFORE_TLS_1_2)
    weak = str(levels.get("certificate", "")) == "rsa-1024"
    return [
        (path == UNIX_SOCKET and over, "does not reach over a distance"),
        (ends and tls == "off", "ends the TLS of the client, and with tls = off there is none"),
        (path == "router-encrypt" and tls != "off", "takes clients that speak no TLS (tls = off) alone"),
        (ends and tls in {"1.0", "1.1"}, "speaks TLS 1.2 and 1.3 alone"),
        (begins and old_server, f"speaks TLS 1.2 and 1.3 alone, and {server} has neither"),
        (
            ends and case.group in _NO_SUCH_GROUP,
            "takes the groups P-256, P-384 and P-521 alone",
        ),
        (ends and case.cipher in _OLD_CIPHERS, f"does not take {levels.get('cipher')}"),
        ((ends or begins) and weak, "does not take RSA keys of 1024 bits"),
        (
            (ends or begins) and case.client != ENGINE,
            "would hide what the client negotiates, which a client of others' making is not asked",
        ),
    ]


def _path(levels: Levels) -> str:
    return CaseLevels.of(levels).path
