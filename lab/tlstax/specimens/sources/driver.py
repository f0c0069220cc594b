"""A driver, built by its own folder: `build NAME VERSION TREE`, run on a copy of the folder.

The folder's `build` calls the package manager of its language as the user has it configured, and holds it to
that language's lock file. Packages of Debian that the driver comes in are unpacked before, verified by the
archive's signature.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tlstax.specimens.catalogue import INSTALLING, RUN, files_of
from tlstax.specimens.manifest import Part
from tlstax.specimens.progress import Reporter
from tlstax.specimens.recipe import AptPackages, DriverBuild, Recipe
from tlstax.specimens.sources import apt, tool
from tlstax.specimens.sources.tool import Place
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support.errors import MachineFault

BUILD, ROOT = "build", "root"
TIMEOUT_S = 1800.0

PYTHON_VARIABLE = "TLSTAX_PYTHON"
"""What a build gets in its environment: the Python that runs the laboratory."""

PACKAGES = {
    "java": "a Java runtime (package default-jdk-headless)",
    "javac": "a Java compiler (package default-jdk-headless)",
    "mvn": "Maven (package maven)",
    "go": "Go (package golang-go)",
    "node": "Node.js (package nodejs)",
    "npm": "npm (package npm)",
    "cargo": "Rust (package cargo, or rustup)",
    "cc": "a C compiler (package gcc)",
    "python3": "Python (package python3)",
}
"""What is to be installed for a program that a build calls."""


def fill(recipe: Recipe, source: DriverBuild, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Build into the tree; the folder's files and every package of Debian. Raises MachineFault.

    The build's last line is the reason of its failure.
    """
    driver = DRIVERS[source.name]
    if not os.access(driver.place / BUILD, os.X_OK):
        raise MachineFault(
            f"{recipe.title} cannot be built: {driver.place / BUILD} is not there, or cannot be executed",
            remedy="complete the driver's folder as drivers/README.md says",
        )
    for program in driver.needs:
        tool.need(program, f"building {recipe.title}", f"install {PACKAGES.get(program, program)}")
    parts = _of_debian(recipe, source, place, reporter)
    scratch = _copied(driver.place, place.work / source.folder)
    reporter.step(f"building {recipe.title}")
    command = [str(scratch / BUILD), source.name, source.version, str(place.tree)]
    # Compilers take sources for what the locale says; of the messages, the last is shown.
    environment = {PYTHON_VARIABLE: sys.executable, "PYTHONPATH": "", "LC_ALL": "C.UTF-8"}
    if tool.run(tool.Run(command, scratch, place.log, TIMEOUT_S, environment=environment)) != 0:
        raise tool.failed(
            f"{recipe.title} cannot be built", place.log, (), "fix what is reported, and start again"
        )
    if not os.access(place.tree / RUN, os.X_OK):
        raise MachineFault(
            f"{recipe.title} cannot be used: its build made no executable file {RUN}",
            remedy="complete the driver's folder as drivers/README.md says",
        )
    return (Part(name=source.folder, version=source.version, sha256=source.sha256), *parts)


def _of_debian(recipe: Recipe, source: DriverBuild, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """The packages of Debian, unpacked into the tree's `root`; nothing where the driver needs none."""
    if not source.debian:
        return ()
    given = tuple(name for name in INSTALLING if name not in source.debian)
    packages = AptPackages(suites=(source.debian_suite,), packages=source.debian, given=given)
    root = Place(place.tree / ROOT, place.work, place.downloads)
    root.tree.mkdir()
    _, parts = apt.fill(recipe, packages, root, reporter)
    return parts


def _copied(folder: Path, scratch: Path) -> Path:
    """A copy of the folder in which the build may write."""
    for file in files_of(folder):
        copy = scratch / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
    return scratch
