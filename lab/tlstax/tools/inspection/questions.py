"""Which handshakes a server is asked for, each with one thing offered. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from tlstax.contract import TlsOn, TlsVersion
from tlstax.results.inspection import Topic
from tlstax.study import tls_levels
from tlstax.study.tls_levels import KEY_GROUPS

VERSIONS: tuple[TlsVersion, ...] = get_args(TlsVersion)

SUITES = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")
"""The cipher suites of TLS 1.3 that OpenSSL has on (RFC 8446, appendix B.4)."""

FAMILIES = {
    "ECDHE with AES-GCM": "ECDHE+AESGCM",
    "ECDHE with ChaCha20-Poly1305": "ECDHE+CHACHA20",
    "DHE": "DHE",
    "RSA key exchange": "kRSA:@SECLEVEL=1",
}
"""Kinds of cipher suites before TLS 1.3 in OpenSSL's words (ciphers(1)); the last has no forward secrecy."""

OWN_CONNECTIONS = 1
"""The laboratory's own, by which it reads what the server says of itself."""


@dataclass(frozen=True)
class Question:
    """One thing to ask for, and with which options; `connections` is how many it takes."""

    topic: Topic
    name: str
    tls: TlsOn
    connections: int = 1

    def words(self) -> str:
        """What is asked for, for whoever watches."""
        return f"resumption of {self.name}" if self.topic == "resumption" else self.name


def questions(client: TlsOn, old: TlsOn | None = None) -> tuple[Question, ...]:
    """All of them, what clients left to themselves get first.

    `client` has what every handshake has: whom to verify and what to show. `old` has what else a server needs
    that agrees to nothing of today's: ciphers at a lower security level, and the curve of its key. Resumption
    takes two connections, one to get a session and one to resume it.
    """
    base = old or client
    return (
        Question("default", "a client left to itself", client),
        *(Question("version", f"TLS {version}", _version(base, version)) for version in VERSIONS),
        *(Question("suite", name, _suite(base, name)) for name in SUITES),
        *(Question("suite", name, _family(base, words)) for name, words in FAMILIES.items()),
        *(Question("group", name, _group(base, name)) for name in KEY_GROUPS),
        *(
            Question("resumption", f"TLS {version}", _resuming(base, version), connections=2)
            for version in VERSIONS[-2:]
        ),
    )


def connections(asked: Sequence[Question]) -> int:
    """How many connections asking all of them takes at most, the laboratory's own among them."""
    return OWN_CONNECTIONS + sum(question.connections for question in asked)


def _version(client: TlsOn, version: TlsVersion) -> TlsOn:
    ciphers = tls_levels.cipher_list(version) or client.cipher_list
    return client.model_copy(update={"min_version": version, "max_version": version, "cipher_list": ciphers})


def _suite(client: TlsOn, name: str) -> TlsOn:
    return client.model_copy(update={"min_version": "1.3", "max_version": "1.3", "ciphersuites": name})


def _family(client: TlsOn, words: str) -> TlsOn:
    """Suites before TLS 1.3; of a server that agrees to nothing of today's in whatever version it has."""
    is_old = client.cipher_list is not None
    ciphers = f"{words.partition(':')[0]}:@SECLEVEL=0" if is_old else words
    least: TlsVersion = "1.0" if is_old else "1.2"
    return client.model_copy(update={"min_version": least, "max_version": "1.2", "cipher_list": ciphers})


def _group(client: TlsOn, name: str) -> TlsOn:
    """The group first, and behind it the curve without which the server cannot sign."""
    return client.model_copy(update={"groups": ":".join(filter(None, (name, client.groups)))})


def _resuming(client: TlsOn, version: TlsVersion) -> TlsOn:
    return _version(client, version).model_copy(update={"resumption": True})
