"""What a user's statement does at an external PostgreSQL, by its text alone: read to its end, or refused."""

# ruff: noqa: S608 - statements as their users write them

from __future__ import annotations

from contextlib import suppress

import pytest

from tlstax.external import postgres_guard
from tlstax.external.reading import NUMBER_VALUE, TEXT_VALUE, Creation, Place, Reading, Refused
from tlstax.sql.ownership import Thing


def read(statement: str, place: Place = "prepare") -> Reading:
    return postgres_guard.read(statement, place, "s")


@pytest.mark.parametrize(
    ("statement", "writes", "reads"),
    [
        ("SELECT c FROM s.t WHERE id = 7", "", "t"),
        ("select a.b, count(*) from s.t a left join s.u using (id) where a.id in (select x from s.w)",
         "", "t u w"),
        ('SELECT "C" FROM "s"."T" ORDER BY 1 DESC NULLS LAST LIMIT 3 OFFSET 2', "", "T"),
        ("SELECT C FROM S.T", "", "t"),
        ("WITH x AS (SELECT 1 AS a) SELECT * FROM x JOIN s.t ON t.k = x.a", "", "t"),
        ("WITH x (a) AS (SELECT 1) SELECT a FROM x", "", ""),
        ("SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END, a::text, CAST(b AS numeric(9,2)) FROM s.t", "", "t"),
        ("SELECT date_trunc('day', now()), extract(year FROM at), b || 'x', j ->> 'a' FROM s.t", "", "t"),
        ("SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM s.t", "", "t"),
        ("SELECT a FROM s.t UNION ALL SELECT 2", "", "t"),
        ("SELECT EXISTS (SELECT 1 FROM s.t), COALESCE(a, 1) FROM s.u", "", "t u"),
        ("SELECT 1 -- why\n /* not */", "", ""),
        ("INSERT INTO s.t (a, b) VALUES (1, 'it''s'), (2, DEFAULT) RETURNING a", "t", ""),
        ("INSERT INTO s.t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = excluded.a + 1", "t", ""),
        ("INSERT INTO s.t SELECT g, md5(g::text) FROM generate_series(1, 1000) AS g", "t", ""),
        ("INSERT INTO s.t SELECT * FROM s.u", "t", "u"),
        ("UPDATE s.t SET a = a + 1 FROM s.u WHERE t.id = u.id", "t", "u"),
        ("DELETE FROM s.t USING s.u WHERE t.id = u.id", "t", "u"),
        ("TRUNCATE s.t, s.u", "t u", ""),
        ("TRUNCATE TABLE s.t;", "t", ""),
        ("ANALYZE s.t", "t", ""),
        ("CREATE UNIQUE INDEX i ON s.t (a, b DESC)", "t", ""),
        ("CREATE INDEX ON s.t (lower(a))", "t", ""),
    ],
)  # fmt: skip
def test_what_it_writes_and_reads_is_read(statement: str, writes: str, reads: str) -> None:
    reading = read(statement)
    assert (reading.writes, reading.reads) == (frozenset(writes.split()), frozenset(reads.split()))
    assert reading.creation is None


def test_what_it_creates_is_read_and_gets_its_comment_in_the_same_message() -> None:
    statement = (
        "CREATE TABLE s.t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k int NOT NULL DEFAULT 0,"
        " c varchar(9) UNIQUE, n numeric(10,2) CHECK (n > 0), at timestamptz DEFAULT now(),"
        " u int REFERENCES s.u (id) ON DELETE CASCADE, x serial, j jsonb,"
        " CONSTRAINT f FOREIGN KEY (k) REFERENCES s.w (id)) ; -- the end"
    )
    reading = read(statement)
    assert reading.creation is not None
    assert (reading.creation.kind, reading.creation.name) == ("TABLE", "t")
    assert reading.writes == {"u", "w"}, "what it refers to must be this run's"
    marked = postgres_guard.with_comment(statement, reading.creation, '"s"."t"', "tlstax 1f")
    assert marked == statement[: statement.index(" ;")] + """; COMMENT ON TABLE "s"."t" IS 'tlstax 1f'"""
    copied = read("CREATE TABLE s.t AS SELECT * FROM s.u")
    assert (copied.creation, copied.reads) == (Creation("TABLE", "t", False, 37), {"u"})


def test_what_it_calls_is_told_for_the_server_to_be_asked() -> None:
    assert read("SELECT lower(c) || 'x' FROM s.t WHERE id = 7").functions == {"LOWER", "||", "="}
    assert "F" in read("SELECT t.f FROM s.t").functions, "it may be a function of the row"


