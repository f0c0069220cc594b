"""Which pgbench is run: the one that comes with Debian's newest PostgreSQL."""

from __future__ import annotations

import re
import subprocess
import sys

from tlstax.records.trial import Specimen
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server
from tlstax.study.client_kinds import PGBENCH
from tlstax.support.checksums import sha256_of
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

COMES_WITH = "postgresql-18"
"""It measures servers from 10 on, and begins TLS directly where it is told to (from 17 on)."""


def obtain(progress: Progress) -> tuple[Specimen, list[str]]:
    """The pgbench and the command that starts it behind the contract.

    Its server is fetched if it is not there. MachineFault when it cannot be had or does not run.
    """
    build = named_server(COMES_WITH, progress, why=f"{PGBENCH} comes with it")
    executable, command = build.companion(PGBENCH)
    specimen = Specimen(
        name=PGBENCH,
        kind="client",
        version=_version(command),
        origin=build.specimen.origin,
        why=f"it comes with {build.specimen.name}",
        path=str(executable),
        sha256=sha256_of(executable),
        packages=build.specimen.packages,
    )
    return specimen, adapter_command(specimen.version, command)


def adapter_command(version: str, command: list[str]) -> list[str]:
    """The command that starts a pgbench of that version, itself run by `command`, behind the contract."""
    return [sys.executable, "-P", "-m", "tlstax.clients.pgbench", version, *command]


def _version(command: list[str]) -> str:
    """What it says to --version: `pgbench (PostgreSQL) 18.1 (Debian 18.1-1)`."""
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"{PGBENCH} does not run ({reason(error)})") from error
    found = re.search(r"pgbench \(PostgreSQL\) (\d+(?:\.\d+)?)", done.stdout)
    if done.returncode != 0 or found is None:
        last = "".join(done.stderr.strip().splitlines()[-1:]) or "no message"
        raise MachineFault(f"{PGBENCH} does not run ({last})")
    return found[1]
