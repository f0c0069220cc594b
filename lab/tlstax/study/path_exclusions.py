"""What paths do to TLS, and the cases that they cannot carry, and why."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, ENGINE, UNIX_SOCKET, UNSET
from tlstax.study.server_abilities import ServerAbilities

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

LEADS_ANYWHERE = frozenset({"haproxy", "router-passthrough", "router-reencrypt", "router-encrypt"})
"""Paths whose programs all stand near the client, and lead to a server wherever it is. The others but the
Unix socket have one beside the server: an end of a tunnel, or what passes the bytes on in the clear."""

OWN_TLS = "default"
"""The level of `tls` at the server of paths that begin TLS: whatever the two of them agree on."""

_NO_SUCH_GROUP = frozenset({"X25519", "X25519MLKEM768"})
"""MySQL Router accepts only P-256, P-384 and P-521, as the servers of its era do."""

_OLD_CIPHERS = frozenset({"AES256-SHA", "DHE-RSA-AES256-SHA"})
"""Cipher suites that MySQL Router does not take: by SHA-1, without forward secrecy."""


def tls_at_server(case: CaseLevels) -> str:
    """What the server must see, as a level of `tls`: what the client speaks, unless the path ends it.

    What stands at another address of an external server may do either: nothing is known of it.
    """
    if case.address != DIRECT:
        return UNSET
    if case.path in BEGINS_TLS:
        return OWN_TLS
    return "off" if case.path in ENDS_TLS else case.tls


def is_of_client(case: CaseLevels) -> bool:
    """Whether the TLS that the server sees is the client's own, which no path has ended or begun."""
    return case.path not in ENDS_TLS | BEGINS_TLS and case.address == DIRECT


def asks_for_passwords(case: CaseLevels) -> bool:
    """Whether the path asks clients for their passwords itself: it logs in to the server for them."""
    return case.path in ENDS_TLS or case.address != DIRECT


def why_not(case: CaseLevels, server: ServerAbilities | None = None) -> str:
    """Why the case cannot be carried by its path; empty where it can.

    `server` is what the case's server can do, None where that is not known.
    """
    limits = () if case.path == DIRECT else _limits(case, server)
    return next((f"{case.path} {words}" for beyond, words in limits if beyond), "")


def _limits(case: CaseLevels, server: ServerAbilities | None) -> Iterable[tuple[bool, str]]:
    ends, begins = case.path in ENDS_TLS, case.path in BEGINS_TLS
    yield case.path == UNIX_SOCKET and case.distance.is_any, "does not reach over a distance"
    yield ends and not case.is_encrypted, "ends the TLS of the client, and with tls = off there is none"
    yield (
        case.path == "router-encrypt" and case.is_encrypted,
        "accepts only clients without TLS (tls = off)",
    )
    yield ends and case.tls in {"1.0", "1.1"}, "speaks only TLS 1.2 and 1.3"
    yield (
        begins and server is not None and not server.has_modern_tls,
        f"speaks only TLS 1.2 and 1.3, and {case.server} has neither",
    )
    yield ends and case.group in _NO_SUCH_GROUP, "accepts only the groups P-256, P-384 and P-521"
    yield (ends or begins) and case.is_compressed, "compresses towards the server as it sees fit"
    yield ends and case.cipher in _OLD_CIPHERS, f"does not accept {case.cipher}"
    yield (ends or begins) and case.certificate == "rsa-1024", "does not accept RSA keys of 1024 bits"
    yield (
        (ends or begins) and case.client != ENGINE,
        "would hide what the client negotiates, and only tlstax's own client is asked for it",
    )
