"""Faults and variants compiled by the machine's C compiler: of one file of ours a library for any program."""

from __future__ import annotations

import shutil
import subprocess

from tlstax.specimens.catalogue import FAULT_SOURCES
from tlstax.specimens.manifest import Part
from tlstax.specimens.progress import Reporter
from tlstax.specimens.recipe import CSource, Recipe
from tlstax.specimens.sources import tool
from tlstax.specimens.sources.tool import Place
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

COMPILER = "cc"
FLAGS = ("-shared", "-fPIC", "-O2", "-g", "-fno-omit-frame-pointer", "-nostdlib", "-Wall", "-Werror")
"""Without start files and without libraries named, so that it asks for no version of any C library; with
symbols and unwind tables, so that a profile names it."""

SAID = ((r"\berror: |undefined reference|cannot find", "the compiler reported"),)
TIMEOUT_S = 60.0


def fill(recipe: Recipe, source: CSource, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Compile into the tree; the source and which compiler it was. Raises MachineFault."""
    tool.need(COMPILER, f"{recipe.name}, a {recipe.kind} of ours,", "install a C compiler (package gcc)")
    reporter.step(f"compiling {recipe.name}")
    command = [COMPILER, *FLAGS, "-o", str(place.tree / recipe.program), str(FAULT_SOURCES / source.file)]
    if tool.run(tool.Run(command, place.work, place.log, TIMEOUT_S)) != 0:
        raise tool.failed(
            f"{recipe.name} cannot be compiled", place.log, SAID, "check this machine's C compiler"
        )
    return (Part(name=source.file, version=_compiler(), sha256=source.sha256),)


def _compiler() -> str:
    """What the compiler calls itself."""
    path = shutil.which(COMPILER) or COMPILER
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"{path} cannot be run ({reason(error)})") from error
    return next(iter(done.stdout.splitlines()), COMPILER)
