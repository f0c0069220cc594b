"""A process and all that it starts, as one: who belongs to it, and how all of them pause, go on and end.

PostgreSQL's server is such a tree: its first process starts one for each connection, which ends with it.

Where there are control groups of version 2, the kernel adds up the CPU time of what is in one, freezes it and
ends it. Made here is a group without controllers, so that what is in it is scheduled as it would be outside;
its CPU time, `cgroup.freeze` and `cgroup.kill` are there all the same (the kernel's
Documentation/admin-guide/cgroup-v2.rst, "Core Interface Files", "CPU Interface Files").
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tlstax.specimens.processes import signal_if, stat_of
from tlstax.support.errors import MachineFault
from tlstax.support.text import natural

ROOT = Path("/")
PREFIX = "tlstax-"
WITHIN_S, POLL_S = 10.0, 0.002
"""How long all may take to freeze or to stop, or to be gone once they are killed."""

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


def remove_left_groups(root: Path = ROOT) -> None:
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


_STANDS_STILL = frozenset("TtZXx")
"""States of a process that starts no other: stopped, traced, ended (proc(5), /proc/PID/stat)."""

_STATE, _PARENT, _TERMINAL, _STARTED = 0, 1, 4, 19
"""Places of state, ppid, tty_nr and starttime in /proc/PID/stat, counted from the field behind the name."""


class Member(NamedTuple):
    """A process that cannot be taken for a later one with the same id, and what it was doing."""

    pid: int
    started_ticks: int
    state: str

    @property
    def has_ended(self) -> bool:
        """Whether it only waits for its parent to see that it has ended."""
        return self.state in "ZXx"


class ProcessTree:
    """A process and its descendants, there from the beginning (`take`) or found at work (`around`).

    Descendants whose parent has ended belong to another one (credentials(7)): where there is no control group
    they are lost, unless they were stopped before it. `with_group` says whether one may be made.
    """

    def __init__(self, *, with_group: bool = True) -> None:
        self._with_group = with_group
        self.pid: int | None = None
        self._started_ticks: int | None = None
        self.group: ControlGroup | None = None

    def take(self, pid: int) -> None:
        """Have this process, which has not executed its program yet, and all that it starts.

        It gets a control group of its own where one may be made. Called again for the next process of a
        server that is started anew: the one before must have ended.
        """
        self._forget_group()
        self._begin_at(pid)
        self.group = made_for(pid) if self._with_group else None

    @classmethod
    def around(cls, pid: int) -> ProcessTree:
        """The tree of a server that runs already, of which `pid` is a process.

        Its first process is the topmost that executes the same program. Its control group is taken where
        nothing else is in that, as in a container or a service of its own.
        """
        tree = cls(with_group=False)
        tree._begin_at(first := first_of(pid))
        group = group_of(first)
        with contextlib.suppress(OSError, KeyError):
            if group is not None and group.cpu_us() > 0 and set(group.members()) == set(tree.members()):
                tree.group = group
        return tree

    def members(self, *, with_ended: bool = False) -> tuple[int, ...]:
        """The processes that belong to it now, its first one first; empty when all have ended.

        `with_ended` are those as well of which no control group knows, and whose parents do not know yet.
        """
        return tuple(member.pid for member in self._found() if with_ended or not member.has_ended)

    def pause(self) -> None:
        """Let none of them run; they keep memory and connections. MachineFault where one goes on.

        A control group is frozen. Without, the first process is stopped first, then whoever it had started
        meanwhile, until all stand still and there are no others: who is stopped starts nobody.
        """
        group = self._controls()
        with contextlib.suppress(OSError):
            if group is not None:
                if not group.freeze():
                    raise MachineFault(f"process {self.pid} and what it started could not be paused")
                return
        stopped: set[tuple[int, int]] = set()
        until = time.monotonic() + WITHIN_S
        while (found := list(self._found())) and not (
            all(member.state in _STANDS_STILL for member in found)
            and all(member[:2] in stopped or member.has_ended for member in found)
        ):
            if time.monotonic() > until:
                raise MachineFault(f"process {self.pid} and what it started could not be paused")
            fresh = [member for member in found if member[:2] not in stopped]
            for member in fresh:
                _send(member, signal.SIGSTOP)
                stopped.add(member[:2])
            if not fresh:
                time.sleep(POLL_S)

    def resume(self) -> None:
        """Let them go on, the first one last: until then nobody new comes."""
        group = self._controls()
        with contextlib.suppress(OSError):
            if group is not None:
                group.thaw()
                return
        for member in reversed(list(self._found())):
            _send(member, signal.SIGCONT)

    def end(self) -> None:
        """Kill all of them, paused or not, wait until they are gone, and remove their control group.

        The first one is left to whoever has started it, to be waited for. May be called twice.
        """
        if self.pid is None:
            return
        group = self._controls()
        with contextlib.suppress(OSError):
            if group is not None and group.kill():
                self._forget_group()
                return
        with contextlib.suppress(MachineFault):
            self.pause()
        members = [member for member in self._found() if not member.has_ended]
        for member in members:
            _send(member, signal.SIGKILL)
        _wait_for(members)
        self._forget_group()

    def _begin_at(self, pid: int) -> None:
        fields = stat_of(pid)
        self.pid, self._started_ticks = pid, int(fields[_STARTED]) if fields else None

    def _controls(self) -> ControlGroup | None:
        """The control group where it may be frozen and killed: one of ours."""
        return self.group if self.group is not None and self.group.is_ours else None

    def _forget_group(self) -> None:
        group, self.group = self.group, None
        if group is not None:
            group.remove()

    def _found(self) -> Iterator[Member]:
        """The first one before all others, among them those whose end their parent has not seen yet."""
        if self.group is not None:
            with contextlib.suppress(OSError):
                pids = sorted(self.group.members(), key=lambda pid: pid != self.pid)
                yield from (_member(pid, fields) for pid in pids if (fields := stat_of(pid)))
                return
        if self.pid is None:
            return
        known: dict[int, Member] = {}
        children: dict[int, list[int]] = {}
        for pid, fields in stats():
            known[pid] = _member(pid, fields)
            children.setdefault(int(fields[_PARENT]), []).append(pid)
        # Once it has ended and was seen to, its id may be another's.
        first = known.get(self.pid)
        family = [self.pid] if first is not None and first.started_ticks == self._started_ticks else []
        for pid in family:
            yield known[pid]
            family += children.get(pid, [])


def _member(pid: int, fields: list[str]) -> Member:
    return Member(pid, int(fields[_STARTED]), fields[_STATE])


def end_those_in(folder: Path) -> None:
    """Kill those that work in a folder or below it and that no terminal has started; wait for their end.

    It is for what a killed laboratory has left of servers that were paused: their first process is known, and
    ends them when it runs, but nobody lets it run any more. A server's processes stay in its data's folder.
    """
    members = []
    for pid, fields in stats():
        with contextlib.suppress(OSError):
            place = Path(f"/proc/{pid}/cwd").readlink()
            if place.is_relative_to(folder) and fields[_TERMINAL] == "0":
                members.append(_member(pid, fields))
                _send(members[-1], signal.SIGKILL)
    _wait_for(members)


class Warden:
    """A shell that outlives a killed laboratory by a moment, to kill those that work in a server's folder.

    A server's first process dies with its laboratory (`processes`), and those that it has started end when
    they see that; those that are paused see nothing, and would hold their memory until the next start. They
    have no death signal: it is cleared in the child of a fork (prctl(2), PR_SET_PDEATHSIG).
    """

    def __init__(self, folder: Path) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WARDEN, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Let it go without a kill: the server has been ended."""
        with contextlib.suppress(OSError):
            self._shell.communicate(b"dismissed\n")


