"""PostgreSQL's tables: rows as everywhere, sums that a server computes alike, plain text for COPY."""

from __future__ import annotations

import re

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres.table import COLUMNS, POSTGRES_TABLES, line_of
from tlstax.sql.database import SqlError
from tlstax.sql.ownership import Mark
from tlstax.sql.table_rows import LAYOUTS, TableContent
from tlstax.sql.tables import values_of
from tlstax.study.workloads import Shape
from tlstax.support.errors import UserMistake

ROWS = TableContent(rows=30, seed=1)
THERE = {"obj_description": [("tlstax",)]}


def test_the_sum_is_that_of_the_first_32_bits_of_each_rows_md5() -> None:
    """Of "1,123" and "2,123", by md5sum: a40bb563 and 8802ad25."""
    words = POSTGRES_TABLES.expected("t", TableContent(rows=2, seed=1, shape="words"))
    assert words.rows == 2
    assert words.checksum == 0xA40BB563 + 0x8802AD25


def test_the_sum_follows_from_the_rows() -> None:
    assert POSTGRES_TABLES.expected("t", ROWS) == POSTGRES_TABLES.expected("t", ROWS)
    assert (
        POSTGRES_TABLES.expected("t", ROWS).checksum
        != POSTGRES_TABLES.expected("t", TableContent(30, 2)).checksum
    )


@pytest.mark.parametrize("shape", list(LAYOUTS))
def test_each_shape_has_its_columns_in_their_order(shape: Shape) -> None:
    defined = re.split(r", (?=[a-z_]+ )", COLUMNS[shape].definition)
    assert tuple(column.split()[0] for column in defined) == LAYOUTS[shape].columns


def test_a_table_is_made_filled_and_settled_before_it_is_used() -> None:
    server = AnsweringDatabase()
    said: list[str] = []
    assert POSTGRES_TABLES.prepare(server, "t", ROWS, progress=said.append) == 30
    assert said == ["filling table t with 30 rows"]
    verbs = [statement.split(" ")[0] for statement in server.statements]
    assert verbs == ["SELECT", "CREATE", "INSERT", "CREATE", "SELECT", "VACUUM", "CHECKPOINT"]
    assert "autovacuum_enabled = false" in server.statements[1]
    assert """; COMMENT ON TABLE "t" IS tlstax""" in server.statements[1], "it is never there without it"


def test_a_table_may_be_named_with_its_schema() -> None:
    server = AnsweringDatabase()
    POSTGRES_TABLES.prepare(server, "own.t", ROWS)
    assert """nspname = COALESCE(own, current_schema()) AND c.relname = t""" in server.statements[0]
    assert server.statements[1].startswith("""CREATE TABLE "own"."t" (""")
    assert """CREATE INDEX "t_k_1" ON "own"."t" (k)""" in server.statements


def test_the_ids_that_the_server_gives_follow_those_that_are_there() -> None:
    server = AnsweringDatabase({"pg_get_serial_sequence": [("public.t_id_seq",)]})
    POSTGRES_TABLES.put_back(server, "t")
    assert server.statements == [
        'TRUNCATE TABLE "t"',
        'INSERT INTO "t" SELECT * FROM "t_kept"',
        "SELECT pg_get_serial_sequence(\"t\", 'id')",
        'SELECT setval(public.t_id_seq, COALESCE(MAX(id), 0) + 1, false) FROM "t"',
        'VACUUM (FREEZE, ANALYZE) "t"',
        "CHECKPOINT",
    ]


@pytest.mark.parametrize(
    ("other", "used_again"),
    [
        ({}, True),
        ({"pg_attribute": [("id",), ("k",)]}, False),
        ({"pg_index": []}, False),
        ({"COUNT(*), SUM": [(30, 7)]}, False),
    ],
)
def test_only_a_table_that_is_equal_in_all_is_used_again(
    other: dict[str, list[tuple[object, ...]]], used_again: bool
) -> None:
    equal = {
        **THERE,
        "pg_attribute": [(name,) for name in LAYOUTS["sbtest"].columns],
        "pg_index": [("t_k_1",)],
        "COUNT(*), SUM": [(30, POSTGRES_TABLES.expected("t", ROWS).checksum)],
    }
    server = AnsweringDatabase({**equal, **other})
    POSTGRES_TABLES.prepare(server, "t", ROWS)
    assert any(statement.startswith("DROP") for statement in server.statements) is not used_again


def test_a_table_without_our_mark_is_not_touched() -> None:
    for comment in ("", "somebody's"):
        server = AnsweringDatabase({"obj_description": [(comment,)]})
        for make in (
            lambda server=server: POSTGRES_TABLES.prepare(server, "t", ROWS),
            lambda server=server: POSTGRES_TABLES.keep_copy(server, "t", "sbtest"),
        ):
            with pytest.raises(UserMistake, match="tlstax did not make"):
                make()
        assert all(statement.startswith("SELECT") for statement in server.statements)


def test_a_mark_of_the_callers_decides_what_is_ours() -> None:
    server = AnsweringDatabase({"obj_description": [("run 7",)]})
    POSTGRES_TABLES.keep_copy(server, "t", "sbtest", Mark("run 7", lambda comment: comment == "run 7"))
    assert server.statements[1] == 'DROP TABLE IF EXISTS "t_kept"'
    assert server.statements[2].endswith("""; COMMENT ON TABLE "t_kept" IS run 7""")


@pytest.mark.parametrize("name", ['a"; DROP TABLE b', "", "A", "a" * 64, "a-b"])
def test_a_name_is_checked_before_it_stands_in_a_statement(name: str) -> None:
    server = AnsweringDatabase()
    for use in (
        lambda: POSTGRES_TABLES.drop(server, name),
        lambda: POSTGRES_TABLES.prepare(server, name, ROWS),
        lambda: POSTGRES_TABLES.put_back(server, name),
    ):
        with pytest.raises(UserMistake, match="not a table name"):
            use()
    assert server.statements == []


def test_large_values_are_not_packed() -> None:
    server = AnsweringDatabase()
    POSTGRES_TABLES.prepare(server, "t", TableContent(rows=0, seed=1, shape="bodies"))
    assert server.statements[1].endswith("""; ALTER TABLE "t" ALTER COLUMN body SET STORAGE EXTERNAL""")


def test_rows_are_quoted_for_copy_and_for_sql() -> None:
    assert line_of((1, "O'Brien\\", "a\tb\nc\r")) == "1\tO'Brien\\\\\ta\\tb\\nc\\r\n"
    assert values_of((1, "O'Brien")) == "(1,'O''Brien')"


def test_pages_that_may_not_be_written_are_left() -> None:
    POSTGRES_TABLES.write_changed_pages(
        AnsweringDatabase({"CHECKPOINT": SqlError("42501", "must be superuser")}), "t"
    )
    lost = SqlError("08006", "gone", is_of_connection=True)
    with pytest.raises(SqlError, match="gone"):
        POSTGRES_TABLES.write_changed_pages(AnsweringDatabase({"CHECKPOINT": lost}), "t")


@pytest.mark.parametrize(("workers", "purging"), [([(0,)], False), ([(2,)], True)])
def test_a_vacuum_of_the_servers_own_is_seen(workers: list[tuple[int]], purging: bool) -> None:
    assert POSTGRES_TABLES.is_purging(AnsweringDatabase({"autovacuum worker": workers})) is purging
    refused = SqlError("42501", "permission denied")
    assert not POSTGRES_TABLES.is_purging(AnsweringDatabase({"autovacuum worker": refused}))
