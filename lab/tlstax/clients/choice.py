"""The load clients of a study: every level of the factor `client`, there to be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlstax.clients import driver, engine, floor, sysbench
from tlstax.clients.mysqlslap import program as mysqlslap
from tlstax.records.trial import Specimen
from tlstax.specimens.progress import Progress
from tlstax.study.client_kinds import FLOOR, MYSQLSLAPS, SYSBENCH
from tlstax.study.level_names import ENGINE

Obtain = Callable[[str, Progress], tuple[Specimen, Sequence[str]]]
"""By a client's name, what it is and the command that starts it behind the contract."""

PROGRAMS: Mapping[str, Obtain] = {
    ENGINE: lambda _, __: (engine.engine_specimen(), engine.engine_command()),
    FLOOR: lambda _, __: (floor.floor_specimen(), floor.floor_command()),
    SYSBENCH: lambda _, progress: sysbench.obtain_client(progress),
    **{kind.name: mysqlslap.obtain for kind in MYSQLSLAPS},
}
"""How each client that is no driver is obtained."""


@dataclass(frozen=True)
class ClientProgram:
    """A load client that can be started."""

    specimen: Specimen
    command: Sequence[str]


def obtain_client(name: str, progress: Progress) -> ClientProgram:
    """The client of that name, fetched or built if it is not there; MachineFault when it is not available."""
    return ClientProgram(*PROGRAMS.get(name, driver.obtain)(name, progress))
