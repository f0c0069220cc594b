"""What is run could have been put there by nobody but this user and root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tlstax.clients.engine import engine_command
from tlstax.specimens import added
from tlstax.support import directories, trusted
from tlstax.support.errors import MachineFault

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "above" / "of programs"
    made.mkdir(parents=True)
    return made


def refusal(place: Path, *, parents: bool = True) -> str:
    with pytest.raises(MachineFault) as raised:
        trusted.check(place, "TLSTAX_CACHE", parents=parents)
    return raised.value.sentence()


def test_what_is_ours_alone_is_run(place: Path) -> None:
    trusted.check(place, "TLSTAX_CACHE")
    trusted.check(place / "not there yet", "TLSTAX_CACHE")


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_what_others_may_write_to_is_not(place: Path, mode: int) -> None:
    place.chmod(mode)
    assert refusal(place) == (
        f"others may write to {place}, and what is kept there is run; chmod -R go-w '{place}' as its owner, "
        "or set TLSTAX_CACHE to a path of your own"
    )


def test_nor_what_is_below_such_a_folder_but_for_a_sticky_one(place: Path) -> None:
    place.parent.chmod(0o777)
    assert f"others may write to {place.parent}, " in refusal(place)
    assert f"others may write to {place.parent}, " in refusal(place / "not there yet")
    trusted.check(place, "TLSTAX_CACHE", parents=False)
    place.parent.chmod(0o1777)
    trusted.check(place, "TLSTAX_CACHE")


def test_a_link_is_followed(place: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(place)
    place.parent.chmod(0o777)
    assert f"others may write to {place.parent}, " in refusal(link)


@as_root
def test_what_belongs_to_others_is_not_run(place: Path) -> None:
    os.chown(place, 12345, 12345)
    assert refusal(place) == (
        f"{place} belongs to the user 12345, and what is kept there would be run as root; start tlstax as "
        "the user 12345, or set TLSTAX_CACHE to a path of your own"
    )
    os.chown(place, 0, 12345)
    trusted.check(place, "TLSTAX_CACHE")
    place.chmod(0o775)
    assert "others may write" in refusal(place), "a group of which this machine has not heard"
    os.chown(place, 0, 0)
    trusted.check(place, "TLSTAX_CACHE")


@pytest.mark.parametrize("directory", ["specimens", "sessions", "downloads"])
def test_each_folder_of_programs_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directory: str
) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    path: Path = getattr(directories, f"{directory}_dir")()
    path.chmod(0o777)
    with pytest.raises(MachineFault, match="others may write to"):
        getattr(directories, f"{directory}_dir")()


def test_folders_are_made_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache" / "below"))
    before = os.umask(0)
    try:
        made = directories.specimens_dir()
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (made, made.parent, made.parent.parent)} == {0o700}


def test_the_list_of_added_servers_names_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    listed = tmp_path / added.FILE
    listed.write_text('{"schema_version": 1, "added": []}')
    assert added.entries() == ()
    listed.chmod(0o666)
    with pytest.raises(MachineFault, match="others may write to") as raised:
        added.entries()
    assert "set TLSTAX_DATA" in raised.value.remedy


def test_an_engine_from_elsewhere_is_looked_at(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = place / "engine"
    engine.touch()
    monkeypatch.setenv("TLSTAX_ENGINE", str(engine))
    assert engine_command() == [str(engine)]
    engine.chmod(0o777)
    with pytest.raises(MachineFault, match="others may write to"):
        engine_command()
