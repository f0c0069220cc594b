"""`tlstax runs pack` and `tlstax runs open`: a run goes into a file, and comes out of it in another store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fake_trials import fake_run
from tlstax.cli.compare_command import compare_command
from tlstax.cli.export_command import open_command, pack_command
from tlstax.cli.options import LimitOptions
from tlstax.cli.read_app import CompareOptions
from tlstax.cli.runs_command import list_command
from tlstax.cli.streams import tell
from tlstax.store import open_store, row_tables
from tlstax.store.pack import packed
from tlstax.support.errors import MachineFault, UserMistake


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run in a store, and its name."""
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "one"))
    monkeypatch.chdir(tmp_path)
    stored = fake_run(number_of_blocks=4, noise=0.002, invalid=False)
    with open_store() as store:
        store.adopt(stored)
    return stored.header.run


def test_a_run_travels(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pack_command("last", None, with_names=False) == 0
    file = tmp_path / f"{kept}.tlstax"
    assert "without names" in capsys.readouterr().out
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "two"))
    assert open_command(file) == 0
    assert "point selects" in capsys.readouterr().out
    with open_store() as store:
        assert [own.run for own in store.runs()] == [kept]
    with pytest.raises(UserMistake, match="in the store already"):
        open_command(file)


def test_a_run_is_compared_with_a_file(kept: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = fake_run(number_of_blocks=4, noise=0.002, invalid=False, seed=9)
    header = other.header.model_copy(update={"run": "20261122-080000-cd34"})
    with open_store() as store:
        store.adopt(other.model_copy(update={"header": header}))
    pack_command(kept, tmp_path / "main.tlstax", with_names=True)
    limit = LimitOptions(most=["server_cpu_us_per_op +1000%"])
    assert compare_command(CompareOptions(runs=["main.tlstax", "last"], limits=limit)) == 0
    assert compare_command(CompareOptions(runs=[str(tmp_path / "main.tlstax"), "last"])) == 0
    assert "inconclusive" in capsys.readouterr().out
    with pytest.raises(UserMistake, match="cannot be read"):
        compare_command(CompareOptions(runs=["other.tlstax", "last"], limits=limit))


def test_a_pack_that_cannot_be_worked_out_is_not_kept(kept: str, tmp_path: Path) -> None:
    """Everything is looked at first, then all of it is kept at once."""
    stored = fake_run(number_of_blocks=2)
    broken = dict.fromkeys(stored.trials[0].done.histograms_ns, "HISTFAAAA")  # type: ignore[union-attr]
    trials = tuple(
        own.model_copy(update={"done": own.done.model_copy(update={"histograms_ns": broken})})
        for own in stored.trials
        if own.done is not None
    )
    header = stored.header.model_copy(update={"run": "20261122-080000-cd35"})
    file = tmp_path / "bad.tlstax"
    run = stored.model_copy(update={"header": header, "trials": trials})
    file.write_bytes(packed(run, by="1", names_left_out=False))
    with pytest.raises(UserMistake, match=r"cannot be worked out .* and is not kept"):
        open_command(file)
    with open_store() as store:
        assert [own.run for own in store.runs()] == [kept]


def test_a_run_that_cannot_be_read_is_one_line_and_the_others_go_on(
    kept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """However it came there: by another version, by hand, from a disk that forgets."""
    run = fake_run(number_of_blocks=2)
    names = [f"20261122-08000{place}-cd35" for place in range(5)]
    with open_store() as store:
        for name in names:
            store.adopt(run.model_copy(update={"header": run.header.model_copy(update={"run": name})}))
        change = store._connection.execute
        change("PRAGMA foreign_keys = OFF")
        change("UPDATE kept_runs SET status = '\x1b[2J' WHERE run = ?", (names[0],))
        change("UPDATE kept_runs SET header = x'00' WHERE run = ?", (names[1],))
        change("UPDATE kept_trials SET record = x'00' WHERE run = ?", (names[2],))
        change("UPDATE kept_runs SET run = '../../x' WHERE run = ?", (names[3],))
        change("UPDATE kept_runs SET run = '' WHERE run = ?", (names[4],))
        row_tables.write_missing(store, tell)
        assert {row[0] for row in change("SELECT run FROM trials")} == {kept}
    said = capsys.readouterr().err
    assert all(name in said for name in (*names[:3], "../../x"))
    assert list_command(as_json=False) == 0
    listed = capsys.readouterr().out
    assert kept in listed
    assert f"{names[0]}  the store" in listed
    assert "\x1b" not in listed
    assert list_command(as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert [own["run"] for own in document["unreadable"]] == [names[0]]
    assert pack_command(kept, None, with_names=False) == 0
    with pytest.raises(MachineFault, match=f"run {names[1]} is damaged"):
        compare_command(CompareOptions(runs=[kept, names[1]]))
    with pytest.raises(MachineFault, match="says that it is"):
        pack_command("../../x", None, with_names=False)
    with open_store() as store:
        for name in (*names[:3], "../../x"):
            assert store.delete(name) == name


def test_a_file_that_cannot_be_written_is_said_first(kept: str, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot be written"):
        pack_command(kept, tmp_path / "missing" / "a.tlstax", with_names=False)
