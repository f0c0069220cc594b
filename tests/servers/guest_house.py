"""Somebody else's server for tests: a schema of it is lent, and its other user must not lose anything."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from test_guest_run import PASSWORD, SMALL, lent, url_of
from test_guest_server import as_owner

import tlstax
from tlstax.external import access as external_access
from tlstax.external.access import AccessOptions, ExternalAccess
from tlstax.external.server import ExternalServer
from tlstax.mysql.database import MySqlDatabase
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.support.directories import cache_dir

CONTENT = TableContent(rows=300, seed=5)
WITHIN_S = 60.0
OURS = {"tlstax_made", "tlstax_sbtest1"}

Say = Callable[..., None]


@dataclass(frozen=True)
class House:
    """A server with the schema `lent`, which `ann` may use, and `eve`, who has a table of her own there."""

    server: PrivateServer

    @property
    def url(self) -> str:
        return url_of(self.server)

    @property
    def access(self) -> ExternalAccess:
        return external_access.settle(AccessOptions(self.url), ask=lambda _: PASSWORD)

    def owner(self, *statements: str) -> tuple[Any, ...]:
        return as_owner(self.server, *statements)

    def things(self, schema: str = "lent") -> set[str]:
        """All that is in a schema beside eve's table."""
        kinds = (("TABLES", "TABLE"), ("ROUTINES", "ROUTINE"), ("TRIGGERS", "TRIGGER"), ("EVENTS", "EVENT"))
        found = self.owner(
            " UNION ALL ".join(
                f"SELECT {kind}_NAME FROM information_schema.{view} WHERE {kind}_SCHEMA = '{schema}'"  # noqa: S608
                for view, kind in kinds
            )
        )
        return {str(name) for (name,) in found} - {"theirs"}

    def schemas(self) -> set[str]:
        return {str(row[0]) for row in self.owner("SHOW DATABASES")}

    def as_eve(self) -> MySqlDatabase:
        return MySqlDatabase(
            pymysql.connect(
                host="127.0.0.1",
                port=self.server.endpoint().port,
                user="eve",
                password=PASSWORD,
                database="lent",
                autocommit=True,
                ssl_disabled=True,
            )
        )

    def eve(self, *statements: str) -> None:
        with self.as_eve() as database:
            for statement in statements:
                database.rows(statement)

    def cut_connections(self) -> None:
        """End all of ann's connections at the server."""
        for (number,) in self.owner("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'ann'"):
            with suppress(pymysql.MySQLError):
                self.owner(f"KILL {number}")
        self.wait_until_ann_is_gone()

    def wait_until_ann_is_gone(self) -> None:
        asked = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'ann'"
        wait_until(lambda: self.owner(asked) == ((0,),))


@pytest.fixture(
    scope="session", params=[pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"]
)
def lending_server(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    settings = ServerSettings(buffer_pool_bytes=SMALL)
    with lent(request.getfixturevalue(request.param), session, settings) as server:
        as_owner(
            server,
            f"CREATE USER eve@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            "GRANT ALL ON lent.* TO eve@'127.0.0.1'",
            "DROP DATABASE tlstax",
        )
        yield server


@pytest.fixture
def house(lending_server: PrivateServer) -> Iterator[House]:
    """Every test begins with a schema that holds one table of eve's, and must not lose it.

    What a test before left connected keeps the schema's lock until the server notices that nobody is there.
    """
    one = House(lending_server)
    one.cut_connections()
    one.owner("DROP DATABASE IF EXISTS lent", "CREATE DATABASE lent")
    one.owner("CREATE TABLE lent.theirs (id INT PRIMARY KEY)", "INSERT INTO lent.theirs VALUES (7)")
    yield one
    assert one.owner("SELECT id FROM lent.theirs") == ((7,),)
    one.owner("DROP DATABASE IF EXISTS tlstax")


@contextmanager
def opened_external(access: ExternalAccess) -> Iterator[tuple[ExternalServer, Say, list[str]]]:
    """A guest that is left at the end, how statements of the user's are said there, and what it warned of."""
    warned: list[str] = []
    with ExternalServer.open(access, warned.append) as guest:
        guest.prepare_table(CONTENT)
        with closing(guest.admin()) as database:

            def said(*statements: str, once: bool = True) -> None:
                for statement in statements:
                    guest.carry_out(database, statement, once=once)

            yield guest, said, warned


def environment() -> dict[str, str]:
    lab = str(Path(tlstax.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": lab, "TLSTAX_PASSWORD": PASSWORD, "TLSTAX_CACHE": str(cache_dir())}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
