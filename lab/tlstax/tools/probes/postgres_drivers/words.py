"""What each driver of PostgreSQL can be told of TLS: libpq's words, and what takes their place elsewhere.

Sources: PostgreSQL documentation, "Database Connection Control Functions" (`sslmode`, `sslnegotiation`,
`sslrootcert`, `channel_binding`, `require_auth`); each driver's own documentation where its words are others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tlstax.study.driver_catalogue import DRIVERS

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


def _pgjdbc(*, has_newer: bool) -> Iterator[Word]:
    """Version 42.2 has the six and a factory alone."""
    yield from _modes("sslmode=")
    yield Word(
        "system",
        "sslmode=verify-full sslfactory=…DefaultJavaSSLFactory",
        options={"sslmode": "verify-full", "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"},
    )
    if has_newer:
        yield _own("bound", sslmode="require", channelBinding="require")
        yield _own("scram", sslmode="require", requireAuth="scram-sha-256")
        yield _own("direct", sslmode="verify-full", sslrootcert=AUTHORITIES, sslNegotiation="direct")


_PG8000 = (
    Word("disable", "ssl_context=False", "off"),
    Word("require", "ssl_context=True", "required"),
    Word("verify-ca", "ssl_context with CERT_REQUIRED", "on", "ca"),
    Word("verify-full", "ssl_context with check_hostname", "on"),
)

_OF_NODE = (
    Word("verify-ca", "ssl: { ca, checkServerIdentity }", "on", "ca"),
    Word("verify-full", "ssl: { ca }", "on"),
    Word("direct", 'ssl: { ca }, sslnegotiation: "direct"', "on", direct=True),
)
"""What both drivers for Node.js hand to its TLS."""


_NODE_POSTGRES = (
    Word("disable", "ssl: false", "off"),
    Word("require", "ssl: { rejectUnauthorized: false }", "on", "none"),
    *_OF_NODE,
    Word("system", "ssl: true", "required"),
    Word(
        "bound",
        "ssl: { rejectUnauthorized: false }, enableChannelBinding: true",
        "on",
        "none",
        options={"enableChannelBinding": "true"},
    ),
)

_POSTGRES_JS = (
    Word("disable", "ssl: false", "off"),
    Word("allow", 'ssl: "allow"', options={"ssl": "allow"}),
    Word("prefer", 'ssl: "prefer"', options={"ssl": "prefer"}),
    Word("require", 'ssl: "require"', "required"),
    *_OF_NODE,
    Word("system", 'ssl: "verify-full"', options={"ssl": "verify-full"}),
)

_ASYNCPG = (
    *_modes("ssl="),
    Word(
        "direct",
        "ssl=verify-full direct_tls=True",
        options={"sslmode": "verify-full", "sslrootcert": AUTHORITIES, "direct_tls": "true"},
    ),
)


def _tokio_postgres(*, nothing: str, chain: str, file: str, machine: str) -> tuple[Word, ...]:
    """Its own words say whether TLS is spoken, and how it begins; what is verified is the TLS library's.

    That is what a program says to the library to verify nothing, the chain alone, by a file of authorities,
    or by those of the machine.
    """
    return (
        _own("disable", sslmode="disable"),
        _own("prefer", sslmode="prefer"),
        Word("require", f"sslmode=require, {nothing}", "on", "none"),
        Word("verify-ca", f"sslmode=require, {chain}", "on", "ca"),
        Word("verify-full", f"sslmode=require, {file}", "on"),
        Word("direct", f"sslmode=require sslnegotiation=direct, {file}", "on", direct=True),
        Word("system", f"sslmode=require, {machine}", "required"),
        Word(
            "bound",
            f"sslmode=require channel_binding=require, {nothing}",
            "on",
            "none",
            options={"channel_binding": "require"},
        ),
    )


_BY_PRODUCT: Mapping[str, tuple[Word, ...]] = {
    "pg8000": _PG8000,
    "node-postgres": _NODE_POSTGRES,
    "postgres.js": _POSTGRES_JS,
    "asyncpg": _ASYNCPG,
    "tokio-postgres": _tokio_postgres(
        nothing="a ServerCertVerifier that takes all",
        chain="a ServerCertVerifier without the host",
        file="with_root_certificates",
        machine="rustls_native_certs",
    ),
    "tokio-postgres (native-tls)": _tokio_postgres(
        nothing="danger_accept_invalid_certs(true)",
        chain="danger_accept_invalid_hostnames(true)",
        file="add_root_certificate",
        machine="TlsConnector::new",
    ),
    "tokio-postgres (OpenSSL)": _tokio_postgres(
        nothing="SslVerifyMode::NONE",
        chain="set_verify_hostname(false)",
        file="set_ca_file",
        machine="SslConnector::builder",
    ),
    "SQLx (PostgreSQL)": (*_modes("sslmode="), _own("system", sslmode="verify-full")),
}

_OLD_LIBPQ = ("bookworm",)
"""Suites whose libpq is older than 16."""


def words_of(name: str) -> tuple[Word, ...]:
    """All that this driver is told, one after the other: nothing first."""
    driver = DRIVERS[name]
    if driver.product == "pgjdbc":
        return (NOTHING_SAID, *_pgjdbc(has_newer=driver.begins_tls))
    has_newer = not driver.debian or driver.debian_suite not in _OLD_LIBPQ
    return (NOTHING_SAID, *(_BY_PRODUCT.get(driver.product) or _libpq(has_newer=has_newer)))
