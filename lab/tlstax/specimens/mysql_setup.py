"""How private servers of MySQL, of MySQL before 5.7 and of MariaDB (10.1 on) are set up.

No account is ever without a password: root gets a random one, or is removed, in the run that creates the
system tables and opens no socket; the accounts are made by --init-file, which the server executes before it
takes its first login.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tlstax.mysql import accounts
from tlstax.specimens.initial_data import InitialData
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import Errand, ServerSettings, Site, bounded_connections
from tlstax.sql.credentials import Credentials
from tlstax.support.errors import MachineFault

LONGEST_WAIT_S = 31_536_000
"""A year, the most that wait_timeout may be (MySQL reference manual, Server System Variables)."""

MOST_STATEMENTS = 1 << 20
"""Prepared statements that a server keeps at once, where it has many connections: each has its own."""


REPLICATION_OPTIONS = ("--log-bin=binlog", "--server-id=1", "--loose-binlog-format=ROW")
"""What keeps a log of each changed row: the default of MySQL since 8.0, asked for by name at all others."""


def measurement_options(settings: ServerSettings) -> list[str]:
    """Options of every measured run.

    The data fit in the buffer pool, no name is looked up, no client is ever blocked for failed
    handshakes, a burst of connections finds room in the listen queue, and no log is written per
    statement or commit but InnoDB's own, which keeps its defaults (innodb_flush_log_at_trx_commit=1). The
    performance schema keeps its product's default, which is what people run: on in MySQL, off in MariaDB.
    A server may be paused for hours between its trials: that must cost neither the laboratory's connection
    nor, for a latch that seems to be held for long, the server itself.
    """
    return [
        f"--innodb-buffer-pool-size={settings.buffer_pool_bytes}",
        f"--max-connections={bounded_connections(settings.max_connections)}",
        *(
            [f"--max-prepared-stmt-count={MOST_STATEMENTS}"]
            if settings.max_connections > ServerSettings.max_connections
            else []
        ),
        "--max-connect-errors=4294967295",
        "--back-log=4096",
        "--skip-name-resolve",
        *(REPLICATION_OPTIONS if settings.replicates else ["--skip-log-bin"]),
        "--general-log=0",
        "--slow-query-log=0",
        "--local-infile=0",
        f"--wait-timeout={LONGEST_WAIT_S}",
        f"--interactive-timeout={LONGEST_WAIT_S}",
        "--loose-innodb-fatal-semaphore-wait-threshold=4294967295",
    ]


class _OfMySql:
    """What MySQL and MariaDB have in common, a `ServerSetup`."""

    initialise_options: tuple[str, ...] = ()
    """Options of the run that creates the system tables and ends."""

    own_files: tuple[str, ...] = ()
    """Patterns of files that each server makes for itself at its start, where they are missing."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def prepare(self) -> None:
        """Its directories."""
        (self._site.directory / "tmp").mkdir()
        self._site.data_directory.mkdir(mode=0o700)

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, the load account from anywhere on this machine."""
        return [*accounts.statements(credentials), *self._replication_statements()]

    def _replication_statements(self) -> list[str]:
        return accounts.replication_statements() if self._site.settings.replicates else []

    def errands(self) -> Iterator[Errand]:
        """One run of the server, which creates the system tables and opens no socket.

        It heeds nothing but a configuration that is asked for: that alone may say how its data are laid out.
        """
        statements = self._site.directory / "initialise.sql"
        statements.write_bytes(self.initialise_statements())
        yield Errand(self._initialising(), statements)
        statements.unlink()

    def kept_data(self) -> InitialData | None:
        """By the command that makes them; a configuration that is asked for might have some lie elsewhere."""
        build = self._site.build
        if build.shelved is None or self._site.settings.configuration:
            return None
        directory = str(self._site.directory)
        words = [word.replace(directory, "") for word in self._initialising()]
        made_by = hashlib.sha256("\0".join(words).encode() + self.initialise_statements())
        return InitialData(build.shelved, made_by.hexdigest()[:16], self.own_files)

    def initialise_statements(self) -> bytes:
        """SQL for the standard input of that run; empty where the server brings it itself."""
        return b""

    def first_options(self) -> list[str]:
        """The accounts are made before the first login is taken."""
        return [f"--init-file={self._site.accounts_file}"]

    def options(self, port: int) -> list[str]:
        """By which it can be reached: on an address, by a socket in its directory, and over TLS."""
        listening = [f"--bind-address={self._site.bound_address}", f"--port={port}"]
        socket = f"--socket={self.socket_path(port)}"
        return self._options([*listening, socket, *self._tls_options()])

    def command(self, command: Sequence[str]) -> list[str]:
        """It is told by an option that it may run as root."""
        return list(command)

    def socket_path(self, port: int) -> Path:  # noqa: ARG002
        """In its directory."""
        return self._site.directory / "mysqld.sock"

    def path_options(self) -> list[str]:
        """Where a server that was unpacked finds its files; nothing for one of this machine, which knows."""
        build = self._site.build
        shared = _existing(*shared_files(build))
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

    def _initialising(self) -> list[str]:
        return [
            "--no-defaults",
            "--skip-log-bin",
            *self._placed(self._site.initial_log),
            *self.initialise_options,
        ]

    def _options(self, own: Sequence[str]) -> list[str]:
        """All options of a start: those that keep it in its directory come after those that are asked for."""
        settings = self._site.settings
        return [
            "--no-defaults",
            *measurement_options(settings),
            *self._placed(self._site.log_file),
            *own,
            *settings.options,
        ]

    def _placed(self, log: Path) -> list[str]:
        site = self._site
        return [
            *site.settings.configuration,
            *self.path_options(),
            f"--datadir={site.data_directory}",
            f"--tmpdir={site.directory / 'tmp'}",
            f"--pid-file={site.directory / 'mysqld.pid'}",
            f"--log-error={log}",
            *(["--user=root"] if os.geteuid() == 0 else []),
        ]

    def _tls_options(self) -> list[str]:
        """Its certificate, and the authority of clients where they are to show one."""
        files = self._site.certificates
        return [
            *([f"--ssl-ca={files.clients_ca_file}"] if files.clients_ca_file else []),
            f"--ssl-cert={files.certificate_file}",
            f"--ssl-key={files.key_file}",
        ]

    def _sql_file(self, *names: str) -> Path:
        """The first of these that the build has among its shared files. MachineFault when it has none."""
        build = self._site.build
        found = _existing(*(directory / name for directory in shared_files(build) for name in names))
        if found is None:
            raise MachineFault(
                f"{build.executable} cannot be initialised: its file {names[0]} cannot be found",
                remedy="reinstall the server's packages, or choose another server",
            )
        return found


def shared_files(build: ServerBuild) -> tuple[Path, ...]:
    """Directories that hold the server's messages and SQL files, the likeliest first."""
    prefixes = (build.prefix,) if build.prefix else (build.executable.parent.parent, Path("/usr"))
    names = ("share/mysql", "share/mariadb", "share")
    return tuple(prefix / name for prefix in prefixes for name in names)


