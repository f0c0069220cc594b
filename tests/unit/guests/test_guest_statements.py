"""What a user's statement creates at an external server: recognised for sure, or refused."""

from __future__ import annotations

import pytest

from tlstax.guests import statements
from tlstax.guests.statements import Creation, Unrecognised

MARK = "tlstax 1f"


def made(statement: str) -> tuple[str, str, bool] | None:
    found = statements.creation_of(statement, "s")
    return None if found is None else (found.kind, found.name, found.if_not_exists)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE t (id INT)", ("TABLE", "t", False)),
        ("create table t(id INT)", ("TABLE", "t", False)),
        ("  -- first\n# second\n/* third */ CREATE/**/TABLE\n`t` (id INT)", ("TABLE", "t", False)),
        ("CREATE TABLE IF NOT EXISTS t (id INT)", ("TABLE", "t", True)),
        ("CREATE TABLE `a``b` (id INT)", ("TABLE", "a`b", False)),
        ('CREATE TABLE "a b" (id INT)', ("TABLE", "a b", False)),
        ("CREATE TABLE s.t (id INT)", ("TABLE", "t", False)),
        ("CREATE TABLE `s` . `t` (id INT)", ("TABLE", "t", False)),
        ("CREATE TABLE `s.t` (id INT)", ("TABLE", "s.t", False)),
        ("CREATE TABLE `if` (id INT)", ("TABLE", "if", False)),
        ("CREATE TABLE größe (id INT)", ("TABLE", "größe", False)),
        ("CREATE TABLE t AS SELECT 1", ("TABLE", "t", False)),
        ("CREATE TABLE t LIKE other", ("TABLE", "t", False)),
        ("CREATE VIEW v AS SELECT 1", ("VIEW", "v", False)),
        (
            "CREATE ALGORITHM=MERGE DEFINER=`a`@`%` SQL SECURITY INVOKER VIEW s.v AS SELECT 1",
            ("VIEW", "v", False),
        ),
        ("CREATE DEFINER = CURRENT_USER() PROCEDURE p() SELECT 1", ("PROCEDURE", "p", False)),
        ("CREATE DEFINER='a'@'h' FUNCTION f() RETURNS INT RETURN 1", ("FUNCTION", "f", False)),
        ("CREATE AGGREGATE FUNCTION f() RETURNS INT RETURN 1", ("FUNCTION", "f", False)),
        (
            "CREATE TRIGGER IF NOT EXISTS g BEFORE INSERT ON t FOR EACH ROW SET @a=1",
            ("TRIGGER", "g", True),
        ),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", ("EVENT", "e", False)),
    ],
)
def test_what_it_creates_is_read(statement: str, expected: tuple[str, str, bool]) -> None:
    assert made(statement) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "INSERT INTO t VALUES ('CREATE TABLE t (id INT)')",
        "CREATE TEMPORARY TABLE t (id INT)",
        "CREATE INDEX i ON t (id)",
        "CREATE UNIQUE INDEX i ON t (id)",
        "DROP TABLE t",
        "-- CREATE TABLE t (id INT)",
        "SET @x = 1",
    ],
)
def test_what_creates_nothing_that_stays(statement: str) -> None:
    assert made(statement) is None


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("CREATE OR REPLACE TABLE t (id INT)", "OR REPLACE"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "OR REPLACE"),
        ("CREATE DATABASE d", "CREATE DATABASE"),
        ("CREATE TABLE other.t (id INT)", "in the schema other"),
        ("CREATE TEMPORARY TABLE other.t (id INT)", "in the schema other"),
        ("CREATE USER u", "CREATE USER"),
        ("CREATE SPATIAL REFERENCE SYSTEM 4120 NAME 'x'", "SPATIAL"),
        ("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "whole server"),
        ("CREATE /*!50000 OR REPLACE */ VIEW v AS SELECT 1", "take back CREATE"),
        ("CREATE TABLE /*!32312 IF NOT EXISTS*/ t (id INT)", "name"),
        ("/*!50001 CREATE VIEW v AS SELECT 1 */", "executes"),
        ("CREATE TABLE 't' (id INT)", "name"),
        ("CREATE TABLE `` (id INT)", "name"),
        ("CREATE TABLE `t (id INT)", "quote"),
        ("CREATE TABLE .t (id INT)", "name"),
        ("CREATE TABLE", "name"),
        ("CREATE", "take back CREATE"),
        ("CREATE TABLE IF EXISTS t (id INT)", "EXISTS"),
        ("USE other", "leave the schema"),
    ],
)
def test_what_cannot_be_recognised_is_refused(statement: str, why: str) -> None:
    with pytest.raises(Unrecognised, match=why):
        statements.creation_of(statement, "s")


@pytest.mark.parametrize(
    ("statement", "marked"),
    [
        ("CREATE TABLE t (id INT)", f"CREATE TABLE t (id INT) COMMENT='{MARK}'"),
        (
            "CREATE TABLE t (a CHAR(4) DEFAULT ')', `(` INT, -- (\n b INT /* ( */) ENGINE=InnoDB",
            "CREATE TABLE t (a CHAR(4) DEFAULT ')', `(` INT, -- (\n b INT /* ( */)"
            f" COMMENT='{MARK}' ENGINE=InnoDB",
        ),
        ("CREATE TABLE s.t AS SELECT 1 AS a", f"CREATE TABLE s.t COMMENT='{MARK}' AS SELECT 1 AS a"),
        ("CREATE TABLE t(a INT) SELECT 1", f"CREATE TABLE t(a INT) COMMENT='{MARK}' SELECT 1"),
        ("CREATE TABLE t LIKE u", None),
        ("CREATE TABLE t (LIKE u)", None),
        ("CREATE TABLE t (SELECT 1)", None),
        ("CREATE TABLE t (a CHAR(9) DEFAULT '\\')')", None),
        ("CREATE TABLE t (a INT) COMMENT 'mine'", None),
        ("CREATE TABLE t (a INT) /*!50100 PARTITION BY HASH (a) */", None),
        ("CREATE VIEW v AS SELECT 1", None),
    ],
)
def test_a_table_is_marked_where_there_is_a_sure_place_for_it(statement: str, marked: str | None) -> None:
    creation = statements.creation_of(statement, "s")
    assert isinstance(creation, Creation)
    assert statements.with_comment(statement, creation, MARK) == marked
