"""What a program that is killed leaves behind is gone after the next start, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlstax.support import temporary

DYING = """
import os, signal, sys
from pathlib import Path
from tlstax.cli import export_command, streams
from tlstax.support import temporary

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def in_a_directory(place):
    with temporary.directory() as folder:
        (folder / "rows.json").write_text("half")
        die()

def in_a_file(place):
    streams.write_chunks(place / "report.html", (piece() for piece in (lambda: b"half", die)))

def in_a_site(place):
    with export_command.NewDirectory(place / "site") as site:
        site.write({"index.html": b"half"})
        die()

def in_place(place):
    with export_command.NewDirectory(place / "site") as site:
        site.write({"index.html": b"new"})
        site.put_in_place()
        die()

def while_replacing(place):
    export_command._RENAME_EXCHANGE = 1 << 30  # no flag of renameat2(2), as on a file system without it
    rename = Path.rename
    Path.rename = lambda path, target: die() if path.name.endswith(".partial") else rename(path, target)
    in_place(place)

globals()[sys.argv[1]](Path(sys.argv[2]))
"""

STARTED = [sys.executable, "-P", "-m", "tlstax", "--version"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a site and a report of before, and a cache of its own."""
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    own = tmp_path / "own"
    (own / "site").mkdir(parents=True)
    (own / "site" / "index.html").write_text("before", encoding="utf-8")
    (own / "report.html").write_text("before", encoding="utf-8")
    return own


def left(place: Path) -> set[str]:
    """Everything that is no site and no report."""
    beside = {path.name for path in place.iterdir()} - {"site", "report.html"}
    return beside | {path.name for path in (place.parent / "cache" / "temporary").glob("[!.]*")}


@pytest.mark.parametrize(
    ("point", "index"),
    [
        ("in_a_directory", "before"),
        ("in_a_file", "before"),
        ("in_a_site", "before"),
        ("in_place", "new"),
        ("while_replacing", "before"),
    ],
)
def test_a_kill_leaves_nothing_after_the_next_start(place: Path, point: str, index: str) -> None:
    done = subprocess.run([sys.executable, "-c", DYING, point, str(place)], check=False)
    assert done.returncode == -9
    assert left(place), "it was killed in the midst of it"
    temporary.clear()
    assert left(place) == set()
    assert (place / "site" / "index.html").read_text(encoding="utf-8") == index
    assert (place / "report.html").read_text(encoding="utf-8") == "before"


def test_any_start_clears_it_away(place: Path) -> None:
    subprocess.run([sys.executable, "-c", DYING, "in_a_site", str(place)], check=False)
    assert left(place)
    subprocess.run(STARTED, check=True, stdout=subprocess.DEVNULL)
    assert left(place) == set()


def test_what_a_living_program_uses_stays(place: Path) -> None:
    with temporary.directory() as folder, temporary.beside(place / "report.html") as partial:
        (folder / "rows.json").write_text("half", encoding="utf-8")
        partial.write_text("half", encoding="utf-8")
        subprocess.run(STARTED, check=True, stdout=subprocess.DEVNULL)
        assert (folder / "rows.json").exists()
        assert partial.exists()
    assert left(place) == set()


def test_nothing_but_what_is_called_so_is_removed(place: Path) -> None:
    """Whoever can write to the cache cannot have other files removed by it."""
    own = place.parent / "cache" / "temporary" / "0123456789abcdef"
    own.mkdir(parents=True)
    (own / "lock").touch()
    for named in (place / "report.html", place / "site", place / ".tlstax-x.partial"):
        (own / "beside").write_bytes(os.fsencode(named) + b"\0" + os.fsencode(place / "site"))
        temporary.clear()
        own.mkdir()
    assert (place / "report.html").exists()
    assert (place / "site" / "index.html").exists()
