"""What levels come to in TLS: ciphers and keys of both sides, names of groups, and what paths do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tlstax.contract import TlsVersion
from tlstax.study.level_names import (
    BY_PASSWORD,
    BY_TRANSACTION,
    DEFAULT_CERTIFICATE,
    DIRECT,
    DIRECT_TLS,
    GROUPS,
    PGBOUNCER_1_18,
    PGBOUNCERS,
    UNSET,
)

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels


def version_of(tls: str) -> str:
    """The TLS version of a level of `tls`; one that names none stands for itself."""
    return "1.3" if tls == DIRECT_TLS else tls


KEY_GROUPS = (
    "X25519MLKEM768",
    "SecP256r1MLKEM768",
    "X25519",
    "P-256",
    "P-384",
    "P-521",
    "X448",
    "ffdhe2048",
)
"""Those that are asked for by name (IANA, TLS Supported Groups), as OpenSSL spells them."""

_LEVELS = {registered: level for level, registered in GROUPS.items()}


def group_name(registered: str | None) -> str:
    """A group by its better known name (RFC 8422, appendix A): "P-256" for secp256r1; empty for none."""
    return _LEVELS.get(registered or "", registered or "")


LEGACY_CIPHERS = "AES256-SHA:@SECLEVEL=0"
"""RSA key exchange, AES-256, HMAC-SHA-1 (RFC 3268) is what yaSSL has and OpenSSL still does. With
Diffie-Hellman, which yaSSL would rather use, it offers 512 bits, and OpenSSL refuses those at any security
level. Level 0 is needed for the hashes of these versions, MD5 and SHA-1."""


SHORT_KEYS = frozenset({"rsa-1024"})
"""Certificates with keys of less than the 112 bits of security that level 2 asks for, the default since
OpenSSL 3.2 and in Debian (SSL_CTX_set_security_level(3)): RSA of 1024 bits has 80."""

ANY_KEY = "DEFAULT:@SECLEVEL=0"
"""The library's own ciphers, with keys of any length; the level holds for TLS 1.3 too."""


def cipher_list(
    version: TlsVersion | None, certificate: str = DEFAULT_CERTIFICATE, only: str | None = None
) -> str | None:
    """The ciphers for this version and those before TLS 1.3, in OpenSSL's words; None: the library's own.

    `certificate` is the kind of key that the server shows, `only` the one cipher to be offered (none: any).
    """
    if only:
        return f"{only}:@SECLEVEL=0" if version in {"1.0", "1.1"} or certificate in SHORT_KEYS else only
    if version in {"1.0", "1.1"}:
        return LEGACY_CIPHERS
    return ANY_KEY if certificate in SHORT_KEYS else None


def openssl_conf(certificate: str) -> str:
    """The configuration that a server's OpenSSL needs for such a certificate, as a file's text; often none.

    Without it MySQL 9.7 starts without TLS, and MariaDB does not start (config(5), SSL configuration).
    """
    if certificate not in SHORT_KEYS:
        return ""
    sections = {"": "openssl_conf = modules", "modules": "ssl_conf = ssl", "ssl": "system_default = all"}
    sections["all"] = f"CipherString = {ANY_KEY}"
    return "".join(f"[{name}]\n{line}\n" if name else f"{line}\n" for name, line in sections.items())


SSH_CIPHERS = {
    "ssh-aes256-cbc": "aes256-cbc",
    "ssh-aes256-ctr": "aes256-ctr",
    "ssh-aes128-gcm": "aes128-gcm@openssh.com",
    "ssh-chacha20-poly1305": "chacha20-poly1305@openssh.com",
}
"""The levels of `path` that are OpenSSH's, and its name for the cipher of each (ssh_config(5), Ciphers)."""

PROTECTION = {**SSH_CIPHERS, "stunnel": "TLSv1.3", "haproxy-tls": "TLSv1.3"}
"""How the word of a path for what protects its bytes must begin; paths that are not here protect nothing."""

ENDS_TLS = frozenset(
    {"router-terminate", "router-reencrypt"}
    | {name for name in PGBOUNCERS if "-terminate" in name or "-reencrypt" in name}
)
"""Paths that end a client's TLS, by which there must be some."""

BEGINS_TLS = frozenset(
    {"router-reencrypt", "router-encrypt"} | {name for name in PGBOUNCERS if "encrypt" in name}
)
"""Paths that speak TLS of their own to the server."""

POOLS = frozenset(PGBOUNCERS)
"""Paths that lend connections of their own to the server to their clients: its logins are fewer."""

HAS_PASSWORDS = frozenset(name for name in PGBOUNCERS if BY_PASSWORD in name)
"""Paths that are given the passwords of the load's accounts, and not only what the server keeps of them."""

KNOWS_NO_NAMES = frozenset(
    name for name in PGBOUNCERS if name.startswith(PGBOUNCER_1_18) and name.endswith(BY_TRANSACTION)
)
"""Paths that carry no statement by its name: before 1.21 PgBouncer does not prepare it anew on another of its
connections (its changelog, `max_prepared_statements`)."""

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
