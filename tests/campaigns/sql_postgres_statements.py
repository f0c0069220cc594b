"""PostgreSQL's statements for the campaign `sql_postgres.py`: drawn by a grammar, and mutated."""

from __future__ import annotations

import random
import re

from sql_statements import lines

OURS = ("lent.mine", "lent.mine2", 'lent."mine"', "{table}", "mine")
THEIRS = (
    "lent.theirs", "theirs", "lent.their_view", "lent.their_updatable", "lent.their_guarded", "other.t",
    "lent.their_parted", "lent.their_parent", "lent.their_numbers", "pg_catalog.pg_class", "LENT.THEIRS",
)  # fmt: skip
NEW = ("lent.fresh", "lent.fresh", 'lent."Fresh"', "fresh", "other.fresh", "lent.theirs", "lent.their_view")

HARMLESS_CALLS = lines(r"""
now()
count(*)
abs(id)
note || 'x'
coalesce(note, '')
id::text
CAST(id AS varchar(9))
md5(note)
CASE id WHEN 1 THEN 'a' ELSE 'b' END
id BETWEEN 1 AND 2
note IN ('a', 'b')
""")
CALLS = lines(r"""
their_writer()
lent.their_writer()
other.their_writer()
lent.their_writer ()
"lower"(id)
lower(id)
upper(note, 1)
year(note)
hex(id)
id IN (note)
id NOT IN (note, 'a')
id LIKE note
id ILIKE note
id BETWEEN note AND note
id <> note
nullif(id, note)
id IS DISTINCT FROM note
CASE id WHEN note THEN 1 END
kind::text
CAST(kind AS text)
lower(kind)
kind || 'x'
to_json(kind)
concat(kind)
theirs.their_column
t.their_column
(t).their_column
id @@@ 1
id OPERATOR(other.@@@) 1
nextval('lent.their_numbers')
setval('lent.their_numbers', 1000)
pg_advisory_lock(1)
pg_terminate_backend(0)
set_config('search_path', 'other', false)
lo_create(0)
query_to_xml('DELETE FROM lent.theirs', true, true, '')
pg_notify('a', 'b')
dblink('a')
ARRAY[their_writer()]
(SELECT their_writer())
(SELECT one FROM lent.their_view)
(TABLE lent.their_view)
EXISTS (SELECT * FROM lent.their_view)
note::lent.their_domain
id::lent.their_kind
$1
$$a$$
E'\'' || their_writer() || '\''
U&'a'
""")
TAILS = lines(r"""
-
-
-
-
FOR UPDATE
FOR SHARE
FOR NO KEY UPDATE
FOR KEY SHARE
FOR UPDATE SKIP LOCKED
LIMIT 1
ORDER BY 1
ORDER BY id USING <
WHERE id = {id}
UNION SELECT 1, 1
UNION SELECT their_writer(), 1
TABLESAMPLE bernoulli (1)
INTO lent.fresh
GROUP BY id, note
""")
OPTIONS = lines(r"""
-
-
-
INHERITS (lent.their_parent)
PARTITION BY RANGE (id)
TABLESPACE pg_default
WITH (autovacuum_enabled = false)
USING heap
ON COMMIT DROP
AS SELECT 1 AS one
AS SELECT * FROM lent.theirs
AS SELECT * FROM lent.their_view
AS SELECT their_writer()
""")
COLUMNS = lines(r"""
id int
id int PRIMARY KEY, note varchar(9)
id int REFERENCES lent.theirs (id)
id int REFERENCES lent.mine (id)
id int DEFAULT nextval('lent.their_numbers')
id serial
id bigint GENERATED ALWAYS AS IDENTITY
id int DEFAULT their_writer()
id int, FOREIGN KEY (id) REFERENCES lent.theirs (id) ON DELETE CASCADE
id int CHECK (their_writer() > 0)
id int, b int GENERATED ALWAYS AS (their_writer()) STORED
id int, b int GENERATED ALWAYS AS (id + 1) STORED
LIKE lent.theirs INCLUDING ALL
id lent.their_domain
id lent.their_kind
id int, EXCLUDE USING gist (id WITH =)
id int, note text COLLATE "C", d timestamptz DEFAULT now()
""")
SETS = lines(r"""
work_mem = '8MB'
search_path = other
search_path TO other, pg_catalog
SESSION AUTHORIZATION eve
ROLE eve
LOCAL ROLE eve
session_replication_role = replica
default_transaction_read_only = on
synchronous_commit = off
TIME ZONE 'UTC'
timezone = 'UTC'
NAMES 'SQL_ASCII'
standard_conforming_strings = off
backslash_quote = on
TRANSACTION ISOLATION LEVEL SERIALIZABLE
TRANSACTION ISOLATION LEVEL REPEATABLE READ
SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE
CONSTRAINTS ALL DEFERRED
application_name = 'x'
row_security = off
""")
OTHERS = lines(r"""
CREATE OR REPLACE VIEW {w} AS SELECT 2 AS one
DROP TABLE {w}
DROP TABLE IF EXISTS {w}, {o}
DROP TABLE {w} CASCADE
DROP VIEW lent.their_view
DROP FUNCTION lent.their_writer
DROP SCHEMA other CASCADE
DROP TRIGGER their_trigger ON lent.their_triggered
DROP SEQUENCE lent.their_numbers
DROP INDEX lent.their_index
DROP OWNED BY ann
REASSIGN OWNED BY ann TO eve
TRUNCATE TABLE {w}
TRUNCATE {w} CASCADE
TRUNCATE {o}, {w} RESTART IDENTITY
ALTER TABLE {w} ADD COLUMN more int
ALTER TABLE {o} RENAME TO fresh
ALTER TABLE {o} SET SCHEMA other
ALTER TABLE {o} INHERIT lent.their_parent
ALTER ROLE eve NOLOGIN
ALTER SYSTEM SET work_mem = '9MB'
ALTER DATABASE lent SET work_mem = '9MB'
CREATE UNIQUE INDEX ON {w} (id)
CREATE INDEX their_index ON {o} (id)
CREATE INDEX ON {o} ((their_writer()))
CREATE SCHEMA fresh
CREATE ROLE fred
CREATE EXTENSION pg_trgm
CREATE SEQUENCE lent.fresh
CREATE TYPE lent.fresh AS (a int)
CREATE VIEW {n} AS SELECT {e} FROM {t}
CREATE MATERIALIZED VIEW {n} AS SELECT {e} FROM {t}
CREATE TEMPORARY TABLE theirs (id int)
CREATE UNLOGGED TABLE {n} (id int)
CREATE TABLE IF NOT EXISTS {n} (id int)
CREATE TABLE {n} PARTITION OF lent.their_parted FOR VALUES FROM (1) TO (2)
CREATE TABLE {n} AS TABLE {t}
CREATE TABLE {n} AS EXECUTE p
CREATE FUNCTION lent.fresh() RETURNS int LANGUAGE sql AS $$ DELETE FROM lent.theirs RETURNING 1 $$
CREATE FUNCTION lent.fresh() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE TRIGGER fresh BEFORE INSERT ON {w} FOR EACH ROW EXECUTE FUNCTION lent.their_trigger()
CREATE RULE fresh AS ON INSERT TO {w} DO ALSO DELETE FROM lent.theirs
CREATE POLICY fresh ON {w} USING (true)
GRANT ALL ON {w} TO eve
REVOKE ALL ON lent.theirs FROM eve
COMMENT ON TABLE {w} IS 'x'
CALL lent.their_procedure()
DO $$ BEGIN DELETE FROM lent.theirs; END $$
DO 'BEGIN DELETE FROM lent.theirs; END'
PREPARE p AS DELETE FROM lent.theirs
EXECUTE p
DECLARE c CURSOR FOR SELECT their_writer()
COPY {w} FROM STDIN
COPY lent.theirs TO '/tmp/campaign.out'
COPY (SELECT their_writer()) TO STDOUT
LOCK TABLE {w}
LISTEN a
NOTIFY a
EXPLAIN ANALYZE DELETE FROM lent.theirs
EXPLAIN {q}
TABLE {t}
VALUES (their_writer())
ANALYZE {w}
ANALYZE
VACUUM {w}
CLUSTER {w}
REINDEX TABLE {w}
REFRESH MATERIALIZED VIEW lent.fresh
CHECKPOINT
DISCARD ALL
RESET ALL
LOAD 'auto_explain'
SECURITY LABEL ON TABLE {w} IS 'x'
IMPORT FOREIGN SCHEMA a FROM SERVER b INTO lent
BEGIN
COMMIT
ROLLBACK
SAVEPOINT a
BEGIN ISOLATION LEVEL SERIALIZABLE
PREPARE TRANSACTION 'x'
COMMIT AND CHAIN
WITH a AS (DELETE FROM lent.theirs RETURNING id) SELECT * FROM a
WITH a AS (INSERT INTO {o} (id) VALUES (99) RETURNING id) SELECT * FROM a
WITH a AS (SELECT 1 AS id) DELETE FROM {w}
WITH a AS (SELECT 1 AS id) SELECT 2, hex(id) AS x FROM a
WITH theirs AS (SELECT 1 AS id) SELECT * FROM theirs
WITH a AS (SELECT * FROM lent.theirs FOR UPDATE) SELECT * FROM a
WITH a AS MATERIALIZED (SELECT {e} FROM {t}) SELECT * FROM a
MERGE INTO {w} m USING lent.mine2 s ON m.id = s.id WHEN MATCHED THEN DELETE
DELETE FROM {w} USING {t} WHERE true
UPDATE {w} SET note = 'x' FROM {t}
UPDATE ONLY {w} SET note = {e}
UPDATE {o} AS theirs SET note = 'x'
UPDATE {o} SET (id, note) = (SELECT 1, 'x')
INSERT INTO {o} SELECT * FROM {t}
INSERT INTO {o} (id) VALUES ({id}) ON CONFLICT (id) DO UPDATE SET note = {e}
INSERT INTO {o} (id) VALUES ({id}) ON CONFLICT DO NOTHING
INSERT INTO {w} VALUES (8, 'x')
INSERT INTO {w} VALUES (8, 'x') RETURNING {e}
INSERT INTO {w} DEFAULT VALUES
DELETE FROM {w} WHERE id = {id} RETURNING {e}
DELETE FROM {w}
SELECT * FROM {o} NATURAL JOIN {t}
SELECT * FROM {o} m JOIN lent.their_texts t USING (id)
SELECT * FROM {o} m NATURAL JOIN lent.their_texts t
SELECT * FROM {o}, LATERAL (SELECT {e} FROM {t}) l
SELECT * FROM ONLY ({t})
SELECT * FROM generate_series(1, 3) g, {t}
SELECT * FROM ROWS FROM (lent.their_writer())
SELECT * FROM lent.their_writer()
SELECT count(*) FILTER (WHERE {e} IS NULL) FROM {t}
SELECT DISTINCT ON (id) {e} FROM {t}
SELECT 1; DELETE FROM lent.theirs
SELECT 1 /* /* */ , their_writer() */
SELECT 1 -- \n, their_writer()
SELECT 'a\', their_writer(), '
SELECT "a", their_writer()
SELECT '{{', '}}'
""")

