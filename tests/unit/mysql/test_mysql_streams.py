"""What a program is to get of a MySQL or MariaDB, as its administrator is told."""

from __future__ import annotations

import pytest

from answering_database import AnsweringDatabase, Rows
from tlstax.mysql.streams import LEFT_OPEN_BYTES, clear, terms
from tlstax.sql.answers import Malformed

LONG = 50 * LEFT_OPEN_BYTES


def test_a_dump_has_the_rows_of_the_table() -> None:
    found = terms(AnsweringDatabase({"COUNT(*) FROM sbtest1": [(500,)]}), "dump", "sbtest1", 2)
    assert (found.names, found.holds) == (("sbtest1",), {"rows": 500})


def test_a_log_has_the_files_that_nobody_writes_any_more() -> None:
    database = AnsweringDatabase(
        {"BINARY LOGS": [("binlog.1", 157, "No"), ("binlog.2", LONG, "No"), ("binlog.3", 900, "No")]}
    )
    found = terms(database, "log", "sbtest1", 2)
    assert (found.names, found.holds) == (("binlog.1", "binlog.2"), {"bytes": LONG + 157})
    assert not any("FLUSH" in said for said in database.statements)


@pytest.mark.parametrize("before", [[("binlog.1", LONG)], [("binlog.1", 157), ("binlog.2", LONG)]])
def test_a_file_that_holds_the_load_is_ended_first(before: Rows) -> None:
    answers = iter((before, [*before, ("binlog.9", 157)]))
    database = AnsweringDatabase({"SHOW BINARY LOGS": lambda: next(answers)})
    found = terms(database, "log", "sbtest1", 2)
    assert found.names == tuple(name for name, _ in before)
    assert [said for said in database.statements if "FLUSH" in said] == ["FLUSH BINARY LOGS"]


def test_a_server_without_a_log_is_no_traceback() -> None:
    with pytest.raises(Malformed, match="no file of its log"):
        terms(AnsweringDatabase(), "log", "sbtest1", 2)


def test_nothing_is_said_after_a_copy() -> None:
    database = AnsweringDatabase()
    clear(database)
    assert database.statements == []
