"""Which server is to be measured: one by name, one by the path of its program, or the default."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from tlstax.checksums import sha256_of
from tlstax.errors import MachineFault, UserMistake
from tlstax.factors import closest
from tlstax.places import roots_dir
from tlstax.records import Specimen
from tlstax.specimens import apt_root
from tlstax.specimens.apt_root import AptRoot, Progress
from tlstax.specimens.catalogue import DEFAULT_SERVERS, RECIPES
from tlstax.specimens.server_build import Flavour, ServerBuild
from tlstax.specimens.tls_library import TlsLibrary

PROGRAMS = ("mysqld", "mariadbd")
SYSTEM_DIRECTORIES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")


def default_server(progress: Progress) -> ServerBuild:
    """The default server, or what takes its place; `specimen.why` says which and why.

    The order is DEFAULT_SERVERS, then a mysqld or mariadbd of this machine. MachineFault, with the first
    server's reason, when none can be had.
    """
    first_fault: MachineFault | None = None
    for name in DEFAULT_SERVERS:
        try:
            return named_server(name, progress, why=_why(first_fault, RECIPES[name][0].title))
        except MachineFault as error:
            progress(error.sentence())
            first_fault = first_fault or error
    reason = first_fault.message if first_fault else ""
    for path in filter(None, map(_find_program, PROGRAMS)):
        try:
            return server_at(
                path, why=f"no server could be fetched ({reason}), so this machine's {path} was taken"
            )
        except UserMistake as error:
            progress(error.message)
    raise MachineFault(
        f"no database server could be had: {reason}, and there is no mysqld or mariadbd on this machine",
        remedy=first_fault.remedy if first_fault else "install a MySQL or MariaDB server",
    )


def named_server(name: str, progress: Progress, why: str = "asked for by name") -> ServerBuild:
    """A server of the catalogue, fetched if it is not there; UserMistake when there is none of this name."""
    if name not in RECIPES:
        raise UserMistake(f"there is no server named {name!r}", remedy=f"known are {', '.join(RECIPES)}")
    recipe, flavour = RECIPES[name]
    build = _build_of(apt_root.obtain(recipe, progress), flavour, why)
    _, version = version_of(build)
    return replace(build, specimen=build.specimen.model_copy(update={"version": version}))


def named_tls_library(name: str, progress: Progress) -> TlsLibrary:
    """A TLS library of the catalogue, fetched if it is not there; UserMistake when there is none."""
    inside = {"openssl-3.6-debian": "mysql-9.7", "openssl-3.5-debian": "mariadb-11.8"}
    if name not in inside:
        raise UserMistake(
            f"there is no TLS library named {name!r}{closest(name, inside)}",
            remedy=f"known are {', '.join(inside)}",
        )
    root = named_server(inside[name], progress).root or Path("/")
    (libssl,) = root.glob("usr/lib/*-linux-gnu*/libssl.so.3")
    alone = roots_dir() / f"{name}.stub"
    alone.mkdir(exist_ok=True)
    for file in (libssl, libssl.with_name("libcrypto.so.3")):
        if not (alone / file.name).exists():
            shutil.copy(file, alone / file.name)
    specimen = Specimen(
        name=name, kind="tls_library", version=name, origin="Debian", sha256=sha256_of(libssl)
    )
    return TlsLibrary(specimen, alone / "libssl.so.3", alone / "libcrypto.so.3", (libssl.parent,))


def server_at(path: Path, *, name: str | None = None, why: str = "asked for by its path") -> ServerBuild:
    """A server by the path of its mysqld or mariadbd; UserMistake when it is none."""
    if not path.is_file():
        raise UserMistake(f"{path} is not a program", remedy="give the path of a mysqld or mariadbd")
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
        flavour, version = version_of(ServerBuild(specimen, "mysql", executable))
    except MachineFault as error:
        raise UserMistake(error.message, remedy="give the path of a mysqld or mariadbd that runs") from error
    named = {"name": name or f"{flavour}-{version}", "version": version}
    return ServerBuild(specimen.model_copy(update=named), flavour, executable)


def version_of(build: ServerBuild) -> tuple[Flavour, str]:
    """Run the server with --version; its flavour and version number.

    Source of the format: both servers print `PROGRAM  Ver VERSION for OS on MACHINE (COMMENT)`, and
    MariaDB's version contains its name. MachineFault when the program does not run or is no server.
    """
    try:
        command = build.command(["--version"])
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _broken(build, str(error)) from error
    match = re.search(r"(?:mysqld(?!ump)|mariadbd(?!ump))\S*\s+Ver (\d+\.\d+\.\d+\S*)", done.stdout)
    if done.returncode != 0:
        raise _broken(build, "".join(done.stderr.strip().splitlines()[-1:]))
    if match is None:
        raise _broken(build, "it is another program")
    flavour: Flavour = "mariadb" if "mariadb" in done.stdout.lower() else "mysql"
    return flavour, match.group(1)


def _why(first_fault: MachineFault | None, title: str) -> str:
    if first_fault is None:
        return f"the default: {title}"
    wanted = RECIPES[DEFAULT_SERVERS[0]][0].title
    return f"{wanted} could not be had ({first_fault.message}), so {title} was taken"


def _build_of(root: AptRoot, flavour: Flavour, why: str) -> ServerBuild:
    recipe = root.manifest.recipe
    specimen = Specimen(
        name=recipe.name,
        kind="server",
        version="",
        origin=f"Debian {recipe.suite}",
        why=why,
        path=str(root.program),
        sha256=sha256_of(root.program),
        packages=root.manifest.versions(),
    )
    return ServerBuild(specimen, flavour, root.program, root.tree)


def _broken(build: ServerBuild, reason: str) -> MachineFault:
    remedy = f"remove {build.root.parent} and run again" if build.root else "choose another server"
    return MachineFault(
        f"{build.executable} does not run as a database server ({reason or 'no message'})", remedy=remedy
    )


def _find_program(name: str) -> Path | None:
    found = shutil.which(name)
    candidates = [Path(found)] if found else [Path(place) / name for place in SYSTEM_DIRECTORIES]
    return next((path for path in candidates if path.is_file()), None)
