"""Rows of one thing, found by their outcomes; rows put together by their cases."""

from __future__ import annotations

from intervals import known
from tlstax.results.rows import Row, RowSet, by_case

TIME = Row(outcome="connection: time", unit="ms", interval=known(2.0, 1.0, 3.0, 4))
TRIPS = Row(outcome="connection: time", unit="round trips", value=5.0)
PLAIN = Row(outcome="share", unit="1", interval=known(0.5, 0.4, 0.6, 4))
ROWS = RowSet([TIME, TRIPS, PLAIN])


def test_a_row_is_found_with_or_without_what_its_outcome_is_of() -> None:
    assert ROWS.row("time") is ROWS.row("connection: time") is TIME
    assert ROWS.row("share") is PLAIN
    assert ROWS.row("connection") is None


def test_of_several_rows_of_an_outcome_the_unit_decides() -> None:
    assert ROWS.row("time", "ms") is TIME
    assert ROWS.row("time", "round trips") is TRIPS
    assert ROWS.row("time", "1") is None


def test_an_interval_is_that_of_the_row_where_it_has_one() -> None:
    assert ROWS.interval("time", "ms") == TIME.interval
    assert ROWS.interval("time", "round trips") is None
    assert ROWS.interval("rate") is None


def test_rows_of_a_case_stand_together_whatever_the_order_of_its_levels() -> None:
    first = Row(outcome="a", case={"tls": "1.3", "server": "mysql-9.7"})
    other = Row(outcome="a", case={"tls": "off", "server": "mysql-9.7"})
    again = Row(outcome="b", case={"server": "mysql-9.7", "tls": "1.3"})
    assert [own.rows for own in by_case([first, other, again])] == [[first, again], [other]]
