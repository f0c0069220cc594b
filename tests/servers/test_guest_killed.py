"""What a run that was killed left at somebody else's server: the next one clears its own and no more."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing

import pytest
from guest_house import OURS, WITHIN_S, House, environment, opened_external

from tlstax.external.server import ExternalServer
from tlstax.mysql import session
from tlstax.sql.database import Database
from tlstax.support.errors import Interrupted

KILLED = """
import os, signal, sys
from tlstax.external import access as external_access
from tlstax.external import given_password
from tlstax.external.access import AccessOptions
from tlstax.external.made import Made
from tlstax.external.server import ExternalServer
from tlstax.mysql import session
from tlstax.sql.table_rows import TableContent
options = AccessOptions(sys.argv[1], given_password=given_password.take())
guest = ExternalServer.open(external_access.settle(options))
guest.prepare_table(TableContent(rows=300, seed=5))
database = guest.admin()
for statement in sys.argv[2:]:
    if statement == "unrecorded":
        write = Made._write
        Made._write = lambda made, house, step, *rest: (
            os.kill(os.getpid(), 9) if step == "made" else write(made, house, step, *rest)
        )
        continue
    guest.carry_out(database, statement, once=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(house: House, *statements: str) -> None:
    killed_within(house, KILLED, house.url, *statements)


def killed_within(house: House, program: str, *arguments: str) -> None:
    """Run a program that kills itself, and wait until the server has noticed."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    house.wait_until_ann_is_gone()


def test_what_a_killed_run_made_is_cleared_by_the_next(house: House) -> None:
    killed(
        house,
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT, FOREIGN KEY (id) REFERENCES parent (id))",
        "TRUNCATE TABLE child",
        "CREATE VIEW v AS SELECT * FROM parent",
        "CREATE PROCEDURE p() SELECT 1",
        "CREATE TRIGGER g BEFORE INSERT ON parent FOR EACH ROW SET @x = 1",
        "CREATE TABLE IF NOT EXISTS theirs (id INT)",
    )
    assert house.things() == {*OURS, "parent", "child", "v", "p", "g"}
    with opened_external(house.access) as (_, _, warned):
        assert house.things() == OURS
    assert house.things() == set()
    assert warned == []


def test_a_table_that_was_made_when_the_run_was_killed_is_known_by_its_comment(house: House) -> None:
    killed(house, "unrecorded", "CREATE TABLE shop_orders (id INT)")
    with opened_external(house.access) as (_, _, warned):
        assert house.things() == OURS
    assert warned == []


def test_what_cannot_be_told_after_a_kill_is_left_and_named(house: House) -> None:
    killed(house, "unrecorded", "CREATE VIEW v AS SELECT 1 AS one")
    with opened_external(house.access) as (_, _, warned):
        pass
    assert house.things() == {"v"}
    assert ["the view v" in words and "is not certain" in words for words in warned] == [True]


def test_what_others_put_in_the_place_of_what_a_killed_run_made_is_left(house: House) -> None:
    killed(house, "CREATE TABLE t (id INT)", "CREATE VIEW v AS SELECT 1 AS one")
    house.eve("DROP TABLE t", "CREATE TABLE t (mine INT)", "DROP VIEW v", "CREATE VIEW v AS SELECT 2 AS two")
    with opened_external(house.access):
        pass
    assert house.things() == {"t", "v"}


@pytest.mark.parametrize("slow", ["CREATE TABLE slow AS SELECT SLEEP(1) AS a", "CREATE TABLE quick (id INT)"])
def test_what_is_being_made_when_it_is_interrupted_is_dropped(
    house: House, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    """A CREATE that the server carries out although nobody waits for its answer any more."""
    create = session.create

    def create_and_be_interrupted(worker: Database, statement: str, *, if_not_exists: bool) -> bool:
        if "SLEEP" in statement:
            worker._connection._execute_command(3, statement)  # type: ignore[attr-defined]
        else:
            create(worker, statement, if_not_exists=if_not_exists)
        raise Interrupted

    monkeypatch.setattr(session, "create", create_and_be_interrupted)
    with pytest.raises(Interrupted):
        carried_out(house, slow)
    assert house.things() == set()


def carried_out(house: House, statement: str) -> None:
    with ExternalServer.open(house.access) as guest, closing(guest.admin()) as database:
        guest.carry_out(database, statement, once=True)
