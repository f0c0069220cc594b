"""Where things are kept: whatever a directory is called, programs are told a path that they take."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tlstax.records.trial import Specimen
from tlstax.specimens.server_build import ServerBuild
from tlstax.support import directories
from tlstax.support.errors import MachineFault, UserMistake

AWKWARD = (
    *("with spaces", 'a "b"', "it's", "100%", "#1", "a;b"),
    *("$ORIGIN", "a\\b", "(a)", "a*b", "a:b", "a\tb"),
)


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory in which links are made."""
    (tmp_path / "links").mkdir()
    monkeypatch.setattr(directories, "LINKS", (str(tmp_path / "links"),))
    return tmp_path / "links"


@pytest.mark.parametrize("name", ["a", "tlstax-0.1_b", "a+b@c,d=e~", "größe"])
def test_a_plain_path_is_taken_as_it_is(name: str, tmp_path: Path, links: Path) -> None:
    assert directories.plain(tmp_path / name) == tmp_path / name
    assert not any(links.iterdir())


@pytest.mark.parametrize("name", AWKWARD)
def test_any_other_path_gets_a_link_that_stays(name: str, tmp_path: Path, links: Path) -> None:
    awkward = tmp_path / name
    awkward.mkdir()
    (awkward / "file").write_text("there")
    link = directories.plain(awkward)
    assert re.fullmatch(rf"{links}/tlstax-{os.geteuid()}/[0-9a-f]+", str(link))
    assert (link / "file").read_text() == "there"
    assert directories.plain(awkward) == link
    assert directories.plain(tmp_path / f"another {name}") != link
    assert link.parent.stat().st_mode & 0o777 == 0o700


def test_links_to_what_is_gone_are_removed_when_another_is_made(tmp_path: Path, links: Path) -> None:
    gone, kept, new = (tmp_path / name for name in ("gone 1", "kept 2", "new 3"))
    for directory in (gone, kept, new):
        directory.mkdir()
    to_gone, to_kept = directories.plain(gone), directories.plain(kept)
    assert to_gone.is_relative_to(links)
    gone.rmdir()
    to_new = directories.plain(new)
    assert {to_kept, to_new} == set(to_new.parent.iterdir())


def test_what_programs_are_told_lies_below_plain_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, links: Path
) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "a 'cache' #1"))
    for directory in (directories.specimens_dir(), directories.sessions_dir(), directories.downloads_dir()):
        assert directory.is_relative_to(links)
        assert directory.resolve().parent == tmp_path / "a 'cache' #1"


def test_libraries_of_a_server_that_was_added_are_found_wherever_they_lie(
    tmp_path: Path, links: Path
) -> None:
    specimen = Specimen(name="mine", kind="server", version="8.4.0", origin="a test")
    (tmp_path / "my libs; old").mkdir()
    build = ServerBuild(specimen, "mysql", tmp_path / "mysqld", own_libraries=(tmp_path / "my libs; old",))
    (found,) = build.environment()["LD_LIBRARY_PATH"].split(":")
    assert Path(found).is_relative_to(links)
    assert Path(found).resolve() == tmp_path / "my libs; old"


def test_a_place_that_others_can_write_to_holds_no_links(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, links: Path
) -> None:
    open_to_all = links / f"tlstax-{os.geteuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(MachineFault) as caught:
        directories.plain(tmp_path / "with spaces")
    assert caught.value.sentence() == (
        f"'{tmp_path}/with spaces' has characters that not every program takes in a path, and no link to it "
        f"can be made in {links}; name a directory of letters, digits, dots and dashes in TLSTAX_CACHE"
    )
    second = tmp_path / "second"
    second.mkdir()
    monkeypatch.setattr(directories, "LINKS", (str(links), str(second)))
    assert directories.plain(tmp_path / "with spaces").is_relative_to(second)


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path, links: Path) -> None:
    link = directories.plain(tmp_path / "with spaces")
    assert link.is_relative_to(links)
    link.unlink()
    link.symlink_to(tmp_path)
    with pytest.raises(MachineFault, match="no link to it can be made"):
        directories.plain(tmp_path / "with spaces")


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "a\udcff"])
def test_a_path_with_unprintable_characters_is_refused_in_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", f"/elsewhere/{name}")
    with pytest.raises(UserMistake) as caught:
        directories.sessions_dir()
    assert caught.value.sentence().isprintable()
    assert "TLSTAX_CACHE" in caught.value.sentence()
