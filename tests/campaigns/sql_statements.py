"""Statements for the campaign `sql.py`: drawn by a grammar that knows what others have there, and mutated."""

from __future__ import annotations

import random
import re


def lines(text: str) -> tuple[str, ...]:
    """One statement or part of one a line; `-` is an empty one, and \\n a new line within it."""
    return tuple("" if line == "-" else line.replace(r"\n", "\n") for line in text.strip().splitlines())


OURS = ("mine", "mine2", "`mine`", "lent.mine", "{table}")
THEIRS = (
    "theirs", "their_view", "their_updatable", "their_numbers", "their_numbered", "`theirs`", "lent.theirs",
    "other.t", "`other`.`t`", "THEIRS", "their_merge", "mysql.user",
)  # fmt: skip
NEW = ("fresh", "`fresh`", "lent.fresh", "other.fresh", "theirs", "their_view", "`new one`")

HARMLESS_CALLS = lines(r"""
NOW()
COUNT(*)
ABS(id)
CONCAT(note, 'x')
IF(id > 1, 2, 3)
JSON_EXTRACT('{{}}', '$.a')
CAST(id AS CHAR(9))
COALESCE(note, '')
mine_function()
UUID()
LAST_INSERT_ID()
@@version
""")
CALLS = lines(r"""
their_writer()
lent.their_writer()
`their_writer`()
their_writer ()
other.their_writer()
now ()
`now`()
count (*)
rank(1)
lateral(1)
text(1)
json_overlaps(1, 1)
NEXTVAL(their_numbers)
NEXT VALUE FOR their_numbers
SETVAL(their_numbers, 1000)
their_numbers.nextval
LASTVAL(their_numbers)
GET_LOCK('x', 0)
RELEASE_ALL_LOCKS()
LOAD_FILE('/etc/hostname')
SLEEP(0)
BENCHMARK(2, their_writer())
DEFAULT(id)
(SELECT their_writer())
(SELECT one FROM their_view)
(TABLE their_view)
@a := their_writer()
VALUES(id)
EXISTS (SELECT * FROM their_view)
id IN (TABLE their_view)
""")
TAILS = lines(r"""
-
-
-
-
FOR UPDATE
LOCK IN SHARE MODE
FOR SHARE
INTO OUTFILE 'campaign.out'
INTO @a
INTO DUMPFILE 'campaign.out'
PROCEDURE ANALYSE()
LIMIT 1
ORDER BY 1
FOR UPDATE SKIP LOCKED
WHERE id = {id}
UNION SELECT 1
UNION SELECT their_writer()
FOR SYSTEM_TIME ALL
""")
OPTIONS = lines(r"""
-
-
-
ENGINE=InnoDB
ENGINE=MyISAM
ENGINE=MERGE UNION=(theirs) INSERT_METHOD=LAST
ENGINE=MRG_MyISAM UNION=(their_myisam)
DATA DIRECTORY='/tmp'
COMMENT='x'
AUTO_INCREMENT=7
TABLESPACE innodb_system
CONNECTION='mysql://x'
ENGINE=FEDERATED CONNECTION='mysql://x'
PARTITION BY HASH (id) PARTITIONS 2
ENGINE=CSV
ENGINE=BLACKHOLE
DEFAULT CHARSET=utf8mb4
SELECT 1 AS one
AS SELECT * FROM theirs
AS SELECT * FROM their_view
AS SELECT their_writer()
WITH SYSTEM VERSIONING
ENGINE=SEQUENCE
""")
COLUMNS = lines(r"""
id INT
id INT PRIMARY KEY, note CHAR(9)
id INT REFERENCES theirs (id)
id INT DEFAULT NEXTVAL(their_numbers)
id INT, FOREIGN KEY (id) REFERENCES theirs (id)
id INT, FOREIGN KEY (id) REFERENCES mine (id)
id INT DEFAULT (their_writer())
id INT, KEY (id), note VARCHAR(9) COMMENT 'a; b'
LIKE theirs
id INT, note CHAR(9)
id BIGINT NOT NULL AUTO_INCREMENT, PRIMARY KEY (id)
id INT, b INT AS (their_writer())
id INT CHECK (their_writer() > 0)
id INT AS (1) STORED
LIKE their_numbered
id INT DEFAULT (NEXT VALUE FOR their_numbers)
note VARCHAR(9), KEY (note(3)), d DATETIME(6) DEFAULT NOW(6)
""")
BODIES = lines(r"""
SELECT 1
SET @a = 1
INSERT INTO mine VALUES (1000, 'x')
DELETE FROM theirs
CALL their_procedure()
BEGIN SET @a = 1; UPDATE mine SET note = 'y'; END
BEGIN DELETE FROM theirs; END
DROP TABLE theirs
BEGIN SET @a = their_writer(); END
CREATE TABLE fresh SELECT 1
SET GLOBAL long_query_time = 9
BEGIN EXECUTE IMMEDIATE 'DELETE FROM theirs'; END
IF 1 THEN DELETE FROM theirs; END IF
""")
SETS = lines(r"""
@a = {e}
autocommit = 0
SESSION sql_mode = 'ANSI_QUOTES'
GLOBAL long_query_time = 7
@@global.long_query_time = 7
PERSIST long_query_time = 7
@@persist.long_query_time = 7
NAMES utf8mb4
NAMES gbk
sql_log_bin = 0
foreign_key_checks = 0
time_zone = '+00:00'
TRANSACTION ISOLATION LEVEL SERIALIZABLE
GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED
SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
ROLE ALL
PASSWORD = 'x'
PASSWORD FOR eve@'%' = 'x'
DEFAULT ROLE ALL TO eve@'%'
STATEMENT long_query_time = 1 FOR DELETE FROM theirs
STATEMENT long_query_time = 1 FOR SELECT their_writer()
@a = 1, GLOBAL long_query_time = 7
SESSION sort_buffer_size = 100000
@@session.transaction_isolation = 'SERIALIZABLE'
sql_mode = 'ORACLE'
""")
OTHERS = lines(r"""
CREATE OR REPLACE VIEW {w} AS SELECT 2 AS one
CREATE OR REPLACE TABLE {w} (id INT)
DROP TABLE {w}
DROP TABLE IF EXISTS {w}, {o}
DROP VIEW {w}
DROP VIEW IF EXISTS their_view
DROP FUNCTION their_writer
DROP DATABASE other
DROP TRIGGER their_trigger
DROP SEQUENCE their_numbers
TRUNCATE TABLE {w}
TRUNCATE {w}
ALTER TABLE {w} ADD COLUMN more INT
ALTER TABLE {o} RENAME TO fresh
ALTER TABLE {o} COMMENT = 'mine now'
ALTER TABLE {o} ADD FOREIGN KEY (id) REFERENCES {t} (id)
ALTER VIEW their_view AS SELECT 3 AS one
ALTER TABLE {o} ADD INDEX (note)
ALTER TABLE {o} ENGINE = MERGE UNION = (theirs)
RENAME TABLE {w} TO fresh
RENAME TABLE theirs TO old, mine TO theirs
CREATE INDEX extra ON {w} (id)
DROP INDEX extra ON {w}
CREATE DATABASE fresh
CREATE USER fred@'%'
CREATE ROLE fred
DROP USER eve@'%'
GRANT ALL ON *.* TO eve@'%'
REVOKE ALL ON lent.* FROM eve@'%'
ALTER USER eve@'%' ACCOUNT LOCK
CREATE SEQUENCE fresh
CREATE EVENT fresh ON SCHEDULE EVERY 1 SECOND DO DELETE FROM theirs
CREATE TEMPORARY TABLE theirs (id INT)
CALL their_procedure()
CALL mine_procedure()
CALL lent.their_procedure()
DO their_writer()
DO 1
DO GET_LOCK('x', 0)
PREPARE p FROM 'DELETE FROM theirs'
EXECUTE IMMEDIATE 'DELETE FROM theirs'
EXECUTE IMMEDIATE 'DROP VIEW their_view'
HANDLER theirs OPEN
LOAD DATA INFILE '/etc/passwd' INTO TABLE {w}
LOCK TABLES {w} WRITE
FLUSH TABLES WITH READ LOCK
EXPLAIN ANALYZE SELECT {e} FROM {t}
ANALYZE DELETE FROM theirs
ANALYZE UPDATE theirs SET note = 'x'
EXPLAIN {q}
DESCRIBE {t}
SHOW TABLES
TABLE their_view
TABLE {t}
VALUES ROW(their_writer())
ANALYZE TABLE {w}
CHECK TABLE {w}
OPTIMIZE TABLE {w}
REPAIR TABLE {w}
USE other
BEGIN
COMMIT
ROLLBACK
SAVEPOINT a
XA START 'x'
KILL 1000000
START TRANSACTION READ ONLY
START TRANSACTION
BEGIN NOT ATOMIC DELETE FROM theirs; END
WITH a AS (SELECT 1) DELETE FROM {w}
WITH theirs AS (SELECT 1 AS id) SELECT * FROM theirs
WITH their_view AS (SELECT 1 AS one) SELECT * FROM (SELECT 1) d, their_view
SELECT * FROM (WITH their_view AS (SELECT 1) SELECT 2) d, their_view
DELETE a FROM {t} AS a JOIN {o}
DELETE theirs FROM {o} AS theirs
DELETE {o}, theirs FROM {o} JOIN theirs
DELETE FROM a USING theirs AS a JOIN mine
UPDATE {o} JOIN {t} SET theirs.note = 'x'
UPDATE {o} AS theirs SET theirs.note = 'x'
UPDATE mine_view SET id = id
INSERT INTO mine_view VALUES (1)
INSERT INTO {o} SELECT * FROM {t}
INSERT INTO {o} (id) VALUES ({id}) ON DUPLICATE KEY UPDATE note = {e}
INSERT INTO {w} VALUES (8, 'x')
REPLACE INTO {w} VALUES (8, 'x')
INSERT INTO {w} SET id = 9
UPDATE {w} SET note = {e}
DELETE FROM {w} WHERE id = {id}
DELETE FROM {w}
INSERT IGNORE INTO {w} (SELECT * FROM {t})
CREATE DEFINER=root@localhost VIEW fresh AS SELECT 1
CREATE VIEW {n} AS SELECT {e} FROM {t}
BINLOG 'x'
CREATE TABLE {n} LIKE {t}
CREATE TABLE {n} SELECT * FROM {t}
CREATE TABLE IF NOT EXISTS {n} SELECT 9 AS id
CREATE FUNCTION their_writer() RETURNS INT RETURN 1
CREATE TRIGGER fresh BEFORE INSERT ON {w} FOR EACH ROW {b}
CREATE PROCEDURE fresh() {b}
CREATE PROCEDURE their_procedure() {b}
CREATE FUNCTION fresh() RETURNS INT DETERMINISTIC RETURN {e}
INSTALL PLUGIN p SONAME 'p.so'
CHANGE MASTER TO MASTER_HOST = 'x'
PURGE BINARY LOGS BEFORE NOW()
RESET QUERY CACHE
SET @a = 1; DELETE FROM theirs
DELETE FROM mine RETURNING their_writer()
SELECT /*! their_writer(), */ 1
SELECT 1 /*!, their_writer() */ FROM mine
SELECT /*M! their_writer(), */ 1
SELECT /*+ SET_VAR(foreign_key_checks=0) */ 1
SELECT 1 -- \n, their_writer()
SELECT 'a\', their_writer(), '
SELECT "a", their_writer()
SELECT 1 --1, their_writer()
SELECT '{{', '}}'
INSERT INTO {w} TABLE {t}
UPDATE {o} SET note = (SELECT MAX(note) FROM {t})
SELECT * FROM {o} STRAIGHT_JOIN {t}
""")

