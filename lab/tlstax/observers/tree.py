"""What a process and all that it starts use together, those that have ended included.

Three things tell their CPU time, and the first that is to be had is taken:

- a control group's accounts: everything, to the microsecond;
- perf's task clock, opened before the first process executes its program and inherited by all others:
  everything, to the nanosecond, where the kernel counts processes to their end. Kernels of 2025 and later,
  stable ones among them, stop before a process gives its memory back (do_exit in kernel/exit.c calls
  perf_event_exit_task before exit_mm), which was a fifth of what a connection cost PostgreSQL 15. Whether it
  is so is tried here, and where it is, the task clock is not taken unless nothing else is asked for;
- /proc: the CPU clocks of those that are there, and for those that have ended what their parents have been
  told (proc(5), /proc/PID/stat, cutime and cstime): everything, but in ticks of a hundredth of a second.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from tlstax.observers import process
from tlstax.observers.counters import TASK_CLOCK, Counters, open_event, read_event
from tlstax.observers.process import ROOT, Clock, CpuClock, CpuReading, ProcessMemory, Threads, read_threads
from tlstax.observers.window import Side
from tlstax.records.window import CpuSource
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.processes import stat_of
from tlstax.support.errors import MachineFault
from tlstax.support.here import text_of
from tlstax.support.text import natural

_STATE, _MINOR_REAPED, _MAJOR_REAPED = 0, 8, 10
_TICKS = slice(11, 15)
"""Places of state, cminflt, cmajflt, and utime to cstime in /proc/PID/stat, counted behind the name."""

WORDS: dict[CpuSource, str] = {
    "control group": "by their control group",
    "task clock": "by perf's task clock",
    "ticks": "from /proc, which counts those that have ended in ticks of 10 ms",
}
"""How the CPU time of several processes is read, for a sentence."""


_HOLDER = (sys.executable, "-I", "-S", "-c", "import os; held = b'x' * (1 << 26); os._exit(0)")
LEAST_COUNTED = 0.97
"""What perf must count of a process of a moment that holds 64 MB when it ends. Its end is a tenth of it."""


class TreeClock(Clock):
    """The CPU clock of a tree, by the best of what there is; at 0 where all of it is out of reach.

    Use `take` for a tree that is about to execute its program, `around` for one that runs. Either may be
    called again, for the next process of a server that is started anew. `only` restricts what is tried.
    """

    clients_read_it = False

    def __init__(self, tree: ProcessTree, only: Iterable[CpuSource] = tuple(WORDS)) -> None:
        self.tree = tree
        self._only = frozenset(only)
        self._events = Counters([TASK_CLOCK])
        self._last_us = 0.0
        self.source: CpuSource = "ticks"

    def take(self, pid: int) -> None:
        """Have this process, which has not executed its program yet, and all that it starts."""
        self.tree.take(pid)
        self._choose(lambda: self._events.open_before_exec(pid))

    def around(self) -> None:
        """Read the tree as it runs. Its members are at work: see `Counters.attach_to_tree`."""
        self._choose(lambda: self._events.attach_to_tree(self.tree.members))

    @property
    def is_known(self) -> bool:
        """Whether there is a tree."""
        return self.tree.pid is not None

    @property
    def words(self) -> str:
        """How it is read, for a sentence."""
        return WORDS[self.source]

    def read_us(self) -> float:
        """Microseconds so far. MachineFault where what tells it is gone."""
        group = self.tree.group
        if self.source == "control group" and group is not None:
            try:
                return group.cpu_us()
            except (OSError, KeyError) as error:
                raise MachineFault("the control group of the server's processes is gone") from error
        if self.source == "task clock":
            return self._events.read()[TASK_CLOCK.name].times / 1e3
        # Who ends between two looks is missed by one of them, which lets no time run backwards.
        self._last_us = max(self._last_us, proc_us(self.tree.members(with_ended=True)))
        return self._last_us

    def side(self) -> TreeSide:
        """The tree as it is watched."""
        return TreeSide(self.tree.pid, tree=self.tree, clock=self)

    def close(self) -> None:
        """Count no more. May be called twice."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_at_work(self) -> bool:
        """Whether a member runs or wants to: only the task clock shows that before the kernel's next tick."""
        if self.source == "task clock":
            return False
        return any(stat_of(pid)[:1] == ["R"] for pid in self.tree.members())

    def _choose(self, count: Callable[[], None]) -> None:
        self.close()
        self._last_us = 0.0
        if self.tree.group is not None and "control group" in self._only:
            self.source = "control group"
            return
        if "task clock" in self._only and (self._only == {"task clock"} or counts_ends()):
            count()
        self.source = "task clock" if self._events.read() else "ticks"


