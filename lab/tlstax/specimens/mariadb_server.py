"""How a private MariaDB (10.5 and later) is told its paths, initialised and given its accounts."""

from __future__ import annotations

from pathlib import Path

from tlstax.errors import MachineFault
from tlstax.specimens.credentials import ADMINISTRATOR, LOAD_USER, SCHEMA, Credentials
from tlstax.specimens.product import existing
from tlstax.specimens.server_build import ServerBuild

SYSTEM_TABLES = (
    ("mariadb_system_tables.sql", "mysql_system_tables.sql"),
    ("mariadb_performance_tables.sql", "mysql_performance_tables.sql"),
    ("mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"),
    ("fill_help_tables.sql",),
    ("maria_add_gis_sp_bootstrap.sql",),
)
"""The files that mariadb-install-db feeds to the server, in its order; newer names first."""


class MariaDb:
    """`Product` for MariaDB: all accounts use mysql_native_password, its default."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be told."""
        shared = existing(*build.shared_files())
        if build.root is None or shared is None:
            return []
        return [
            f"--basedir={build.root / 'usr'}",
            f"--lc-messages-dir={shared}",
            f"--character-sets-dir={shared / 'charsets'}",
            f"--plugin-dir={build.root / 'usr/lib/mysql/plugin'}",
        ]

    def initialise_options(self) -> list[str]:
        """`--bootstrap` runs the statements on standard input without opening a socket."""
        return ["--bootstrap", "--skip-ssl"]

    def initialise_statements(self, build: ServerBuild) -> bytes:
        """The system tables, and then no account at all: root's, made without a password, is removed."""
        files = (_file(build, names) for names in SYSTEM_TABLES)
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;",
                *(file.read_bytes() for file in files),
                b"DELETE FROM global_priv WHERE User IN ('', 'root');\nDELETE FROM proxies_priv;\n",
            ]
        )

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, the load account from anywhere on this machine."""
        administrator, load = f"'{ADMINISTRATOR}'@'localhost'", f"'{LOAD_USER}'@'%'"
        return [
            f"CREATE USER {administrator} IDENTIFIED BY '{credentials.admin_password}'",
            f"GRANT ALL ON *.* TO {administrator} WITH GRANT OPTION",
            f"CREATE DATABASE `{SCHEMA}`",
            f"CREATE USER {load} IDENTIFIED BY '{credentials.load_password}'",
            f"GRANT ALL ON `{SCHEMA}`.* TO {load}",
        ]


def _file(build: ServerBuild, names: tuple[str, ...]) -> Path:
    found = existing(*(directory / name for directory in build.shared_files() for name in names))
    if found is None:
        raise MachineFault(
            f"{build.executable} cannot be initialised: its file {names[0]} is nowhere to be found",
            remedy="reinstall the server's packages, or choose another server",
        )
    return found
