"""How a server is used is read twice, with a watch between; what may not be read is named."""

from __future__ import annotations

import pytest
from pymysql.err import OperationalError

from fake_database import FakeDatabase
from tlstax.mysql.database import SqlError
from tlstax.tools.inspection.own_connection import inside

COUNTERS = (("Uptime", "10"), ("Connections", "20"), ("Ssl_finished_accepts", "5"))


def test_since_the_start_and_over_the_watch() -> None:
    waited: list[float] = []
    found = inside(FakeDatabase(*COUNTERS), 5.0, waited.append)
    assert found.since_start is not None
    assert (found.since_start.connects_per_s, found.since_start.tls_share) == (2.0, 0.25)
    assert found.watched is not None
    assert found.watched.connects_per_s == 0.0
    assert len(waited) == 1
    assert waited[0] == pytest.approx(5.0, abs=1.0)


def test_who_is_connected_may_be_kept_from_the_account() -> None:
    """The counters' rows are no answer to who is connected."""
    found = inside(FakeDatabase(*COUNTERS), 1.0, lambda _: None)
    assert found.programs == ()
    (unread,) = found.unread
    assert unread.startswith("who is connected, and how: ")
    assert unread.endswith("SELECT on performance_schema")


def test_a_server_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(SqlError):
        inside(FakeDatabase(error=OperationalError(2013, "gone")), 1.0, lambda _: None)
