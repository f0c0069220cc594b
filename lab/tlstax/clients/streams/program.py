"""Which program is run: the one that came with a server of its product, or with MariaDB's clients."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tlstax.records.trial import Specimen
from tlstax.specimens import shelf
from tlstax.specimens.manifest import AptPackages, Recipe
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server, specimen_of
from tlstax.specimens.server_build import loader_of, version_told
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason
from tlstax.support.trusted import sha256_of

COME_WITH: Mapping[str, tuple[str, str]] = {
    "pg-dump": ("postgresql-18", "pg_dump"),
    "pg-basebackup": ("postgresql-18", "pg_basebackup"),
    "pg-receivewal": ("postgresql-18", "pg_receivewal"),
    "pg-recvlogical": ("postgresql-18", "pg_recvlogical"),
    "mysqldump": ("mysql-9.7", "mysqldump"),
    "mysqlbinlog": ("mysql-9.7", "mysqlbinlog"),
}
"""The server that a client comes with, and its file there; newer ones copy older servers."""

OF_MARIADB = Recipe(
    name="mariadb-client-11.8",
    title="MariaDB's clients 11.8 from Debian trixie",
    kind="client",
    source=AptPackages(
        suites=("trixie",),
        packages=("mariadb-client=1:11.8*",),
        given=("perl", "libdbi-perl", "libconfig-inifiles-perl"),
    ),
    program="usr/bin/mariadb-dump",
    bytes_needed=300_000_000,
)
"""The core packages of MariaDB have no such program. Perl is for other programs of the package."""

_VERSION = re.compile(r"\b(?:Ver|from|PostgreSQL\)|Distrib) ([0-9]+(?:\.[0-9]+)*)")
"""In `pg_dump (PostgreSQL) 18.1`, `mysqldump  Ver 9.7.0 for Linux …`."""


def obtain(name: str, progress: Progress) -> tuple[Specimen, list[str]]:
    """The program of that name and the command that starts it behind the contract.

    What it comes with is fetched if it is not there. MachineFault when it cannot be had or does not run.
    """
    if name not in COME_WITH:
        return _of_mariadb(name, progress)
    server, file = COME_WITH[name]
    build = named_server(server, progress, why=f"{name} comes with it")
    executable, command = build.companion(file)
    specimen = Specimen(
        name=name,
        kind="client",
        version=version_told(name, command, _VERSION),
        origin=build.specimen.origin,
        why=f"it comes with {build.specimen.name}",
        path=str(executable),
        sha256=sha256_of(executable),
        packages=build.specimen.packages,
    )
    return specimen, adapter_command(name, specimen.version, command)


def _of_mariadb(name: str, progress: Progress) -> tuple[Specimen, list[str]]:
    kept = shelf.obtain(OF_MARIADB, progress)
    executable = kept.tree / "usr/bin" / name
    loader, directories = loader_of(kept.tree)
    command = [str(loader), "--library-path", ":".join(map(str, directories)), str(executable)]
    made = specimen_of(kept, "its server's packages have no such program")
    specimen = made.model_copy(
        update={
            "name": name,
            "version": version_told(name, command, _VERSION),
            "path": str(executable),
            "sha256": _checksum(executable),
        }
    )
    return specimen, adapter_command(name, specimen.version, command)


def _checksum(executable: Path) -> str:
    try:
        return sha256_of(executable)
    except OSError as error:
        raise MachineFault(f"{executable.name} is not among MariaDB's clients ({reason(error)})") from error


def adapter_command(name: str, version: str, command: list[str]) -> list[str]:
    """The command that starts a program of that name and version, itself run by `command`."""
    return [sys.executable, "-P", "-m", "tlstax.clients.streams", name, version, *command]
