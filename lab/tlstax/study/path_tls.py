"""What paths do to TLS: which protect bytes of their own, and which end or begin it between the two sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tlstax.study.level_names import DIRECT, UNSET

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels

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
