"""Where tlstax finds what comes with it: in the clone that it runs from, or inside an installed wheel."""

from __future__ import annotations

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
