"""One directory for each run of the laboratory, held by a lock, so that a killed run is cleaned up later.

A session directory holds the data, sockets and keys of private servers. Its file `lock` is locked with
flock(2) for the life of the process, and the kernel gives the lock up however the process ends. The next
session that is opened therefore knows a stale directory by its free lock: it kills the servers that are
recorded there and still run, and removes the directory, with the shared memory of which its files tell and
the control groups of processes that are gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tlstax.specimens import control_group, process_tree, processes, shared_memory
from tlstax.support import directories, here, temporary
from tlstax.support.errors import MachineFault

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_session() -> Session:
    """Clean up after sessions whose process is gone, then open a new one below the cache directory.

    MachineFault where its processes could not be told from others, as /proc is not there.
    """
    here.check_proc()
    parent = directories.sessions_dir()
    with _exclusively(parent):
        _remove_stale(parent)
        control_group.remove_left()
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
    shared_memory.remove_left_in(path)
    shutil.rmtree(path, ignore_errors=True)


def _process_file(path: Path, pid: int) -> Path:
    return path / "processes" / str(pid)
