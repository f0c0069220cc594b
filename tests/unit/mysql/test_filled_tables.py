"""Tables that are filled here: in statements that every server takes, and with columns for all rows."""

from __future__ import annotations

import re

import pytest

from tlstax.mysql.table import COLUMNS, MYSQL_TABLES, inserts_of
from tlstax.sql.table_rows import LAYOUTS, TableContent
from tlstax.sql.tables import values_of
from tlstax.support.errors import UserMistake


def test_statements_stay_under_the_smallest_packet_limit() -> None:
    chunks = LAYOUTS["sbtest"].chunks(TableContent(rows=21_000, seed=1))
    statements = [s for rows in chunks for s in inserts_of("", map(values_of, rows), 1_000_000)]
    assert sum(statement.count("('") + statement.count(",'") // 2 for statement in statements) == 21_000
    assert max(map(len, statements)) < 1_000_000


def test_a_table_name_is_checked_before_it_stands_in_a_statement() -> None:
    with pytest.raises(UserMistake, match="not a table name"):
        MYSQL_TABLES.check_name("a`; DROP TABLE b")


def test_these_are_the_people_of_every_run() -> None:
    assert (
        MYSQL_TABLES.expected("people", TableContent(rows=10_000, seed=1, shape="people")).checksum
        == 21373497244494
    )


def test_a_name_with_an_apostrophe_is_quoted() -> None:
    assert values_of((1, "O'Brien")) == "(1,'O''Brien')"


def test_every_shape_has_its_columns() -> None:
    for shape, layout in LAYOUTS.items():
        defined = re.findall(r"(?:^|, ?)\s*([a-z_]+) [A-Z]", COLUMNS[shape])
        assert tuple(defined) == layout.columns
