"""TLS at a running PostgreSQL: what it says of it, which versions it accepts, its certificate read again.

Source: PostgreSQL documentation, "SSL" (Connections and Authentication) and "Secure TCP/IP Connections with
SSL". It says the name of its library (12 on) and no version of it, and nothing of when a certificate expires.
"""

from __future__ import annotations

from typing import Final

from tlstax.postgres import settings
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.facts import TlsFacts
from tlstax.support.errors import MachineFault

NO_TLS: Final = ""
"""What the server accepts where `ssl` is off."""

ANY: Final = "any"
"""The versions of a server before 12, where its library alone decides."""

VERSIONS: Final = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
"""The values of `ssl_min_protocol_version`, the oldest first."""

_LEAST, _MOST = "ssl_min_protocol_version", "ssl_max_protocol_version"
_ASKED = (
    "ssl",
    "ssl_library",
    _LEAST,
    _MOST,
    "ssl_ciphers",
    "ssl_tls13_ciphers",
    "ssl_groups",
    "ssl_ecdh_curve",
    "ssl_cert_file",
)


def facts(database: Database) -> TlsFacts:
    """Ask the server. `ssl_tls13_ciphers` is there from 18 on. Raises SqlError."""
    told = settings.read(database, _ASKED)
    return TlsFacts(
        offered=told.get("ssl") == "on",
        library_version=told.get("ssl_library") or None,
        versions=_versions(told),
        cipher_list=told.get("ssl_ciphers", ""),
        ciphersuites=told.get("ssl_tls13_ciphers", ""),
        certificate_file=told.get("ssl_cert_file") or None,
        certificate_expires=None,
    )


def offers_tls(database: Database) -> bool:
    """Whether this connection is encrypted: all of ours are where TLS is offered and not switched off.

    The server's `ssl` may be otherwise behind a pooler, and over a Unix socket there is none.
    """
    return database.is_encrypted


def groups(database: Database) -> tuple[str, ...]:
    """The groups that the server agrees on, as it is configured: one before 18, which has a list."""
    told = settings.read(database, ("ssl_groups", "ssl_ecdh_curve"))
    return tuple(filter(None, (told.get("ssl_groups") or told.get("ssl_ecdh_curve", "")).split(":")))


def can_switch(admin: Database) -> bool:
    """Whether the server can change its TLS while it runs: `ssl` can be set, from 10 on."""
    try:
        return "ssl" in settings.read(admin, ("ssl",))
    except SqlError as error:
        raise _silent(error) from error


def accepted_versions(admin: Database) -> str:
    """The TLS versions that the server is configured to accept, joined by commas. Raises MachineFault."""
    try:
        return session_versions(admin)
    except SqlError as error:
        raise _silent(error) from error


def session_versions(admin: Database) -> str:
    """The same; `ANY` where the server does not report it, `NO_TLS` where it takes none. Raises SqlError."""
    told = settings.read(admin, ("ssl", _LEAST, _MOST))
    return NO_TLS if told.get("ssl") != "on" else ",".join(_versions(told)) or ANY


def accept(admin: Database, wanted: str) -> None:
    """Accept these TLS versions, which follow each other, from new connections on; `NO_TLS` for none at all.

    Raises MachineFault.
    """
    if wanted == NO_TLS:
        settings.change(admin, {"ssl": "off"})
        return
    versions = [] if wanted == ANY else wanted.split(",")
    range_ = {_LEAST: versions[0], _MOST: versions[-1]} if versions else {}
    settings.change(admin, {"ssl": "on", **range_})


def certificate_reload(server_version: str) -> str:  # noqa: ARG001 (the same in all versions)
    """The statement by which the server reads its certificate's files again (10 on)."""
    return "SELECT pg_reload_conf()"


def _versions(told: dict[str, str]) -> tuple[str, ...]:
    """The versions between the least and the most, none where the server does not report them (before 12)."""
    if told.get("ssl") != "on" or _LEAST not in told:
        return ()
    least, most = told[_LEAST] or VERSIONS[0], told.get(_MOST) or VERSIONS[-1]
    if least not in VERSIONS or most not in VERSIONS:
        return ()
    return VERSIONS[VERSIONS.index(least) : VERSIONS.index(most) + 1]


def _silent(error: SqlError) -> MachineFault:
    return MachineFault(f"the server does not say what TLS it accepts ({answers.message_of(error)})")
