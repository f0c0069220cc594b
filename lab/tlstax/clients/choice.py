"""The load clients of a study: every level of the factor `client`, there to be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlstax.clients import driver, sysbench
from tlstax.clients.engine import engine_command, engine_specimen
from tlstax.clients.mysqlslap import program as mysqlslap
from tlstax.records.trial import Specimen
from tlstax.specimens.progress import Progress
from tlstax.study.client_exclusions import SYSBENCH
from tlstax.study.factors import ENGINE, is_driver


@dataclass(frozen=True)
class ClientProgram:
    """A load client that can be started.

    One that `asks` asks its connections, before the window, what they have negotiated, and keeps them;
    any other holds one connection then, makes those that work within the window, and they are proved at
    the server.
    """

    specimen: Specimen
    command: Sequence[str]
    asks: bool = True


def obtain_client(name: str, progress: Progress) -> ClientProgram:
    """The client of that name, fetched if it is not there; MachineFault when it cannot be had."""
    if name == ENGINE:
        return ClientProgram(engine_specimen(), engine_command())
    if name == SYSBENCH:
        return ClientProgram(sysbench.sysbench_specimen(progress), sysbench.sysbench_command(progress))
    if is_driver(name):
        specimen, command = driver.obtain(name, progress)
        return ClientProgram(specimen, command)
    specimen, command = mysqlslap.obtain(name, progress)
    return ClientProgram(specimen, command, asks=False)
