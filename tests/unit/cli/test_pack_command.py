"""`tlstax pack` and `tlstax open`: a run goes into a file, and comes out of it in another store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_trials import fake_run
from tlstax.cli.compare_command import CheckOptions, check_command, compare_command
from tlstax.cli.kept import open_store
from tlstax.cli.pack_command import open_command, pack_command
from tlstax.support.errors import UserMistake


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
    limit = ["server_cpu_us_per_op +8%"]
    assert check_command(CheckOptions(run="last", against="main.tlstax", limits=limit)) == 0
    assert compare_command([str(tmp_path / "main.tlstax"), "last"], None, as_json=False) == 0
    assert "no difference seen" in capsys.readouterr().out
    with pytest.raises(UserMistake, match="cannot be read"):
        check_command(CheckOptions(run="last", against="other.tlstax", limits=limit))


def test_a_file_that_cannot_be_written_is_said_first(kept: str, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot be written"):
        pack_command(kept, tmp_path / "missing" / "a.tlstax", with_names=False)
