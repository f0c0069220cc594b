"""Counters are read when the sessions that are still to be counted have closed, or when it takes too long."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fake_database import FakeDatabase
from tlstax.mysql import status
from tlstax.mysql.database import Database
from tlstax.mysql.status import read_settled_status

EVERYTHING = "SHOW GLOBAL STATUS"


class Closing(FakeDatabase):
    """A server with one session fewer each time somebody asks how many there are, down to one."""

    def __init__(self, sessions: int) -> None:
        super().__init__()
        self._sessions = sessions

    def fetchall(self) -> tuple[tuple[Any, ...], ...]:
        if self.statements[-1] == EVERYTHING:
            return ("Threads_connected", str(self._sessions)), ("Com_select", "7")
        self._sessions = max(1, self._sessions - 1)
        return (("Threads_connected", str(self._sessions + 1)),)


def test_everything_is_read_once_and_last() -> None:
    server = Closing(4)
    found = read_settled_status(cast("Database", server), 2)
    assert found == {"Threads_connected": 1, "Com_select": 7}
    assert server.statements == [*[f"{EVERYTHING} LIKE 'Threads_connected'"] * 3, EVERYTHING]


def test_sessions_that_stay_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_SETTLING_S", 0.01)
    assert read_settled_status(cast("Database", Closing(1)), 0)["Com_select"] == 7
