"""What each driver of PostgreSQL can be told of TLS: libpq's words, and what takes their place elsewhere.

Sources: PostgreSQL documentation, "Database Connection Control Functions" (`sslmode`, `sslnegotiation`,
`sslrootcert`, `channel_binding`, `require_auth`); each driver's own documentation where its words are others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tlstax.study.driver_catalogue import DRIVERS, Driver

Meaning = Literal[
    "nothing",
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
    "direct",
    "system",
    "bound",
    "scram",
]
"""What a word means, by libpq's word for it; `nothing` is that none is said. `direct` is `verify-full` with
TLS that begins at once, `system` verifies by the authorities that the machine trusts, `bound` requires SCRAM
to be bound to the channel and `scram` the method SCRAM, each of them beside `require`."""

MEANINGS: Mapping[Meaning, str] = {
    "nothing": "nothing said",
    "disable": "disable",
    "allow": "allow",
    "prefer": "prefer",
    "require": "require",
    "verify-ca": "verify-ca",
    "verify-full": "verify-full",
    "direct": "verify-full, direct",
    "system": "verify-full, the machine's authorities",
    "bound": "require, channel binding",
    "scram": "require, SCRAM alone",
}
"""As they are printed."""

Mode = Literal["unset", "off", "required", "on"]


AUTHORITIES = "{authorities}"


@dataclass(frozen=True)
class Word:
    """One thing that a driver is told: what it means, how its users write it, and how its adapter is told.

    `verify` goes with the mode `on`; `options` are the driver's own, in which AUTHORITIES stands for the file
    of them.
    """

    meaning: Meaning
    written: str
    mode: Mode = "unset"
    verify: Literal["none", "ca", "identity"] = "identity"
    direct: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    def own_options(self, ca_file: str) -> dict[str, str]:
        """The driver's own options, with this file of authorities."""
        return {name: ca_file if text == AUTHORITIES else text for name, text in self.options.items()}

    def tls(self, ca_file: str) -> dict[str, Any]:
        """What an adapter is told of TLS (drivers/ADAPTERS.md), with this file of authorities."""
        nothing = dict.fromkeys(
            ("min_version", "max_version", "server_name", "certificate_file", "key_file", "verify", "ca_file")
        )
        told: dict[str, Any] = {**nothing, "mode": self.mode, "versions": [], "direct": self.direct}
        if self.mode == "on":
            verified = {"verify": self.verify, "ca_file": None if self.verify == "none" else ca_file}
            return {**told, **verified, "trusted_ca_file": None}
        return {**told, "trusted_ca_file": ca_file}


NOTHING_SAID = Word("nothing", "nothing")


def _libpq(*, has_newer: bool) -> Iterator[Word]:
    """By libpq's words; the newer ones are those of version 16 and 17."""
    yield from _modes("sslmode=")
    yield _own("bound", sslmode="require", channel_binding="require")
    if has_newer:
        yield _own("scram", sslmode="require", require_auth="scram-sha-256")
        yield _own("direct", sslmode="verify-full", sslrootcert=AUTHORITIES, sslnegotiation="direct")
        yield _own("system", sslrootcert="system")


def _modes(before: str) -> Iterator[Word]:
    """The six words of `sslmode`, as they are; where authorities are needed, with their file."""
    meanings: tuple[Meaning, ...] = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
    for meaning in meanings:
        file = {"sslrootcert": AUTHORITIES} if meaning.startswith("verify") else {}
        yield Word(meaning, f"{before}{meaning}", options={"sslmode": meaning, **file})


def _own(meaning: Meaning, **options: str) -> Word:
    """By these words of the driver's own."""
    written = " ".join(f"{name}={text}" for name, text in options.items() if text != AUTHORITIES)
    return Word(meaning, written, options=options)


def _pgjdbc(name: str) -> Iterator[Word]:
    """Version 42.2 has the six and a factory alone."""
    yield from _modes("sslmode=")
    yield Word(
        "system",
        "sslmode=verify-full sslfactory=…DefaultJavaSSLFactory",
        options={"sslmode": "verify-full", "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"},
    )
    if DRIVERS[name].begins_tls:
        yield _own("bound", sslmode="require", channelBinding="require")
        yield _own("scram", sslmode="require", requireAuth="scram-sha-256")
        yield _own("direct", sslmode="verify-full", sslrootcert=AUTHORITIES, sslNegotiation="direct")


def _pg8000(_: str) -> Iterator[Word]:
    yield Word("disable", "ssl_context=False", "off")
    yield Word("require", "ssl_context=True", "required")
    yield Word("verify-ca", "ssl_context with CERT_REQUIRED", "on", "ca")
    yield Word("verify-full", "ssl_context with check_hostname", "on")


