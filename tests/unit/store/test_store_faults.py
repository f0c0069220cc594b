"""Stores that cannot be used: locked, read-only, foreign, too new, damaged; each named, none harmed."""

import sqlite3
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from kept_runs import NAME, RUN, keep, sentence_of
from tlstax.store import Store, schema
from tlstax.store.store import UnreadableRun
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake


def test_a_locked_store_is_waited_for_then_named(path: Path, store: Store) -> None:
    store.begin(RUN.header)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(path, lock_timeout_s=0.05) as impatient:
        with pytest.raises(MachineFault) as caught:
            impatient.add_trials(NAME, (RUN.trials[0],))
        assert "another program keeps it locked (of run " in sentence_of(MachineFault, caught)
        other.execute("ROLLBACK")
        impatient.add_trials(NAME, (RUN.trials[0],))
    other.close()


def test_a_store_that_became_read_only_is_named(path: Path, store: Store) -> None:
    store.begin(RUN.header)
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(MachineFault) as caught:
        store.add_trials(NAME, (RUN.trials[0],))
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
    with pytest.raises(MachineFault, match="cannot be used: it cannot be opened") as caught:
        Store.open(tmp_path)
    assert "that the disk is not full" in sentence_of(MachineFault, caught), "SQLite does not pass on why"


def test_another_kind_of_file_is_left_alone(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, " * 100)
    with pytest.raises(MachineFault) as caught:
        Store.open(letter)
    assert "letter.txt cannot be used: it is not a tlstax store" in sentence_of(MachineFault, caught)
    assert letter.read_text() == "Dear reader, " * 100


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.sqlite"
    with sqlite3.connect(theirs) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = theirs.read_bytes()
    with pytest.raises(UserMistake) as caught:
        Store.open(theirs)
    assert "theirs.sqlite is another program's database" in sentence_of(UserMistake, caught)
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
        connection.execute("ALTER TABLE kept_runs ADD COLUMN note TEXT NOT NULL DEFAULT ''")

    def fill_the_note(connection: sqlite3.Connection) -> None:
        steps.append("fill")
        connection.execute("UPDATE kept_runs SET note = 'from version 1'")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_a_note, fill_the_note))
    with Store.open(path) as upgraded:
        assert len(upgraded.load(NAME).trials) == len(RUN.trials)
    Store.open(path).close()
    assert steps == ["note", "fill"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT note FROM kept_runs").fetchall() == [("from version 1",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)


def test_an_upgrade_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(path) as store:
        keep(store, RUN)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE kept_runs RENAME TO walks")
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
        connection.execute("UPDATE kept_trials SET record = x'00' WHERE block = 0 AND position = 3")
    connection.close()
    with pytest.raises(MachineFault) as caught:
        store.load(NAME)
    assert f"run {NAME} is damaged" in sentence_of(MachineFault, caught)


def test_a_record_that_another_version_wrote_is_not_called_damaged(path: Path, store: Store) -> None:
    keep(store, RUN)
    other = zlib.compress(b'{"of_another_version": 1}')
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE kept_trials SET record = ? WHERE block = 0 AND position = 3", (other,))
    connection.close()
    with pytest.raises(MachineFault) as caught:
        store.load(NAME)
    sentence = sentence_of(MachineFault, caught)
    assert f"run {NAME} is not in the form that this version of tlstax writes" in sentence
    assert "damaged" not in sentence


def change(path: Path, sql: str, *values: object) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(sql, values)
    connection.close()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE kept_runs SET header = 'a text'", "header: it must be a valid bytes"),
        ("UPDATE kept_runs SET status = 'paused'", "status: it must be 'running', 'complete'"),
        ("UPDATE kept_runs SET status = CAST(x'ff' AS TEXT)", "status: it must be"),
        ("UPDATE kept_runs SET stopped_because = x'00'", "stopped_because: it must be a text"),
        ("UPDATE kept_runs SET resumed_at = '[1'", "resumed_at: it is no JSON"),
        ("UPDATE kept_runs SET resumed_at = '{}'", "resumed_at: it must be a list"),
        (
            "UPDATE kept_runs SET status = 'running', pid = 'a' || char(0)",
            "pid: it must be a whole number",
        ),
    ],
)
def test_a_row_that_is_not_ours_is_named_and_can_be_deleted(
    path: Path, store: Store, sql: str, said: str
) -> None:
    keep(store, RUN)
    change(path, sql)
    (listed,) = store.listed()
    assert isinstance(listed, UnreadableRun)
    assert said in listed.why
    for name in (NAME, "last"):
        with pytest.raises(MachineFault) as caught:
            store.load(name)
        sentence = sentence_of(MachineFault, caught)
        assert f"run {NAME} is not in the form that this version of tlstax writes ({said}" in sentence
        assert f"delete run {NAME}" in sentence
    assert store.delete(NAME) == NAME
    assert store.runs() == []


