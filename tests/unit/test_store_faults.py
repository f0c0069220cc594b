"""Stores that cannot be used: locked, read-only, foreign, too new, damaged; each named, none harmed."""

import sqlite3
import zlib
from pathlib import Path

import pytest
from kept_runs import NAME, RUN, keep, sentence_of

from tlstax.errors import MachineFault, UserMistake
from tlstax.store import Store, schema


def test_a_locked_store_is_waited_for_then_named(path: Path, store: Store) -> None:
    store.begin(RUN.header)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(path, lock_timeout_s=0.05) as impatient:
        with pytest.raises(MachineFault) as caught:
            impatient.add_trial(NAME, RUN.trials[0])
        assert "another program keeps it locked (of run " in sentence_of(MachineFault, caught)
        other.execute("ROLLBACK")
        impatient.add_trial(NAME, RUN.trials[0])
    other.close()


def test_a_store_that_became_read_only_is_named(path: Path, store: Store) -> None:
    store.begin(RUN.header)
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(MachineFault) as caught:
        store.add_trial(NAME, RUN.trials[0])
    assert f"the store {path} cannot be used: it cannot be written (of run" in sentence_of(
        MachineFault, caught
    )


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MachineFault) as caught:
        Store.open(tmp_path / "file" / "store.sqlite")
    assert f"the store {tmp_path / 'file' / 'store.sqlite'} cannot be written" in sentence_of(
        MachineFault, caught
    )
    with pytest.raises(MachineFault, match="cannot be used: it cannot be opened"):
        Store.open(tmp_path)


def test_another_kind_of_file_is_left_alone(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, " * 100)
    with pytest.raises(MachineFault) as caught:
        Store.open(letter)
    assert "letter.txt cannot be used: it is not a store of tlstax" in sentence_of(MachineFault, caught)
    assert letter.read_text() == "Dear reader, " * 100


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.sqlite"
    with sqlite3.connect(theirs) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = theirs.read_bytes()
    with pytest.raises(UserMistake) as caught:
        Store.open(theirs)
    assert "theirs.sqlite is a database of another program" in sentence_of(UserMistake, caught)
    assert theirs.read_bytes() == before


def test_a_store_of_a_newer_program_is_refused_and_left_alone(path: Path) -> None:
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UserMistake) as caught:
        Store.open(path)
    sentence = sentence_of(UserMistake, caught)
    assert "written by a newer tlstax (version 99" in sentence
    assert "update tlstax" in sentence
    assert path.read_bytes() == before


def test_an_older_store_is_upgraded_step_by_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(path) as store:
        keep(store, RUN)
    steps: list[str] = []

    def add_a_note(connection: sqlite3.Connection) -> None:
        steps.append("note")
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''")

    def fill_the_note(connection: sqlite3.Connection) -> None:
        steps.append("fill")
        connection.execute("UPDATE runs SET note = 'from version 1'")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_a_note, fill_the_note))
    with Store.open(path) as upgraded:
        assert len(upgraded.load(NAME).trials) == len(RUN.trials)
    Store.open(path).close()
    assert steps == ["note", "fill"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT note FROM runs").fetchall() == [("from version 1",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)


def test_an_upgrade_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(path) as store:
        keep(store, RUN)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs RENAME TO walks")
        connection.execute("SELECT * FROM nowhere")

    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
        with pytest.raises(MachineFault):
            Store.open(path)
    with Store.open(path) as store:
        assert len(store.load(NAME).trials) == len(RUN.trials)


@pytest.mark.parametrize("where", [100, 12_000, 20_000])
def test_a_damaged_file_is_named(path: Path, where: int) -> None:
    with Store.open(path) as store:
        keep(store, RUN)
    damaged = bytearray(path.read_bytes())
    damaged[where : where + 3000] = b"\xa5" * 3000
    path.write_bytes(damaged)
    with pytest.raises(MachineFault) as caught, Store.open(path) as store:
        store.load(NAME)
    sentence = sentence_of(MachineFault, caught)
    assert str(path) in sentence
    assert "damaged" in sentence


def test_a_damaged_record_is_named_with_its_run(path: Path, store: Store) -> None:
    keep(store, RUN)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE trials SET record = x'00' WHERE block = 0 AND position = 3")
    connection.close()
    with pytest.raises(MachineFault) as caught:
        store.load(NAME)
    assert f"run {NAME} is damaged" in sentence_of(MachineFault, caught)


def test_a_record_that_another_version_wrote_is_not_called_damaged(path: Path, store: Store) -> None:
    keep(store, RUN)
    other = zlib.compress(b'{"of_another_version": 1}')
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE trials SET record = ? WHERE block = 0 AND position = 3", (other,))
    connection.close()
    with pytest.raises(MachineFault) as caught:
        store.load(NAME)
    sentence = sentence_of(MachineFault, caught)
    assert f"run {NAME} is not as this version of tlstax writes runs" in sentence
    assert "damaged" not in sentence


def test_nothing_but_the_file_is_left_behind(path: Path) -> None:
    with Store.open(path) as store:
        keep(store, RUN)
        store.finish(NAME, "complete", "")
    assert [file.name for file in path.parent.iterdir()] == ["store.sqlite"]
