"""What is there for a moment: files of a program that is killed are cleared away at the next start.

Each has a directory of its own below the cache, whose file `lock` is locked with flock(2) for as long as its
process lives, and which the kernel unlocks however that ends. What must lie elsewhere, since it is to be put
in place in one step, is written down there first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from tlstax.support import directories
from tlstax.support.errors import TlstaxError

_BESIDE = "beside"
"""The file that has the path of what lies elsewhere, and, behind a zero byte, of what it is to replace."""

_PARTIAL = re.compile(r"\.tlstax-[0-9a-f]{16}\.partial")
"""How it is called, so that nothing else is ever removed."""

ASIDE = ".old"
"""What follows that name where the earlier content waits to be replaced."""


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    """An empty directory by a plain path, gone when the block is left. Raises MachineFault."""
    with _held() as place:
        inner = directories.plain(place.parent) / place.name / "content"
        inner.mkdir(mode=0o700)
        yield inner


@contextlib.contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A path in the target's own folder that nobody can foresee; what is there at the end is removed.

    Where there is no cache to write that down in, only a kill leaves it.
    """
    target = target.absolute()
    partial = target.with_name(f".tlstax-{secrets.token_hex(8)}.partial")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(TlstaxError, OSError):
            place = stack.enter_context(_held())
            (place / _BESIDE).write_bytes(os.fsencode(partial) + b"\0" + os.fsencode(target))
        try:
            yield partial
        finally:
            _remove(partial)


def clear() -> None:
    """Remove what killed programs of this user have left. Nothing is made, and no failure is said."""
    parent = _parent()
    with contextlib.suppress(OSError):
        if any(path.is_dir() for path in parent.iterdir()):
            with _alone(parent):
                _clear(parent)


@contextlib.contextmanager
def _held() -> Iterator[Path]:
    parent = directories.ensure_directory(_parent())
    with _alone(parent):
        _clear(parent)
        place = parent / secrets.token_hex(8)
        place.mkdir(mode=0o700)
        lock = (place / "lock").open("w", encoding="ascii")
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        lock.close()


def _parent() -> Path:
    return directories.cache_dir() / "temporary"


@contextlib.contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Making and clearing are one at a time, so that what is being made is not taken for left."""
    with (parent / ".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _clear(parent: Path) -> None:
    for place in parent.iterdir():
        if place.is_dir() and is_stale(place):
            with contextlib.suppress(OSError, ValueError):
                partial, _, target = (place / _BESIDE).read_bytes().partition(b"\0")
                _put_right(Path(os.fsdecode(partial)), Path(os.fsdecode(target)))
            shutil.rmtree(place, ignore_errors=True)


def is_stale(place: Path) -> bool:
    """Whether the process that a directory belonged to, by the lock in it, is gone."""
    try:
        with (place / "lock").open("r+", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _put_right(partial: Path, target: Path) -> None:
    """Remove what was not finished; what had been moved aside for it goes back, unless that is done."""
    if not _PARTIAL.fullmatch(partial.name) or partial.parent != target.parent:
        return
    aside = partial.with_name(f"{partial.name}{ASIDE}")
    if aside.is_dir() and aside.lstat().st_uid == os.geteuid():
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(target)
    _remove(partial)


def _remove(partial: Path) -> None:
    with contextlib.suppress(OSError):
        if partial.is_dir() and not partial.is_symlink():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
