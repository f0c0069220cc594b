"""Data on real servers: each shape of table as it must be, and put back whatever a trial did to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tlstax.mysql.table import MYSQL_TABLES
from tlstax.run.reset_data import TrialData
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.database import Database, SqlError
from tlstax.sql.table_rows import TableContent
from tlstax.study.factors import CaseLevels
from tlstax.study.files import parse_workload
from tlstax.study.needs import DataNeeds
from tlstax.study.workloads import TABLES, Shape
from tlstax.support.errors import MachineFault, UserMistake

ROWS = 2_000
CONTENTS: dict[Shape, TableContent] = {
    "sbtest": TableContent(rows=ROWS, seed=5),
    "people": TableContent(rows=ROWS, seed=5, shape="people"),
}
WRITING = {"sbtest": {"workload": "delete"}, "people": {"workload": "people-delete"}}
OWN = """name = "own"
prepare = ["CREATE TABLE IF NOT EXISTS mine (id INT)"]
restore = ["TRUNCATE TABLE mine", "INSERT INTO mine SELECT id FROM {table} WHERE id <= 3"]
[[transactions]]
statements = [{ sql = "DELETE FROM mine WHERE id={id}" }]
"""


def said(database: Database, *statements: str) -> tuple[tuple[Any, ...], ...]:
    """What the last of these statements answers."""
    return tuple([database.rows(statement) for statement in statements][-1])


@pytest.fixture
def database(private: PrivateServer) -> Iterator[Database]:
    with closing(private.admin()) as opened:
        yield opened


@pytest.fixture
def data(private: PrivateServer, database: Database) -> Iterator[TrialData]:
    for content in CONTENTS.values():
        private.prepare_table(content)
    own = parse_workload(OWN, where="own.toml")
    kept = TrialData(private, CONTENTS, DataNeeds(("sbtest", "people"), ("sbtest", "people"), {"own": own}))
    kept.prepare(database)
    yield kept
    said(database, "DROP TABLE IF EXISTS mine, sbtest1_kept, people_kept, people")


def test_people_are_as_the_published_study_has_them(data: TrialData, database: Database) -> None:
    columns = said(
        database,
        "SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'people' ORDER BY ORDINAL_POSITION",
    )
    assert [(name, kind.split("(")[0], key) for name, kind, key in columns] == [
        ("id", "int", ""),
        *((name, "varchar", "") for name in ("first_name", "last_name", "email", "gender", "ip_address")),
    ]
    assert said(database, "SHOW INDEX FROM people") == ()
    assert said(database, "SELECT COUNT(*), MIN(id), MAX(id) FROM people") == ((ROWS, 1, ROWS),)
    assert data.server.tables["people"] == "people"


@pytest.mark.parametrize("shape", ["sbtest", "people"])
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM {table}",
        "DELETE FROM {table} WHERE id BETWEEN 100 AND 900",
        "INSERT INTO {table} (id) VALUES (500000)",
        "UPDATE {table} SET {column} = REVERSE({column}) WHERE id = 7",
    ],
)
def test_what_a_trial_changed_is_put_back(
    data: TrialData, database: Database, shape: Shape, change: str
) -> None:
    name, column = TABLES[shape], {"sbtest": "c", "people": "email"}[shape]
    unchanged = said(database, f"CHECKSUM TABLE {name}")
    wanted = MYSQL_TABLES.expected(name, CONTENTS[shape])
    assert data.ready(database, CaseLevels.of(WRITING[shape])) == (wanted,)
    said(database, change.format(table=name, column=column))
    assert MYSQL_TABLES.state(database, name, shape) != wanted
    assert data.ready(database, CaseLevels.of(WRITING[shape])) == (wanted,)
    assert said(database, f"CHECKSUM TABLE {name}") == unchanged


def test_a_reading_trial_after_a_writing_one_has_all_rows(data: TrialData, database: Database) -> None:
    data.ready(database, CaseLevels.of({"workload": "delete"}))
    said(database, "DELETE FROM sbtest1")
    data.ready(database, CaseLevels.of({"workload": "point-select"}))
    assert said(database, "SELECT COUNT(*) FROM sbtest1") == ((ROWS,),)
    assert data.ready(database, CaseLevels.of({"workload": "point-select"})) == ()


def test_a_new_row_gets_the_same_number_in_every_trial(data: TrialData, database: Database) -> None:
    for _ in range(2):
        data.ready(database, CaseLevels.of({"workload": "insert"}))
        said(database, "INSERT INTO sbtest1 (k, c, pad) VALUES (1, 'c', 'pad')")
        assert said(database, "SELECT MAX(id) FROM sbtest1") == ((ROWS + 1,),)


def test_a_table_that_is_not_what_it_must_be_stops_the_trial(data: TrialData, database: Database) -> None:
    said(database, "DELETE FROM people_kept WHERE id = 3")
    data.ready(database, CaseLevels.of({"workload": "people-delete"}))
    with pytest.raises(MachineFault, match=r"people holds 1,999 rows .* must hold 2,000"):
        data.ready(database, CaseLevels.of({"workload": "people-delete"}))


def test_a_users_own_tables_are_restored_by_its_statements(data: TrialData, database: Database) -> None:
    for _ in range(2):
        data.ready(database, CaseLevels.of({"workload": "own"}))
        assert said(database, "SELECT COUNT(*) FROM mine") == ((3,),)
        said(database, "DELETE FROM mine")


def test_a_statement_of_the_users_that_is_refused_is_told(private: PrivateServer, database: Database) -> None:
    bad = parse_workload(OWN.replace("(id INT)", "(id NUMBER)"), where="own.toml")
    data = TrialData(private, CONTENTS, DataNeeds(("sbtest",), (), {"own": bad}))
    with pytest.raises(
        UserMistake, match=r"workload own: the server refuses a statement of prepare .*id NUMBER"
    ):
        data.prepare(database)


def test_both_products_hold_the_same_people(mysql: PrivateServer, mariadb: PrivateServer) -> None:
    states = []
    for server in (mysql, mariadb):
        server.prepare_table(CONTENTS["people"])
        with closing(server.admin()) as opened:
            states.append(MYSQL_TABLES.state(opened, "people", "people"))
            said(opened, "DROP TABLE people")
            with pytest.raises(SqlError):
                said(opened, "SELECT 1 FROM people")
    assert states == [MYSQL_TABLES.expected("people", CONTENTS["people"])] * 2