_WARDEN = """
read -r _ && exit
for _ in 1 2 3 4 5 6 7 8 9 10; do
    killed=
    for at in /proc/[0-9]*; do
        [ "$at/cwd" -ef "$0" ] || continue
        fields=$(cat "$at/stat") || continue
        set -- ${fields##*) }
        [ "$5" = 0 ] && kill -KILL "${at#/proc/}" && killed=yes
    done
    [ "$killed" ] || exit
    sleep 0.2
done
"""
"""Its standard input ends without a line where the laboratory was killed. The folder is its $0; whom a
terminal has started is spared, as by `end_those_in`. Who was killed may take a moment to end."""


def stats(root: Path = ROOT) -> Iterator[tuple[int, list[str]]]:
    """Every process and the fields behind its name in /proc/PID/stat (proc(5))."""
    for entry in os.scandir(root / "proc"):
        pid = natural(entry.name)
        if pid is not None and (fields := stat_of(pid, root)):
            yield pid, fields


def first_of(pid: int, root: Path = ROOT) -> int:
    """The topmost process above this one that executes the same program; itself where there is none."""
    first, program = pid, _program(pid, root)
    while program is not None and (fields := stat_of(first, root)):
        parent = int(fields[_PARENT])
        if _program(parent, root) != program:
            break
        first = parent
    return first


def _program(pid: int, root: Path) -> tuple[int, int] | None:
    """The file that it executes, by device and inode; None where it is out of reach."""
    try:
        status = (root / f"proc/{pid}/exe").stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _send(member: Member, number: signal.Signals) -> None:
    """Signal this very process, or none."""
    signal_if(member.pid, lambda: _is_same(member), number)


def _is_same(member: Member) -> bool:
    fields = stat_of(member.pid)
    return bool(fields) and int(fields[_STARTED]) == member.started_ticks


def _wait_for(members: list[Member]) -> None:
    """Until those that were killed have ended: a signal is sent in no time, an end may take some."""
    until = time.monotonic() + WITHIN_S
    while any(_runs(member) for member in members) and time.monotonic() < until:
        time.sleep(POLL_S)


def _runs(member: Member) -> bool:
    return _is_same(member) and stat_of(member.pid)[:1] != ["Z"]
