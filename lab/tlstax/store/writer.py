"""Which process writes a run, distinguished from any later process that gets the same number."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_DEAD_STATES = "ZXx"


@dataclass(frozen=True)
class Writer:
    """A process: its id, when it started (clock ticks since boot), and in which boot of the machine."""

    pid: int
    started_ticks: int
    boot_id: str

    def is_alive(self) -> bool:
        """Whether this very process still runs, as seen from this machine."""
        return self.boot_id == _boot_id() and self.started_ticks == _started_ticks(self.pid)


def this_process() -> Writer:
    """The process that asks."""
    pid = os.getpid()
    return Writer(pid=pid, started_ticks=_started_ticks(pid) or 0, boot_id=_boot_id())


def _started_ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat (proc(5)); None for a process that is gone or only waits to be reaped."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in _DEAD_STATES else int(fields[18])


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
