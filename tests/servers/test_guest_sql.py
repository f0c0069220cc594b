"""A workload's SQL at somebody else's server: what could reach things of others ends a run in a sentence."""

# ruff: noqa: S608 - workloads as their users write them
from __future__ import annotations

import json
from pathlib import Path

import pytest
from guest_house import House
from test_guest_run import sentence, tlstax_run

RUN = ("--rows", "300", "--budget", "1s", "--over-budget", "--tls", "off,1.3", "--connections", "2")
FIRST = 'name = "mine"\n'
LAST = '[[transactions]]\nstatements = [{ sql = "SELECT c FROM {table} WHERE id={id}" }]\n'


@pytest.fixture
def lent_view(house: House) -> House:
    """A house in which eve also has a view that writes when it is read, and a function that does."""
    house.owner(
        "CREATE FUNCTION lent.their_writer() RETURNS INT DETERMINISTIC MODIFIES SQL DATA"
        " BEGIN INSERT INTO lent.theirs VALUES (8); RETURN 1; END",
        "CREATE VIEW lent.their_view AS SELECT lent.their_writer() AS one",
    )
    return house


def refused(house: House, tmp_path: Path, text: str) -> tuple[str, str]:
    """The last sentence of a run that must end with status 2 and change nothing, and all that was said."""
    before = house.things(), house.owner("SHOW CREATE VIEW lent.their_view")
    (tmp_path / "mine.toml").write_text(FIRST + text, encoding="utf-8")
    done = tlstax_run(tmp_path, house.url, *RUN, "--workload", str(tmp_path / "mine.toml"))
    said = sentence(done, 2)
    assert (house.things(), house.owner("SHOW CREATE VIEW lent.their_view")) == before
    return said, done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"on_connect = ['CREATE OR REPLACE VIEW their_view AS SELECT 2 AS one']\n{LAST}",
            "mine, on_connect",
        ),
        pytest.param(
            f"on_connect = ['CREATE TABLE IF NOT EXISTS stays (id INT)']\n{LAST}",
            "mine, on_connect",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "[[transactions]]\nstatements = [{ sql = 'CREATE TABLE stays_{id} (id INT)' }]\n",
            "touches a parameter",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "[[transactions]]\nstatements = [{ sql = 'CREATE TABLE stays (id INT)' }]\n",
            "mine, transactions",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "prepare = ['''PREPARE s FROM 'CREATE OR REPLACE VIEW their_view AS SELECT 2 AS one' ''',"
            f" 'EXECUTE s']\n{LAST}",
            "PREPARE is not among the statements",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "prepare = ['UPDATE theirs SET id = 1']\n" + LAST,
            "theirs is not a table that prepare creates",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_the_text_shows_is_refused_before_anything_is_sent(
    lent_view: House, tmp_path: Path, text: str, words: str
) -> None:
    said, all_said = refused(lent_view, tmp_path, text)
    assert words in said
    assert "left as it was found" in said
    assert "measuring" not in all_said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "prepare = ['CREATE TABLE IF NOT EXISTS theirs (id INT)']\n"
            "[[transactions]]\nstatements = [{ sql = 'INSERT INTO theirs VALUES (1000 + {id})' }]\n",
            "mine, transactions: an external server is left as it was found, and theirs is not a table",
        ),
        pytest.param(
            "prepare = ['DROP TABLE IF EXISTS theirs', 'CREATE TABLE theirs (id INT)']\n" + LAST,
            "mine, prepare: an external server is left as it was found, and the table theirs is not one",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "[[transactions]]\nstatements = [{ sql = 'SELECT one FROM their_view' }]\n",
            "their_view is a view that others made",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_the_server_knows_is_asked_before_anything_is_measured(
    lent_view: House, tmp_path: Path, text: str, words: str
) -> None:
    said, _ = refused(lent_view, tmp_path, text)
    assert words in said


def test_what_is_let_through_runs(house: House, tmp_path: Path) -> None:
    """Statements of each kind; `DROP TABLE IF EXISTS` of nothing is among them."""
    text = """prepare = ["DROP TABLE IF EXISTS orders",
"CREATE TABLE orders (id INT PRIMARY KEY, note CHAR(9))", "CREATE VIEW many AS SELECT note FROM orders",
"CREATE PROCEDURE look() SELECT 1", "CREATE INDEX notes ON orders (note(3))"]
restore = ["TRUNCATE TABLE orders", "INSERT INTO orders SELECT id, 'a' FROM {table} WHERE id < 9"]
on_connect = ["SET SESSION sort_buffer_size = 300000, @begin = 1", "SET NAMES utf8mb4"]
[[transactions]]
bracketed = true
parameters.note = { kind = "one_of", values = ["it's", 'a\\\\b', '") or 1'] }
statements = [
  { sql = "REPLACE INTO orders VALUES ({id}, {note})" },
  { sql = "SELECT COUNT(*), MAX(note) FROM many WHERE note = {note} -- counted" },
  { sql = "SELECT id + @begin FROM theirs" },
  { sql = "SELECT * FROM orders WHERE id={id} FOR UPDATE" },
  { sql = "CALL look()" },
]
"""
    (tmp_path / "mine.toml").write_text(FIRST + text, encoding="utf-8")
    done = tlstax_run(tmp_path, house.url, *RUN, "--workload", str(tmp_path / "mine.toml"), "--json")
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert trials["valid"] > 0
    assert trials["invalid"] == trials["unknown"] == 0
    assert house.things() == set()