HARMLESS = lines(r"""
SELECT c FROM {table} WHERE id={id}
SELECT c FROM {table} WHERE id BETWEEN {id} AND {id} + 99 ORDER BY c
SELECT DISTINCT c FROM {table} WHERE id IN ({id}, {id})
SELECT SUM(k) FROM {table} WHERE id < {id}
UPDATE {table} SET k=k+1 WHERE id={id}
INSERT INTO lent.mine (id, note) VALUES ({id}, 'note') ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note
INSERT INTO lent.mine (id) VALUES ({id}) ON CONFLICT DO NOTHING RETURNING id, note
DELETE FROM lent.mine WHERE id={id}
SELECT COUNT(*) FROM lent.theirs
SELECT m.*, t.note AS other_note FROM lent.mine AS m LEFT JOIN lent.theirs t ON t.id = m.id
SELECT * FROM lent.mine WHERE note LIKE 'a%'
SELECT * FROM lent.mine WHERE id={id} FOR UPDATE
SELECT note, COUNT(*) AS n FROM lent.mine GROUP BY note HAVING COUNT(*) > 1
SELECT row_number() OVER (ORDER BY id) FROM lent.mine
WITH a AS (SELECT id FROM lent.mine) SELECT * FROM a
SELECT CASE WHEN id > 3 THEN 'a' ELSE 'b' END FROM lent.mine UNION ALL SELECT note FROM lent.theirs
SELECT json_build_object('a', id) FROM lent.mine
SELECT id::text, now(), date_trunc('day', now()) FROM lent.mine
SET work_mem = '8MB'
BEGIN
COMMIT
START TRANSACTION READ ONLY
SELECT 'it''s', "id" FROM lent.mine -- done
""")
"""What a workload may well say, in any place."""

