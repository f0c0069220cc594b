"""Who is writing a run: a lock beside the store, which the kernel gives up however its writer ends.

A number of a process would be that of one PID namespace alone: from another container a live writer looks
dead. Each run has a byte of one file, by its name, and whoever writes the run holds a lock on that byte.
These are open file description locks (fcntl(2)): seen wherever the file is, and freed by the kernel alone.
Runs of before have the number of their writer's process instead.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlstax.support.errors import MachineFault

_PROC = Path("/proc")
_DEAD_STATES = "ZXx"

_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` where a file's offsets have 64 bits: type, whence, start, length, process."""


class RunLocks:
    """The locks of one store, as one opening of it holds them. All methods may raise MachineFault."""

    def __init__(self, store: Path) -> None:
        self._place = store.with_name(f"{store.name}-writers")
        self._held: set[str] = set()
        with self._reported():
            self._file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, run: str) -> bool:
        """Hold the lock of a run; False where another writer has it."""
        if run not in self._held:
            try:
                with self._reported():
                    fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK, run))
            except BlockingIOError:
                return False
            self._held.add(run)
        return True

    def is_taken(self, run: str) -> bool:
        """Whether anybody holds it, this opening or another one, wherever it runs."""
        if run in self._held:
            return True
        with self._reported():
            found = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, _lock(fcntl.F_WRLCK, run))
        return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)

    def give_back(self, run: str) -> None:
        """No longer write the run."""
        if run in self._held:
            self._held.discard(run)
            with self._reported():
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_UNLCK, run))

    def close(self) -> None:
        """Give all of them back. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._held.clear()

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError:
            raise
        except OSError as fault:
            raise MachineFault(
                f"no locks can be kept in {self._place} ({fault.strerror})",
                remedy="name a directory on a local disk in TLSTAX_DATA, or check who owns this one",
            ) from fault


def _lock(kind: int, run: str) -> bytes:
    """A lock on the byte of this run: 62 bits of a digest, so that no two runs share one."""
    digest = hashlib.sha256(run.encode("utf-8", "surrogatepass")).digest()
    return _FLOCK.pack(kind, os.SEEK_SET, int.from_bytes(digest[:8]) >> 2, 1, 0)


@dataclass(frozen=True)
class Writer:
    """A process: its id, when it started (clock ticks since boot), and in which boot of the machine."""

    pid: int
    started_ticks: int
    boot_id: str

    def is_alive(self) -> bool:
        """Whether this very process still runs, as seen from this machine and its PID namespace."""
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