def test_a_record_without_end_is_not_unpacked(path: Path, store: Store) -> None:
    """A few kilobytes of this would take all of the memory."""
    keep(store, RUN)
    bomb = zlib.compress(bytes(6 * schema.MOST_BYTES))
    assert len(bomb) < 250_000
    change(path, "UPDATE kept_trials SET record = ? WHERE block = 0 AND position = 3", bomb)
    tracemalloc.start()
    try:
        with pytest.raises(MachineFault) as caught:
            store.load(NAME)
        assert tracemalloc.get_traced_memory()[1] < 3 * schema.MOST_BYTES
    finally:
        tracemalloc.stop()
    assert f"run {NAME} is damaged" in sentence_of(MachineFault, caught)


@pytest.mark.parametrize("record", ["a text", 7, zlib.compress(b"{}")[:-5]])
def test_a_record_that_is_none_is_named(path: Path, store: Store, record: object) -> None:
    keep(store, RUN)
    change(path, "UPDATE kept_trials SET record = ? WHERE block = 0 AND position = 3", record)
    with pytest.raises(MachineFault, match=f"run {NAME} is damaged"):
        store.load(NAME)


def test_a_run_that_another_process_deletes_is_no_longer_there(store: Store, path: Path) -> None:
    keep(store, RUN)
    store.finish(NAME, "complete", "")
    found = store.found
    with Store.open(path) as other, pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "found", lambda name: other.delete(found(name)))
        with pytest.raises(UserMistake, match=f"there is no run '{NAME}' any more"):
            store.load("last")


@pytest.mark.parametrize("seed", range(8))
def test_a_file_damaged_anywhere_is_told_in_a_sentence(path: Path, tmp_path: Path, seed: int) -> None:
    """Cut, or with some bits or some of its first bytes changed, as by a disk or a copy that failed."""
    with Store.open(path) as store:
        keep(store, RUN)
    whole, random = path.read_bytes(), Random(seed)  # noqa: S311
    whole_still = 0
    for number in range(25):
        damaged = bytearray(whole)
        match number % 3:
            case 0:
                del damaged[random.randrange(len(damaged)) :]
            case 1:
                for _ in range(random.choice((1, 8, 64))):
                    damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
            case _:
                damaged[random.randrange(2000)] = random.randrange(256)
        copy = tmp_path / f"copy-{number}.sqlite"
        copy.write_bytes(damaged)
        with suppress(TlstaxError), Store.open(copy) as opened:
            opened.runs()
            opened.load("last")
            whole_still += 1
    assert whole_still < 25


def test_nothing_but_the_file_and_its_locks_are_left_behind(path: Path) -> None:
    with Store.open(path) as store:
        keep(store, RUN)
        store.finish(NAME, "complete", "")
    left = {file.name: file.stat().st_size > 0 for file in path.parent.iterdir()}
    assert left == {"store.sqlite": True, "store.sqlite-writers": False}, "locks need a file, and no content"
