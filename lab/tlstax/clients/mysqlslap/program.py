"""Which mysqlslap is run: the one that came with the server of the same version."""

from __future__ import annotations

import re
import subprocess
import sys

from tlstax.records.trial import Specimen
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server
from tlstax.study.client_kinds import MYSQLSLAP_PREFIX
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason


def obtain(name: str, progress: Progress) -> tuple[Specimen, list[str]]:
    """The mysqlslap of that name (`mysqlslap-8.0.33`) and the command that starts it behind the contract.

    Its server is fetched if it is not there. MachineFault when it cannot be had or does not run.
    """
    build = named_server(
        f"mysql-{name.removeprefix(MYSQLSLAP_PREFIX)}", progress, why=f"{name} comes with it"
    )
    executable, command = build.companion("mysqlslap")
    specimen = build.client_specimen(name, executable, _version(name, command))
    return specimen, adapter_command(specimen.version, command)


def adapter_command(version: str, command: list[str]) -> list[str]:
    """The command that starts a mysqlslap of that version, itself run by `command`, behind the contract."""
    return [sys.executable, "-P", "-m", "tlstax.clients.mysqlslap", version, *command]


def _version(name: str, command: list[str]) -> str:
    """What it says to --version: `mysqlslap  Ver 8.0.33 for Linux on x86_64 (…)`."""
    try:
        done = subprocess.run(
            [*command, "--no-defaults", "--version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"{name} does not run ({reason(error)})") from error
    found = re.search(r"mysqlslap\s+Ver (\d+\.\d+\.\d+)", done.stdout)
    if done.returncode != 0 or found is None:
        last = "".join(done.stderr.strip().splitlines()[-1:]) or "no message"
        raise MachineFault(f"{name} does not run ({last})")
    return found[1]
