"""Shared memory of System V that servers of ours leave when they are killed: it belongs to no directory.

PostgreSQL has a small segment of it, by which it knows another server on the same data, and removes it when
it ends in order. Which one it is stands in the file `postmaster.pid` of its data (PostgreSQL documentation,
"Shared Memory and Semaphores"; src/include/utils/pidfile.h: the seventh line has key and id).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

from tlstax.support.text import natural

SEGMENTS = Path("/proc/sysvipc/shm")
"""All segments of this machine or container, one a line, under names (proc(5))."""

_FILE = "data/postmaster.pid"
_OWNER_LINE, _KEY_LINE = 0, 6
_REMOVE = 0
"""IPC_RMID of <linux/ipc.h>."""


def remove_left_in(directory: Path) -> None:
    """Remove the segments of servers whose data is below a directory, once none of them runs any more.

    Those below are the directory's own data, or of a directory in it. A segment is gone when the last process
    that has it is (shmctl(2), IPC_RMID). One that another program has made is left alone, whatever its
    number. The file goes too: the next server on these data would ask whether its process runs.
    """
    for file in (directory / _FILE, *directory.glob(f"*/{_FILE}")):
        segment = _segment_of(file)
        if segment is not None and segment in set(_segments()):
            ctypes.CDLL(None).shmctl(int(segment[1]), _REMOVE, None)
        file.unlink(missing_ok=True)


def _segment_of(file: Path) -> tuple[str, str, str] | None:
    """Key, id and the process that made it; None where the file was not written to its end."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    words = lines[_KEY_LINE].split() if len(lines) > _KEY_LINE else []
    if len(words) != 2 or not all(natural(word) is not None for word in words):
        return None
    # A server without clients, which makes the data, writes its process id as a negative number.
    return words[0], words[1], lines[_OWNER_LINE].strip().lstrip("-")


def _segments() -> Iterator[tuple[str, str, str]]:
    """Key, id and maker of every segment; none where the kernel has none of System V."""
    try:
        lines = SEGMENTS.read_text("ascii").splitlines()
    except OSError:
        return
    names = lines[0].split()
    for line in lines[1:]:
        fields = dict(zip(names, line.split(), strict=False))
        yield fields["key"], fields["shmid"], fields["cpid"]
