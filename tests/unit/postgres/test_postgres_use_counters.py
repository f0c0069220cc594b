"""How a PostgreSQL is used, and who is connected to it: what an account sees, and what it does not."""

from __future__ import annotations

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres import use_counters
from tlstax.sql.facts import Connected


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(use_counters.time, "sleep", lambda _: None)


def test_transactions_and_sessions_are_counted_of_all_databases() -> None:
    server = AnsweringDatabase(
        {
            "server_version_num": [("180004",)],
            "pg_stat_force_next_flush": [("",)],
            "xact_commit": [(1200, 40)],
        }
    )
    assert use_counters.read(server) == {"transactions": 1200, "connections": 40}


def test_before_14_no_sessions_are_counted_and_that_is_told() -> None:
    told = {"server_version_num": [("130021",)], "SELECT 1": [(1,)], "xact_commit": [(1200,)]}
    counters = use_counters.read(AnsweringDatabase(told))
    assert counters == {"transactions": 1200}
    assert use_counters.unread(counters, ()) == (
        "how many connections are made: PostgreSQL counts sessions from 14 on",
    )


def test_how_others_came_is_hidden_from_an_ordinary_account() -> None:
    rows = [("psql", "TCP/IP", "TLSv1.3", 2), ("app", "", "", 5), ("backup", "Socket", "", 1)]
    found = use_counters.connected(AnsweringDatabase({"pg_stat_activity": rows}))
    assert found[0] == Connected("", "", "psql", "TCP/IP", "TLSv1.3", False, 2)
    assert use_counters.unread({"connections": 1}, found) == (
        "how 5 of those that are connected came, and whether by TLS; the account would need the role "
        "pg_read_all_stats",
    )
    assert use_counters.unread({"connections": 1}, found[::2]) == ()