_PIECES = re.compile(r"\s+|'[^']*'|\"[^\"]*\"|\w+|.", re.DOTALL)
_SPLICES = (
    "/**/", "/*", "*/", "--", ";", "\x0b", "\xa0", "\0", "'", '"', "\\", "(", ")", ",", ".", "::", "[", "]",
    "$", "$$", "E", "U&", "lent.theirs", "lent.their_view", "their_writer()", "SELECT", "INTO", "FROM", "*",
    "other.", "\u2028", "FOR UPDATE", "{id}", "\n", "IF EXISTS", "CASCADE", "AS theirs", ", lent.theirs",
    "ONLY", "UNION", "RETURNING", "USING", "LIKE", "IN", "NATURAL", "@@@", "<>", 'COLLATE "C"',
)  # fmt: skip


def statement(chance: random.Random) -> str:
    """A statement of the grammar; `{id}` and `{table}` are the workload's placeholders."""
    match chance.randrange(8):
        case 0 | 1 | 2:
            shape = _query(chance)
        case 3:
            shape = "CREATE TABLE {n} ({c}) {p}"
        case 4:
            shape = f"SET {chance.choice(SETS)}"
        case _:
            shape = chance.choice(OTHERS)
    return _filled(chance, shape)


def mutation(chance: random.Random) -> str:
    """A statement that was changed in a few places."""
    begin = chance.choice(HARMLESS) if chance.random() < 0.5 else statement(chance)
    pieces = _PIECES.findall(begin)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(pieces) + 1)
        match chance.randrange(5):
            case 0:
                pieces.insert(place, f" {chance.choice(_SPLICES)} ")
            case 1 if place < len(pieces):
                del pieces[place]
            case 2 if place < len(pieces):
                pieces[place] = chance.choice((*OURS, *THEIRS, *CALLS, *_SPLICES))
            case 3:
                other = _PIECES.findall(statement(chance))
                pieces[place:place] = other[chance.randrange(len(other)) :]
            case _:
                pieces.insert(place, chance.choice(_SPLICES))
    return "".join(pieces) or "SELECT 1"


def _query(chance: random.Random) -> str:
    joined = chance.choice(
        ("{t}", "{t} t", "{o}", "{o}, {t}", "{o} a JOIN {t} t ON true", "{t} NATURAL JOIN {o}")
    )
    return f"SELECT {{e}}, {{e}} FROM {joined} {chance.choice(TAILS)}"  # noqa: S608 - drawn


def _filled(chance: random.Random, shape: str) -> str:
    harmful = chance.random() < 0.5
    drawn: dict[str, tuple[str, ...]] = {
        "{o}": OURS[:4],
        "{t}": (*OURS[:4], *OURS[:4], "lent.theirs", *THEIRS),
        "{w}": (*OURS, *OURS, *OURS, *THEIRS),
        "{n}": NEW,
        "{c}": COLUMNS,
        "{p}": OPTIONS,
        "{e}": CALLS if harmful else HARMLESS_CALLS,
    }
    text = shape.replace("{q}", _query(chance))
    while match := re.search(r"\{[otwncpe]\}", text):
        text = text[: match.start()] + chance.choice(drawn[match[0]]) + text[match.end() :]
    return text
