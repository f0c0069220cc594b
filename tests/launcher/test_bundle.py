"""What a bundle was unpacked to verifies itself, sets itself up, and refuses what it cannot serve."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT
from tlstax.specimens.carried import Bundle, part_of
from tlstax.tools.bundle import FOLDER, Member, members_below, own_members, put_together, write_packed

HERE = f"3.{sys.version_info.minor}"
LABORATORY = """
import os, sys, carried_package
print("started", carried_package.WORD, *sys.argv[1:])
print("engine", open(os.environ["TLSTAX_ENGINE"]).read())
"""
BUNDLE = Bundle(
    tlstax="0.1.0",
    machine=platform.machine(),
    glibc="2.17",
    files=0,
    pythons=(HERE,),
    specimens=("mariadb-11.8",),
)


@dataclass
class Unpacked:
    """A tiny bundle in a folder of its own, and a user's account."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "a bundle" / FOLDER

    @property
    def cache(self) -> Path:
        return self.folder / "the cache"

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        programs = self.folder / "programs"
        settings = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "TLSTAX_CACHE": str(self.cache),
        }
        command = [self.root / "tlstax", *(arguments or ("run",))]
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=120)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _packed(scratch: Path, name: str, file: str, text: str) -> Member:
    _write(scratch / name / file, text)
    (scratch / name / file).chmod(0o755)
    part = Member(scratch / part_of(name), part_of(name))
    part.path.parent.mkdir(exist_ok=True)
    write_packed(members_below(scratch / name), part.path, lambda _: None)
    return part


def _whole(folder: Path, bundle: Bundle) -> Path:
    clone, scratch = folder / "clone", folder / "scratch"
    for name in ("tlstax", "setup"):
        subprocess.run(["cp", "-r", ROOT / name, clone if clone.exists() else _made(clone)], check=True)
    _write(clone / "lab/tlstax/__main__.py", LABORATORY)
    _write(clone / "engine/Cargo.lock", "# none\n")
    parts = [
        _packed(scratch, f"python-{HERE}", "carried_package.py", "WORD = 'from the bundle'\n"),
        _packed(scratch, "engine", "tlstax-engine", "carried"),
    ]
    return put_together(own_members(clone), parts, bundle, scratch)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def unpacked(tmp_path: Path) -> Callable[[Bundle], Unpacked]:
    def unpack(bundle: Bundle = BUNDLE) -> Unpacked:
        made = Unpacked(tmp_path)
        made.root.parent.mkdir()
        subprocess.run(["tar", "xf", _whole(tmp_path, bundle), "-C", made.root.parent], check=True)
        (tmp_path / "programs").mkdir()
        (tmp_path / "programs" / "python3").symlink_to(os.path.realpath(sys.executable))
        return made

    return unpack


Unpack = Callable[..., Unpacked]


def test_it_starts_with_what_it_carries(unpacked: Unpack) -> None:
    bundle = unpacked()
    done = bundle.start("run", "--budget", "5s")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "started from the bundle run --budget 5s\nengine carried\n"
    again = bundle.start()
    assert (again.returncode, again.stderr) == (0, "")


def test_nothing_is_written_beside_the_cache(unpacked: Unpack) -> None:
    bundle = unpacked()
    before = sorted(path for path in bundle.root.rglob("*") if "__pycache__" not in path.parts)
    assert bundle.start().returncode == 0
    assert sorted(path for path in bundle.root.rglob("*") if "__pycache__" not in path.parts) == before
    assert {path.name for path in bundle.cache.iterdir()} == {"engines", "environments", "setup.lock"}


@pytest.mark.parametrize(
    "name", ["parts/engine.tar.xz", "lab/tlstax/__main__.py", "bundle.txt", "SHA256SUMS"]
)
def test_a_changed_byte_is_refused_before_anything_is_unpacked(unpacked: Unpack, name: str) -> None:
    bundle = unpacked()
    content = bytearray((bundle.root / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle.root / name).write_bytes(content)
    done = bundle.start()
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tlstax: this bundle is damaged or incomplete (")
    assert not bundle.cache.exists()


@pytest.mark.parametrize("lines", [0, 3])
def test_cut_checksums_are_refused(unpacked: Unpack, lines: int) -> None:
    bundle = unpacked()
    sums = bundle.root / "SHA256SUMS"
    sums.write_text("".join(sums.read_text().splitlines(keepends=True)[:lines]))
    done = bundle.start()
    assert done.returncode == 3
    assert "damaged or incomplete (SHA256SUMS): copy the file here again" in done.stderr


def test_a_part_that_is_gone_is_refused(unpacked: Unpack) -> None:
    bundle = unpacked()
    (bundle.root / "parts/engine.tar.xz").unlink()
    done = bundle.start()
    assert done.returncode == 3
    assert "damaged or incomplete" in done.stderr


def test_a_file_that_was_cut_off_does_not_unpack(tmp_path: Path) -> None:
    file = _whole(tmp_path, BUNDLE)
    file.write_bytes(file.read_bytes()[:-1000])
    (tmp_path / "there").mkdir()
    done = subprocess.run(["tar", "xf", file, "-C", tmp_path / "there"], capture_output=True, check=False)
    assert done.returncode != 0
    with (tmp_path / "there/tlstax/bundle.txt").open() as contents:
        assert contents.readline() == "tlstax 0.1.0\n"


def test_another_processor_is_refused(unpacked: Unpack) -> None:
    done = unpacked(BUNDLE.model_copy(update={"machine": "riscv64"})).start()
    assert done.returncode == 3
    assert done.stderr.startswith("tlstax: this bundle is for riscv64, and this machine is ")


def test_an_older_c_library_is_refused(unpacked: Unpack) -> None:
    done = unpacked(BUNDLE.model_copy(update={"glibc": "2.999"})).start()
    assert done.returncode == 3
    assert "this bundle needs the GNU C library 2.999 or newer (found 2." in done.stderr


def test_another_python_is_refused(unpacked: Unpack) -> None:
    done = unpacked(BUNDLE.model_copy(update={"pythons": ("3.98", "3.99")})).start()
    assert done.returncode == 3
    assert done.stderr.startswith(
        "tlstax: this bundle is for Python 3.98 or 3.99, which is not on this machine (found "
    )
    assert f"make a bundle for it: tlstax bundle --python {HERE}" in done.stderr


def test_other_machines_are_refused(unpacked: Unpack) -> None:
    done = unpacked().start("run", "--ray", "auto")
    assert done.returncode == 3
    assert "Ray is not in this bundle" in done.stderr


def test_help_needs_nothing_unpacked(unpacked: Unpack) -> None:
    bundle = unpacked()
    assert "Usage: tlstax" in bundle.start("--help").stdout
    assert not bundle.cache.exists()


def test_equal_contents_give_equal_bytes(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        file = _whole(tmp_path / name, BUNDLE)
        os.utime(tmp_path / name / "clone/tlstax", (1, 1))
        files.append(file.read_bytes())
    assert files[0] == files[1]
    with tarfile.open(tmp_path / "one/scratch/whole") as tar:
        assert {(info.mtime, info.uid, info.uname) for info in tar} == {(0, 0, "")}
