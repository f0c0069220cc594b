"""TLS at a running server: which versions it accepts, switched, and its certificate read again.

Source: MySQL reference manual, "Server-Side Runtime Configuration and Monitoring for Encrypted Connections"
and "ALTER INSTANCE Statement"; MariaDB documentation, "FLUSH".
"""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.database import Database
from tlstax.study.product import product_of

NO_TLS = ""
"""The value of tls_version that leaves a server no TLS (MySQL 8.0.16 and later)."""

_RELOAD = "ALTER INSTANCE RELOAD TLS"


def can_switch(admin: Database) -> bool:
    """Whether the server can change its TLS while it runs: it then reports what is in force (MySQL 8.0.16).

    MachineFault where it does not answer.
    """
    return bool(answers.demand(admin, "SHOW GLOBAL STATUS LIKE 'Current_tls_version'"))


def versions(admin: Database) -> str:
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
