"""The load clients of a study: every level of the factor `client`, there to be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tlstax.clients import companions, engine, sysbench
from tlstax.records.trial import Specimen
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.manifest import Kept
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server, specimen_of
from tlstax.specimens.server_build import TlsLibrary
from tlstax.study.client_kinds import FLOOR, MYSQLSLAPS, PGBENCH, STREAMS, SYSBENCH, kind_of
from tlstax.study.driver_catalogue import DRIVERS, FOLDER_VARIABLE
from tlstax.study.level_names import ENGINE
from tlstax.support.errors import UserMistake


def floor_command() -> list[str]:
    """The command that starts the floor; MachineFault when it, or the engine, has not been built."""
    return engine.tool_command("floor")


def floor_specimen() -> Specimen:
    """The floor as a run's record names it, with the checksum of its binary. MachineFault as above."""
    command = floor_command()
    return engine.specimen_of("tlstax-floor", command, why="the least that a client must do")


def obtain_driver(name: str, progress: Progress) -> tuple[Specimen, list[str]]:
    """The driver of that name and the command that starts it behind the contract.

    UserMistake where the list has it no more; MachineFault when it cannot be built, or when the server that
    its program comes with cannot be had.
    """
    kept, command = _obtained(name, progress)
    driver = DRIVERS[name]
    if driver.adapter:
        command = [*engine.tool_command("driver"), name, *command]
    return specimen_of(kept, f"{driver.product}, a driver for {driver.language}"), command


def adapter_command(name: str, progress: Progress) -> list[str]:
    """The command of a driver's adapter alone, without its host. UserMistake and MachineFault as above."""
    return _obtained(name, progress)[1]


def _obtained(name: str, progress: Progress) -> tuple[Kept, list[str]]:
    """Its files, and the command of its own program."""
    if name not in DRIVERS:
        raise UserMistake(
            f"there is no driver {name} among those that are known here",
            remedy=f"if it is in a folder of your own, set {FOLDER_VARIABLE} to that folder",
        )
    driver = DRIVERS[name]
    kept = shelf.obtain(RECIPES[name], progress)
    command = [str(kept.program)]
    if driver.specimen is not None:
        build = named_server(driver.specimen, progress, why=f"{name} comes with it")
        command += build.companion(driver.program)[1]
    return kept, command


Obtain = Callable[[str, Progress], tuple[Specimen, Sequence[str]]]
"""By a client's name, what it is and the command that starts it behind the contract."""

PROGRAMS: Mapping[str, Obtain] = {
    ENGINE: lambda _, __: (engine.engine_specimen(), engine.engine_command()),
    FLOOR: lambda _, __: (floor_specimen(), floor_command()),
    SYSBENCH: lambda _, progress: sysbench.obtain_client(progress),
    **dict.fromkeys((PGBENCH, *(kind.name for kind in (*MYSQLSLAPS, *STREAMS))), companions.obtain),
}
"""How each client that is no driver is obtained."""


@dataclass(frozen=True)
class ClientProgram:
    """A load client that can be started; `over` has its command over a TLS library in place of its own.

    A client that loads a library by its path, as the job says, has none of these.
    """

    specimen: Specimen
    command: Sequence[str]
    over: Mapping[str, Sequence[str]] = field(default_factory=dict)


def obtain_client(name: str, progress: Progress) -> ClientProgram:
    """The client of that name, fetched or built if it is not there; MachineFault when it is not available."""
    return ClientProgram(*PROGRAMS.get(name, obtain_driver)(name, progress))


def put_over(
    program: ClientProgram, libraries: Mapping[str, TlsLibrary], progress: Progress
) -> ClientProgram:
    """The client, to be started over each of these libraries as well, where it does not load them itself."""
    if not kind_of(program.specimen.name).is_put_over_libraries:
        return program
    over = {name: companions.over(program.command, library, progress) for name, library in libraries.items()}
    return replace(program, over=over)
