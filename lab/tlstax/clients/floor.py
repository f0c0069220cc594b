"""The floor: a bare request and response loop, the least that any client must do for the same work."""

from __future__ import annotations

from pathlib import Path

from tlstax.clients.engine import engine_command, specimen_of
from tlstax.errors import MachineFault
from tlstax.records import Specimen

BINARY = "tlstax-floor"
"""Built with the engine, and kept beside its binary."""


def floor_command() -> list[str]:
    """The command that starts the floor; MachineFault when it, or the engine, has not been built."""
    (engine,) = engine_command()
    path = Path(engine).with_name(BINARY)
    if not path.is_file():
        raise MachineFault(
            f"{BINARY} has not been built", remedy="start tlstax by its launcher, which builds it"
        )
    return [str(path)]


def floor_specimen() -> Specimen:
    """The floor as a run's record names it, with the checksum of its binary. MachineFault as above."""
    return specimen_of(BINARY, floor_command(), why="the least that a client must do")
