"""Libraries that a server asks the machine for and that the machine lacks, from Debian's packages.

Makers that publish a server as one archive count on libraries that their own systems have. Debian 13 renamed
libaio.so.1, and a bare machine has no libnuma.so.1. What is missing is unpacked beside the server; what the
machine has is used.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from tlstax.specimens import loading
from tlstax.specimens.manifest import Part
from tlstax.specimens.progress import Reporter
from tlstax.specimens.recipe import COMPANIONS, AptPackages, Recipe
from tlstax.specimens.sources import apt
from tlstax.specimens.sources.tool import Place
from tlstax.support.errors import MachineFault
from tlstax.support.text import enumerated

SUITE = "bookworm"
"""Its libraries run on the C library of every later release, and it is the last that has libaio.so.1."""

PACKAGES = {
    "libaio.so.1": "libaio1",
    "libcrypt.so.1": "libcrypt1",
    "libgcc_s.so.1": "libgcc-s1",
    "libnuma.so.1": "libnuma1",
    "libstdc++.so.6": "libstdc++6",
    "libsystemd.so.0": "libsystemd0",
}
GIVEN = ("libc6", "gcc-12-base")


def fill(recipe: Recipe, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Put what the recipe's program lacks into the tree's `companions`; the packages that it came in.

    Raises MachineFault when a library is in no package known here, or Debian's packages are not available.
    """
    missing = _missing(recipe, place.tree)
    if not missing:
        return ()
    wanted = f"{recipe.title} needs {enumerated(missing)}, which this machine does not have"
    packages = tuple(sorted({PACKAGES[name] for name in missing if name in PACKAGES}))
    unknown = [name for name in missing if name not in PACKAGES]
    if unknown:
        raise MachineFault(wanted, remedy=f"install {enumerated(unknown)}, and start again")
    reporter.step(wanted)
    root = Place(place.work / "companions", place.work, place.downloads / "companions")
    for directory in (root.tree, root.downloads):
        directory.mkdir(exist_ok=True)
    source = AptPackages(suites=(SUITE,), packages=packages, given=GIVEN)
    try:
        _, parts = apt.fill(recipe, source, root, reporter)
    except MachineFault as error:
        remedy = f"install it by other means (on Debian: {' '.join(packages)}), and start again"
        raise MachineFault(f"{wanted}: {error.message}", remedy=remedy) from error
    _link_missing(recipe, place.tree, root.tree, missing)
    return parts


def _link_missing(recipe: Recipe, tree: Path, unpacked: Path, missing: Collection[str]) -> None:
    """Take over the missing libraries, and then those that they in turn ask for and the machine lacks."""
    beside = tree / COMPANIONS
    beside.mkdir()
    while missing:
        found = {file.name: file for file in unpacked.glob("**/*-linux-gnu*/*.so*") if file.name in missing}
        if not found:
            raise MachineFault(
                f"Debian's packages for {recipe.title} do not contain {enumerated(sorted(missing))}",
                remedy="choose another specimen",
            )
        for name, file in found.items():
            os.link(file.resolve(), beside / name)
        missing = _missing(recipe, tree)


def _missing(recipe: Recipe, tree: Path) -> tuple[str, ...]:
    return loading.not_found(tree / recipe.program, [tree / name for name in (*recipe.libraries, COMPANIONS)])
