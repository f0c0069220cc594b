"""The store's views: what others read with SQL is what the run's documents say, and goes with the run."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fake_trials import fake_header
from kept_runs import NAME, RUN, keep, sentence_of
from tlstax.cli.streams import tell
from tlstax.report.run_tables import TABLES, Tabulated
from tlstax.store import Store, row_tables
from tlstax.store.schema import this_process
from tlstax.support.errors import MachineFault, UserMistake
from turned_runs import in_turns_and_watched

OLD_STORE = Path(__file__).parent / "recorded" / "store-2fe8867.sqlite"
"""Two blocks of a run that tlstax of commit 2fe8867 measured and kept; directories were replaced."""


def asked(path: Path, question: str) -> list[tuple[Any, ...]]:
    """What any program that opens the file gets."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(question).fetchall()


def all_of(path: Path, view: str) -> list[tuple[Any, ...]]:
    return asked(path, f"SELECT * FROM {view}")  # noqa: S608 (a name of ours)


@pytest.fixture
def filled(store: Store) -> Store:
    keep(store, in_turns_and_watched())
    store.finish(NAME, "complete", "done")
    row_tables.write(store, NAME, row_tables.rows_of(store.load(NAME)))
    return store


@pytest.mark.parametrize("name", TABLES)
def test_a_view_has_the_rows_of_the_run(filled: Store, name: str) -> None:
    expected = [tuple(row.values()) for row in Tabulated(filled.load(NAME)).rows(name)]
    assert expected
    assert sorted(all_of(filled.path, name), key=repr) == sorted(expected, key=repr)


def test_a_view_says_the_types_of_its_columns(filled: Store) -> None:
    for name, table in TABLES.items():
        found = asked(filled.path, f"PRAGMA table_info({name})")
        assert [(row[1], row[2]) for row in found] == [(one.name, one.type) for one in table.columns]


def test_nobody_changes_a_view_by_mistake(filled: Store) -> None:
    with closing(sqlite3.connect(filled.path)) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM trials")


def test_rows_go_with_their_run(filled: Store) -> None:
    filled.delete(NAME)
    assert [name for name in TABLES if all_of(filled.path, name)] == []


def test_a_run_that_goes_on_has_no_rows_until_it_ends(filled: Store) -> None:
    filled.resume(NAME)
    assert asked(filled.path, "SELECT count(*) FROM trials") == [(0,)]
    assert asked(filled.path, "SELECT run, status FROM runs") == [(NAME, "running")]
    assert row_tables.missing(filled) == []
    filled.finish(NAME, "interrupted", "")
    assert row_tables.missing(filled) == [NAME]


def test_rows_are_written_whole_or_not_at_all(filled: Store) -> None:
    before = asked(filled.path, "SELECT * FROM trials")
    twice = {name: list(Tabulated(filled.load(NAME)).rows(name)) for name in TABLES}
    twice["trials"] *= 2
    with pytest.raises(MachineFault, match="cannot be used"):
        row_tables.write(filled, NAME, twice)
    assert asked(filled.path, "SELECT * FROM trials") == before


def test_rows_of_another_definition_are_written_again(
    filled: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert row_tables.missing(filled) == []
    monkeypatch.setattr(row_tables, "DEFINITION", "another")
    with Store.open(path) as later:
        assert row_tables.missing(later) == [NAME]
        assert asked(path, "SELECT count(*) > 0 FROM trials") == [(1,)]
        assert row_tables.write_missing(later, tell) == 1
        assert row_tables.missing(later) == []


@pytest.mark.usefixtures("filled")
def test_a_column_that_came_later_is_added_to_what_is_there(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP VIEW trials")
        connection.execute("ALTER TABLE trial_rows DROP COLUMN ops_per_s")
        connection.execute("UPDATE row_definition SET definition = 'an older one'")
        connection.commit()
    with Store.open(path) as store:
        row_tables.missing(store)
        assert asked(path, "SELECT count(ops_per_s), count(*) > 0 FROM trials") == [(0, 1)]


def test_a_run_that_cannot_be_read_is_named_and_the_others_get_their_rows(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("20260101-000000-aaaa", "20260102-000000-bbbb"):
        keep(store, RUN, name)
        store.finish(name, "complete", "")
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE kept_trials SET record = x'00' WHERE run LIKE '%aaaa'")
        connection.commit()
    assert row_tables.write_missing(store, tell) == 1
    assert "run 20260101-000000-aaaa is damaged" in capsys.readouterr().err
    assert asked(store.path, "SELECT run FROM runs WHERE valid_trials > 0") == [("20260102-000000-bbbb",)]


def test_a_store_of_2fe8867_opens_and_gets_rows(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD_STORE, tmp_path / "store.sqlite"))
    assert asked(path, "PRAGMA user_version") == [(2,)]
    with Store.open(path) as store:
        (summary,) = store.runs()
        assert (summary.study, summary.status, summary.valid) == ("tax", "complete", 6)
        assert row_tables.write_missing(store, tell) == 1
        stored = store.load("last")
    assert len(stored.trials) == 6
    assert asked(path, "SELECT count(*) FROM trials WHERE verdict = 'valid' AND ops_per_s > 0") == [(6,)]
    assert asked(path, "SELECT count(*) > 0 FROM findings WHERE outcome = 'ops_per_s'") == [(1,)]


def test_a_store_to_which_an_older_program_is_writing_is_left_alone(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD_STORE, tmp_path / "store.sqlite"))
    writer = this_process()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE runs SET status = 'running', pid = ?, started_ticks = ?, boot_id = ?",
            (writer.pid, writer.started_ticks, writer.boot_id),
        )
        connection.commit()
    with pytest.raises(UserMistake) as caught:
        Store.open(path)
    sentence = sentence_of(UserMistake, caught)
    assert f"is of an older tlstax, in which process {writer.pid} is writing run" in sentence
    assert asked(path, "PRAGMA user_version") == [(2,)]
    assert asked(path, "SELECT count(*) FROM runs") == [(1,)]


def test_views_are_there_once_rows_were_asked_for(store: Store) -> None:
    store.begin(fake_header())
    assert row_tables.missing(store) == []
    assert asked(store.path, "SELECT study, status, valid_trials FROM runs") == [("tax", "running", None)]


def test_a_store_of_the_version_before_locks_is_upgraded_when_nobody_writes_to_it(path: Path) -> None:
    """Its writers hold no lock, and would not see those of others."""
    with Store.open(path) as store:
        store.begin(RUN.header)
    writer = this_process()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE kept_runs DROP COLUMN locked")
        connection.execute("PRAGMA user_version = 3")
        connection.commit()
    with pytest.raises(UserMistake, match=f"in which process {writer.pid} is writing run"):
        Store.open(path)
    assert asked(path, "PRAGMA user_version") == [(3,)]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE kept_runs SET boot_id = 'of before'")
        connection.commit()
    with Store.open(path) as store:
        assert store.load(RUN.header.run).status == "interrupted"
    assert asked(path, "PRAGMA user_version") == [(4,)]
