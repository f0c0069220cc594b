"""Where things are kept on this machine: cache, data, the shelf of specimens and sessions.

The environment variables TLSTAX_CACHE and TLSTAX_DATA name other directories than the platform's usual
ones (on Linux, below XDG_CACHE_HOME and XDG_DATA_HOME).

Not every program takes every path: the dynamic loader's lists are split at spaces and semicolons and cannot
quote them, and configurations quote each in a way of its own, or not at all. So what programs are told to
read or write lies below a plain path: the cache's own, or a link to it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import stat
from pathlib import Path

import platformdirs

from tlstax.support import trusted
from tlstax.support.errors import MachineFault, UserMistake

PLAIN = frozenset("/._-+@,=~")
"""What may stand in a path beside letters and digits, and is read as it is by every program that we run."""

LINKS = ("/tmp", "/var/tmp")  # noqa: S108 (what is made there is this user's alone, which is checked)
"""Where links to directories with other paths are kept, in a directory of the user's own: always the same
ones, since what is built may know its own path."""


def cache_dir() -> Path:
    """What can be made again: fetched servers and, while they run, their data. Not created."""
    return _chosen("TLSTAX_CACHE") or platformdirs.user_cache_path("tlstax")


def data_dir() -> Path:
    """What cannot be made again: the store of runs. Not created."""
    return _chosen("TLSTAX_DATA") or platformdirs.user_data_path("tlstax")


def reports_dir() -> Path:
    """Where reports go when no other place was named; created when missing. MachineFault."""
    return ensure_directory(data_dir() / "reports")


def specimens_dir() -> Path:
    """The shelf: fetched and built specimens, one directory each; created when missing. A plain path.

    MachineFault, here and below, where somebody else could put there what is run.
    """
    return _of_programs("specimens")


def downloads_dir() -> Path:
    """What was downloaded and is not unpacked yet, kept in case a fetch is cut off; created when missing.

    A plain path.
    """
    return _of_programs("downloads")


def sessions_dir() -> Path:
    """One directory for each running process of the laboratory; created when missing. A plain path."""
    return _of_programs("sessions")


def _of_programs(name: str) -> Path:
    """A directory of the cache from which things are run, or to which what is run writes."""
    directory = ensure_directory(cache_dir() / name)
    trusted.check(directory, "TLSTAX_CACHE")
    return plain(directory)


def plain(directory: Path) -> Path:
    """The directory by a path of letters, digits and PLAIN: its own, or that of a link which stays there.

    MachineFault where no such link can be made.
    """
    directory = directory.absolute()
    if _is_plain(directory):
        return directory
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]
    for parent in LINKS:
        place = Path(parent) / f"tlstax-{os.geteuid()}"
        with contextlib.suppress(OSError):
            place.mkdir(mode=0o700, exist_ok=True)
            if _is_ours_alone(place) and _links(place / name, directory):
                return place / name
    raise MachineFault(
        f"{str(directory)!r} has characters that not every program takes in a path, and no link to it can be "
        f"made in {' or '.join(LINKS)}",
        remedy="name a directory of letters, digits, dots and dashes in TLSTAX_CACHE",
    )


def ensure_directory(path: Path) -> Path:
    """The directory, made for this user alone where missing, with those above; MachineFault when unusable."""
    try:
        # Each by itself, since those above would be made with the modes that the user lets others have.
        for directory in (*reversed(path.parents), path):
            if not directory.is_dir():
                directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unusable(path, f"created ({why(error)})") from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(path, "written to")
    return path


def check_place(path: Path) -> None:
    """MachineFault as of `ensure_directory`, found by making a directory there that is removed again."""
    there = next(place for place in (path, *path.parents) if place.exists())
    if path.is_dir() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(path, "written to")
    trial = there / f".tlstax-{secrets.token_hex(8)}.trial"
    try:
        trial.mkdir(mode=0o700)
        trial.rmdir()
    except OSError as error:
        raise _unusable(path, f"{'written to' if there == path else 'created'} ({why(error)})") from error


_WHY = {
    errno.ENOENT: "its file system takes no directories",
    errno.EACCES: "this user may not write there",
    errno.EPERM: "this user may not write there",
    errno.EROFS: "its file system is read-only",
    errno.ENOTDIR: "what is above it is no directory",
    errno.EEXIST: "what is above it is no directory",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "this user's share of the disk is full",
    errno.ENAMETOOLONG: "its name is too long",
}


def why(error: OSError) -> str:
    """Why a directory could not be made, in words."""
    return _WHY.get(error.errno or 0, error.strerror or "for no reason given")


def _unusable(path: Path, what: str) -> MachineFault:
    remedy = "make it writable, or name other places with TLSTAX_CACHE and TLSTAX_DATA"
    return MachineFault(f"the directory {path} cannot be {what}", remedy=remedy)


def check_room(directory: Path, bytes_needed: int, what: str) -> None:
    """MachineFault when the file system has less room than is needed for `what`."""
    free = shutil.disk_usage(directory).free
    if free < bytes_needed:
        raise MachineFault(
            f"{what} needs {bytes_needed / 1e6:.0f} MB in {directory.resolve()}, where "
            f"{free / 1e6:.0f} MB are free",
            remedy="make room, or name another place in TLSTAX_CACHE",
        )


def _is_plain(path: Path) -> bool:
    return all(character.isalnum() or character in PLAIN for character in str(path))


def _is_ours_alone(place: Path) -> bool:
    """Whether it is a directory into which nobody but this user can put anything."""
    found = place.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _links(link: Path, directory: Path) -> bool:
    """Whether the link leads to the directory.

    It is made where there is none, and those to directories that are gone are removed then.
    """
    if not link.is_symlink():
        for other in link.parent.iterdir():
            if other.is_symlink() and not other.exists():
                other.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            link.symlink_to(directory)
    return link.readlink() == directory


def _chosen(variable: str) -> Path | None:
    """A colon separates directories in lists, Python's own among them.

    Line ends and what is no UTF-8 the kernel reports in a spelling of its own, or the store cannot hold.
    """
    value = os.environ.get(variable)
    if value and ":" in value:
        raise UserMistake(f"{variable} is {value!r}, and a path with a colon cannot be used")
    if value and not value.isprintable():
        raise UserMistake(f"{variable} is {value!r}, and a path with unprintable characters cannot be used")
    return Path(value).expanduser().absolute() if value else None