HARMLESS = lines(r"""
SELECT c FROM {table} WHERE id={id}
SELECT c FROM {table} WHERE id BETWEEN {id} AND {id} + 99 ORDER BY c
SELECT DISTINCT c FROM {table} WHERE id IN ({id}, {id})
SELECT SUM(k) FROM {table} WHERE id < {id}
UPDATE {table} SET k=k+1 WHERE id={id}
UPDATE {table} SET c = CONCAT(LEFT(c, 10), 'x') WHERE id={id}
INSERT INTO mine (id, note) VALUES ({id}, 'note') ON DUPLICATE KEY UPDATE note = VALUES(note)
REPLACE INTO mine VALUES ({id}, NOW())
DELETE FROM mine WHERE id={id}
SELECT COUNT(*) FROM theirs
SELECT m.*, t.note AS other_note FROM mine AS m LEFT JOIN theirs t ON t.id = m.id WHERE m.note LIKE 'a%'
SELECT * FROM mine WHERE id={id} FOR UPDATE
SELECT note, COUNT(*) n FROM mine GROUP BY note HAVING n > 1
SELECT ROW_NUMBER() OVER (ORDER BY id) FROM mine
WITH a AS (SELECT id FROM mine) SELECT * FROM a
SELECT CASE WHEN id > 3 THEN 'a' ELSE 'b' END FROM mine UNION ALL SELECT note FROM theirs
INSERT INTO mine SELECT id + 5000, c FROM {table} WHERE id <= 3 ON DUPLICATE KEY UPDATE note = 'x'
SELECT JSON_OBJECT('a', id) FROM mine
SET @a = 1
SET autocommit = 1
SET SESSION sort_buffer_size = 200000
BEGIN
COMMIT
START TRANSACTION READ ONLY
SELECT mine_function()
CALL mine_procedure()
DO 1
SELECT * FROM mine_view
SELECT LAST_INSERT_ID(), @a, @@session.sql_mode
SELECT 'it''s', `id` FROM mine -- done
""")
"""What a workload may well say, in any place."""