@pytest.mark.parametrize(
    ("written", "functions"),
    [
        ("SELECT a FROM s.t WHERE a IN (1, b)", "= <>"),
        ("SELECT a FROM s.t WHERE a NOT BETWEEN 1 AND b", ">= <= < >"),
        ("SELECT a LIKE b, a NOT ILIKE b FROM s.t", "~~ !~~ ~~* !~~*"),
        ("SELECT CASE a WHEN b THEN 1 END FROM s.t", "="),
        ("SELECT a IS DISTINCT FROM b FROM s.t", "="),
        ("SELECT NULLIF(a, b) FROM s.t", "NULLIF ="),
        ("SELECT 1 FROM s.t NATURAL JOIN s.u", "="),
        ("SELECT 1 FROM s.t JOIN s.u USING (a)", "="),
        ("SELECT year(a), first(b) FROM s.t", "YEAR FIRST"),
        ("WITH a AS (SELECT 1 AS b) SELECT 2, hex(b) AS c FROM a", "HEX"),
        ("SELECT json_build_object(a, b), octet_length(c) FROM s.t", "JSON_BUILD_OBJECT OCTET_LENGTH"),
    ],
)
def test_what_words_call_is_told_too(written: str, functions: str) -> None:
    assert read(written).functions == set(functions.split())


@pytest.mark.parametrize("function", sorted(postgres_guard.FUNCTIONS))
def test_each_function_of_the_list_can_be_called(function: str) -> None:
    let_through = 0
    for given in ("", "a", "a, 1", "'day', a", "a, 'b', 'c'", "'a' IN b", "year FROM a", "a, b, c, d"):
        with suppress(Refused):
            let_through += function in read(f"SELECT {function}({given}) FROM s.t").functions
    assert let_through


def test_rows_that_it_locks_are_told() -> None:
    assert read("SELECT * FROM s.t FOR UPDATE SKIP LOCKED").reads_ours
    assert not read("SELECT * FROM s.t").reads_ours


def test_what_it_drops_is_read() -> None:
    dropped = read("DROP TABLE IF EXISTS s.t, s.u")
    assert dropped.drops == {Thing("TABLE", "t"), Thing("TABLE", "u")}
    assert dropped.drops_if_there
    assert not read("DROP TABLE s.t").drops_if_there


@pytest.mark.parametrize(
    "statement",
    [
        *("BEGIN", "begin work", "START TRANSACTION READ ONLY", "COMMIT;", "END", "ROLLBACK", "SAVEPOINT a"),
        *("RELEASE a", "ROLLBACK TO SAVEPOINT a", "BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE"),
        *("SET work_mem = '64MB'", "SET LOCAL enable_seqscan TO off", "set jit=off"),
        *("SET statement_timeout = 500", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    ],
)
def test_what_concerns_the_session_alone_passes_everywhere(statement: str) -> None:
    for place in ("prepare", "restore", "on_connect", "transactions"):
        assert read(statement, place) == Reading()


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("CREATE TABLE s.t (a int)", "transactions"),
        ("TRUNCATE s.t", "on_connect"),
        ("DROP TABLE s.t", "transactions"),
    ],
)
def test_tables_are_made_in_prepare_and_restore_alone(statement: str, place: Place) -> None:
    with pytest.raises(Refused, match="prepare and restore alone"):
        read(statement, place)


@pytest.mark.parametrize(
    "written",
    [
        f"SELECT c FROM s.t WHERE id={NUMBER_VALUE}",
        f"SELECT c FROM s.t WHERE id = {NUMBER_VALUE}::int AND c = {TEXT_VALUE}",
        f"INSERT INTO s.t VALUES ({NUMBER_VALUE},{TEXT_VALUE})",
    ],
)
def test_a_parameter_is_a_value_by_itself(written: str) -> None:
    assert read(written, "transactions").functions <= {"="}


