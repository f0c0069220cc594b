"""What the kernel has counted of a process anyhow: context switches, page faults, bytes read (proc(5))."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/")
_SWITCHES = re.compile(rb"voluntary_ctxt_switches:\s*([0-9]{1,20})")
"""Of both kinds, voluntary and not."""
_STATUS_BYTES = 1 << 16
"""More than /proc/PID/task/TID/status ever has, so that one read gives all of it."""
_READ = re.compile(r"^rchar: ([0-9]{1,20})$", re.MULTILINE)
_MINOR, _MAJOR = 7, 9
"""The places of minflt and majflt in /proc/PID/stat, counted from the field behind the name."""


class Threads(NamedTuple):
    """Context switches so far by thread id; page faults of the process, those of ended threads included.

    `read_bytes` are what read(2) and its kin have returned, from files for the most part, since sockets have
    calls of their own (proc(5), /proc/PID/io, rchar); None where that is out of reach.
    """

    context_switches: Mapping[int, int]
    page_faults: int
    read_bytes: int | None = None


def read_threads(pid: int, root: Path = ROOT) -> Threads | None:
    """What the kernel has counted of a process so far; None where it is out of reach.

    A thread that ends while its file is read is left out.
    """
    try:
        stat = (root / f"proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        tasks = [str(task) for task in (root / f"proc/{pid}/task").iterdir()]
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    switches = {}
    for task in tasks:
        try:
            status = _status(f"{task}/status")
        except OSError:
            continue
        switches[int(task.rpartition("/")[2])] = sum(map(int, _SWITCHES.findall(status)))
    return Threads(switches, int(fields[_MINOR]) + int(fields[_MAJOR]), _read_bytes(root, pid))


def _read_bytes(root: Path, pid: int) -> int | None:
    try:
        text = (root / f"proc/{pid}/io").read_text(encoding="utf-8")
    except OSError:
        return None
    found = _READ.search(text)
    return int(found[1]) if found else None


def threads_between(before: Threads | None, after: Threads | None) -> dict[str, int]:
    """What was counted between two readings.

    What a thread counted goes with it when it ends: where one has, context switches are not reported.
    (Servers keep the threads of ended connections for the next ones, as many as their thread cache holds.)
    """
    if before is None or after is None:
        return {}
    counts = {"page_faults": after.page_faults - before.page_faults}
    if before.context_switches.keys() <= after.context_switches.keys():
        now, then = sum(after.context_switches.values()), sum(before.context_switches.values())
        counts["context_switches"] = now - then
    if before.read_bytes is not None and after.read_bytes is not None:
        counts["read_bytes"] = after.read_bytes - before.read_bytes
    return counts


def _status(path: str) -> bytes:
    """A thread's status. A server has a hundred of them, and `Path.read_text` takes three times as long."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _STATUS_BYTES)
    finally:
        os.close(descriptor)
