"""A clone of the project with programs that stand for Python, Rust and apt, so that set-up takes no time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
PATIENCE_S = 20.0
"""How long to wait for what should come at once: a machine under load must not fail a test."""


@dataclass
class Clone:
    """A fresh clone, and a user's account on a machine, all below one folder."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "a clone"

    @property
    def launcher(self) -> Path:
        return self.root / "tlstax"

    @property
    def cache(self) -> Path:
        return self.folder / "the cache"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def machine(self) -> Path:
        """Where the machine's programs are, if not all of this machine's are to be there."""
        return self.folder / "machine"

    @property
    def compiler(self) -> Path:
        return self.cache / "compiler"

    @property
    def main_rs(self) -> Path:
        return self.root / "engine" / "crates" / "engine" / "src" / "main.rs"

    def make(self) -> None:
        (self.root / "lab").mkdir(parents=True)
        self.state.mkdir()
        (self.folder / "home").mkdir()
        shutil.copy(ROOT / "tlstax", self.launcher)
        shutil.copytree(ROOT / "setup", self.root / "setup")
        self.main_rs.parent.mkdir(parents=True)
        self.main_rs.write_text("//! First.\n")
        (self.root / "engine" / "Cargo.lock").write_text("# none\n")

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": f"{PROGRAMS}:{self.machine}" if self.machine.exists() else f"{PROGRAMS}:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "TLSTAX_CACHE": str(self.cache),
            "FAKE_STATE": str(self.state),
            "FAKE_CALLS": str(self.state / "calls"),
            **more,
        }

    def begin(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """Start the launcher, with `run` where no argument is given: it needs all that set-up makes."""
        return subprocess.Popen(
            [self.launcher, *(arguments or ("run",))],
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            start_new_session=True,
        )

    def start(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        with self.begin(*arguments, **more) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def be_root(self) -> None:
        (self.state / "user").unlink()

    def set_state(self, name: str, text: str = "") -> None:
        (self.state / name).write_text(text)

    def calls(self, program: str) -> list[str]:
        path = self.state / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(program)]

    def installs(self) -> int:
        return sum("pip install" in call for call in self.calls("python3"))

    def builds(self) -> int:
        """How often the engine was built; what is linked statically is built beside it."""
        return len([call for call in self.calls("cargo build") if "--package tlstax-engine" in call])


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path)
    made.make()
    return made


@pytest.fixture
def user_clone(clone: Clone) -> Clone:
    """The clone on a machine without Rust, C compiler or ensurepip, for a user who cannot install anything.

    The programs of this machine stand in a folder of their own without those that shall be missing.
    """
    clone.set_state("rust", "1.63.0")
    clone.set_state("python", "no-pip")
    clone.set_state("user")
    clone.machine.mkdir()
    hidden = re.compile(r"(python|rustc|cargo|cc$|gcc|c99|c89|apt|dpkg-deb).*")
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in Path(folder).iterdir():
            link = clone.machine / program.name
            if not hidden.match(program.name) and not link.is_symlink():
                link.symlink_to(program)
    return clone


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Is there such a process, and is it more than a dead one that nobody has asked after?"""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def is_root() -> bool:
    return os.geteuid() == 0
