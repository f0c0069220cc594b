"""MySQL's mysqlslap as a load client behind the contract, as it came with the server of the same version.

`__main__` has the conversation.
"""

from __future__ import annotations

import re
import sys

from tlstax.records.trial import Specimen
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_build import version_told
from tlstax.study.client_kinds import MYSQLSLAP_PREFIX

_VERSION = re.compile(r"mysqlslap\s+Ver (\d+\.\d+\.\d+)")
"""In `mysqlslap  Ver 8.0.33 for Linux on x86_64 (…)`."""


def obtain(name: str, progress: Progress) -> tuple[Specimen, list[str]]:
    """The mysqlslap of that name (`mysqlslap-8.0.33`) and the command that starts it behind the contract.

    Its server is fetched if it is not there. MachineFault when it cannot be had or does not run.
    """
    build = named_server(
        f"mysql-{name.removeprefix(MYSQLSLAP_PREFIX)}", progress, why=f"{name} comes with it"
    )
    executable, command = build.companion("mysqlslap")
    version = version_told(name, [*command, "--no-defaults"], _VERSION)
    specimen = build.client_specimen(name, executable, version)
    return specimen, adapter_command(specimen.version, command)


def adapter_command(version: str, command: list[str]) -> list[str]:
    """The command that starts a mysqlslap of that version, itself run by `command`, behind the contract."""
    return [sys.executable, "-P", "-m", "tlstax.clients.mysqlslap", version, *command]
