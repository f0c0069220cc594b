"""What mends a server's TLS, in lines to paste, by its product and version: one table, tried by a test.

Sources: MySQL's reference manuals 5.6 to 9.7, "Server System Variables", "Encrypted Connection TLS Protocols
and Ciphers" and "ALTER INSTANCE"; MariaDB's documentation, "SSL/TLS System Variables", "FLUSH" and "ALTER
USER"; PostgreSQL's documentation 10 to 18, "Connections and Authentication" and "The pg_hba.conf File".
tests/servers/test_remedies.py and test_remedies_postgres.py paste each line into each server that it is for.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tlstax.results.inspection import Step
from tlstax.study.product import FIRST, ProductName, Release, product_of, release_of

SERVER, ADMINISTRATOR = "the server's my.cnf", "the server, as an administrator"
RESTART = Step(where="then", lines=("restart the server",))

Remedy = Literal[
    "require TLS",
    "versions",
    "ciphers",
    "certificate",
    "resumption",
    "groups",
    "scram",
    "iterations",
]
"""The last three are PostgreSQL's alone."""

ECDHE = ":".join(
    f"ECDHE-{key}-{cipher}"
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
    for key in ("ECDSA", "RSA")
)
"""Suites of TLS 1.2 by their names: not every library that servers are built with knows words for kinds."""


@dataclass(frozen=True)
class Entry:
    """What mends it at a product from a release on. `says` stands where there are no lines to paste."""

    remedy: Remedy
    product: ProductName
    since: Release
    steps: tuple[Step, ...] = ()
    says: str = ""


def _option(*lines: str) -> Step:
    return Step(where=SERVER, lines=("[mysqld]", *lines))


def _sql(*lines: str) -> Step:
    return Step(where=ADMINISTRATOR, lines=lines)


def _setting(*lines: str) -> Step:
    return Step(where=CONFIGURATION, lines=lines)


CONFIGURATION = "the server's postgresql.conf"
PSQL = "psql, connected as an administrator"
ADMISSION = "the server's pg_hba.conf, in place of lines with host"
RELOAD = _sql("ALTER INSTANCE RELOAD TLS;")
FLUSH = _sql("FLUSH SSL;")
FILES = _option("ssl_key = /path/to/server-key.pem", "ssl_cert = /path/to/server-cert.pem")
"""ssl_cert holds the server's own certificate first, then those between it and the root."""

_READ_AGAIN = _sql("SELECT pg_reload_conf();")
_POSTGRESQL_FILES = _setting(
    "ssl = on",
    "ssl_key_file = '/path/to/server-key.pem'",
    "ssl_cert_file = '/path/to/server-cert.pem'",
)
"""The same of ssl_cert_file. The key may be read by the server's user alone."""

VERSIONS, CIPHERS = "TLSv1.2,TLSv1.3", f"ssl_cipher = {ECDHE}"
OF_ALL_VERSIONS = f"{CIPHERS}:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"
"""MariaDB has one list for all versions, and with wolfSSL under it no TLS 1.3 that is not in it."""

ACCOUNT = "GRANT USAGE ON *.* TO 'user'@'host' REQUIRE SSL;"
"""For an account that exists: before MySQL 5.7.6 and MariaDB 10.2.0, ALTER USER does not take REQUIRE."""