_PIECES = re.compile(r"\s+|'[^']*'|`[^`]*`|\w+|.", re.DOTALL)
_SPLICES = (
    "/**/",
    "/*!",
    "*/",
    "/*!50000 ",
    "-- ",
    "--",
    "#",
    ";",
    "\x0b",
    "\x0c",
    "\xa0",
    "\0",
    "'",
    "`",
    '"',
    "\\",
    "(",
    ")",
    ",",
    ".",
    "@",
    "@@",
    "theirs",
    "their_view",
    "their_writer()",
    "SELECT",
    "INTO",
    "FROM",
    "OR REPLACE",
    "other.",
    "\u2028",
    "FOR UPDATE",
    "{id}",
    "\n",
    "IF EXISTS",
    "GLOBAL",
    "AS theirs",
    ", theirs",
    "JOIN theirs",
    "/*+ x */",
    "UNION",
    "TABLE",
)


def statement(chance: random.Random) -> str:
    """A statement of the grammar; `{id}` and `{table}` are the workload's placeholders."""
    return _filled(chance, _shape(chance))


def mutation(chance: random.Random) -> str:
    """A statement that was changed in a few places."""
    begin = chance.choice(HARMLESS) if chance.random() < 0.5 else statement(chance)
    pieces = _PIECES.findall(begin)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(pieces) + 1)
        match chance.randrange(6):
            case 0:
                pieces.insert(place, f" {chance.choice(_SPLICES)} ")
            case 1:
                pieces.insert(place, chance.choice(_SPLICES))
            case 2 if place < len(pieces):
                del pieces[place]
            case 3 if place < len(pieces):
                pieces[place] = chance.choice((*OURS, *THEIRS, *CALLS, *_SPLICES))
            case 4 if place < len(pieces):
                pieces[place] = pieces[place].swapcase()
            case _:
                other = _PIECES.findall(statement(chance))
                pieces[place:place] = other[chance.randrange(len(other)) :]
    return "".join(pieces) or "SELECT 1"


