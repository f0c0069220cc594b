"""What a user's statement does at an external server, by its text alone: read to its end, or refused."""

from __future__ import annotations

import pytest

from tlstax.external import sql_guard
from tlstax.external.reading import Creation, Place, Reading, Refused
from tlstax.sql.ownership import Thing

MARK = "tlstax 1f"


def read(statement: str, place: Place = "prepare") -> Reading:
    return sql_guard.read(statement, place, "s", {"fn"})


def made(statement: str) -> tuple[str, str, bool] | None:
    creation = read(statement).creation
    return None if creation is None else (creation.kind, creation.name, creation.if_not_exists)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE t (id INT)", ("TABLE", "t", False)),
        ("create table t(id INT);", ("TABLE", "t", False)),
        ("  -- first\n# second\n/* third */ CREATE/**/TABLE\n`t` (id INT)", ("TABLE", "t", False)),
        ("CREATE TABLE IF NOT EXISTS t (id INT)", ("TABLE", "t", True)),
        ("CREATE TABLE `a``b` (id INT)", ("TABLE", "a`b", False)),
        ("CREATE TABLE s.t (id INT)", ("TABLE", "t", False)),
        ("CREATE TABLE `s` . `t` (id INT)", ("TABLE", "t", False)),
        ("CREATE TABLE `s.t` (id INT)", ("TABLE", "s.t", False)),
        ("CREATE TABLE `if` (id INT)", ("TABLE", "if", False)),
        ("CREATE TABLE t AS SELECT 1", ("TABLE", "t", False)),
        ("CREATE TABLE t LIKE other", ("TABLE", "t", False)),
        (
            "CREATE TABLE t (a INT UNSIGNED NOT NULL AUTO_INCREMENT, b VARCHAR(9) CHARACTER SET utf8mb4"
            " COLLATE utf8mb4_bin DEFAULT NULL, c TIMESTAMP(6) DEFAULT NOW(6), d ENUM('a','b'),"
            " e DECIMAL(10,2), f JSON, g DATETIME DEFAULT (UTC_TIMESTAMP()), h INT AS (a + 1) STORED,"
            " PRIMARY KEY (a), KEY k (b(5)), UNIQUE KEY u (b), FULLTEXT KEY (b), CHECK (a > 0)) ENGINE=InnoDB"
            " DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin AUTO_INCREMENT=5 ROW_FORMAT=DYNAMIC COMMENT='x'",
            ("TABLE", "t", False),
        ),
        ("CREATE VIEW v AS SELECT 1", ("VIEW", "v", False)),
        ("CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW s.v AS SELECT 1", ("VIEW", "v", False)),
        ("CREATE DEFINER = CURRENT_USER() PROCEDURE p() SELECT 1", ("PROCEDURE", "p", False)),
        ("CREATE PROCEDURE p(IN a INT) BEGIN SELECT 1; SELECT 2; END", ("PROCEDURE", "p", False)),
        ("CREATE FUNCTION f() RETURNS CHAR(4) DETERMINISTIC RETURN 'a'", ("FUNCTION", "f", False)),
        ("CREATE TRIGGER IF NOT EXISTS g BEFORE INSERT ON t FOR EACH ROW SET @a=1", ("TRIGGER", "g", True)),
        ("CREATE UNIQUE INDEX i ON t (id, name(9))", None),
        ("INSERT INTO t VALUES ('CREATE TABLE t (id INT)')", None),
        ("DROP TABLE IF EXISTS t", None),
    ],
)
def test_what_it_creates_is_read(statement: str, expected: tuple[str, str, bool] | None) -> None:
    assert made(statement) == expected


