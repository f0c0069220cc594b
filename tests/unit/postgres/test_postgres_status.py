"""PostgreSQL's counters: read under its own names, settled once clients are gone and numbers stand still."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres import status
from tlstax.sql.database import SqlError
from tlstax.support.errors import MachineFault

OF_14, OF_18 = [("140023",)], [("180004",)]


def view(name: str, **columns: object) -> tuple[str, str]:
    return name, json.dumps(columns)


VIEWS = [
    view("pg_stat_database", datid=5, datname="tlstax", numbackends=2, xact_commit=7, blk_read_time=1.5),
    view("pg_stat_activity", client_backends=3),
    view("pg_stat_ssl", encrypted=2),
]


def test_counters_have_the_names_of_their_views() -> None:
    found = status.read_status(AnsweringDatabase({"server_version_num": OF_18, "row_to_json": VIEWS}))
    assert found == {
        "pg_stat_database.xact_commit": 7,
        "pg_stat_activity.client_backends": 3,
        "pg_stat_ssl.encrypted": 2,
    }
    assert (status.connected(found), status.connected({})) == (3, 0)
    assert status.sessions_resumed(found, found) == 0


@pytest.mark.parametrize(("version", "asks"), [(OF_14, False), (OF_18, True)])
def test_a_view_is_asked_for_where_the_server_has_it(
    version: list[tuple[str]], asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status.time, "sleep", lambda _: None)
    server = AnsweringDatabase({"server_version_num": version, "row_to_json": VIEWS})
    status.read_status(server)
    assert any("pg_stat_checkpointer" in statement for statement in server.statements) is asks


@pytest.mark.parametrize("row", [("pg_stat_database", "not a row"), ("pg_stat_database", "[1]"), ("alone",)])
def test_counters_of_another_shape_are_the_servers_fault(row: tuple[str, ...]) -> None:
    server = AnsweringDatabase({"server_version_num": OF_18, "row_to_json": [row]})
    with pytest.raises(MachineFault, match="counters could not be read"):
        status.read_status(server)


def test_a_server_that_does_not_answer_is_at_fault() -> None:
    gone = AnsweringDatabase({"": SqlError("08006", "the connection is closed", is_of_connection=True)})
    for read in (status.read_status, status.traffic, lambda server: status.read_settled_status(server, 0)):
        with pytest.raises(MachineFault, match=r"could not be read \(the connection is closed\)"):
            read(gone)


def leaving(*clients: int) -> Iterator[list[tuple[int]]]:
    yield from ([(left,)] for left in clients)


def test_counters_are_read_once_and_when_clients_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status.time, "sleep", lambda _: None)
    asked = leaving(4, 3, 2, 2)
    server = AnsweringDatabase(
        {
            "SELECT COUNT(*) FROM pg_stat_activity": lambda: next(asked),
            "server_version_num": OF_18,
            "row_to": VIEWS,
        }
    )
    assert status.read_settled_status(server, 2)["pg_stat_database.xact_commit"] == 7
    assert len(server.statements) == 3 + 1 + 1


def test_clients_that_stay_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_SETTLING_S", 0.01)
    server = AnsweringDatabase(
        {"SELECT COUNT(*) FROM pg_stat_activity": [(9,)], "server_version_num": OF_18, "row_to": VIEWS}
    )
    assert status.read_settled_status(server, 2)["pg_stat_ssl.encrypted"] == 2


@pytest.mark.parametrize("read", [status.read_status, lambda server: status.read_settled_status(server, 0)])
def test_a_collector_is_asked_until_it_has_counted_all(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[AnsweringDatabase], dict[str, int]]
) -> None:
    """Each answer may be half a second old: so long is waited before each."""
    slept: list[float] = []
    monkeypatch.setattr(status.time, "sleep", slept.append)
    counts = iter([3, 5, 8, 8, 9])
    server = AnsweringDatabase(
        {
            "SELECT COUNT(*) FROM pg_stat_activity": [(0,)],
            "server_version_num": OF_14,
            "row_to": lambda: [view("pg_stat_database", xact_commit=next(counts))],
        }
    )
    assert read(server) == {"pg_stat_database.xact_commit": 8}
    assert len(slept) == 4
    assert min(slept) > 0.5


def test_somebody_elses_server_that_is_never_still_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = count()
    monkeypatch.setattr(status.time, "sleep", lambda _: None)
    monkeypatch.setattr(status.time, "monotonic", lambda: next(clock))
    counts = count(3)
    server = AnsweringDatabase(
        {
            "server_version_num": OF_14,
            "row_to": lambda: [view("pg_stat_database", xact_commit=next(counts))],
        }
    )
    setattr(server, "is_shared", True)  # noqa: B010 (as the sessions of external servers have it)
    assert status.read_status(server)["pg_stat_database.xact_commit"] < 3 + status._COLLECTING_S


def test_traffic_counts_transactions() -> None:
    server = AnsweringDatabase({"xact_rollback": [(41,)]})
    first, second = status.traffic(server), status.traffic(server)
    assert first.statements == 41
    assert second.at_s >= first.at_s
