"""What is dropped when somebody else's server is left: all that a workload created, and nothing else."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from guest_house import House, opened_external
from test_guest_run import PASSWORD

from tlstax.external.server import ExternalServer
from tlstax.sql.database import SqlError
from tlstax.support.errors import UserMistake


def test_tables_that_others_create_meanwhile_are_left(house: House) -> None:
    stop = threading.Event()
    made: list[str] = []

    def create() -> None:
        with house.as_eve() as database:
            while not stop.is_set():
                database.rows(f"CREATE TABLE eves_{len(made)} (id INT)")
                made.append(f"eves_{len(made)}")

    with opened_external(house.access) as (_, said, warned):
        other = threading.Thread(target=create)
        other.start()
        said("DO SLEEP(1)", "CREATE TABLE shop_orders (id INT)", "DO SLEEP(1)")
        stop.set()
        other.join()
    assert len(made) > 3
    assert house.things() == set(made)
    assert any("the table eves_" in words and "does not drop" in words for words in warned)


def test_all_that_a_workload_creates_is_dropped(house: House) -> None:
    with opened_external(house.access) as (_, said, warned):
        said(
            "CREATE TABLE a (id INT PRIMARY KEY)",
            "CREATE TABLE b (id INT, FOREIGN KEY (id) REFERENCES a (id)) ENGINE=InnoDB",
            "CREATE TABLE c LIKE a",
            "CREATE TABLE `d``d` AS SELECT * FROM a",
            "CREATE TABLE e (id INT PRIMARY KEY, f INT) COMMENT 'of the workload'",
            "CREATE TABLE f (id INT PRIMARY KEY, e INT, FOREIGN KEY (e) REFERENCES e (id))",
            "ALTER TABLE e ADD FOREIGN KEY (f) REFERENCES f (id)",
            "CREATE TABLE g (id INT, FOREIGN KEY (id) REFERENCES tlstax_sbtest1 (id))",
            "CREATE VIEW v AS SELECT * FROM a",
            "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
            "CREATE FUNCTION fn() RETURNS INT DETERMINISTIC RETURN 1",
            "CREATE TRIGGER g1 BEFORE INSERT ON a FOR EACH ROW SET @x = 1",
            "TRUNCATE TABLE b",
            "CREATE TABLE IF NOT EXISTS a (id INT PRIMARY KEY)",
        )
        said("DROP TABLE `d``d`", "CREATE TABLE `d``d` (id INT)", once=False)
        assert len(house.things()) == 13
    assert house.things() == set()
    assert warned == []


def test_what_was_there_before_is_used_and_left(house: House) -> None:
    house.owner("CREATE VIEW lent.seen AS SELECT 1 AS one", "CREATE PROCEDURE lent.done() SELECT 1")
    with opened_external(house.access) as (_, said, warned):
        said("CREATE TABLE IF NOT EXISTS theirs (id INT)", "SET sql_notes = 0")
        said("CREATE TABLE IF NOT EXISTS theirs (id INT)", "SET sql_notes = 1")
        with suppress(SqlError):  # Old servers do not know the words.
            said("CREATE PROCEDURE IF NOT EXISTS done() SELECT 2")
        for taken in (
            "CREATE TABLE theirs (id INT)",
            "CREATE VIEW seen AS SELECT 2",
            "CREATE PROCEDURE done() DO 1",
        ):
            with pytest.raises(SqlError, match="exists"):
                said(taken)
    assert house.things() == {"seen", "done"}
    assert sum("the table theirs in lent was there before" in words for words in warned) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "CREATE TABLE tlstax.t (id INT)",
        "CREATE DATABASE d",
        "USE tlstax",
    ],
)
def test_what_could_not_be_taken_back_is_refused(house: House, statement: str) -> None:
    with (
        opened_external(house.access) as (_, said, _),
        pytest.raises(UserMistake, match="left as it was found") as refused,
    ):
        said(statement)
    assert refused.value.remedy


def test_an_object_that_was_replaced_since_is_left(house: House) -> None:
    with opened_external(house.access) as (_, said, warned):
        said("CREATE TABLE t (id INT)", "CREATE VIEW v AS SELECT 1 AS one", "CREATE PROCEDURE p() SELECT 1")
        house.eve(
            "DROP TABLE t",
            "CREATE TABLE t (id INT)",
            "DROP VIEW v",
            "CREATE VIEW v AS SELECT 1 AS one",
        )
        house.eve("DROP PROCEDURE p", "CREATE PROCEDURE p() SELECT 1")
    assert house.things() == {"t", "v", "p"}
    assert sum("is no longer as tlstax made it" in words for words in warned) == 3


def test_what_tables_of_others_refer_to_is_left(house: House) -> None:
    house.owner("SET GLOBAL foreign_key_checks = 0")
    try:
        with opened_external(house.access) as (_, said, warned):
            said("CREATE TABLE parent (id INT PRIMARY KEY)", "CREATE TABLE child (id INT)")
            house.eve("CREATE TABLE eves (id INT, FOREIGN KEY (id) REFERENCES parent (id))")
            house.eve("CREATE TABLE eves_too (id INT, FOREIGN KEY (id) REFERENCES tlstax_sbtest1 (id))")
    finally:
        house.owner("SET GLOBAL foreign_key_checks = 1")
    assert house.things() == {"parent", "eves", "eves_too", "tlstax_sbtest1"}
    assert sum("foreign key of another table refers to it" in words for words in warned) == 2


@pytest.mark.parametrize(
    "put",
    ["CREATE PROCEDURE tlstax.p() SELECT 1", "CREATE EVENT tlstax.e ON SCHEDULE EVERY 1 DAY DO SELECT 1"],
)
def test_a_schema_of_ours_with_a_routine_of_others_is_left(house: House, put: str) -> None:
    house.owner("GRANT ALL ON tlstax.* TO ann@'127.0.0.1'")
    own = replace(house.access, address=replace(house.access.address, schema=None))
    with opened_external(own) as (_, _, warned):
        house.owner(put)
    assert len(house.things("tlstax")) == 1
    assert any("the schema tlstax was created by tlstax and stays there" in words for words in warned)
    house.owner("DROP DATABASE tlstax")
    with opened_external(own) as (_, _, warned):
        assert "tlstax" in house.schemas()
    assert "tlstax" not in house.schemas()
    assert warned == []


def test_a_schema_of_ours_whose_events_are_invisible_is_left(house: House) -> None:
    house.owner("REVOKE ALL ON tlstax.* FROM ann@'127.0.0.1'") if "tlstax" in house.schemas() else None
    house.owner(
        f"CREATE USER bob@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
        "GRANT CREATE, DROP, INDEX, INSERT, SELECT ON tlstax.* TO bob@'127.0.0.1'",
    )
    try:
        own = replace(house.access, user="bob", address=replace(house.access.address, schema=None))
        with opened_external(own) as (_, _, warned):
            house.owner("CREATE EVENT tlstax.unseen ON SCHEDULE EVERY 1 DAY DO SELECT 1")
        assert house.things("tlstax") == {"unseen"}
        assert any("bob is not shown whether others have put routines or events" in words for words in warned)
    finally:
        house.owner("DROP USER bob@'127.0.0.1'")


def test_an_account_that_may_not_insert_leaves_no_record_and_is_told_so(house: House) -> None:
    """The record was taken for that of another tlstax, and stayed there."""
    maker = "maker@'127.0.0.1'"
    house.owner(
        f"CREATE USER {maker} IDENTIFIED BY '{PASSWORD}'", f"GRANT CREATE, DROP, SELECT ON lent.* TO {maker}"
    )
    warned: list[str] = []
    try:
        access = replace(house.access, user="maker")
        with (
            pytest.raises(UserMistake, match="INSERT command denied"),
            ExternalServer.open(access, warned.append),
        ):
            pass
    finally:
        house.owner(f"DROP USER {maker}")
    assert house.things() == set()
    assert warned == []