def _existing(*candidates: Path) -> Path | None:
    """The first of the paths that exists."""
    return next((path for path in candidates if path.exists()), None)


class MySql(_OfMySql):
    """All accounts use caching_sha2_password, MySQL's default since 8.0.4.

    `--initialize` gives root a random password, in a log that is removed; it is replaced at the first start.
    """

    initialise_options = ("--initialize",)
    own_files = ("auto.cnf", "*.pem")

    def path_options(self) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be given them."""
        return [
            "--loose-mysqlx=OFF",
            "--secure-file-priv=NULL",
            "--loose-auto-generate-certs=OFF",
            *super().path_options(),
        ]

    def account_statements(self, credentials: Credentials) -> list[str]:
        """Root is locked, with a password that is known to nobody."""
        lock = f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{credentials.root_password}' ACCOUNT LOCK"
        return [lock, *super().account_statements(credentials)]


MYSQL5_SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
"""The files that mysql_install_db feeds to the server; the help texts are left out, nobody asks for them."""


class MySql5(_OfMySql):
    """MySQL before 5.7: all accounts use mysql_native_password, the only way there is.

    `--bootstrap` runs the statements on standard input without opening a socket.
    """

    initialise_options = ("--bootstrap", "--skip-ssl")

    def initialise_statements(self) -> bytes:
        """The system tables, and then no account at all: those made without a password are removed."""
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;",
                *(self._sql_file(name).read_bytes() for name in MYSQL5_SYSTEM_TABLES),
                b"DELETE FROM user;\nDELETE FROM db;\nDELETE FROM proxies_priv;\n",
            ]
        )


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


class MariaDb(_OfMySql):
    """All accounts use mysql_native_password, MariaDB's default.

    `--bootstrap` runs the statements on standard input without opening a socket.
    """

    initialise_options = ("--bootstrap", "--skip-ssl")

    def initialise_statements(self) -> bytes:
        """The system tables, and then no account at all: root's, made without a password, is removed."""
        table = b"global_priv" if self._site.build.era >= ACCOUNTS_IN_GLOBAL_PRIV else b"user"
        return b"\n".join(
            [
                b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;",
                *(self._sql_file(*names).read_bytes() for names in MARIADB_SYSTEM_TABLES),
                b"DELETE FROM %s WHERE User IN ('', 'root');" % table,
                b"DELETE FROM db WHERE User = '';\nDELETE FROM proxies_priv;\n",
            ]
        )


def setup_of(site: Site) -> MySql | MySql5 | MariaDb:
    """By the product, and by the era of MySQL: 5.7 brought `--initialize`."""
    if site.build.flavour == "mariadb":
        return MariaDb(site)
    return MySql(site) if site.build.era >= (5, 7) else MySql5(site)
