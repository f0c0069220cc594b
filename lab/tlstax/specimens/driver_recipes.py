"""The drivers of the catalogue as specimens: each is built by its folder and kept like all others."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tlstax.specimens.recipe import DriverBuild, Recipe
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.support.checksums import sha256_of

RUN = "run"
"""The file that a folder's `build` makes: it becomes the program behind the contract."""

LEFT_OVER = frozenset({"__pycache__", "node_modules", "target"})
"""Directories that tools make in a folder beside what belongs to it."""

PAGE = "README.md"
"""A page for people; another word in it makes no other program."""

BYTES_NEEDED, BYTES_NEEDED_WITH_DEBIAN = 500_000_000, 1_500_000_000


def files_of(folder: Path) -> Iterator[Path]:
    """The files of which a driver is built, in the order of their paths; none where there is no folder."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not LEFT_OVER.intersection(inside.parts) and str(inside) != PAGE:
            yield path


@cache
def digest_of(folder: Path) -> str:
    """The SHA-256 over the folder's files: their paths, what they hold, and which are executable."""
    digest = hashlib.sha256()
    for path in files_of(folder):
        mode = "x" if os.access(path, os.X_OK) else "-"
        digest.update(f"{path.relative_to(folder)} {mode} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def gone_runtime(run: Path) -> str:
    """What starts a built driver and is not part of it, by path or name, where that is gone; else empty.

    A driver is built with the interpreter or runtime that it is started by, which may be taken away later:
    the one that `run` names in its first line (execve(2), "Interpreter scripts") or after `exec`. What is
    named by a variable of the script lies in the driver's own tree.
    """
    with run.open("rb") as file:
        if file.read(2) != b"#!":
            return ""
        lines = file.read().decode(errors="replace").splitlines()
    started = [_words(lines[0])] if lines else []
    started += [_words(line)[1:] for line in lines[1:] if line.startswith("exec ")]
    for words in started:
        program = words[0] if words else ""
        if program and "$" not in program and shutil.which(program) is None:
            return program
    return ""


def _words(line: str) -> list[str]:
    """The words of a shell's line, a word that goes on in the next line left out."""
    try:
        return shlex.split(line.rstrip("\\"))
    except ValueError:
        return []


def _recipe(name: str, driver: Driver) -> Recipe:
    return Recipe(
        name=name,
        title=f"{driver.product} {driver.version}",
        kind="client",
        version=driver.version,
        source=DriverBuild(
            folder=driver.folder,
            name=name,
            version=driver.version,
            sha256=digest_of(driver.place),
            debian=driver.debian,
            debian_suite=driver.debian_suite,
        ),
        program=RUN,
        bytes_needed=BYTES_NEEDED_WITH_DEBIAN if driver.debian else BYTES_NEEDED,
    )


DRIVER_RECIPES = tuple(_recipe(name, driver) for name, driver in DRIVERS.items())
