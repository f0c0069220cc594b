"""PostgreSQL's pgbench as a load client behind the contract, as it comes with Debian's newest PostgreSQL.

`__main__` has the conversation.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tlstax.records.trial import Specimen
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_build import TlsLibrary, version_told
from tlstax.study.client_kinds import PGBENCH
from tlstax.support.directories import plain

_VERSION = re.compile(r"pgbench \(PostgreSQL\) (\d+(?:\.\d+)?)")
"""In `pgbench (PostgreSQL) 18.1 (Debian 18.1-1)`."""

COMES_WITH = "postgresql-18"
"""It measures servers from 10 on, and begins TLS directly where it is told to (from 17 on)."""


def obtain(progress: Progress) -> tuple[Specimen, list[str]]:
    """The pgbench and the command that starts it behind the contract.

    Its server is fetched if it is not there. MachineFault when it cannot be had or does not run.
    """
    build = named_server(COMES_WITH, progress, why=f"{PGBENCH} comes with it")
    executable, command = build.companion(PGBENCH)
    specimen = build.client_specimen(PGBENCH, executable, version_told(PGBENCH, command, _VERSION))
    return specimen, adapter_command(specimen.version, command)


OF_OPENSSL_1 = "postgresql-18-openssl1.1"
"""Its libpq was linked with OpenSSL 1.1, whose libraries have other names than those of 3."""


def over(command: Sequence[str], library: TlsLibrary, progress: Progress) -> list[str]:
    """The command of `obtain` with this TLS library in the place of pgbench's own.

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


def adapter_command(version: str, command: list[str]) -> list[str]:
    """The command that starts a pgbench of that version, itself run by `command`, behind the contract."""
    return [sys.executable, "-P", "-m", "tlstax.clients.pgbench", version, *command]
