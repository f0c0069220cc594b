"""The floor: a bare request and response loop, the least that any client must do for the same work."""

from __future__ import annotations

from tlstax.clients.engine import built_beside, specimen_of
from tlstax.records.trial import Specimen

BINARY = "tlstax-floor"
"""Built with the engine, and kept beside its binary."""


def floor_command() -> list[str]:
    """The command that starts the floor; MachineFault when it, or the engine, has not been built."""
    return [str(built_beside(BINARY))]


def floor_specimen() -> Specimen:
    """The floor as a run's record names it, with the checksum of its binary. MachineFault as above."""
    return specimen_of(BINARY, floor_command(), why="the least that a client must do")
