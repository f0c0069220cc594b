"""A bundle's specimens come from its parts, each verified; what it does not carry is not fetched."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tlstax.specimens import carried, manifest
from tlstax.specimens.carried import Bundle, parsed, part_of
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.manifest import Part
from tlstax.specimens.sources.tool import Place
from tlstax.support.errors import MachineFault
from tlstax.tools import bundle as making
from tlstax.tools.bundle import Member

MARIADB = RECIPES["mariadb-11.8"]
PARTS = (Part(name="mariadb-server-core", version="11.8.9", sha256="0" * 64),)
BUNDLE = Bundle(
    tlstax="0.1.0",
    machine="x86_64",
    glibc="2.34",
    files=5,
    pythons=("3.11", "3.13"),
    specimens=(MARIADB.name,),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An unpacked bundle with a tiny MariaDB."""
    shelf, bundle = tmp_path / "shelf", tmp_path / "bundle"
    program = shelf / manifest.TREE / MARIADB.program
    program.parent.mkdir(parents=True)
    program.write_text("a server")
    (program.parent / "mysqld").symlink_to(program.name)
    manifest.write(shelf, MARIADB, "11.8.9", "x86_64", PARTS)
    part = bundle / part_of(MARIADB.name)
    part.parent.mkdir(parents=True)
    members = [Member(shelf / name, name) for name in (manifest.MANIFEST, manifest.DIGESTS)]
    members += making.members_below(shelf / manifest.TREE, f"{manifest.TREE}/")
    making.write_packed(members, part, lambda _: None)
    (bundle / carried.CONTENTS).write_text(BUNDLE.text())
    digest = hashlib.sha256(part.read_bytes()).hexdigest()
    (bundle / carried.SUMS).write_text(f"{digest}  {part_of(MARIADB.name)}\n")
    return bundle


def _place(folder: Path) -> Place:
    place = Place(folder / "tree", folder / "work", folder / "downloads")
    place.tree.mkdir(parents=True)
    place.work.mkdir()
    return place


def test_contents_are_read_as_they_were_written() -> None:
    assert parsed(BUNDLE.text()) == BUNDLE


@pytest.mark.parametrize("text", ["", "machine\n", BUNDLE.text() + "more 1\n", "files many\n"])
def test_other_contents_are_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parsed(text)


def test_a_checkout_is_no_bundle(tmp_path: Path) -> None:
    assert carried.here(tmp_path) is None


def test_a_specimen_comes_out_as_it_went_in(root: Path, tmp_path: Path) -> None:
    place = _place(tmp_path / "there")
    part = carried.part_with(MARIADB, root)
    assert carried.fill(MARIADB, part, place) == ("11.8.9", PARTS)
    assert (place.tree / MARIADB.program).read_text() == "a server"
    assert (place.tree / "usr/sbin/mysqld").is_symlink()


def test_a_changed_part_is_refused(root: Path) -> None:
    part = root / part_of(MARIADB.name)
    part.write_bytes(part.read_bytes()[:-1] + b"!")
    with pytest.raises(MachineFault, match="this bundle is damaged or incomplete"):
        carried.part_with(MARIADB, root)


def test_a_part_with_another_specimen_is_refused(root: Path, tmp_path: Path) -> None:
    part = carried.part_with(MARIADB, root)
    with pytest.raises(MachineFault, match="damaged"):
        carried.fill(RECIPES["mariadb-10.11"], part, _place(tmp_path / "there"))


def test_what_is_not_carried_is_not_fetched(root: Path) -> None:
    with pytest.raises(MachineFault, match="not in this bundle, and a bundle fetches nothing") as raised:
        carried.part_with(RECIPES["mysql-9.7"], root)
    assert "`tlstax bundle --server mysql-9.7`" in raised.value.sentence()
