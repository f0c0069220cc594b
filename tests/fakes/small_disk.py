"""A file system of a few kilobytes, to be full soon, where the machine allows one to be made."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[Path]:
    """A tmpfs in the folder, by mount(2): a bare machine need not have mount(8)."""
    folder.mkdir(exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, b"size=%dk" % kibibytes) != 0:
        pytest.skip(f"no file system can be mounted here ({os.strerror(ctypes.get_errno())})")
    try:
        yield folder
    finally:
        assert libc.umount2(bytes(folder), 0) == 0
