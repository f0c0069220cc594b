"""Data of a new server: made once by its own program, kept beside it on the shelf, copied for each server.

What is kept has no account that anybody can log in to, and nothing by which a server is told from others or
proves who it is. There is at most one a specimen, and it goes when the specimen goes. It is written aside and
renamed, so that a kill leaves none or a whole one; who cannot use it makes the data anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

LOCK = "data.lock"
"""The file that is locked (flock(2)), shared by those that copy and alone by who changes what is kept."""

PREFIX = "data-"

_PARTIAL = ".data.partial"
_BLOCK_BYTES = 65_536
_ZEROS = bytes(_BLOCK_BYTES)
_LARGE_BYTES = 1_000_000


class InitialData:
    """What is kept in a specimen's directory for servers whose data are made in one way.

    `made_by` stands for that way, as a name; `own` are patterns of files in the data's directory that each
    server makes for itself at its start.
    """

    def __init__(self, specimen: Path, made_by: str, own: tuple[str, ...] = ()) -> None:
        self._specimen = specimen
        self._place = specimen / f"{PREFIX}{made_by}"
        self._own = own

    def copy_to(self, directory: Path) -> bool:
        """Fill an empty directory: True. False, and it is empty, where nothing is kept or it cannot be read.

        Large files are on the disk when this returns, as after the server's own making, so that
        no trial shares the disk with them; nor do they share blocks with what is kept, which would have the
        first write to each cost more.
        """
        with contextlib.suppress(OSError), self._held(fcntl.LOCK_SH):
            if self._place.is_dir():
                shutil.copytree(self._place, directory, dirs_exist_ok=True)
                _write_through(directory, _LARGE_BYTES)
                return True
        empty(directory)
        return False

    def keep(self, directory: Path) -> None:
        """Keep a copy of these data in place of any other; none where the disk does not take it."""
        partial = self._specimen / _PARTIAL
        with contextlib.suppress(OSError), self._held(fcntl.LOCK_EX):
            if self._place.is_dir():
                return
            self._remove()
            try:
                shutil.copytree(directory, partial, ignore=self._left_out, copy_function=_copy_sparse)
                _write_through(partial, 0)
                partial.rename(self._place)
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    def forget(self) -> None:
        """Keep nothing."""
        with contextlib.suppress(OSError), self._held(fcntl.LOCK_EX):
            self._remove()

    def _remove(self) -> None:
        """Take it away in one step before its files go, so that a kill leaves no half of it there."""
        partial = self._specimen / _PARTIAL
        shutil.rmtree(partial, ignore_errors=True)
        for path in self._specimen.glob(f"{PREFIX}*"):
            path.rename(partial)
            shutil.rmtree(partial)

    def _left_out(self, _directory: str, names: list[str]) -> list[str]:
        return [name for name in names if any(fnmatch(name, pattern) for pattern in self._own)]

    @contextlib.contextmanager
    def _held(self, how: int) -> Iterator[None]:
        with (self._specimen / LOCK).open("w", encoding="ascii") as lock:
            fcntl.flock(lock, how)
            yield


def empty(directory: Path) -> None:
    """Remove what is in a directory. Raises OSError."""
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _copy_sparse(source: str, target: str) -> None:
    """Blocks of zeros take no room: most of a log that nobody has written to yet."""
    with open(source, "rb") as read, open(target, "wb") as written:  # noqa: PTH123 (copytree hands over strings)
        while block := read.read(_BLOCK_BYTES):
            if block == _ZEROS[: len(block)]:
                written.seek(len(block), os.SEEK_CUR)
            else:
                written.write(block)
        written.truncate()
    shutil.copymode(source, target)


def _write_through(directory: Path, least_bytes: int) -> None:
    """Have the files of at least that size on the disk."""
    for path in directory.rglob("*"):
        if path.is_file() and path.stat().st_size >= least_bytes:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
