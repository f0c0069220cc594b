"""How a private MySQL (5.7 and later) is given its paths, initialised and given its accounts."""

from __future__ import annotations

from tlstax.mysql import accounts
from tlstax.mysql.accounts import Credentials
from tlstax.specimens.product import tree_options
from tlstax.specimens.server_build import ServerBuild


class MySql:
    """`Product` for MySQL: all accounts use caching_sha2_password, its default since 8.0.4."""

    def path_options(self, build: ServerBuild) -> list[str]:
        """A build of this machine knows its own paths; one that was unpacked elsewhere must be given them."""
        return [
            "--loose-mysqlx=OFF",
            "--secure-file-priv=NULL",
            "--loose-auto-generate-certs=OFF",
            *tree_options(build),
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
