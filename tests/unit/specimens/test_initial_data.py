"""Data that are kept for new servers: whole or not there, one a specimen, and nothing of one server's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tlstax.specimens.initial_data import PREFIX, InitialData

LARGE = b"log" + bytes(3_000_000) + b"end"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Data as a server makes them."""
    data = tmp_path / "made"
    (data / "mysql").mkdir(parents=True, mode=0o700)
    (data / "ib_log").write_bytes(LARGE)
    (data / "mysql/user.MYD").write_bytes(b"nobody")
    (data / "zeros").write_bytes(bytes(100_000))
    (data / "auto.cnf").write_text("server-uuid=1", "ascii")
    (data / "private_key.pem").write_text("secret", "ascii")
    return data


@pytest.fixture
def specimen(tmp_path: Path) -> Path:
    place = tmp_path / "mysql-9.7"
    place.mkdir()
    return place


def new_directory(tmp_path: Path, name: str = "data") -> Path:
    directory = tmp_path / name
    directory.mkdir(mode=0o700)
    return directory


def kept_by(specimen: Path, made_by: str = "a") -> InitialData:
    return InitialData(specimen, made_by, ("auto.cnf", "*.pem"))


def names(specimen: Path) -> set[str]:
    return {path.name for path in specimen.iterdir() if path.is_dir()}


def test_a_copy_is_the_same_but_for_what_is_a_servers_own(specimen: Path, made: Path, tmp_path: Path) -> None:
    data = new_directory(tmp_path)
    assert not kept_by(specimen).copy_to(data)
    kept_by(specimen).keep(made)
    assert kept_by(specimen).copy_to(data)
    files = {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    assert files == {"ib_log": LARGE, "mysql/user.MYD": b"nobody", "zeros": bytes(100_000)}
    assert (data / "mysql").stat().st_mode == (made / "mysql").stat().st_mode
    (data / "ib_log").write_bytes(b"written to")
    other = new_directory(tmp_path, "other")
    assert kept_by(specimen).copy_to(other)
    assert (other / "ib_log").read_bytes() == LARGE


def test_zeros_take_no_room_where_data_are_kept_and_do_in_a_copy(
    specimen: Path, made: Path, tmp_path: Path
) -> None:
    kept_by(specimen).keep(made)
    kept_by(specimen).copy_to(new_directory(tmp_path))
    blocks = {
        place: (tmp_path / place / "ib_log").stat().st_blocks * 512
        for place in (f"mysql-9.7/{PREFIX}a", "data")
    }
    assert blocks[f"mysql-9.7/{PREFIX}a"] < 1_000_000 < blocks["data"]


def test_what_is_made_in_another_way_takes_the_place_of_the_first(
    specimen: Path, made: Path, tmp_path: Path
) -> None:
    kept_by(specimen, "a").keep(made)
    kept_by(specimen, "b").keep(made)
    assert names(specimen) == {f"{PREFIX}b"}
    assert not kept_by(specimen, "a").copy_to(new_directory(tmp_path))
    kept_by(specimen, "b").forget()
    assert names(specimen) == set()


def test_a_kill_while_data_are_kept_leaves_no_half_of_them(
    specimen: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the one step that puts them in place; nothing is put right afterwards, as with SIGKILL."""
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            kept_by(specimen).keep(made)
    assert not kept_by(specimen).copy_to(new_directory(tmp_path))
    kept_by(specimen).keep(made)
    assert names(specimen) == {f"{PREFIX}a"}


def test_a_kill_while_data_are_removed_leaves_no_half_of_them(
    specimen: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_by(specimen).keep(made)
    with monkeypatch.context() as patched:
        whole = shutil.rmtree
        patched.setattr(shutil, "rmtree", lambda path, **told: whole(path, **told) if told else killed())
        with pytest.raises(KeyboardInterrupt):
            kept_by(specimen).forget()
    assert not kept_by(specimen).copy_to(new_directory(tmp_path))


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_who_cannot_read_what_is_kept_is_left_an_empty_directory(
    specimen: Path, made: Path, tmp_path: Path
) -> None:
    kept_by(specimen).keep(made)
    os.mkfifo(specimen / f"{PREFIX}a/mysql/cannot_be_copied")
    data = new_directory(tmp_path)
    assert not kept_by(specimen).copy_to(data)
    assert not list(data.iterdir())


def test_nothing_is_kept_where_the_specimen_is_gone_or_the_disk_is_full(
    specimen: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        kept_by(specimen).keep(made)
    assert names(specimen) == set()
    specimen.joinpath("data.lock").unlink()
    specimen.rmdir()
    kept_by(specimen).keep(made)
    assert not specimen.exists()