@dataclass(frozen=True, kw_only=True)
class TreeSide(Side):
    """A tree of this machine, watched as a process is; `pid` is its first one."""

    tree: ProcessTree
    clock: TreeClock

    @property
    def cpu_source(self) -> CpuSource | None:
        """What tells its CPU time."""
        return self.clock.source

    def read_cpu(self) -> CpuReading | None:
        """The CPU time of all; None where they are gone."""
        if not (members := self.tree.members()):
            return None
        try:
            total_us = self.clock.read_us()
        except MachineFault:
            return None
        user, system, user_reaped, system_reaped = _ticks(members)
        return CpuReading(
            total_us=total_us, user_ticks=user + user_reaped, system_ticks=system + system_reaped
        )

    def read_threads(self, root: Path = ROOT) -> Threads | None:
        """What the kernel has counted of all; page faults and bytes read also of those that have ended.

        A process tells as its own what those read that it has started and that have ended.
        """
        switches: dict[int, int] = {}
        faults, read_bytes, seen = 0, 0, False
        knows_bytes = True
        for pid in self.tree.members():
            own, fields = read_threads(pid, root), stat_of(pid, root)
            if own is None or not fields:
                continue
            seen = True
            switches |= own.context_switches
            faults += own.page_faults + int(fields[_MINOR_REAPED]) + int(fields[_MAJOR_REAPED])
            knows_bytes = knows_bytes and own.read_bytes is not None
            read_bytes += own.read_bytes or 0
        return Threads(switches, faults, read_bytes if knows_bytes else None) if seen else None

    def read_rss_bytes(self) -> int | None:
        """Resident memory of all, with what they share counted once: see `resident_bytes`."""
        return resident_bytes(self.tree.members())

    def read_memory(self, root: Path = ROOT) -> ProcessMemory | None:
        """What all hold, page by page, and their threads; None where they are out of reach.

        What they share is counted once, as each has its share of it (PSS, proc(5), smaps_rollup): in resident
        memory too that which a process still has of the one that started it.
        """
        members = self.tree.members()
        held = [own for pid in members if (own := process.read_memory(pid, root)) is not None]
        anonymous_bytes = _sum(own.pss_anonymous_bytes for own in held)
        rss_bytes = resident_bytes(members, root, anonymous_bytes)
        if not held or rss_bytes is None:
            return None
        pss_bytes = _sum(own.pss_bytes for own in held)
        return ProcessMemory(rss_bytes, pss_bytes, sum(own.threads for own in held), anonymous_bytes)

    def count_processes(self) -> int | None:
        """How many they are now."""
        return len(self.tree.members()) or None


@cache
def counts_ends() -> bool:
    """Whether perf's task clock counts what a process does as it ends, tried on one that holds some memory.

    False where it may not count at all.
    """
    try:
        descriptor = open_event(TASK_CLOCK, 0)
    except OSError:
        return False
    try:
        begun_ns, own_ns = read_event(descriptor).times, time.thread_time_ns()
        child = subprocess.Popen(_HOLDER, stdin=subprocess.DEVNULL, env={})
        use = os.wait4(child.pid, 0)[2]
        child.returncode = 0
        counted_ns = read_event(descriptor).times - begun_ns - (time.thread_time_ns() - own_ns)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return counted_ns / 1e9 > LEAST_COUNTED * (use.ru_utime + use.ru_stime)


def proc_us(members: Iterable[int]) -> float:
    """CPU time of these and of those whom they have seen end, in microseconds, from /proc."""
    members = tuple(members)
    running_us = 0.0
    for pid in members:
        with contextlib.suppress(OSError):
            running_us += CpuClock(pid).read_us()
    *_, user_reaped, system_reaped = _ticks(members)
    return running_us + (user_reaped + system_reaped) * 1e6 / process.ticks_per_s()


def _sum(sizes: Iterable[int | None]) -> int | None:
    """All of them together; None where one is not known."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def resident_bytes(
    members: Iterable[int], root: Path = ROOT, anonymous_bytes: int | None = None
) -> int | None:
    """Resident memory of several processes, with what they share counted once; None where all are gone.

    What is anonymous is added up, of files and of shared memory the most that one of them has is taken
    (RssAnon, RssFile and RssShmem of /proc/PID/status, proc(5)). Where they have different parts in memory it
    is more; where a process still has the pages of the one that started it, it is less, unless
    `anonymous_bytes` says what all of them have that is anonymous.
    """
    sizes = [own for pid in members if (own := _resident(pid, root))]
    if not sizes:
        return None
    shared = max(own[1] for own in sizes) + max(own[2] for own in sizes)
    return (sum(own[0] for own in sizes) if anonymous_bytes is None else anonymous_bytes) + shared


def _resident(pid: int, root: Path) -> tuple[int, int, int] | None:
    lines = text_of(root / f"proc/{pid}/status").splitlines()
    sizes = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    found = [natural(next(iter(sizes.get(name, ())), "")) for name in ("RssAnon", "RssFile", "RssShmem")]
    anonymous, of_files, shared = ((kib or 0) * 1024 for kib in found)
    return None if None in found else (anonymous, of_files, shared)


def _ticks(members: Iterable[int]) -> tuple[int, int, int, int]:
    """Of all of these: ticks in user space and in the kernel, and the same of those whom they saw end."""
    sums = [0, 0, 0, 0]
    for pid in members:
        own = map(int, stat_of(pid)[_TICKS])
        sums = [total + ticks for total, ticks in zip(sums, own, strict=False)] or sums
    user, system, user_reaped, system_reaped = sums
    return user, system, user_reaped, system_reaped