@pytest.mark.parametrize(
    ("statement", "writes", "reads"),
    [
        ("SELECT c FROM t WHERE id = 7", "", "t"),
        ("SELECT a FROM t LEFT JOIN u USING (a) WHERE a IN (SELECT b FROM w) LIMIT 1, 2", "", "t u w"),
        ("SELECT 1 FROM (t, u) NATURAL JOIN w", "", "t u w"),
        ("SELECT * FROM t WHERE a IN (TABLE v)", "", "t v"),
        ("SELECT COUNT(*), SUM(a) OVER (PARTITION BY b ORDER BY c) FROM t FORCE INDEX (k)", "", "t"),
        ("SELECT `a`, x'41', _utf8mb4'x', 0x41, 1e3, @v, @@version, -b, !b, `größe` FROM t", "", "t"),
        ("SELECT IF(a,1,2), LEFT (a,3), CAST(a AS DATETIME(6)), SUBSTRING(a FROM 1 FOR 2) FROM t", "", "t"),
        ("SELECT MAX(a) FROM t UNION ALL SELECT 1 FROM dual", "", "t"),
        ("INSERT INTO t (a) VALUES (1), (2) ON DUPLICATE KEY UPDATE a = VALUES(a)", "t", ""),
        ("INSERT INTO t SELECT * FROM u", "t", "u"),
        ("REPLACE INTO t SET a = 1", "t", ""),
        ("UPDATE t JOIN u ON t.a = u.a SET t.b = 1", "t u", ""),
        ("UPDATE s.t SET a = 1 WHERE b = (SELECT MAX(b) FROM u) LIMIT 1", "t u", ""),
        ("DELETE x FROM theirs AS x JOIN t", "t theirs", ""),
        ("DELETE theirs FROM t AS theirs", "t", ""),
        ("DELETE FROM x, y USING x JOIN y", "x y", ""),
        ("WITH a AS (SELECT 1) DELETE FROM t WHERE b IN (SELECT * FROM a)", "a t", ""),
        ("TRUNCATE t", "t", ""),
        ("ANALYZE TABLE t, u", "t u", ""),
        ("ALTER TABLE t ADD INDEX (a), ADD FOREIGN KEY (a) REFERENCES u (id)", "t u", ""),
        ("ALTER TABLE t DROP INDEX i", "t", ""),
        ("DROP INDEX i ON t", "t", ""),
        ("CREATE INDEX i ON t (a)", "t", ""),
        ("CREATE TABLE n (a INT REFERENCES u (id), b INT REFERENCES n (a))", "u", ""),
        ("CREATE TABLE n LIKE u", "", "u"),
        ("CREATE VIEW n AS SELECT * FROM u", "", "u"),
        ("CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW BEGIN SET @a = 1; DELETE FROM u; END", "t u", ""),
        ("CREATE PROCEDURE p() UPDATE t SET a = 1", "t", ""),
        ("SET @a = (SELECT MAX(a) FROM t), @b := 1", "", "t"),
    ],
)  # fmt: skip
def test_what_it_writes_and_reads_is_read(statement: str, writes: str, reads: str) -> None:
    reading = read(statement)
    assert (reading.writes, reading.reads) == (set(writes.split()), set(reads.split()))


@pytest.mark.parametrize(
    "statement",
    [
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET autocommit=1, @a=1, @@session.time_zone='+00:00', SESSION sort_buffer_size = 1000",
        "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "BEGIN",
        "START TRANSACTION READ ONLY",
        "COMMIT",
        "SAVEPOINT a",
        "ROLLBACK TO SAVEPOINT `a`",
        "DO SLEEP(0.5)",
        "SELECT 1 -- the end",
        "SELECT 'it''s; -- here', `a;b` FROM dual",
    ],
)
@pytest.mark.parametrize("place", ["prepare", "on_connect", "transactions"])
def test_what_touches_nothing_is_let_through(statement: str, place: Place) -> None:
    assert read(statement, place) == Reading()


def test_autocommit_is_turned_off_by_load_clients_alone() -> None:
    assert read("SET autocommit = 0", "on_connect") == Reading()


def test_what_it_calls_is_read() -> None:
    reading = read("CALL p(1, fn(2))", "transactions")
    assert reading.calls == {Thing("PROCEDURE", "p"), Thing("FUNCTION", "fn")}
    assert read("SELECT JSON_EXTRACT(a, '$.b') FROM t").functions == {"JSON_EXTRACT"}


@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM t FOR UPDATE", "SELECT * FROM t LOCK IN SHARE MODE", "INSERT INTO t SELECT * FROM t"],
)
def test_what_locks_may_read_only_what_is_ours(statement: str) -> None:
    assert read(statement, "transactions").reads_ours


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (id INT)", "CREATE TABLE IF NOT EXISTS t (id INT)", "DROP TABLE t", "TRUNCATE t",
        "ALTER TABLE t ADD COLUMN a INT", "CREATE PROCEDURE p() SELECT 1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["on_connect", "transactions"])
def test_objects_are_changed_in_prepare_and_restore_alone(statement: str, place: Place) -> None:
    with pytest.raises(Refused, match="prepare and restore alone"):
        read(statement, place)


