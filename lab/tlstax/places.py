"""Where things are kept on this machine: cache, data, the shelf of specimens and sessions.

The environment variables TLSTAX_CACHE and TLSTAX_DATA name other directories than the platform's usual
ones (on Linux, below XDG_CACHE_HOME and XDG_DATA_HOME).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import platformdirs

from tlstax.errors import MachineFault, UserMistake


def cache_dir() -> Path:
    """What can be had again: fetched servers and, while they run, their data. Not created."""
    return _chosen("TLSTAX_CACHE") or platformdirs.user_cache_path("tlstax")


def data_dir() -> Path:
    """What cannot be had again: the store of runs. Not created."""
    return _chosen("TLSTAX_DATA") or platformdirs.user_data_path("tlstax")


def specimens_dir() -> Path:
    """The shelf: fetched and built specimens, one directory each; created when missing."""
    return ensure_directory(cache_dir() / "specimens")


def downloads_dir() -> Path:
    """What was downloaded and is not unpacked yet, kept in case a fetch is cut off; created when missing."""
    return ensure_directory(cache_dir() / "downloads")


def sessions_dir() -> Path:
    """One directory for each running process of the laboratory; created when missing."""
    return ensure_directory(cache_dir() / "sessions")


def ensure_directory(path: Path) -> Path:
    """The directory, created for the current user only when missing; MachineFault when it cannot be used."""
    remedy = "make it writable, or name other places with TLSTAX_CACHE and TLSTAX_DATA"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineFault(
            f"the directory {path} cannot be created ({error.strerror})", remedy=remedy
        ) from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise MachineFault(f"the directory {path} cannot be written to", remedy=remedy)
    return path


def check_room(directory: Path, bytes_needed: int, what: str) -> None:
    """MachineFault when the file system has less room than is needed for `what`."""
    free = shutil.disk_usage(directory).free
    if free < bytes_needed:
        raise MachineFault(
            f"{what} needs {bytes_needed / 1e6:.0f} MB in {directory}, where {free / 1e6:.0f} MB are free",
            remedy="make room, or name another place in TLSTAX_CACHE",
        )


def _chosen(variable: str) -> Path | None:
    """A colon separates directories in lists that servers and the dynamic loader are given."""
    value = os.environ.get(variable)
    if value and ":" in value:
        raise UserMistake(f"{variable} is {value!r}, and a path with a colon cannot be used")
    return Path(value).expanduser().absolute() if value else None
