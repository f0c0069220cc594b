"""What a program is to get of a PostgreSQL, as its administrator is told."""

from __future__ import annotations

from answering_database import AnsweringDatabase
from tlstax.postgres.streams import SEGMENT_BYTES, segment_name, terms


def test_a_dump_has_the_rows_of_the_table() -> None:
    found = terms(AnsweringDatabase({"COUNT(*) FROM sbtest1": [(500,)]}), "dump", "sbtest1")
    assert (found.names, found.holds) == (("sbtest1",), {"rows": 500})


def test_a_base_backup_has_the_tables_file() -> None:
    database = AnsweringDatabase({"pg_relation_filepath": [("base/16385/16390", 8192)]})
    assert terms(database, "base backup", "sbtest1").holds == {"base/16385/16390": 8192}


def test_of_a_log_one_segment_is_copied_however_long_the_table_is() -> None:
    """pg_receivewal would begin at the last of several whose files are there beforehand."""
    database = AnsweringDatabase({"flush_lsn": [(9 * SEGMENT_BYTES,)]})
    found = terms(database, "log", "sbtest1")
    assert (found.names, found.holds) == (("000000010000000000000002",), {"bytes": SEGMENT_BYTES})
    assert not any("switch" in said for said in database.statements), "the log is long enough"


def test_a_log_that_is_too_short_is_gone_on_with() -> None:
    places = iter((SEGMENT_BYTES + 100, 2 * SEGMENT_BYTES, 3 * SEGMENT_BYTES))
    database = AnsweringDatabase({"flush_lsn": lambda: [(next(places),)]})
    assert terms(database, "log", "sbtest1").holds == {"bytes": SEGMENT_BYTES}
    assert sum("pg_switch_wal" in said for said in database.statements) == 2


def test_segments_are_named_as_their_files_are() -> None:
    assert segment_name(0xFF) == "0000000100000000000000FF"
    assert segment_name(0x100) == "000000010000000100000000"
