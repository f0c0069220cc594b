"""Workloads by their sizes: what their names stand for, and results of exactly so many bytes."""

from __future__ import annotations

import re

import pytest

from tlstax.study import load_study, override
from tlstax.study.workloads import built_in, by_numbers, changes_data, in_words, table_of
from tlstax.study.workloads.bulk import Rows, Sent
from tlstax.study.workloads.sessions import ROW_BYTES, Session
from tlstax.support.errors import UserMistake


def test_names_say_how_much() -> None:
    assert by_numbers("rows-100x1024") == Rows(100, 1024)
    assert by_numbers("sent-64") == Sent(64)
    assert by_numbers("session-2x10") == Session(2, 10)
    assert by_numbers("rows-1638x10240") == Rows(1638, 10240)
    for name in (
        "rows-0x1",
        "rows-1x0",
        "rows-1",
        "rows-1x9000000",
        "rows-100000x1000",
        "sent-0",
        "sent-9000000",
    ):
        assert by_numbers(name) is None


@pytest.mark.parametrize(("rows", "wanted"), [(1, 64), (100, 100), (16, 10_240)])
def test_each_row_has_exactly_so_many_bytes(rows: int, wanted: int) -> None:
    (statement,) = built_in(f"rows-{rows}x{wanted}", "t", 1000).statements
    found = re.fullmatch(r"SELECT LEFT\(REPEAT\(t\.c, (\d+)\), (\d+)\) FROM t LIMIT (\d+)", statement.sql)
    assert found is not None
    assert min(ROW_BYTES * int(found[1]), int(found[2])) == wanted
    assert int(found[3]) == rows


def test_more_rows_than_the_table_has_come_from_it_twice() -> None:
    (statement,) = built_in("rows-5000x100", "t", 1000).statements
    assert "FROM t CROSS JOIN t AS again LIMIT 5000" in statement.sql


def test_what_is_sent_is_in_the_statement() -> None:
    (statement,) = built_in("sent-4000", "t", 1000).statements
    assert len(statement.sql) == len("SELECT LENGTH('')") + 4000


def test_they_read_and_are_named_in_reports() -> None:
    for name in ("rows-100x1024", "sent-4000"):
        assert table_of(name) == "sbtest"
        assert not changes_data(name)
        assert not built_in(name, "t", 1).reconnect
    assert in_words("rows-100x1024") == "selects of 100 rows of 1,024 bytes"
    assert in_words("rows-1x64") == "selects of one row of 64 bytes"
    assert in_words("sent-4000") == "statements of 4,000 bytes"


def test_a_study_takes_them_and_says_how_they_are_written() -> None:
    study = override(load_study("tax"), "workload", ("rows-2x10", "sent-7"))
    assert study.levels_of()["workload"] == ("rows-2x10", "sent-7")
    with pytest.raises(UserMistake) as caught:
        override(load_study("tax"), "workload", ("rows-0x10",))
    assert "rows-RxB and sent-B" in caught.value.sentence()
