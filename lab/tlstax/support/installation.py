"""Where tlstax finds what comes with it, in a clone or an installed wheel, and the files of its program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = PACKAGE / "shipped"
"""In a wheel alone: what else of the repository is looked up while it runs, and the engine's programs."""

PROGRAMS = "programs"
"""The folder there of what was compiled; a clone keeps that in the cache, and its launcher says where."""


def is_clone(package: Path = PACKAGE) -> bool:
    """Whether the package lies in a repository, rather than where a wheel was unpacked."""
    return not (package / SHIPPED.name).is_dir()


def folder_of(name: str, package: Path = PACKAGE) -> Path:
    """A folder of the repository's root by its name, or what the wheel has of it."""
    return (package.parents[1] if is_clone(package) else package / SHIPPED.name) / name


def shipped_program(name: str, package: Path = PACKAGE) -> Path | None:
    """A compiled program of the wheel; None in a clone, or where the wheel has none of that name."""
    path = package / SHIPPED.name / PROGRAMS / name
    return path if path.is_file() else None


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
