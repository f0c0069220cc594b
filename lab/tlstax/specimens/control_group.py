"""Control groups of version 2: the kernel adds up the CPU time of what is in one, freezes it and ends it.

Made here is a group without controllers, so that what is in it is scheduled as it would be outside; its CPU
time, `cgroup.freeze` and `cgroup.kill` are there all the same (the kernel's
Documentation/admin-guide/cgroup-v2.rst, "Core Interface Files", "CPU Interface Files").
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tlstax.support.text import natural

ROOT = Path("/")
PREFIX = "tlstax-"
WITHIN_S, POLL_S = 10.0, 0.002
"""How long all of a group may take to freeze, or to be gone once they are killed."""

_numbers = count(1)


@dataclass(frozen=True)
class ControlGroup:
    """A group by its directory; `is_ours` where it was made for what is in it, and goes with it."""

    path: Path
    is_ours: bool = False

    def members(self) -> tuple[int, ...]:
        """The processes in it and in the groups below it. OSError where that cannot be read.

        Those that have ended and wait for their parent are not among them.
        """
        folders = [self.path, *(Path(at) / name for at, names, _ in os.walk(self.path) for name in names)]
        return tuple(int(pid) for folder in folders for pid in _read(folder / "cgroup.procs").split())

    def cpu_us(self) -> float:
        """CPU time that was used in it since it was made, to the microsecond. OSError where it is gone.

        A process that runs is accounted for when it leaves its processor, and at the kernel's ticks.
        """
        return float(_fields(self.path / "cpu.stat")["usage_usec"])

    def freeze(self) -> bool:
        """Let nothing in it run; whether all of it stands still in time. OSError where it is gone."""
        (self.path / "cgroup.freeze").write_text("1", "ascii")
        return self._becomes("frozen", 1)

    def thaw(self) -> None:
        """Let it run again. OSError where it is gone."""
        (self.path / "cgroup.freeze").write_text("0", "ascii")

    def kill(self) -> bool:
        """Kill all that is in it, frozen or not; whether it is empty in time. OSError where it is gone.

        OSError as well where the kernel has no `cgroup.kill` (Linux before 5.14).
        """
        (self.path / "cgroup.kill").write_text("1", "ascii")
        return self._becomes("populated", 0)

    def remove(self) -> None:
        """Remove it, if it is ours and empty. May be called twice."""
        if self.is_ours:
            with contextlib.suppress(OSError):
                self.path.rmdir()

    def _becomes(self, event: str, value: int) -> bool:
        until = time.monotonic() + WITHIN_S
        while _fields(self.path / "cgroup.events")[event] != value:
            if time.monotonic() > until:
                return False
            time.sleep(POLL_S)
        return True


def made_for(pid: int, root: Path = ROOT) -> ControlGroup | None:
    """A new group below our own, with this process in it; None where none may be made, as in a container."""
    own = group_of(os.getpid(), root)
    if own is None:
        return None
    group = ControlGroup(own.path / f"{PREFIX}{os.getpid()}-{next(_numbers)}", is_ours=True)
    try:
        group.path.mkdir()
        group.cpu_us()
        # Linux 5.2 has all that is needed here but `cgroup.kill`, which is done without.
        (group.path / "cgroup.freeze").stat()
        (group.path / "cgroup.procs").write_text(str(pid), "ascii")
    except (OSError, KeyError):
        group.remove()
        return None
    return group


def group_of(pid: int, root: Path = ROOT) -> ControlGroup | None:
    """The group that a process is in; None without version 2, or where it is out of reach.

    Beside version 1 it is mounted at a place of its own, so that is looked up (proc(5), mountinfo).
    """
    mount = next(_mounts(root), None)
    try:
        lines = (root / f"proc/{pid}/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return None
    place = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if mount is None or place is None:
        return None
    path = root / mount.lstrip("/") / place
    return ControlGroup(path) if path.is_dir() else None


def remove_left(root: Path = ROOT) -> None:
    """Remove the groups that killed runs left below our own; one with a process that lives stays.

    Processes that were just killed are no members any more, but the group is not empty before their end.
    """
    own = group_of(os.getpid(), root)
    for path in own.path.glob(f"{PREFIX}*-*") if own is not None else ():
        owner = natural(path.name.removeprefix(PREFIX).partition("-")[0])
        if owner is None or Path(f"/proc/{owner}").exists():
            continue
        group = ControlGroup(path, is_ours=True)
        with contextlib.suppress(OSError, KeyError):
            if not group.members() and group._becomes("populated", 0):
                group.remove()


def _mounts(root: Path) -> Iterator[str]:
    """Where version 2 is mounted."""
    for line in _read(root / "proc/self/mountinfo", missing="").splitlines():
        before, _, behind = line.partition(" - ")
        if behind.startswith("cgroup2 "):
            yield before.split()[4]


def _fields(path: Path) -> dict[str, int]:
    """A file with a name and a number on each line. OSError."""
    words = (line.split() for line in _read(path).splitlines())
    return {name: int(number) for name, number in words}


def _read(path: Path, missing: str | None = None) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        if missing is None:
            raise
        return missing
