"""A client program that came with a server of the shelf, run by that server's own libraries."""

from __future__ import annotations

from pathlib import Path

from tlstax.specimens.server_build import ServerBuild
from tlstax.support.errors import MachineFault

_PLACES = ("bin", "usr/bin")


def borrowed(build: ServerBuild, program: str) -> tuple[Path, list[str]]:
    """The program's file, and the command words that start it. MachineFault when the server came without."""
    tree = build.root or build.basedir or build.executable.parent.parent
    for place in _PLACES:
        path = tree / place / program
        if path.is_file():
            return path, [*_environment(build), *build.command(program=path)]
    raise MachineFault(f"{build.specimen.name} came without its {program}")


def _environment(build: ServerBuild) -> list[str]:
    """The words that set what the program needs of the environment; env(1) replaces itself by it."""
    variables = [f"{name}={value}" for name, value in build.environment().items()]
    return ["/usr/bin/env", *variables] if variables else []