_OF_NODE = (
    Word("verify-ca", "ssl: { ca, checkServerIdentity }", "on", "ca"),
    Word("verify-full", "ssl: { ca }", "on"),
    Word("direct", 'ssl: { ca }, sslnegotiation: "direct"', "on", direct=True),
)
"""What both drivers for Node.js hand to its TLS."""


def _node_postgres(_: str) -> Iterator[Word]:
    yield Word("disable", "ssl: false", "off")
    yield Word("require", "ssl: { rejectUnauthorized: false }", "on", "none")
    yield from _OF_NODE
    yield Word("system", "ssl: true", "required")
    yield Word(
        "bound",
        "ssl: { rejectUnauthorized: false }, enableChannelBinding: true",
        "on",
        "none",
        options={"enableChannelBinding": "true"},
    )


def _postgres_js(_: str) -> Iterator[Word]:
    yield Word("disable", "ssl: false", "off")
    yield Word("allow", 'ssl: "allow"', options={"ssl": "allow"})
    yield Word("prefer", 'ssl: "prefer"', options={"ssl": "prefer"})
    yield Word("require", 'ssl: "require"', "required")
    yield from _OF_NODE
    yield Word("system", 'ssl: "verify-full"', options={"ssl": "verify-full"})


def _asyncpg(_: str) -> Iterator[Word]:
    yield from _modes("ssl=")
    options = {"sslmode": "verify-full", "sslrootcert": AUTHORITIES, "direct_tls": "true"}
    yield Word("direct", "ssl=verify-full direct_tls=True", options=options)


@dataclass(frozen=True)
class _Library:
    """What a program says to the TLS library that it hands to tokio-postgres, to verify each of these."""

    nothing: str
    chain: str
    file: str
    machine: str


_RUSTLS = _Library(
    nothing="a ServerCertVerifier that takes all",
    chain="a ServerCertVerifier without the host",
    file="with_root_certificates",
    machine="rustls_native_certs",
)
_NATIVE_TLS = _Library(
    nothing="danger_accept_invalid_certs(true)",
    chain="danger_accept_invalid_hostnames(true)",
    file="add_root_certificate",
    machine="TlsConnector::new",
)
_OPENSSL = _Library(
    nothing="SslVerifyMode::NONE",
    chain="set_verify_hostname(false)",
    file="set_ca_file",
    machine="SslConnector::builder",
)


def _tokio_postgres(library: _Library) -> Iterator[Word]:
    """Its own words say whether TLS is spoken, and how it begins; what is verified is the library's."""
    yield _own("disable", sslmode="disable")
    yield _own("prefer", sslmode="prefer")
    yield Word("require", f"sslmode=require, {library.nothing}", "on", "none")
    yield Word("verify-ca", f"sslmode=require, {library.chain}", "on", "ca")
    yield Word("verify-full", f"sslmode=require, {library.file}", "on")
    yield Word("direct", f"sslmode=require sslnegotiation=direct, {library.file}", "on", direct=True)
    yield Word("system", f"sslmode=require, {library.machine}", "required")
    yield Word(
        "bound",
        f"sslmode=require channel_binding=require, {library.nothing}",
        "on",
        "none",
        options={"channel_binding": "require"},
    )


def _sqlx(_: str) -> Iterator[Word]:
    yield from _modes("sslmode=")
    yield _own("system", sslmode="verify-full")


_OLD_LIBPQ = ("bookworm",)
"""Suites whose libpq is older than 16."""


def words_of(name: str) -> tuple[Word, ...]:
    """All that this driver is told, one after the other: nothing first."""
    return (NOTHING_SAID, *_own_words(name, DRIVERS[name]))


def _own_words(name: str, driver: Driver) -> Iterator[Word]:
    own = {
        "pgjdbc": _pgjdbc,
        "pg8000": _pg8000,
        "node-postgres": _node_postgres,
        "postgres.js": _postgres_js,
        "asyncpg": _asyncpg,
        "tokio-postgres": lambda _: _tokio_postgres(_RUSTLS),
        "tokio-postgres (native-tls)": lambda _: _tokio_postgres(_NATIVE_TLS),
        "tokio-postgres (OpenSSL)": lambda _: _tokio_postgres(_OPENSSL),
        "SQLx (PostgreSQL)": _sqlx,
    }.get(driver.product)
    if own is not None:
        return own(name)
    return _libpq(has_newer=not driver.debian or driver.debian_suite not in _OLD_LIBPQ)
