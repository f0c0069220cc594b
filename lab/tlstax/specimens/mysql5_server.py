"""How a private MySQL 5.5 or 5.6 is given its paths, initialised and given its accounts."""

from __future__ import annotations

from tlstax.mysql import accounts
from tlstax.mysql.accounts import Credentials
from tlstax.specimens.product import sql_file, tree_options
from tlstax.specimens.server_build import ServerBuild

SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
"""The files that mysql_install_db feeds to the server; the help texts are left out, nobody asks for them."""


class MySql5:
    """`Product` for MySQL before 5.7: all accounts use mysql_native_password, the only way there is."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """As of the tree; files may be read and written below the data directory only."""
        return tree_options(build)

    def initialise_options(self) -> list[str]:
        """`--bootstrap` runs the statements on standard input without opening a socket."""
        return ["--bootstrap", "--skip-ssl"]

    def initialise_statements(self, build: ServerBuild) -> bytes:
        """The system tables, and then no account at all: those made without a password are removed."""
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;",
                *(sql_file(build, name).read_bytes() for name in SYSTEM_TABLES),
                b"DELETE FROM user;\nDELETE FROM db;\nDELETE FROM proxies_priv;\n",
            ]
        )

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, the load account from anywhere on this machine."""
        return accounts.statements(credentials)
