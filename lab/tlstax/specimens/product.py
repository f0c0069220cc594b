"""What differs between MySQL and MariaDB when a private server is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tlstax.specimens.credentials import Credentials
from tlstax.specimens.server_build import ServerBuild


class Product(Protocol):
    """How one product is told its paths, gets its system tables, and gets its accounts."""

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


def existing(*candidates: Path) -> Path | None:
    """The first of the paths that exists."""
    return next((path for path in candidates if path.exists()), None)
