"""One directory for each run of the laboratory, held by a lock, so that a killed run is cleaned up later.

A session directory holds the data, sockets and keys of private servers. Its file `lock` is locked with
flock(2) for the life of the process, and the kernel gives the lock up however the process ends. The next
session that is opened therefore knows a stale directory by its free lock: it kills the servers that are
recorded there and still run, and removes the directory, with the shared memory of which its files tell and
the control groups of processes that are gone.

Shared memory of System V belongs to no directory. PostgreSQL has a small segment of it, by which it knows
another server on the same data, and removes it when it ends in order. Which one it is stands in the file
`postmaster.pid` of its data (PostgreSQL documentation, "Shared Memory and Semaphores";
src/include/utils/pidfile.h: the seventh line has key and id).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Self

from tlstax.specimens import process_tree, processes
from tlstax.support import directories, here, temporary
from tlstax.support.errors import MachineFault
from tlstax.support.text import natural

UNIX_SOCKET_PATH_BYTES = 104
"""A Unix socket's path must be shorter: 108 bytes on Linux (unix(7)), 104 elsewhere."""

LONGEST_SOCKET = ".s.PGSQL.65535"
"""The longest name of a server's socket in its directory."""


class Session:
    """A private directory (mode 0700) that lives as long as this object; make one with `open_session`."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self.path = path
        self._lock = lock
        self._directories = 0

    def new_directory(self) -> Path:
        """A new empty directory for one server, with a path short enough for a Unix socket in it."""
        self._directories += 1
        directory = self.path / str(self._directories)
        check_socket_path(directory / LONGEST_SOCKET)
        directory.mkdir(mode=0o700)
        return directory

    def record(self, pid: int) -> None:
        """Remember a process that must not outlive this session; call it before the process does anything."""
        identity = processes.identity_of(pid)
        if identity is not None:
            _process_file(self.path, pid).write_text(json.dumps(asdict(identity)), encoding="ascii")

    def forget(self, pid: int) -> None:
        """A recorded process has ended."""
        _process_file(self.path, pid).unlink(missing_ok=True)

    def close(self) -> None:
        """Kill what is recorded and still runs, and remove the directory. May be called twice."""
        if not self._lock.closed:
            _clear(self.path)
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_session() -> Session:
    """Clean up after sessions whose process is gone, then open a new one below the cache directory.

    MachineFault where its processes could not be told from others, as /proc is not there.
    """
    here.check_proc()
    parent = directories.sessions_dir()
    with _exclusively(parent):
        _remove_stale(parent)
        process_tree.remove_left_groups()
        path = parent / secrets.token_hex(4)
        check_socket_path(path / "1" / LONGEST_SOCKET)
        path.mkdir(mode=0o700)
        lock = (path / "lock").open("w", encoding="ascii")
        fcntl.flock(lock, fcntl.LOCK_EX)
        (path / "processes").mkdir()
    return Session(path, lock)


def check_socket_path(path: Path) -> None:
    """MachineFault when the path is too long for a Unix socket."""
    if len(os.fsencode(path)) >= UNIX_SOCKET_PATH_BYTES:
        raise MachineFault(
            f"{path} is too long for a Unix socket, which must be under {UNIX_SOCKET_PATH_BYTES} bytes",
            remedy="name a cache directory with a shorter path in TLSTAX_CACHE",
        )


@contextlib.contextmanager
def _exclusively(parent: Path) -> Iterator[None]:
    """Opening and cleaning are one at a time, so a session that is being opened is not seen as stale."""
    with (parent / ".lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            raise MachineFault(
                f"files in {parent} cannot be locked ({error.strerror})",
                remedy="name a directory on a local disk in TLSTAX_CACHE",
            ) from error
        yield


def _remove_stale(parent: Path) -> None:
    for path in parent.iterdir():
        if path.is_dir() and temporary.is_stale(path):
            # Not where a session closes itself: a program may still work in its folder, as sysbench does.
            process_tree.end_those_in(path)
            _clear(path)


def _clear(path: Path) -> None:
    for file in sorted((path / "processes").glob("*")):
        with contextlib.suppress(ValueError, TypeError, OSError):
            processes.kill_if_same(processes.ProcessIdentity(**json.loads(file.read_text(encoding="ascii"))))
    remove_shared_memory(path)
    shutil.rmtree(path, ignore_errors=True)


def _process_file(path: Path, pid: int) -> Path:
    return path / "processes" / str(pid)


SEGMENTS = Path("/proc/sysvipc/shm")
"""All segments of this machine or container, one a line, under names (proc(5))."""

_FILE = "data/postmaster.pid"
_OWNER_LINE, _KEY_LINE = 0, 6
_REMOVE = 0
"""IPC_RMID of <linux/ipc.h>."""


def remove_shared_memory(directory: Path) -> None:
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
