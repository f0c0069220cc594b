"""How a private MySQL (8.0 and later) is told its paths, initialised and given its accounts."""

from __future__ import annotations

from tlstax.specimens.credentials import ADMINISTRATOR, LOAD_USER, SCHEMA, Credentials
from tlstax.specimens.product import existing
from tlstax.specimens.server_build import ServerBuild


class MySql:
    """`Product` for MySQL: all accounts use caching_sha2_password, its default since 8.0.4."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be told."""
        options = [
            "--loose-mysqlx=OFF",
            "--secure-file-priv=NULL",
            "--loose-auto-generate-certs=OFF",
        ]
        shared = existing(*build.shared_files())
        if build.root is None or shared is None:
            return options
        return [
            *options,
            f"--basedir={build.root / 'usr'}",
            f"--lc-messages-dir={shared}",
            f"--character-sets-dir={shared / 'charsets'}",
            f"--plugin-dir={build.root / 'usr/lib/mysql/plugin'}",
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
        """Root is locked; the administrator comes over the socket only, the load account from anywhere.

        "Anywhere" is this machine: the server listens on loopback.
        """
        root, administrator, load = (
            "'root'@'localhost'",
            f"'{ADMINISTRATOR}'@'localhost'",
            f"'{LOAD_USER}'@'%'",
        )
        return [
            f"ALTER USER {root} IDENTIFIED BY '{credentials.root_password}' ACCOUNT LOCK",
            f"CREATE USER {administrator} IDENTIFIED BY '{credentials.admin_password}'",
            f"GRANT ALL ON *.* TO {administrator} WITH GRANT OPTION",
            f"CREATE DATABASE `{SCHEMA}`",
            f"CREATE USER {load} IDENTIFIED BY '{credentials.load_password}'",
            f"GRANT ALL ON `{SCHEMA}`.* TO {load}",
        ]