def _shape(chance: random.Random) -> str:
    match chance.randrange(8):
        case 0 | 1:
            return _query(chance)
        case 2:
            return f"CREATE TABLE {chance.choice(('', '', 'IF NOT EXISTS '))}{{n}} ({{c}}) {{p}}"
        case 3:
            return f"SET {chance.choice(SETS)}"
        case _:
            return chance.choice(OTHERS)


def _query(chance: random.Random) -> str:
    joined = chance.choice(
        ("{t}", "{o}", "{o}, {t}", "{o} JOIN {t}", "{t} AS a NATURAL JOIN {o}", "({o}, {t})")
    )
    return f"SELECT {{e}}, {{e}} FROM {joined} {chance.choice(TAILS)}"  # noqa: S608 - drawn


def _filled(chance: random.Random, shape: str) -> str:
    harmful = chance.random() < 0.3
    drawn: dict[str, tuple[str, ...]] = {
        "{o}": OURS,
        "{t}": (*OURS, *OURS, *THEIRS),
        "{w}": (*OURS, *OURS, *OURS, *THEIRS),
        "{n}": (*NEW, "fresh", "fresh", "lent.fresh"),
        "{c}": COLUMNS,
        "{p}": OPTIONS,
        "{b}": BODIES,
        "{e}": CALLS if harmful else HARMLESS_CALLS,
    }
    text = shape.replace("{q}", _query(chance))
    while match := re.search(r"\{[otwncpbe]\}", text):
        text = text[: match.start()] + chance.choice(drawn[match[0]]) + text[match.end() :]
    return text
