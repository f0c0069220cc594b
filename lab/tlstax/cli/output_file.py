"""Files that users name for what is written: their format, a try before all else, then a write with care.

A regular file is replaced whole or not at all; what is no regular file (a device, a FIFO, /dev/stdout) is
written to as it is. A FIFO waits for its reader, as everywhere.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from tlstax.support import temporary
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import natural

_THE_MACHINES = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE})
"""Errors for which nobody can blame the name of the file."""

_MOST_LINKS = 40
"""As many as Linux follows (path_resolution(7))."""


Format = TypeVar("Format", bound=str)

_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}")
"""What a name ends with that says what is in a file; a number, as of a version or a date, says nothing."""


def format_of_name(
    path: Path, formats: Mapping[str, Format], otherwise: Format, *, what: str, remedy: str = ""
) -> Format:
    """The format that a file's suffix asks for; `otherwise` for a device, or a name without a suffix.

    `what` is written there, such as "a report". Raises UserMistake for any other suffix.
    """
    if not _SUFFIX.fullmatch(path.suffix):
        return otherwise
    chosen = formats.get(path.suffix.lower())
    if chosen is None:
        raise UserMistake(
            f"{path}: {what} is not written as {path.suffix}",
            remedy=remedy or f"name a file that ends with {' or '.join(formats)}",
        )
    return chosen


def check_writable(path: Path) -> None:
    """Try whether `write_text` could write this file, and leave nothing behind.

    Raises UserMistake for a name that will not do, MachineFault where the disk will not.
    """
    try:
        _try(path)
    except OSError as error:
        kind = MachineFault if error.errno in _THE_MACHINES else UserMistake
        raise kind(f"{path} cannot be written ({error.strerror})", remedy="name another file") from error


def write_text(path: Path, text: str, *, remedy: str = "") -> None:
    """Write the text in UTF-8. Raises MachineFault, with `remedy` for what to do.

    A symbolic link is followed, if the system allows it. A new file gets the permissions that the umask
    leaves, one that is replaced keeps its own.
    """
    write_bytes(path, text.encode(errors="replace"), remedy=remedy)


def write_bytes(path: Path, content: bytes, *, remedy: str = "") -> None:
    """Write bytes as `write_text` does."""
    write_chunks(path, (content,), remedy=remedy)


def write_chunks(path: Path, content: Iterable[bytes], *, remedy: str = "") -> None:
    """Write bytes as `write_text` does, piece by piece."""
    try:
        _write(path, content)
    except OSError as error:
        raise MachineFault(f"{path} could not be written ({error.strerror})", remedy=remedy) from error


def _try(path: Path) -> None:
    target, existing = _followed(path), _existing(path)
    if isinstance(target, int):
        if fcntl.fcntl(target, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise _error(errno.EBADF)
        return
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        # Opening a device may do something, and a FIFO waits.
        if not os.access(path, os.W_OK):
            raise _error(errno.EACCES)
        return
    if existing is not None:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    if existing is None or _may_be_replaced(target, existing):
        with _begun(target) as (_, descriptor):
            os.close(descriptor)


def _write(path: Path, content: Iterable[bytes]) -> None:
    target, existing = _followed(path), _existing(path)
    if isinstance(target, int):
        with os.fdopen(os.dup(target), "wb") as stream:
            stream.writelines(content)
    elif existing is None or _may_be_replaced(target, existing):
        _replace(target, existing, content)
    else:
        with path.open("wb") as file:
            file.writelines(content)


def _followed(path: Path) -> Path | int:
    """Where the path's symbolic links lead: to a path, or to a descriptor of this process (/dev/stdout)."""
    descriptors = Path(f"/proc/{os.getpid()}/fd")
    for _ in range(_MOST_LINKS):
        descriptor = natural(path.name)
        if descriptor is not None and path.parent.resolve() == descriptors:
            return descriptor
        if not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    raise _error(errno.ELOOP)


def _existing(path: Path) -> os.stat_result | None:
    """What is there now, None for nothing. The system itself follows links here, so its rules hold."""
    try:
        existing = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(existing.st_mode):
        raise _error(errno.EISDIR)
    if stat.S_ISBLK(existing.st_mode):
        raise UserMistake(f"{path} is a disk", remedy="name a file")
    return existing


def _may_be_replaced(target: Path, existing: os.stat_result) -> bool:
    """Whether another file can take its place unnoticed: ours, of one name, in a folder that is too."""
    return (
        stat.S_ISREG(existing.st_mode)
        and existing.st_uid == os.geteuid()
        and existing.st_nlink == 1
        and os.access(target.parent, os.W_OK | os.X_OK)
    )


@contextlib.contextmanager
def _begun(target: Path) -> Iterator[tuple[Path, int]]:
    """A new file beside the target by a name that nobody foresees, open for writing; removed at the end."""
    with temporary.beside(target) as partial:
        yield partial, os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _replace(target: Path, existing: os.stat_result | None, content: Iterable[bytes]) -> None:
    with _begun(target) as (partial, descriptor):
        with os.fdopen(descriptor, "wb") as file:
            if existing is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, -1, existing.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(existing.st_mode))
            file.writelines(content)
        partial.replace(target)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
