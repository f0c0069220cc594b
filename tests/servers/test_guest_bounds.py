"""External servers in which nothing may be made, and those of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_guest_run import PASSWORD, SMALL, as_owner, last_run, lent, sentence, tlstax_run, url_of

from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

SHORT = ("--rows", "500", "--budget", "3s", "--over-budget", "--connections", "2", "--tls", "1.3", "--json")


@pytest.fixture(scope="module", params=["mysql_build", pytest.param("mariadb_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    settings = ServerSettings(buffer_pool_bytes=SMALL)
    with lent(request.getfixturevalue(request.param), session, settings) as server:
        as_owner(
            server,
            "CREATE TABLE lent.orders (id INT PRIMARY KEY, item VARCHAR(9), note TEXT)",
            "INSERT INTO lent.orders VALUES (3, 'tea', 'a secret'), (7, 'rum', 'a secret'), (50, 'tea', '')",
        )
        yield server


def digest(server: PrivateServer) -> tuple[tuple[object, ...], ...]:
    """Everything that there is in the schema."""
    return (*as_owner(server, "SHOW TABLES FROM lent"), *as_owner(server, "CHECKSUM TABLE lent.orders"))


@contextmanager
def reading_only(house: PrivateServer, how: str) -> Iterator[None]:
    """The server, or the account, lets nothing be made meanwhile."""
    as_owner(
        house,
        "REVOKE ALL ON lent.* FROM ann@'127.0.0.1'",
        "GRANT SELECT ON lent.* TO ann@'127.0.0.1'"
        if how == "the account"
        else "GRANT ALL ON lent.* TO ann@'127.0.0.1'",
        f"SET GLOBAL read_only = {'OFF' if how == 'the account' else 'ON'}",
    )
    try:
        yield
    finally:
        as_owner(house, "SET GLOBAL read_only = OFF", "GRANT ALL ON lent.* TO ann@'127.0.0.1'")


def measured(done: Any) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    assert document["trials"]["valid"] > 0
    return document


@pytest.mark.parametrize("how", ["the account", pytest.param("the server", marks=pytest.mark.long)])
def test_where_nothing_may_be_made_pings_are_measured_and_that_is_said(
    house: PrivateServer, tmp_path: Path, how: str
) -> None:
    before = digest(house)
    with reading_only(house, how):
        done = tlstax_run(tmp_path, url_of(house), *SHORT)
    document = measured(done)
    assert {finding["case"]["workload"] for finding in document["findings"]} == {"ping", "reconnect-ping"}
    because = "may not do what is needed" if how == "the account" else "is read-only"
    (said,) = (text for text in document["caveats"] if "took the place of point selects" in text)
    assert because in said
    assert digest(house) == before
    assert "remains" not in done.stderr


def test_who_asks_for_work_that_needs_a_table_is_told(house: PrivateServer, tmp_path: Path) -> None:
    with reading_only(house, "the account"):
        said = sentence(tlstax_run(tmp_path, url_of(house), *SHORT, "--workload", "point-select"), 2)
    assert "may not do what is needed" in said


@pytest.mark.long
def test_pings_need_no_schema_and_no_right(house: PrivateServer, tmp_path: Path) -> None:
    as_owner(house, f"CREATE USER bob@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
    try:
        url = f"mysql://bob@127.0.0.1:{house.endpoint().port}"
        measured(tlstax_run(tmp_path, url, *SHORT, "--workload", "ping,reconnect-ping"))
    finally:
        as_owner(house, "DROP USER bob@'127.0.0.1'")


def test_keys_of_a_table_that_is_there_are_read_and_nothing_of_its_rows_is_kept(
    house: PrivateServer, tmp_path: Path
) -> None:
    before = digest(house)
    with reading_only(house, "the account"):
        document = measured(tlstax_run(tmp_path, url_of(house), *SHORT, "--table", "orders.id"))
    names = {finding["case"]["workload"] for finding in document["findings"]}
    assert names == {"table-select", "table-reconnect"}
    assert digest(house) == before
    samples = [sample for one in last_run(tmp_path).trials if one.done for sample in one.done.row_samples]
    assert samples
    for sample in samples:
        assert sample.sql.startswith("SELECT `id` FROM `orders` WHERE `id` = ")
        assert set(sample.rows) <= {("3",), ("7",), ("50",)}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("order.id", "sees no table order in lent"),
        pytest.param("orders.number", "has no column number", marks=pytest.mark.long),
        pytest.param("orders.item", "of the type varchar", marks=pytest.mark.long),
        pytest.param("orders", "is not a table and its key", marks=pytest.mark.long),
    ],
)
def test_a_table_that_cannot_be_read_by_its_key_is_refused(
    house: PrivateServer, tmp_path: Path, table: str, words: str
) -> None:
    assert words in sentence(tlstax_run(tmp_path, url_of(house), *SHORT, "--table", table), 2)


def test_an_empty_table_and_a_key_without_an_index_are_refused(house: PrivateServer, tmp_path: Path) -> None:
    as_owner(house, "CREATE TABLE lent.empty_one (id INT PRIMARY KEY)", "CREATE TABLE lent.heap (id INT)")
    try:
        for table, words in (("empty_one.id", "has no rows"), ("heap.id", "no index of heap begins with id")):
            assert words in sentence(tlstax_run(tmp_path, url_of(house), *SHORT, "--table", table), 2)
    finally:
        as_owner(house, "DROP TABLE lent.empty_one", "DROP TABLE lent.heap")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees whose a socket is")
@pytest.mark.parametrize("way", [pytest.param("TCP", marks=pytest.mark.long), "a Unix socket"])
def test_a_server_of_this_machine_has_its_cpu_time_read(
    house: PrivateServer, tmp_path: Path, way: str
) -> None:
    """Over a Unix socket the account is another: `localhost` is no address of TCP's."""
    url = url_of(house)
    if way == "a Unix socket":
        as_owner(
            house,
            f"CREATE USER IF NOT EXISTS ann@localhost IDENTIFIED BY '{PASSWORD}'",
            "GRANT ALL ON lent.* TO ann@localhost",
        )
        url = f"mysql://ann@/lent?socket={house.unix_endpoint().path}"
    done = tlstax_run(tmp_path, url, *SHORT)
    document = measured(done)
    outcomes = {finding["outcome"] for finding in document["findings"]}
    assert "server_cpu_us_per_op" in outcomes
    assert all(trial.slices is not None for trial in last_run(tmp_path).trials)


def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = sentence(tlstax_run(tmp_path, f"mysql://ann@/lent?socket={tmp_path}/no.sock", *SHORT), 2)
    assert f"there is no socket {tmp_path}/no.sock" in said
