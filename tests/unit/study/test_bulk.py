"""Workloads by their sizes: what their names stand for, and results of exactly N bytes."""

from __future__ import annotations

import re
import zlib

import pytest

from tlstax.contract import Statement, Workload
from tlstax.sql.table_rows import BODIES, TableContent
from tlstax.study import load_study, override
from tlstax.study.case_workload import sets_values
from tlstax.study.factors import CaseLevels
from tlstax.study.workloads import (
    EMPTY,
    built_in,
    by_numbers,
    changes_data,
    in_words,
    is_built_in,
    table_of,
)
from tlstax.study.workloads.sized import VALUE_BYTES, Inserted, Rows, Sent, Session
from tlstax.support.errors import UserMistake


def test_names_say_how_much() -> None:
    assert by_numbers("rows-100x1024") == Rows(100, 1024)
    assert by_numbers("connect-rows-8x1048576") == Rows(8, 1 << 20, connects=True)
    assert by_numbers("sent-64") == Sent(64)
    assert by_numbers("insert-64") == Inserted(1, 64)
    assert by_numbers("insert-100x64") == Inserted(100, 64)
    assert by_numbers("insert") is None
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
        "insert-0",
        "insert-0x64",
        "insert-100000x100",
    ):
        assert by_numbers(name) is None


def test_a_short_row_is_part_of_a_row_of_the_table() -> None:
    workload = built_in("rows-100x64", "t", 1000)
    (statement,) = workload.statements
    assert statement.sql == "SELECT LEFT(t.c, 64) FROM t WHERE t.id <= 100 LIMIT 100"
    assert workload.on_connect == ()
    assert sets_values(CaseLevels.of({"workload": "rows-100x64"}), workload) == ()


@pytest.mark.parametrize(
    ("rows", "wanted", "values"), [(1, 1 << 20, 1), (5, 120, 5), (1638, 10_240, 5), (500, 200, 165)]
)
def test_long_rows_are_values_that_the_connection_sets(rows: int, wanted: int, values: int) -> None:
    name = f"rows-{rows}x{wanted}"
    workload = built_in(name, "t", 170_000)
    (statement,) = workload.statements
    assert re.findall(r"@tlstax_\d+", statement.sql) == [f"@tlstax_{place}" for place in range(values)]
    room, said = workload.on_connect
    sets = said.removeprefix("SET ").split(", @")
    assert len(sets) == values
    assert values in {rows, 1} or values * wanted > 32_768
    offsets = []
    for each in sets:
        found = re.fullmatch(
            r"@?tlstax_\d+ = LEFT\(REPEAT\(\(SELECT GROUP_CONCAT\(c SEPARATOR ''\) FROM "
            r"\(SELECT c FROM t LIMIT (\d+) OFFSET (\d+)\) AS part\), 1\), (\d+)\)",
            each,
        )
        assert found is not None, each
        assert int(found[1]) * VALUE_BYTES >= int(found[3]) == wanted
        assert room == f"SET SESSION group_concat_max_len = {int(found[1]) * VALUE_BYTES}"
        offsets.append(int(found[2]))
    assert offsets == sorted(set(offsets))
    assert sets_values(CaseLevels.of({"workload": name}), workload) == workload.on_connect


def test_a_small_table_is_repeated_to_a_long_value() -> None:
    said = built_in("rows-1x1000000", "t", 1000).on_connect[-1]
    assert "LIMIT 1000 OFFSET 0" in said
    assert said.endswith("AS part), 9), 1000000)")


def test_what_a_user_says_on_connecting_is_not_said_again() -> None:
    own = Workload(protocol="text", statements=(Statement(sql="SELECT 1"),), on_connect=("BEGIN",))
    assert sets_values(CaseLevels.of({"workload": "point-select"}), own) == ()


def test_more_rows_than_the_table_has_come_from_it_twice() -> None:
    (statement,) = built_in("rows-5000x100", "t", 1000).statements
    assert "FROM t CROSS JOIN t AS again LIMIT 5000" in statement.sql


def test_what_is_sent_is_in_the_statement() -> None:
    (statement,) = built_in("sent-4000", "t", 1000).statements
    found = re.fullmatch(r"SELECT LENGTH\('([0-9]{4000})'\)", statement.sql)
    assert found is not None
    assert len(zlib.compress(found[1].encode())) > 1600, "digits cannot be packed any better"
    assert built_in("sent-4000", "t", 1).statements == (statement,), "the same ones every time"


def test_a_connection_for_one_result_sets_no_values() -> None:
    workload = built_in("connect-rows-2x1000", "t", 1000)
    (statement,) = workload.statements
    assert workload.reconnect
    assert workload.on_connect == ()
    assert statement.sql == "SELECT LEFT(REPEAT(t.c, 9), 1000) FROM t WHERE t.id <= 2 LIMIT 2"
    assert CaseLevels.of({"workload": "connect-rows-2x1000"}).reconnects
    assert not CaseLevels.of({"workload": "rows-2x1000"}).reconnects
    assert in_words("connect-rows-1x64") == "a connection for one row of 64 bytes"


def test_each_inserted_row_has_so_many_bytes_of_its_own() -> None:
    (statement,) = built_in("insert-50x300", "t", 1000).statements
    bodies = re.findall(r"\('([0-9]+)'\)", statement.sql)
    listed = ", ".join(f"('{body}')" for body in bodies)
    assert statement.sql.removeprefix("INSERT INTO t (body) VALUES ") == listed
    assert [len(body) for body in bodies] == [300] * 50
    assert len(set(bodies)) == 50


def test_inserts_change_a_table_of_their_own_that_begins_empty() -> None:
    for name in ("insert-64", "insert-3x1000"):
        assert table_of(name) == "bodies"
        assert changes_data(name)
        assert is_built_in(name)
    assert "bodies" in EMPTY
    assert list(BODIES.chunks(TableContent(0, 1, "bodies"))) == []
    with pytest.raises(ValueError, match="begins empty"):
        list(BODIES.chunks(TableContent(5, 1, "bodies")))
    assert in_words("insert-64") == "inserts of one row of 64 bytes"
    assert in_words("insert-3x1000") == "inserts of 3 rows of 1,000 bytes"
    assert not is_built_in("of-my-own")


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
    assert "rows-RxB, connect-rows-RxB, sent-B, insert-B and insert-RxB" in caught.value.sentence()
