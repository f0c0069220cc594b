"""TLS at a running server: what it says of it, which versions it accepts, its certificate read again.

Source: MySQL reference manual, "Server-Side Runtime Configuration and Monitoring for Encrypted Connections"
and "ALTER INSTANCE Statement"; MariaDB documentation, "FLUSH".
"""

from __future__ import annotations

from pymysql.constants import CLIENT

from tlstax.sql import answers
from tlstax.sql.database import Database
from tlstax.sql.facts import TlsFacts
from tlstax.study.product import product_of

STATUS = "WHERE Variable_name LIKE '%tls%' OR Variable_name LIKE 'Ssl%'"
VARIABLES = "WHERE Variable_name LIKE '%ssl%' OR Variable_name LIKE 'tls%'"


def facts(database: Database) -> TlsFacts:
    """Ask the server.

    MySQL reports its library in the status variable Tls_library_version from 8.0.30 on, what is in force in
    the status variables Current_tls_* from 8.0.16 on; MariaDB reports its library in the system variable
    version_ssl_library.
    """
    status = _pairs(database, f"SHOW GLOBAL STATUS {STATUS}")
    variables = _pairs(database, f"SHOW GLOBAL VARIABLES {VARIABLES}")
    versions = status.get("current_tls_version", variables.get("tls_version", ""))
    return TlsFacts(
        offered=offers_tls(database),
        library_version=status.get("tls_library_version") or variables.get("version_ssl_library") or None,
        versions=tuple(version for version in versions.split(",") if version),
        cipher_list=status.get("current_tls_cipher", variables.get("ssl_cipher", "")),
        ciphersuites=status.get("current_tls_ciphersuites", variables.get("tls_ciphersuites", "")),
        certificate_file=status.get("current_tls_cert") or variables.get("ssl_cert") or None,
        certificate_expires=status.get("ssl_server_not_after") or None,
    )


def offers_tls(database: Database) -> bool:
    """Whether the server's greeting on this connection had the capability flag CLIENT_SSL."""
    capabilities: int = getattr(database, "server_capabilities", 0)
    return bool(capabilities & CLIENT.SSL)


def _pairs(database: Database, statement: str) -> dict[str, str]:
    """The names in small letters: products spell them differently."""
    return {name.lower(): value for name, value in answers.pairs(database, statement).items()}


NO_TLS = ""
"""The value of tls_version that leaves a server no TLS (MySQL 8.0.16 and later)."""

_RELOAD = "ALTER INSTANCE RELOAD TLS"


def can_switch(admin: Database) -> bool:
    """Whether the server can change its TLS while it runs: it then reports what is in force (MySQL 8.0.16).

    MachineFault where it does not answer.
    """
    return bool(answers.demand(admin, "SHOW GLOBAL STATUS LIKE 'Current_tls_version'"))


def accepted_versions(admin: Database) -> str:
    """The TLS versions that the server is configured to accept, joined by commas. Raises MachineFault."""
    return str(answers.demand(admin, "SELECT @@GLOBAL.tls_version")[0][0])


def session_versions(admin: Database) -> str:
    """The same, as a session sees the variable; empty where the server reports nothing. Raises SqlError."""
    for (value,) in answers.rows(admin, "SELECT @@tls_version", columns=1):
        return str(value)
    return ""


def accept(admin: Database, wanted: str) -> None:
    """Accept these TLS versions from new connections on; `NO_TLS` for none at all. Raises MachineFault.

    A reload that finds no version is an error and is rolled back, unless the statement says otherwise; only
    then does the server turn TLS off. Seen with 8.0.33 and 9.7.
    """
    answers.demand(admin, "SET GLOBAL tls_version = %s", wanted)
    answers.demand(admin, _RELOAD + (" NO ROLLBACK ON ERROR" if wanted == NO_TLS else ""))


def certificate_reload(server_version: str) -> str:
    """The statement by which a server of this version reads its certificate's files again.

    MySQL has it from 8.0.16 on, MariaDB from 10.4 on; an older server refuses it.
    """
    return "FLUSH SSL" if product_of(server_version) == "mariadb" else _RELOAD
