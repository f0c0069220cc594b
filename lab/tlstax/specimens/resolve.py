"""Which server is to be measured: one by name, one by the path of its program, or the default."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from tlstax.records.trial import Specimen
from tlstax.specimens import added, carried, shelf
from tlstax.specimens.added import Added
from tlstax.specimens.catalogue import DEFAULT_SERVER, RECIPES, default_servers
from tlstax.specimens.manifest import COMPANIONS, AptPackages, CSource, Kept, Kind, Recipe
from tlstax.specimens.processes import ran
from tlstax.specimens.progress import Progress, Reporter, reporter
from tlstax.specimens.server_build import FORKING, Fault, ServerBuild, TlsLibrary
from tlstax.specimens.server_recipes import MYSQL_OF_SID
from tlstax.specimens.sources.apt import SUPPORT_DIRECTORY, codename
from tlstax.study.factor import EXTERNAL
from tlstax.study.product import ProductName, product_of
from tlstax.support.credentials import called
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason
from tlstax.support.text import closest
from tlstax.support.trusted import sha256_of

PROGRAMS = ("mysqld", "mariadbd")
"""The servers of this machine that are taken where none could be fetched."""

A_PROGRAM = "a mysqld, mariadbd or postgres"
_VERSION = re.compile(
    r"(?:mysqld(?!ump)|mariadbd(?!ump))\S*\s+Ver (?P<three>\d+\.\d+\.\d+\S*)"
    r"|^postgres \(PostgreSQL\) (?P<two>\d+\.\d+)"
)
LISTED = "`tlstax specimens list` names them all"
SYSTEM_DIRECTORIES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")


def default_server(progress: Progress | Reporter) -> ServerBuild:
    """The default server, or what takes its place; `specimen.why` says which and why.

    In a bundle it is the first that it carries. Else the order is that of `default_servers`, then a mysqld
    or mariadbd of this machine. What was fetched in place of the default stays it, so that the archive is
    not asked at every start. MachineFault, with the first server's reason, when none is available.
    """
    first_fault: MachineFault | None = None
    bundle = carried.here()
    if bundle is not None:
        return named_server(bundle.specimens[0], progress, why="the first server of the bundle that this is")
    if shelf.present(DEFAULT_SERVER) is None and shelf.present(MYSQL_OF_SID) is not None:
        why = f"{DEFAULT_SERVER.title} was not available when this was fetched in its place"
        return named_server(MYSQL_OF_SID.name, progress, why=why)
    for recipe in default_servers(codename()):
        why = _why(first_fault, recipe.title)
        if first_fault:
            reporter(progress).step(why)
        try:
            return named_server(recipe.name, progress, why=why)
        except MachineFault as error:
            first_fault = first_fault or error
    reason = first_fault.message if first_fault else ""
    for path in filter(None, map(_find_program, PROGRAMS)):
        try:
            return server_at(
                path, why=f"no server could be fetched ({reason}), so this machine's {path} was taken"
            )
        except UserMistake as error:
            reporter(progress).step(error.message)
    raise MachineFault(
        f"no database server is available: {reason}, and there is no mysqld or mariadbd on this machine",
        remedy=first_fault.remedy if first_fault else "install a MySQL or MariaDB server",
    )


def check_server_name(name: str) -> None:
    """UserMistake when there is no server of this name, before any other is fetched; also for an address."""
    if "://" in name:
        raise UserMistake(
            "the address of an external server was given, and a private server is needed here",
            remedy="name a specimen (`tlstax specimens list`); `run`, `inspect` and `advise` take an address",
        )
    if not _is_recipe(name, "server") and added.find(name) is None:
        raise UserMistake(
            f"there is no server {called(name)}{_known(name, 'server')}", remedy=f"{LISTED}; {EXTERNAL}"
        )


def check_library_name(name: str) -> None:
    """UserMistake when there is no TLS library of this name."""
    if not _is_recipe(name, "tls_library"):
        raise UserMistake(
            f"there is no TLS library {called(name)}{_known(name, 'tls_library')}", remedy=LISTED
        )


def _is_recipe(name: str, kind: Kind) -> bool:
    return name in RECIPES and RECIPES[name].kind == kind


def named_server(name: str, progress: Progress | Reporter, why: str = "asked for by name") -> ServerBuild:
    """A server by its name: one of the catalogue, fetched if it is not there, or one that was added.

    UserMistake when there is none of this name; MachineFault when it is not available or does not run.
    """
    check_server_name(name)
    entry = added.find(name) if not _is_recipe(name, "server") else None
    if entry is not None:
        return added_server(entry, why)
    recipe = RECIPES[name]
    return server_of(recipe, shelf.obtain(recipe, progress), why)


def flavour_named(name: str) -> ProductName:
    """Which product the server of this name is, which needs no fetching.

    UserMistake for a name that there is not; MachineFault for an added server whose program does not run.
    """
    check_server_name(name)
    entry = added.find(name) if not _is_recipe(name, "server") else None
    return RECIPES[name].flavour if entry is None else added_server(entry).flavour


def named_tls_library(name: str, progress: Progress | Reporter) -> TlsLibrary:
    """A TLS library by its name, fetched or built if it is not there. Raises as of `named_server`."""
    check_library_name(name)
    return library_of(shelf.obtain(RECIPES[name], progress))


def named_fault(name: str, progress: Progress | Reporter) -> Fault:
    """A fault or variant by its name, compiled if it is not there. Raises as of `named_server`."""
    recipe = RECIPES.get(name)
    if recipe is None or not isinstance(recipe.source, CSource):
        raise UserMistake(f"there is no fault {called(name)}{_known(name, 'fault')}", remedy=LISTED)
    kept = shelf.obtain(recipe, progress)
    return Fault(specimen_of(kept, recipe.title), kept.program, recipe.source.stands_for)


def server_of(recipe: Recipe, kept: Kept, why: str = "asked for by name") -> ServerBuild:
    """A server of the shelf; MachineFault when it does not run."""
    specimen = specimen_of(kept, why)
    forks = recipe.flavour in FORKING
    if isinstance(recipe.source, AptPackages):
        build = ServerBuild(specimen, recipe.flavour, kept.program, root=kept.tree, forks=forks)
    else:
        beside = (COMPANIONS,) if (kept.tree / COMPANIONS).is_dir() else ()
        libraries = tuple(kept.tree / directory for directory in (*recipe.libraries, *beside))
        build = ServerBuild(
            specimen,
            recipe.flavour,
            kept.program,
            basedir=kept.tree,
            own_libraries=libraries,
            forks=forks,
        )
    _, version = version_of(build)
    return replace(build, specimen=specimen.model_copy(update={"version": version}), shelved=kept.path)


def library_of(kept: Kept) -> TlsLibrary:
    """A TLS library of the shelf."""
    libssl = kept.program
    libcrypto = libssl.with_name(libssl.name.replace("libssl", "libcrypto"))
    support = kept.tree / SUPPORT_DIRECTORY
    return TlsLibrary(
        specimen_of(kept, "asked for by name"), libssl, libcrypto, (support,) if support.is_dir() else ()
    )


def added_server(entry: Added, why: str = "asked for by name") -> ServerBuild:
    """A server that the user added; MachineFault when its program is gone or is no longer running."""
    try:
        libraries = (Path(entry.libssl),) if entry.libssl else ()
        return server_at(Path(entry.mysqld), name=entry.name, why=why, own_libraries=libraries)
    except UserMistake as error:
        raise MachineFault(
            f"{entry.name}, which was added, cannot be used: {error.message}",
            remedy=f"`tlstax specimens remove {entry.name}` forgets it",
        ) from error


def server_at(
    path: Path,
    *,
    name: str | None = None,
    why: str = "asked for by its path",
    own_libraries: tuple[Path, ...] = (),
) -> ServerBuild:
    """A server by the path of its program (mysqld, mariadbd, postgres); UserMistake when it is none.

    `own_libraries` are directories with libraries that it needs.
    """
    if not path.is_file():
        raise UserMistake(f"{path} is not a program", remedy=f"give the path of {A_PROGRAM}")
    executable = path.resolve()
    specimen = Specimen(
        name=name or executable.name,
        kind="server",
        version="",
        origin="this machine",
        why=why,
        path=str(executable),
        sha256=sha256_of(executable),
    )
    try:
        unknown = ServerBuild(specimen, "mysql", executable, own_libraries=own_libraries)
        flavour, version = version_of(unknown)
    except MachineFault as error:
        raise UserMistake(error.message, remedy=f"give the path of {A_PROGRAM} that runs") from error
    named = {"name": name or f"{flavour}-{version}", "version": version}
    return replace(
        unknown,
        specimen=specimen.model_copy(update=named),
        flavour=flavour,
        forks=flavour in FORKING,
    )


def version_of(build: ServerBuild) -> tuple[ProductName, str]:
    """Run the server with --version; its flavour and version number.

    Source of the format: MySQL and MariaDB print `PROGRAM  Ver VERSION for OS on MACHINE (COMMENT)`, and
    MariaDB's version contains its name; PostgreSQL prints `postgres (PostgreSQL) VERSION`, a version of two
    numbers. MachineFault when the program does not run or is no server.
    """
    try:
        done = ran(build.command(["--version"]), {**os.environ, **build.environment()})
    except OSError as error:
        raise _broken(build, reason(error)) from error
    match = _VERSION.search(done.stdout)
    if done.returncode != 0:
        raise _broken(build, "".join(done.stderr.strip().splitlines()[-1:]))
    if match is None:
        raise _broken(build, "it is another program")
    return product_of(done.stdout[match.start() :]), match["three"] or match["two"]


def _why(first_fault: MachineFault | None, title: str) -> str:
    if first_fault is None:
        return f"the default: {title}"
    return f"{first_fault.message}; {title} is taken in its place"


def specimen_of(kept: Kept, why: str) -> Specimen:
    """A specimen of the shelf as it is recorded of a run."""
    manifest = kept.manifest
    return Specimen(
        name=manifest.recipe.name,
        kind=manifest.recipe.kind,
        version=manifest.version,
        origin=manifest.recipe.source.origin,
        why=why,
        path=str(kept.program),
        sha256=kept.sha256(),
        packages=manifest.versions(),
    )


def _known(name: str, kind: Kind) -> str:
    names = [recipe.name for recipe in RECIPES.values() if recipe.kind == kind]
    if kind == "server":
        names += [entry.name for entry in added.entries()]
    beginning = [known for known in names if known.startswith(name.lower())]
    if DEFAULT_SERVER.name in beginning:
        return closest(name, [DEFAULT_SERVER.name], cutoff=0.0)
    newest = max(beginning, key=_by_version, default=None)
    return closest(name, names) if newest is None else closest(name, [newest], cutoff=0.0)


def _by_version(name: str) -> list[int]:
    """The numbers in a name, so that 8.0.33 comes before 8.4."""
    return [int(number) for number in re.findall(r"[0-9]{1,9}", name)]


def _broken(build: ServerBuild, reason: str) -> MachineFault:
    name = build.specimen.name
    ours = build.root or build.basedir
    remedy = f"fetch it anew: `tlstax specimens remove {name}`" if ours else "choose another server"
    return MachineFault(
        f"{build.executable} does not run as a database server ({reason or 'no message'})", remedy=remedy
    )


def _find_program(name: str) -> Path | None:
    found = shutil.which(name)
    candidates = [Path(found)] if found else [Path(place) / name for place in SYSTEM_DIRECTORIES]
    return next((path for path in candidates if path.is_file()), None)
