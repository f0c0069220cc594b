"""What a wheel has besides the Python package: what else is looked up at run time, and the programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("drivers",)
"""Folders of the repository's root that are looked up with `tlstax.support.installation.folder_of`."""

PROGRAMS = (
    "tlstax-engine",
    "tlstax-tools",
    "tlstax-watch",
)
"""What `setup/programs` builds, and the laboratory starts."""

SHIPPED = "tlstax/shipped"
LEFT_OUT = frozenset({"__pycache__", "node_modules", "target"})


def folder_files(root: Path) -> Iterator[tuple[Path, str]]:
    """Each file of FOLDERS with its path in the wheel, in the order of their paths."""
    for name in FOLDERS:
        for folder, folders, names in os.walk(root / name):
            folders[:] = sorted(inner for inner in folders if inner not in LEFT_OUT)
            for file in sorted(names):
                path = Path(folder, file)
                yield path, f"{SHIPPED}/{path.relative_to(root).as_posix()}"


def program_files(programs: Path) -> list[tuple[Path, str]]:
    """Each program with its path in the wheel; FileNotFoundError where one is missing."""
    missing = [name for name in PROGRAMS if not (programs / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{programs} lacks {', '.join(missing)}: setup/programs builds them there")
    return [(programs / name, f"{SHIPPED}/programs/{name}") for name in PROGRAMS]
