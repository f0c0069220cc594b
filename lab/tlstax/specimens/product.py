"""What differs between MySQL, old MySQL and MariaDB when a private server is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tlstax.mysql.accounts import Credentials
from tlstax.specimens.server_build import ServerBuild
from tlstax.support.errors import MachineFault


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


def tree_options(build: ServerBuild) -> list[str]:
    """Where a server that was unpacked finds its files; nothing for one of this machine, which knows."""
    shared = existing(*build.shared_files())
    if build.prefix is None or shared is None:
        return []
    plugins = (build.prefix / "lib" / name for name in ("mysql/plugin", "plugin"))
    directory = existing(*plugins) or build.prefix / "lib" / "plugin"
    return [
        f"--basedir={build.prefix}",
        f"--lc-messages-dir={shared}",
        f"--character-sets-dir={shared / 'charsets'}",
        f"--plugin-dir={directory}",
    ]


def sql_file(build: ServerBuild, *names: str) -> Path:
    """The first of these that the build has among its shared files. MachineFault when it has none."""
    found = existing(*(directory / name for directory in build.shared_files() for name in names))
    if found is None:
        raise MachineFault(
            f"{build.executable} cannot be initialised: its file {names[0]} cannot be found",
            remedy="reinstall the server's packages, or choose another server",
        )
    return found


def existing(*candidates: Path) -> Path | None:
    """The first of the paths that exists."""
    return next((path for path in candidates if path.exists()), None)
