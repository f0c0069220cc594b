"""Unpacks an archive that a bundle carries: `unpack.py ARCHIVE FOLDER`; its checksum was checked before.

Runs on any Python that tlstax runs on, before there are packages. Status 1 where the archive cannot be read.
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path


def main(archive: str, folder: str) -> None:
    """Unpack all of it, with the caution that this Python has."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "r|xz") as members:
        if hasattr(tarfile, "data_filter"):
            members.extractall(folder, filter="data")
        else:
            members.extractall(folder)  # noqa: S202 - its checksum was checked


if __name__ == "__main__":
    main(*sys.argv[1:])