REFUSED = r"""
 | no statement
VACUUM s.t | VACUUM is not among
COPY s.t FROM '/etc/passwd' | COPY is not among
DO 'BEGIN END' | DO is not among
CALL p() | CALL is not among
EXPLAIN ANALYZE SELECT 1 | EXPLAIN is not among
TABLE s.t | TABLE is not among
VALUES (1) | VALUES is not among
GRANT ALL ON s.t TO eve | GRANT is not among
LOCK TABLE s.t | LOCK is not among
ALTER TABLE s.t ADD a int | ALTER is not among
PREPARE a AS SELECT 1 | PREPARE is not among
NOTIFY a | NOTIFY is not among
SELECT 1; SELECT 2 | a semicolon
SELECT 1; COMMENT ON TABLE s.t IS 'x' | a semicolon
SELECT c FROM t | write s.t for t
SELECT c FROM other.t | it goes to the schema other
SELECT c FROM ..t | cannot be read
SELECT c FROM db.s.t | CATALOG|catalog
SELECT c FROM pg_catalog.pg_class | it goes to the schema pg_catalog
INSERT INTO t VALUES (1) | write s.t for t
SELECT nextval('a') | nextval is not one of the functions
SELECT setval('a', 7) | setval is not one of the functions
SELECT pg_sleep(9) | pg_sleep is not one
SELECT set_config('role', 'x', false) | set_config is not one
SELECT pg_advisory_lock(1) | pg_advisory_lock is not one
SELECT dblink('x', 'y') | dblink is not one
SELECT s.abs(1) | abs is not one of the functions
SELECT "abs"(1) FROM s.t | is not one of the functions
SELECT lower (c), theirs(c) FROM s.t | theirs is not one
SELECT (t).f FROM s.t | Dot|Paren
SELECT 'x'::regclass | ObjectIdentifier
SELECT CAST(1 AS theirs) | theirs
SELECT 1 OPERATOR(pg_catalog.+) 2 | does not know the word OPERATOR|is not one|read it
SELECT a @@ b FROM s.t | @@ is not among the operators
SELECT a=-1 FROM s.t | =- is not among the operators
SELECT $$x$$ | dollar
SELECT $1 | dollar
SELECT E'\n' | touches|backslash
SELECT U&'d' | & is not among
SELECT B'1' | touches
SELECT 'a\b' | backslash
SELECT ARRAY[1] | bracket
SELECT /* /* */ 1 | comment within
SELECT * INTO s.x FROM s.t | into
SELECT * FROM s.t TABLESAMPLE system (1) | TABLESAMPLE|TableSample|is not one
SELECT * FROM theirs(1) | theirs is not one
SELECT * FROM ROWS FROM (abs(1)) | read it|ROWS|word
WITH x AS (DELETE FROM s.t RETURNING *) SELECT * FROM x | DELETE stands within
WITH x AS (INSERT INTO s.t VALUES (1) RETURNING *) SELECT * FROM x | INSERT stands within
CREATE TEMP TABLE t (a int) | temporary
CREATE TEMPORARY TABLE t (a int) | temporary
CREATE UNLOGGED TABLE s.t (a int) | take back CREATE UNLOGGED
CREATE OR REPLACE VIEW s.v AS SELECT 1 | OR REPLACE
CREATE VIEW s.v AS SELECT 1 | take back CREATE VIEW
CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1' | take back CREATE FUNCTION
CREATE SCHEMA x | take back CREATE SCHEMA
CREATE TABLE IF NOT EXISTS s.t (a int) | without it
CREATE TABLE s.tlstax_made (a int) | tlstax's own
CREATE TABLE s.t (LIKE s.u INCLUDING ALL) | Like
CREATE TABLE s.t (a int) INHERITS (s.u) | inherits|properties
CREATE TABLE s.t (a int) PARTITION BY RANGE (a) | properties|is not one|PartitionedBy
CREATE TABLE s.t (a theirs) | theirs
CREATE TABLE s.t (a int DEFAULT theirs()) | theirs is not one
CREATE TABLE s.t (a int) TABLESPACE x | properties
CREATE TABLE s.t (a int) WITH (fillfactor = 9) | is not one|properties|fillfactor
CREATE INDEX CONCURRENTLY i ON s.t (a) | CONCURRENTLY|concurrently
CREATE INDEX i ON s.t USING gin (a) | gin
CREATE INDEX i ON other.t (a) | the schema other
DROP TABLE s.t CASCADE | cascade
DROP SCHEMA s | DROP SCHEMA
DROP TABLE s.tlstax_sbtest1 | tlstax's own
TRUNCATE s.t CASCADE | option|cascade
TRUNCATE s.t RESTART IDENTITY | RESTART|identity
SET search_path = public | SEARCH_PATH is not among
SET role = postgres | ROLE is not among
SET SESSION AUTHORIZATION eve | SET is let through
SET work_mem = '1' , jit = off | SET is let through
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE | SET is let through|SERIALIZABLE
BEGIN ISOLATION LEVEL SERIALIZABLE | BEGIN is not among
COMMIT AND CHAIN | COMMIT is not among
COMMIT PREPARED 'x' | COMMIT is not among
SELECT größe FROM s.t | outside of quotes
SELECT "größe" FROM s.t | ASCII
""".strip("\n").splitlines()  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_not_understood_is_refused_with_a_reason(line: str) -> None:
    statement, _, words = line.rpartition(" | ")
    with pytest.raises(Refused) as refused:
        read(statement)
    why = str(refused.value).lower()
    assert any(word.lower() in why for word in words.split("|")), why


@pytest.mark.parametrize(
    "written",
    [
        f"SELECT c FROM s.t WHERE id <{TEXT_VALUE}x",
        f"SELECT x{TEXT_VALUE}",
        f"SELECT {NUMBER_VALUE}x",
        f"SELECT a %{NUMBER_VALUE} FROM s.t",
        f"SELECT '{TEXT_VALUE}'",
        f'SELECT "{TEXT_VALUE}"',
        f"SELECT {NUMBER_VALUE}{NUMBER_VALUE}",
    ],
)
def test_a_parameter_that_something_touches_is_refused(written: str) -> None:
    with pytest.raises(Refused, match=r"touches|between quotes"):
        read(written, "transactions")
