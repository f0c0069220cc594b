"""A guest at real servers: an ordinary account suffices, nothing of others is touched, nothing remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from tlstax.external import access as external_access
from tlstax.external.access import AccessOptions, ExternalAccess
from tlstax.external.server import ExternalServer
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server import Server
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.support.errors import MachineFault, UserMistake

LAB = Path(__file__).parents[2] / "lab"
CONTENT = TableContent(rows=3_000, seed=5)
PASSWORD = 'pass"word\\ é'
SMALL = ServerSettings(buffer_pool_bytes=64 * 1024 * 1024, max_connections=40)


@pytest.fixture(scope="module", params=[pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    """A server that stands for somebody else's: it has schemas of its own and none of tlstax's."""
    build: ServerBuild = request.getfixturevalue(request.param)
    with PrivateServer.start(build, session, SMALL) as server:
        as_owner(server, "DROP DATABASE tlstax", "CREATE DATABASE shop", "CREATE TABLE shop.orders (n INT)")
        yield server


def as_owner(server: PrivateServer, *statements: str) -> tuple[Any, ...]:
    """Run statements with all rights; the rows of the last."""
    private = server._process.socket_path
    with (
        pymysql.connect(
            unix_socket=str(private),
            user="tlstax_admin",
            password=server._credentials.admin_password,
            autocommit=True,
            ssl_disabled=True,
        ) as database,
        database.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
        return tuple(cursor.fetchall())


Grant = Callable[..., ExternalAccess]


@pytest.fixture
def account(house: PrivateServer) -> Iterator[Grant]:
    """Makes an account with a password and the rights named; the way in for it. Removed at the end."""

    def make(*rights: str, schema: str = "", options: str = "") -> ExternalAccess:
        as_owner(
            house,
            f"CREATE USER ann@'%' IDENTIFIED BY {pymysql.converters.escape_item(PASSWORD, 'utf8')} {options}",
        )
        for right in rights:
            as_owner(house, f"GRANT {right} TO ann@'%'")
        endpoint = house.endpoint()
        url = f"mysql://ann@{endpoint.host}:{endpoint.port}/{schema}"
        return external_access.settle(AccessOptions(url), ask=lambda _: PASSWORD)

    yield make
    as_owner(house, "DROP USER IF EXISTS ann@'%'")
    assert schemas(house) >= {"shop"}, "somebody else's schema is gone"


def schemas(house: PrivateServer) -> set[str]:
    return {str(row[0]) for row in as_owner(house, "SHOW DATABASES")}


def tables(house: PrivateServer, schema: str) -> set[str]:
    return {str(row[0]) for row in as_owner(house, f"SHOW TABLES FROM {schema}")}


def test_it_works_in_the_schema_that_is_named_and_leaves_it_as_it_was(
    house: PrivateServer, account: Grant
) -> None:
    access = account("CREATE, DROP, INDEX, INSERT, SELECT ON shop.*", schema="shop")
    with ExternalServer.open(access) as guest:
        served: Server = guest
        assert served.prepare_table(CONTENT) == 3_000
        assert tables(house, "shop") == {"orders", "tlstax_sbtest1", "tlstax_made"}
        assert served.version == house.version
        assert served.tls_library_version == house.tls_library_version
        assert served.load_account.database == "shop"
        assert served.table_name == "tlstax_sbtest1"
        assert served.endpoint() == house.endpoint()
        assert served.pid is None
        assert served.specimen.name == str(access.address)
        assert served.is_alive()
        with served.admin() as database:
            assert database.rows("SELECT COUNT(*) FROM tlstax_sbtest1")[0] == (3_000,)
            version = database.rows("SHOW SESSION STATUS LIKE 'Ssl_version'")
            assert version == [("Ssl_version", "TLSv1.3")], "PREFERRED did not use TLS"
    assert tables(house, "shop") == {"orders"}
    assert "tlstax" not in schemas(house)
    guest.stop()


def test_it_makes_a_schema_of_its_own_and_drops_it(house: PrivateServer, account: Grant) -> None:
    access = account("ALL ON tlstax.*")
    with ExternalServer.open(access) as guest:
        assert "tlstax" in schemas(house)
        guest.prepare_table(CONTENT)
        assert guest.load_account.database == "tlstax"
    assert "tlstax" not in schemas(house)


def test_a_schema_named_tlstax_that_was_there_before_stays(house: PrivateServer, account: Grant) -> None:
    as_owner(house, "CREATE DATABASE tlstax")
    try:
        with ExternalServer.open(account("ALL ON tlstax.*")) as guest:
            guest.prepare_table(CONTENT)
        assert tables(house, "tlstax") == set()
    finally:
        as_owner(house, "DROP DATABASE tlstax")


def test_others_tables_in_its_own_schema_are_spared(house: PrivateServer, account: Grant) -> None:
    with ExternalServer.open(account("ALL ON tlstax.*")) as guest:
        guest.prepare_table(CONTENT)
        as_owner(house, "CREATE TABLE tlstax.precious (n INT)")
    try:
        assert tables(house, "tlstax") == {"precious"}
    finally:
        as_owner(house, "DROP DATABASE tlstax")


def test_a_table_of_the_same_name_that_is_not_ours_is_refused(house: PrivateServer, account: Grant) -> None:
    as_owner(house, "CREATE TABLE shop.tlstax_sbtest1 (mine INT) COMMENT 'not yours'")
    try:
        with pytest.raises(UserMistake, match="tlstax_sbtest1 that tlstax did not make"):
            ExternalServer.open(account("ALL ON shop.*", schema="shop"))
        assert tables(house, "shop") == {"orders", "tlstax_sbtest1"}
    finally:
        as_owner(house, "DROP TABLE shop.tlstax_sbtest1")


RUN = """
import os, signal, sys
from tlstax.external import access as external_access
from tlstax.external import given_password
from tlstax.external.access import AccessOptions
from tlstax.external.server import ExternalServer
from tlstax.sql.table_rows import TableContent
options = AccessOptions(sys.argv[1], given_password=given_password.take())
guest = ExternalServer.open(external_access.settle(options))
guest.prepare_table(TableContent(rows=3000, seed=5))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_reused_and_cleared(house: PrivateServer, account: Grant) -> None:
    access = account("ALL ON tlstax.*")
    environment = {**os.environ, "PYTHONPATH": str(LAB), "TLSTAX_PASSWORD": PASSWORD}
    killed = subprocess.run(
        [sys.executable, "-c", RUN, f"mysql://ann@{access.address}"],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert tables(house, "tlstax") == {"tlstax_sbtest1", "tlstax_made"}
    steps: list[str] = []
    with opened_when_free(access) as guest:
        guest.prepare_table(CONTENT, steps.append)
        assert steps == [], "an equal table was filled again"
        guest.prepare_table(replace(CONTENT, seed=6), steps.append)
        assert len(steps) == 1
    assert "tlstax" not in schemas(house)


def opened_when_free(access: ExternalAccess) -> ExternalServer:
    """The server releases a killed run's lock when it notices that the connection is gone."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return ExternalServer.open(access)
        except UserMistake as error:
            if "another tlstax" not in error.message or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_two_at_once_in_one_schema_are_refused(account: Grant) -> None:
    access = account("ALL ON tlstax.*")
    with (
        ExternalServer.open(access),
        pytest.raises(UserMistake, match="another tlstax is at work in the schema"),
    ):
        ExternalServer.open(access)
    with ExternalServer.open(access):
        pass


def test_it_cleans_up_even_when_its_connection_was_cut(house: PrivateServer, account: Grant) -> None:
    with ExternalServer.open(account("ALL ON tlstax.*")) as guest:
        guest.prepare_table(CONTENT)
        for row in as_owner(house, "SHOW PROCESSLIST"):
            if row[1] == "ann":
                as_owner(house, f"KILL {row[0]}")
    assert "tlstax" not in schemas(house)


def test_a_right_that_is_missing_is_named(house: PrivateServer, account: Grant) -> None:
    access = account("SELECT ON shop.*", schema="shop")
    with (
        pytest.raises(UserMistake, match="ann may not do what is needed") as caught,
        ExternalServer.open(access) as guest,
    ):
        guest.prepare_table(CONTENT)
    assert "CREATE, DROP, INDEX, INSERT and SELECT" in caught.value.remedy
    own = replace(access, address=replace(access.address, schema=None))
    with pytest.raises(UserMistake, match="ann may not do what is needed at"):
        ExternalServer.open(own)
    absent = replace(access, address=replace(access.address, schema="absent"))
    with pytest.raises(UserMistake, match=r"ann may not|no schema absent"):
        ExternalServer.open(absent)
    assert tables(house, "shop") == {"orders"}


def test_a_schema_that_is_not_there_is_named(account: Grant) -> None:
    with pytest.raises(UserMistake, match="has no schema absent"):
        ExternalServer.open(account("ALL ON *.*", schema="absent"))


def test_it_is_known_how_many_connections_are_free(account: Grant) -> None:
    with ExternalServer.open(account("ALL ON tlstax.*")) as guest:
        room = guest.room(asked=7)
        assert (room.max_connections, room.of_account, room.at_most) == (40, None, 7)
        before = room.in_use
        with closing(guest.admin()):
            assert guest.room().in_use == before + 1, "but for the one that asks"


def test_an_accounts_own_limit_is_heeded(house: PrivateServer, account: Grant) -> None:
    access = account("ALL ON tlstax.*", options="WITH MAX_USER_CONNECTIONS 5")
    with ExternalServer.open(access) as guest:
        room = guest.room()
        assert (room.of_account, room.by_account, room.free, room.at_most) == (5, 0, 5, 2)
        held = [guest.admin() for _ in range(4)]
        assert (guest.room().by_account, guest.room().free) == (4, 1)
        with pytest.raises(UserMistake, match=r"allows ann no more \(error 1226"):
            guest.admin()
        for database in held:
            database.close()
    assert "tlstax" not in schemas(house)


def test_what_is_closed_is_waited_for_and_others_of_the_account_are_not(account: Grant) -> None:
    access = account("ALL ON tlstax.*")
    with ExternalServer.open(access) as guest:
        stays = guest.connected()
        assert len(stays) == 1
        ours, another = guest.admin(), guest.admin()
        assert len(guest.connected()) == 3
        ours.close()
        began = time.monotonic()
        guest.wait_until_gone(stays)
        first_s = time.monotonic() - began
        assert guest.connected() - stays == {another.number}
        guest.wait_until_gone(stays)
        assert time.monotonic() - began < 2 * first_s, "it is known to stay"
        another.close()


def test_a_server_that_stops_answering_for_good_is_told(session: Session, mariadb_build: ServerBuild) -> None:
    with PrivateServer.start(mariadb_build, session, SMALL) as house:
        account = house.load_account
        endpoint = house.endpoint()
        url = f"mysql://{account.user}@{endpoint.host}:{endpoint.port}/tlstax"
        access = external_access.settle(AccessOptions(url), ask=lambda _: account.password)
        guest = ExternalServer.open(access)
        guest.prepare_table(CONTENT)
        house.stop()
        with pytest.raises(MachineFault, match=r"tlstax_made and tlstax\.tlstax_sbtest1 remain at"):
            guest.stop()
        warned: list[str] = []
        with pytest.raises(ValueError, match="the block's own"):
            leave_with_an_error(mariadb_build, session, warned.append)
    assert ["tlstax.tlstax_made remains at" in words for words in warned] == [True]


def leave_with_an_error(build: ServerBuild, session: Session, warn: Callable[[str], None]) -> None:
    with PrivateServer.start(build, session, SMALL) as house:
        account = house.load_account
        url = f"mysql://{account.user}@127.0.0.1:{house.endpoint().port}/tlstax"
        access = external_access.settle(AccessOptions(url), ask=lambda _: account.password)
        with ExternalServer.open(access, warn):
            house.stop()
            raise ValueError("the block's own")
