"""How a product's private servers are set up: what their process asks, whichever product it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tlstax.specimens.initial_data import InitialData
from tlstax.specimens.server_settings import Errand, Site
from tlstax.sql.credentials import Credentials
from tlstax.study.product import ProductName


class ServerSetup(Protocol):
    """The files, programs and options of one server at its site.

    The process calls `prepare`, carries out the `errands` (or copies what is kept of them), and starts the
    server: the first time with `first_options` too.
    """

    def prepare(self) -> None:
        """Make what has to be there before any of its programs runs. MachineFault where that cannot be."""
        ...

    def account_statements(self, credentials: Credentials) -> list[str]:
        """SQL that makes the accounts, one statement each, for the site's `accounts_file`."""
        ...

    def errands(self) -> Iterator[Errand]:
        """The programs that make its data, and end; each is asked for when the one before has succeeded.

        None of them takes a login, or opens a socket that others reach.
        """
        ...

    def kept_data(self) -> InitialData | None:
        """Where what the errands make is kept for all servers that are set up alike; None where it is not."""
        ...

    def first_options(self) -> list[str]:
        """Options of the first start alone."""
        ...

    def options(self, port: int) -> list[str]:
        """Options of every start, for a server that listens on this port."""
        ...

    def command(self, command: Sequence[str]) -> list[str]:
        """The command by which one of its programs runs as the user that the product demands."""
        ...

    def socket_path(self, port: int) -> Path:
        """The Unix socket that it listens on."""
        ...


def setup_of(site: Site) -> ServerSetup:
    """How the server of this site is set up."""
    return _SETUPS[site.build.flavour](site)


def _mysql(site: Site) -> ServerSetup:
    from tlstax.specimens import mysql_setup  # noqa: PLC0415 (with the product's room, for its servers alone)

    return mysql_setup.of_mysql(site)


def _mariadb(site: Site) -> ServerSetup:
    from tlstax.specimens import mysql_setup  # noqa: PLC0415 (the same)

    return mysql_setup.MariaDb(site)


def _postgresql(site: Site) -> ServerSetup:
    from tlstax.specimens import postgres_setup  # noqa: PLC0415 (the same)

    return postgres_setup.PostgreSql(site)


_SETUPS: Mapping[ProductName, Callable[[Site], ServerSetup]] = {
    "mysql": _mysql,
    "mariadb": _mariadb,
    "postgresql": _postgresql,
}
