"""A tree that packages were unpacked to keeps to itself, and gets what its machine lacks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tlstax.specimens import loading
from tlstax.specimens.manifest import AptPackages, Part, Recipe
from tlstax.specimens.progress import Reporter, reporter
from tlstax.specimens.server_recipes import MYSQL_8_0_33
from tlstax.specimens.sources import apt, archives
from tlstax.specimens.sources.tool import Place
from tlstax.support.errors import MachineFault


def test_links_from_the_root_stay_in_the_tree(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "x86_64-linux-gnu" / "ld.so.2"
    (tmp_path / "lib64").mkdir()
    library.parent.mkdir(parents=True)
    library.write_text("its own loader", encoding="utf-8")
    loader, outside = tmp_path / "lib64" / "ld.so.2", tmp_path / "lib64" / "configuration"
    loader.symlink_to("/lib/x86_64-linux-gnu/ld.so.2")
    outside.symlink_to("/etc/nothing/here")
    apt.keep_links_inside(tmp_path)
    assert loader.is_symlink()
    assert loader.read_text(encoding="utf-8") == "its own loader"
    assert str(outside.readlink()) == "/etc/nothing/here"


def test_links_that_a_package_lists_are_made(tmp_path: Path) -> None:
    (tmp_path / "native/lib").mkdir(parents=True)
    (tmp_path / "native/lib/libpq.so.5.18").write_text("it", encoding="utf-8")
    listed = [{"source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5"}]
    (tmp_path / "links.json").write_text(json.dumps(listed), encoding="utf-8")
    archives.make_links(tmp_path, "links.json")
    assert str((tmp_path / "native/lib/libpq.so.5").readlink()) == "libpq.so.5.18"


@pytest.mark.parametrize(("source", "target"), [("../secret", "x"), ("x", "../taken"), ("x", "/etc/taken")])
def test_a_package_lists_no_link_out_of_itself(tmp_path: Path, source: str, target: str) -> None:
    (tmp_path / "links.json").write_text(json.dumps([{"source": source, "target": target}]), encoding="utf-8")
    with pytest.raises(MachineFault, match="lists a link out of itself"):
        archives.make_links(tmp_path, "links.json")


class Machine:
    """A machine that lacks libraries, each of which asks for others, and Debian's packages with some."""

    def __init__(self, asks: dict[str, tuple[str, ...]], debian: dict[str, tuple[str, ...]]) -> None:
        self.asks, self.debian = asks, debian
        self.fetched: list[str] = []

    def not_found(self, program: Path, directories: Sequence[Path]) -> tuple[str, ...]:
        there = {file.name for place in directories if place.is_dir() for file in place.iterdir()}
        needed, wanted = set[str](), [*self.asks[program.name]]
        while wanted:
            name = wanted.pop()
            needed.add(name)
            wanted += self.asks.get(name, ()) if name in there else ()
        return tuple(sorted(needed - there))

    def fill(
        self, recipe: Recipe, source: AptPackages, place: Place, reporter: Reporter
    ) -> tuple[str, tuple[Part, ...]]:
        assert recipe is MYSQL_8_0_33
        reporter.step("unpacking")
        for package in source.packages:
            if package not in self.debian:
                raise MachineFault(f"there is no {package}")
            for name in self.debian[package]:
                library = place.tree / "usr/lib/x86_64-linux-gnu" / name
                library.parent.mkdir(parents=True, exist_ok=True)
                library.touch()
        self.fetched += source.packages
        return "1", tuple(Part(name=name, version="1", sha256="0") for name in source.packages)


def companions_on(
    machine: Machine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], list[str]]:
    monkeypatch.setattr(loading, "not_found", machine.not_found)
    monkeypatch.setattr(apt, "fill", machine.fill)
    place = Place(folder / "tree", folder / "work", folder / "downloads")
    for directory in (place.tree, place.work, place.downloads):
        directory.mkdir()
    parts = archives.add_companions(MYSQL_8_0_33, place, reporter(lambda _: None))
    beside = place.tree / "companions"
    return [part.name for part in parts], sorted(f.name for f in beside.iterdir()) if beside.exists() else []


def test_a_library_that_the_machine_lacks_is_laid_beside_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian = {"libaio1": ("libaio.so.1", "libaio.so.1.0.1", "libfurther.so.2"), "libnuma1": ("libnuma.so.1",)}
    machine = Machine({"mysqld": ("libaio.so.1",), "libaio.so.1": ("libfurther.so.2",)}, debian)
    assert companions_on(machine, tmp_path, monkeypatch) == (["libaio1"], ["libaio.so.1", "libfurther.so.2"])


def test_a_machine_that_has_all_of_them_is_asked_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine({"mysqld": ()}, {})
    assert companions_on(machine, tmp_path, monkeypatch) == ([], [])
    assert machine.fetched == []


@pytest.mark.parametrize(
    ("asks", "sentence"),
    [
        (
            {"mysqld": ("libunheard.so.9",)},
            "MySQL 8.0.33 needs libunheard.so.9, which this machine does not have; install libunheard.so.9, "
            "and start again",
        ),
        (
            {"mysqld": ("libaio.so.1",)},
            "MySQL 8.0.33 needs libaio.so.1, which this machine does not have: there is no libaio1; install "
            "it by other means (on Debian: libaio1), and start again",
        ),
    ],
)
def test_what_cannot_be_supplied_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: dict[str, tuple[str, ...]], sentence: str
) -> None:
    with pytest.raises(MachineFault) as fault:
        companions_on(Machine(asks, {}), tmp_path, monkeypatch)
    assert fault.value.sentence() == sentence
