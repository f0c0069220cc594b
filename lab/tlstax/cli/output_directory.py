"""A directory that a user names for what is written: made beside its place, then put there whole.

Where there is one already, the two change places in one step (renameat2(2) with RENAME_EXCHANGE), so that
whoever reads it finds the old or the new and never neither; a file system that cannot do that has a moment
without.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tlstax.support import temporary
from tlstax.support.errors import MachineFault, UserMistake

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS})


def check_replaceable(directory: Path, made_of: frozenset[str]) -> None:
    """UserMistake where the directory has anything but what is named here: that is no earlier one of ours."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UserMistake(f"{directory} is no directory", remedy="name another one")
    others = sorted({path.name for path in directory.iterdir()} - made_of) if directory.exists() else []
    if others:
        raise UserMistake(
            f"{directory} has {others[0]!r} in it, which is not of an earlier site",
            remedy="name an empty directory, or one that is not there yet",
        )
    if not directory.absolute().parent.is_dir():
        raise UserMistake(f"{directory.absolute().parent} is no directory", remedy="make it first")


class NewDirectory:
    """The new content while it is being written; `put_in_place` shows it, leaving it otherwise removes it."""

    def __init__(self, directory: Path) -> None:
        self._place = directory.absolute()
        self._stack = ExitStack()

    def __enter__(self) -> NewDirectory:
        self._partial = self._stack.enter_context(temporary.beside(self._place))
        try:
            self._partial.mkdir()
        except OSError as error:
            self._stack.close()
            raise UserMistake(
                f"nothing can be made in {self._place.parent} ({error.strerror})", remedy="name another place"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files by their paths in the directory. Raises MachineFault."""
        for name, content in files.items():
            path = self._partial / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                raise MachineFault(f"{path} could not be written ({error.strerror})") from error

    def put_in_place(self) -> None:
        """Let it take the place of what is there. Raises MachineFault."""
        try:
            if self._place.exists():
                _exchange(self._partial, self._place)
            else:
                self._partial.rename(self._place)
        except OSError as error:
            raise MachineFault(f"{self._place} could not be replaced ({error.strerror})") from error


def _exchange(new: Path, old: Path) -> None:
    """Let two directories change places."""
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    if renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return
    number = ctypes.get_errno()
    if number not in _CANNOT_EXCHANGE:
        raise OSError(number, os.strerror(number))
    aside = new.with_name(f"{new.name}{temporary.ASIDE}")
    old.rename(aside)
    new.rename(old)
    aside.rename(new)
