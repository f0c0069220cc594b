"""The folder that this program runs from, and which of its files are the program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The checkout, or the folder that a bundle was unpacked to."""

REQUIREMENTS = "setup/requirements.txt"
"""The lock file of the Python packages that every command needs."""

PROGRAM = ("tlstax", "pyproject.toml", "setup", "lab", "engine", "drivers", "contract")
"""What tlstax needs of it to run."""

LEFT_OUT = frozenset({"target", "node_modules", "__pycache__", "build", "dist", ".mypy_cache", ".ruff_cache"})
"""Folders that are made from the rest."""


def files(root: Path, names: Sequence[str] = PROGRAM) -> Iterator[Path]:
    """The files of these names and below them, in a fixed order."""
    for name in names:
        top = root / name
        if top.is_file():
            yield top
        for folder, folders, found in os.walk(top):
            folders[:] = sorted(inner for inner in folders if inner not in LEFT_OUT)
            yield from (Path(folder) / file for file in sorted(found))
