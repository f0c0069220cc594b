"""What differs between MySQL, MySQL before 5.7 and MariaDB (10.1 on) when a private server is set up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from tlstax.mysql import accounts
from tlstax.specimens.server_build import ServerBuild
from tlstax.sql.credentials import Credentials
from tlstax.study.product import ProductName
from tlstax.support.errors import MachineFault

Era = tuple[int, int]
"""The first two numbers of a version."""


class Product(Protocol):
    """How one product is given its paths, gets its system tables, and gets its accounts."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """Options that name the build's own messages, character sets and plugins."""
        ...

    def initialise_options(self) -> list[str]:
        """Options of the run that creates the system tables and ends."""
        ...

    def initialise_statements(self, build: ServerBuild) -> bytes:
        """SQL for the standard input of that run; empty where the server brings it itself."""
        ...

    def account_statements(self, credentials: Credentials) -> list[str]:
        """SQL for --init-file at the first start, before the first login: one statement each."""
        ...


def _tree_options(build: ServerBuild) -> list[str]:
    """Where a server that was unpacked finds its files; nothing for one of this machine, which knows."""
    shared = _existing(*build.shared_files())
    if build.prefix is None or shared is None:
        return []
    plugins = (build.prefix / "lib" / name for name in ("mysql/plugin", "plugin"))
    directory = _existing(*plugins) or build.prefix / "lib" / "plugin"
    return [
        f"--basedir={build.prefix}",
        f"--lc-messages-dir={shared}",
        f"--character-sets-dir={shared / 'charsets'}",
        f"--plugin-dir={directory}",
    ]


def _sql_file(build: ServerBuild, *names: str) -> Path:
    """The first of these that the build has among its shared files. MachineFault when it has none."""
    found = _existing(*(directory / name for directory in build.shared_files() for name in names))
    if found is None:
        raise MachineFault(
            f"{build.executable} cannot be initialised: its file {names[0]} cannot be found",
            remedy="reinstall the server's packages, or choose another server",
        )
    return found


def _existing(*candidates: Path) -> Path | None:
    """The first of the paths that exists."""
    return next((path for path in candidates if path.exists()), None)


class MySql:
    """`Product` for MySQL: all accounts use caching_sha2_password, its default since 8.0.4."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be given them."""
        return [
            "--loose-mysqlx=OFF",
            "--secure-file-priv=NULL",
            "--loose-auto-generate-certs=OFF",
            *_tree_options(build),
        ]

    def initialise_options(self) -> list[str]:
        """`--initialize` gives root a random password, which is replaced at the first start.

        The run opens no socket, and its log, where the password stands, is removed with it.
        """
        return ["--initialize"]

    def initialise_statements(self, build: ServerBuild) -> bytes:  # noqa: ARG002
        """None: mysqld carries the statements in itself."""
        return b""

    def account_statements(self, credentials: Credentials) -> list[str]:
        """Root is locked, with a password that is known to nobody."""
        lock = f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{credentials.root_password}' ACCOUNT LOCK"
        return [lock, *accounts.statements(credentials)]


MYSQL5_SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
"""The files that mysql_install_db feeds to the server; the help texts are left out, nobody asks for them."""


class MySql5:
    """`Product` for MySQL before 5.7: all accounts use mysql_native_password, the only way there is."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """As of the tree; files may be read and written below the data directory only."""
        return _tree_options(build)

    def initialise_options(self) -> list[str]:
        """`--bootstrap` runs the statements on standard input without opening a socket."""
        return ["--bootstrap", "--skip-ssl"]

    def initialise_statements(self, build: ServerBuild) -> bytes:
        """The system tables, and then no account at all: those made without a password are removed."""
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;",
                *(_sql_file(build, name).read_bytes() for name in MYSQL5_SYSTEM_TABLES),
                b"DELETE FROM user;\nDELETE FROM db;\nDELETE FROM proxies_priv;\n",
            ]
        )

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, the load account from anywhere on this machine."""
        return accounts.statements(credentials)


MARIADB_SYSTEM_TABLES = (
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

    def __init__(self, era: Era) -> None:
        self._era = era

    def path_options(self, build: ServerBuild) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be given them."""
        return _tree_options(build)

    def initialise_options(self) -> list[str]:
        """`--bootstrap` runs the statements on standard input without opening a socket."""
        return ["--bootstrap", "--skip-ssl"]

    def initialise_statements(self, build: ServerBuild) -> bytes:
        """The system tables, and then no account at all: root's, made without a password, is removed."""
        table = b"global_priv" if self._era >= ACCOUNTS_IN_GLOBAL_PRIV else b"user"
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;",
                *(_sql_file(build, *names).read_bytes() for names in MARIADB_SYSTEM_TABLES),
                b"DELETE FROM %s WHERE User IN ('', 'root');" % table,
                b"DELETE FROM db WHERE User = '';\nDELETE FROM proxies_priv;\n",
            ]
        )

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, the load account from anywhere on this machine."""
        return accounts.statements(credentials)


def _mysql(era: Era) -> Product:
    return MySql() if era >= (5, 7) else MySql5()


RULES: Mapping[ProductName, Callable[[Era], Product]] = {"mariadb": MariaDb, "mysql": _mysql}
"""By product, what each era's servers are set up by."""


def rules_of(flavour: ProductName, era: Era) -> Product:
    """How a server of this product and era is set up."""
    return RULES[flavour](era)
