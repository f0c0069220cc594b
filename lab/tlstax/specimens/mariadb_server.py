"""How a private MariaDB (10.1 and later) is given its paths, initialised and given its accounts."""

from __future__ import annotations

from tlstax.mysql import accounts
from tlstax.mysql.accounts import Credentials
from tlstax.specimens.product import sql_file, tree_options
from tlstax.specimens.server_build import ServerBuild

SYSTEM_TABLES = (
    ("mariadb_system_tables.sql", "mysql_system_tables.sql"),
    ("mariadb_performance_tables.sql", "mysql_performance_tables.sql"),
    ("mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"),
    ("fill_help_tables.sql",),
    ("maria_add_gis_sp_bootstrap.sql",),
)
"""The files that mariadb-install-db feeds to the server, in its order; newer names first."""

ACCOUNTS_IN_GLOBAL_PRIV = (10, 4)
"""From this version on, accounts are in the table global_priv, and `user` is a view of it."""


class MariaDb:
    """`Product` for MariaDB: all accounts use mysql_native_password, its default."""

    def __init__(self, era: tuple[int, int]) -> None:
        self._era = era

    def path_options(self, build: ServerBuild) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be given them."""
        return tree_options(build)

    def initialise_options(self) -> list[str]:
        """`--bootstrap` runs the statements on standard input without opening a socket."""
        return ["--bootstrap", "--skip-ssl"]

    def initialise_statements(self, build: ServerBuild) -> bytes:
        """The system tables, and then no account at all: root's, made without a password, is removed."""
        table = b"global_priv" if self._era >= ACCOUNTS_IN_GLOBAL_PRIV else b"user"
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;",
                *(sql_file(build, *names).read_bytes() for names in SYSTEM_TABLES),
                b"DELETE FROM %s WHERE User IN ('', 'root');" % table,
                b"DELETE FROM db WHERE User = '';\nDELETE FROM proxies_priv;\n",
            ]
        )

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, the load account from anywhere on this machine."""
        return accounts.statements(credentials)