REFUSED = """
CREATE OR REPLACE TABLE t (id INT) | OR REPLACE
CREATE OR REPLACE VIEW v AS SELECT 1 | OR REPLACE
CREATE /*!50000 OR REPLACE */ VIEW v AS SELECT 1 | comment
CREATE /*M! OR REPLACE */ VIEW v AS SELECT 1 | comment
SELECT /*+ SET_VAR(foreign_key_checks=0) */ 1 | comment
SELECT /* /* */ 1 | comment
SELECT /* 1 | depends on
SELECT 1--1 | space
SELECT 1; DROP TABLE t | semicolon
CREATE TEMPORARY TABLE t (id INT) | temporary
CREATE DATABASE d | CREATE DATABASE
CREATE USER u | CREATE USER
CREATE SEQUENCE q | CREATE SEQUENCE
CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1 | CREATE EVENT
CREATE SPATIAL REFERENCE SYSTEM 4120 NAME 'x' | SPATIAL|REFERENCE|end
CREATE TABLE other.t (id INT) | schema other
UPDATE other.t SET a = 1 | schema other
SELECT * FROM mysql.user | schema mysql
CREATE DEFINER=root@localhost VIEW v AS SELECT 1 | somebody else
CREATE DEFINER=root@localhost PROCEDURE p() SELECT 1 | between CREATE
CREATE FUNCTION f RETURNS STRING SONAME 'f.so' | brackets
CREATE AGGREGATE FUNCTION f RETURNS STRING SONAME 'f.so' | between CREATE
CREATE PROCEDURE p() BEGIN DROP TABLE t; END | DROP
CREATE PROCEDURE p() BEGIN COMMIT; END | COMMIT
CREATE PROCEDURE p() SET GLOBAL read_only = 1 | GLOBAL READ_ONLY
CREATE PROCEDURE p() CREATE TABLE theirs SELECT 1 | CREATE TABLE THEIRS
CREATE FUNCTION f() RETURNS INT CALL x SELECT 1 | CALL X
CREATE PROCEDURE p() LOOP SELECT 1; END LOOP | before what it does
CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW FOLLOWS h SET @a = 1 | FOLLOWS
CREATE TABLE t (id INT) ENGINE=FEDERATED CONNECTION='mysql://x' | engine
CREATE TABLE t (id INT) ENGINE=SPIDER | SPIDER
CREATE TABLE t (id INT) CONNECTION='mysql://x' | Property
CREATE TABLE t (id INT) ENGINE=MERGE UNION=(theirs) | end
CREATE TABLE t (id INT) DATA DIRECTORY='/tmp' | end
CREATE TABLE t (id INT) TABLESPACE x | end
CREATE TABLE t (id INT DEFAULT NEXTVAL(q)) | NEXTVAL
CREATE TABLE t (id INT DEFAULT (NEXT VALUE FOR q)) | end
CREATE TABLE t (a INT, b INT AS (theirs(a))) | theirs
CREATE TABLE IF NOT EXISTS t AS SELECT 1 | IF NOT EXISTS
CREATE TABLE 't' (id INT) | cannot
CREATE TABLE `` (id INT) | between two
CREATE TABLE `t (id INT) | not closed
CREATE TABLE größe (id INT) | backquotes
CREATE TABLE `größe` (id INT) | letters
CREATE TABLE `t ` (id INT) | space at its end
CREATE TABLE tlstax_sbtest2 (id INT) | tlstax's own
CREATE | end
ALTER TABLE t RENAME TO u | AlterRename
ALTER TABLE t COMMENT = '' | options
ALTER TABLE t ENGINE = FEDERATED | options
RENAME TABLE t TO u | RENAME
DROP DATABASE d | DATABASE
DROP PROCEDURE p | PROCEDURE
USE other | USE
PREPARE p FROM 'DROP TABLE t' | PREPARE
EXECUTE p | EXECUTE
EXECUTE IMMEDIATE 'DROP TABLE t' | EXECUTE
SET STATEMENT max_statement_time=1 FOR DROP TABLE t | STATEMENT
SET GLOBAL max_connections = 1 | GLOBAL MAX_CONNECTIONS
SET @a = 1, GLOBAL max_connections = 1 | GLOBAL MAX_CONNECTIONS
SET @@global.max_connections = 1 | GLOBAL.MAX_CONNECTIONS
SET @@persist.max_connections = 1 | PERSIST
SET PERSIST max_connections = 1 | PERSIST
SET sql_log_bin = 0 | SQL_LOG_BIN
SET foreign_key_checks = 0 | FOREIGN_KEY_CHECKS
SET sql_mode = 'ANSI_QUOTES' | SQL_MODE
SET sql_mode = CONCAT('ANSI', '_QUOTES') | SQL_MODE
SET NAMES gbk | utf8mb4
SET PASSWORD = 'x' | PASSWORD
SET PASSWORD FOR u = 'x' | PASSWORD
SET ROLE admin | ROLE
SET DEFAULT ROLE admin TO ann | DEFAULT
SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED | GLOBAL
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE | SERIALIZABLE
SET @a = theirs() | theirs
SELECT theirs(1) | theirs
SELECT `now`() | now
SELECT now () | space after
SELECT s.fn(1) | Dot
SELECT text(1) | text
SELECT lateral(1) | lateral
SELECT NEXTVAL(q) | NEXTVAL
SELECT NEXT VALUE FOR q | end
SELECT q.nextval | sequence
SELECT DEFAULT(a) FROM t | DEFAULT
SELECT LOAD_FILE('/etc/passwd') | LOAD_FILE
SELECT GET_LOCK('a', 1) | GET_LOCK
SELECT RELEASE_ALL_LOCKS() | RELEASE_ALL_LOCKS
SELECT BENCHMARK(1000, 1) | BENCHMARK
SELECT SLEEP(1000) | SLEEP
SELECT SLEEP(1) FROM t | SLEEP
SELECT a FROM t INTO OUTFILE '/tmp/x' | end
SELECT a INTO OUTFILE '/tmp/x' FROM t | end
SELECT a INTO @b FROM t | into
SELECT * FROM t FOR SYSTEM_TIME ALL | version
SELECT "a" | double quotes
SELECT 'a\\b' | backslash
SELECT ? | question mark
SELECT a\u00a0FROM t | \\\\xa0
SELECT 'a\x00b' | control character
DO theirs() | theirs
CALL other.p() | CALL
TABLE t | TABLE
VALUES ROW(1) | VALUES
SHOW TABLES | SHOW
EXPLAIN ANALYZE SELECT 1 | EXPLAIN
LOAD DATA INFILE 'x' INTO TABLE t | LOAD
HANDLER t OPEN | HANDLER
LOCK TABLES t WRITE | LOCK
FLUSH TABLES | FLUSH
KILL 1 | KILL
GRANT ALL ON *.* TO u | GRANT
XA START 'x' | XA
INSTALL PLUGIN p SONAME 'p.so' | INSTALL
CHANGE MASTER TO MASTER_HOST = 'x' | CHANGE
BINLOG 'x' | BINLOG
SAVEPOINT | SAVEPOINT
WITH x AS (DELETE FROM theirs) SELECT 1 | DELETE within
SELECT @@global.read_only := 1 | no variable of the user's
DROP TABLE IF EXISTS tlstax_made | tlstax's own
SET autocommit = 0 | AUTOCOMMIT
INSERT INTO t VALUES (1) RETURNING theirs(1) | theirs
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_what_is_not_known_to_be_harmless_is_refused(line: str) -> None:
    statement, _, why = line.rpartition(" | ")
    with pytest.raises(Refused, match=why):
        read(statement)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("SELECT a FROM t\ue000", "touches"),
        ("SELECT f\ue000 FROM t", "touches"),
        ("SELECT @\ue001", "touches"),
        ("SELECT \ue000\ue000", "touches"),
        ("SELECT x\ue001", "touches"),
        ("SELECT 'a\ue001'", "between quotes"),
        ("SELECT `a\ue001`", "between quotes"),
    ],
)
def test_a_parameter_must_be_no_more_than_a_value(statement: str, why: str) -> None:
    assert read("SELECT a FROM t WHERE id=\ue000 AND b IN (\ue001,-\ue000)").reads == {"t"}
    with pytest.raises(Refused, match=why):
        read(statement, "transactions")


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
        ("CREATE TABLE t (a INT) COMMENT 'mine'", None),
        ("CREATE VIEW v AS SELECT 1", None),
    ],
)
def test_a_table_is_marked_where_there_is_a_sure_place_for_it(statement: str, marked: str | None) -> None:
    creation = read(statement).creation
    assert isinstance(creation, Creation)
    assert sql_guard.with_comment(statement, creation, "s", MARK) == marked