TABLE = (
    Entry("require TLS", "mysql", FIRST, (_sql(ACCOUNT),), "each account by itself"),
    Entry(
        "require TLS",
        "mysql",
        (5, 7, 8),
        (_sql("SET GLOBAL require_secure_transport = ON;"), _option("require_secure_transport = ON")),
    ),
    Entry("require TLS", "mysql", (8, 0, 0), (_sql("SET PERSIST require_secure_transport = ON;"),)),
    Entry("require TLS", "mariadb", FIRST, (_sql(ACCOUNT),), "each account by itself"),
    Entry(
        "require TLS",
        "mariadb",
        (10, 5, 2),
        (_sql("SET GLOBAL require_secure_transport = ON;"), _option("require_secure_transport = ON")),
    ),
    Entry(
        "require TLS",
        "postgresql",
        FIRST,
        (Step(where=ADMISSION, lines=("hostssl all all all scram-sha-256",)), _READ_AGAIN),
    ),
    Entry("versions", "mysql", FIRST, says="this server has no setting for it: upgrade it"),
    Entry("versions", "mysql", (5, 7, 28), (_option("tls_version = TLSv1.2"), RESTART)),
    Entry(
        "versions",
        "mysql",
        (8, 0, 16),
        (_sql(f"SET PERSIST tls_version = '{VERSIONS}';", *RELOAD.lines),),
    ),
    Entry("versions", "mariadb", FIRST, says="this server has no setting for it: upgrade it"),
    Entry("versions", "mariadb", (10, 4, 6), (_option(f"tls_version = {VERSIONS}"), RESTART)),
    Entry("versions", "postgresql", FIRST, says="this server has no setting for it: upgrade it"),
    Entry(
        "versions",
        "postgresql",
        (12, 0, 0),
        (
            _sql(
                "ALTER SYSTEM SET ssl_min_protocol_version = 'TLSv1.2';",
                "ALTER SYSTEM SET ssl_max_protocol_version = '';",
                *_READ_AGAIN.lines,
            ),
        ),
    ),
    Entry("ciphers", "mysql", FIRST, says="its TLS library may have no other suites: upgrade it"),
    Entry("ciphers", "mysql", (5, 7, 28), (_option(CIPHERS), RESTART)),
    Entry("ciphers", "mysql", (8, 0, 16), (_sql(f"SET PERSIST ssl_cipher = '{ECDHE}';", *RELOAD.lines),)),
    Entry("ciphers", "mariadb", FIRST, says="its TLS library may have no other suites: upgrade it"),
    Entry("ciphers", "mariadb", (10, 4, 6), (_option(OF_ALL_VERSIONS), RESTART)),
    Entry(
        "ciphers",
        "postgresql",
        FIRST,
        (_sql(f"ALTER SYSTEM SET ssl_ciphers = '{ECDHE}';", *_READ_AGAIN.lines),),
    ),
    Entry("certificate", "mysql", FIRST, (FILES, RESTART)),
    Entry("certificate", "mysql", (8, 0, 16), (FILES, RELOAD)),
    Entry("certificate", "mariadb", FIRST, (FILES, RESTART)),
    Entry("certificate", "mariadb", (10, 4, 1), (FILES, FLUSH)),
    Entry("certificate", "postgresql", FIRST, (_POSTGRESQL_FILES, _READ_AGAIN)),
    Entry(
        "resumption", "mysql", FIRST, says="this server has no setting for it: MySQL 8.0.29 and newer resume"
    ),
    Entry(
        "resumption",
        "mysql",
        (8, 0, 29),
        (_sql("SET PERSIST ssl_session_cache_mode = ON;", *RELOAD.lines),),
    ),
    Entry(
        "resumption",
        "mariadb",
        FIRST,
        says="MariaDB resumes by tickets, unless its TLS library is wolfSSL or yaSSL, or its OpenSSL's "
        "configuration forbids them (Options = -SessionTicket)",
    ),
    Entry(
        "resumption",
        "postgresql",
        FIRST,
        says="PostgreSQL resumes no session: it issues no tickets and keeps no sessions; keep connections",
    ),
    Entry(
        "groups",
        "postgresql",
        FIRST,
        (_sql("ALTER SYSTEM SET ssl_ecdh_curve = 'prime256v1';", *_READ_AGAIN.lines),),
    ),
    Entry(
        "groups",
        "postgresql",
        (18, 0, 0),
        (_sql("ALTER SYSTEM SET ssl_groups = 'X25519:prime256v1';", *_READ_AGAIN.lines),),
    ),
    Entry(
        "scram",
        "postgresql",
        FIRST,
        (
            _sql("ALTER SYSTEM SET password_encryption = 'scram-sha-256';", *_READ_AGAIN.lines),
            Step(where=PSQL, lines=("\\password app",)),
            Step(where=ADMISSION, lines=("hostssl all all all scram-sha-256",)),
            _READ_AGAIN,
        ),
    ),
    Entry(
        "iterations",
        "postgresql",
        FIRST,
        (Step(where=PSQL, lines=("\\password app",)),),
        "before 16 every password that is set anew has 4,096",
    ),
    Entry(
        "iterations",
        "postgresql",
        (16, 0, 0),
        (
            _sql("ALTER SYSTEM SET scram_iterations = 4096;", *_READ_AGAIN.lines),
            Step(where=PSQL, lines=("\\password app",)),
        ),
    ),
)
"""For each remedy and product, the last entry that is not newer than the server is what holds."""


def remedies_at(version: str) -> tuple[Remedy, ...]:
    """Those that the table has for the product of a server that says so of its version, each once."""
    product = product_of(version)
    return tuple(dict.fromkeys(entry.remedy for entry in TABLE if entry.product == product))


def entry_for(remedy: Remedy, version: str) -> Entry:
    """What mends it at a server that says so of its version."""
    wanted, release = (remedy, product_of(version)), release_of(version)
    entries = (own for own in TABLE if (own.remedy, own.product) == wanted and own.since <= release)
    return max(entries, key=lambda entry: entry.since)


def reload_for(version: str) -> Step:
    """What makes a server take a new certificate."""
    return entry_for("certificate", version).steps[-1]
