"""Programs that come with a server, as load clients: which it is, and the command that starts each.

MariaDB's come with its client package. Each has an adapter of its kind behind the contract.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tlstax.records.trial import Specimen
from tlstax.specimens import shelf
from tlstax.specimens.manifest import AptPackages, Recipe
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server, specimen_of
from tlstax.specimens.server_build import TlsLibrary, loader_of, version_told
from tlstax.study.client_kinds import MYSQLSLAP_PREFIX, MYSQLSLAPS, PGBENCH, kind_of
from tlstax.support.directories import plain
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason
from tlstax.support.trusted import sha256_of

COME_WITH: Mapping[str, tuple[str, str]] = {
    **{own.name: (f"mysql-{own.name.removeprefix(MYSQLSLAP_PREFIX)}", "mysqlslap") for own in MYSQLSLAPS},
    PGBENCH: ("postgresql-18", "pgbench"),
    "pg-dump": ("postgresql-18", "pg_dump"),
    "pg-basebackup": ("postgresql-18", "pg_basebackup"),
    "pg-receivewal": ("postgresql-18", "pg_receivewal"),
    "pg-recvlogical": ("postgresql-18", "pg_recvlogical"),
    "mysqldump": ("mysql-9.7", "mysqldump"),
    "mysqlbinlog": ("mysql-9.7", "mysqlbinlog"),
}
"""The server that a client comes with, and its file there; newer ones copy and measure older servers."""

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
    alone = [*command, "--no-defaults"] if file == "mysqlslap" else command
    specimen = build.client_specimen(name, executable, version_told(name, alone, _VERSION))
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
    adapter = "streams" if kind_of(name).copies else PGBENCH if name == PGBENCH else "mysqlslap"
    return [sys.executable, "-P", "-m", f"tlstax.clients.{adapter}", name, version, *command]


OF_OPENSSL_1 = "postgresql-18-openssl1.1"
"""Its libpq was linked with OpenSSL 1.1, whose libraries have other names than those of 3."""


def over(command: Sequence[str], library: TlsLibrary, progress: Progress) -> list[str]:
    """Pgbench's command with this TLS library in the place of its own.

    libpq asks it for TLS, and for the hashes of SCRAM in plaintext as well. One of OpenSSL 1.1 needs the
    libpq that was linked with such; pgbench itself then keeps a libcrypto of its own beside it, of which it
    asks nothing. MachineFault where that libpq cannot be had.
    """
    place = list(command).index("--library-path") + 1
    first = [library.directory]
    if library.libssl.name.endswith(".1.1"):
        other = named_server(
            OF_OPENSSL_1, progress, why=f"{PGBENCH} over {library.specimen.name} needs its libpq"
        )
        first.append(other.executable.parent.parent / "lib")
    path = ":".join([*(str(plain(at)) for at in first), command[place], *map(str, library.support)])
    return [*command[:place], path, *command[place + 1 :]]


def counting(command: Sequence[str], library: Path) -> list[str]:
    """The command of `obtain` or `over` with the library before all others that counts locks.

    pgbench is written in C and brings no unwinder, by which callers are found.
    """
    place = list(command).index("--library-path")
    return [*command[:place], "--preload", f"{library}:libgcc_s.so.1", *command[place:]]
