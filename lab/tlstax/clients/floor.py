"""The floor: a bare request and response loop, the least that any client must do for the same work."""

from __future__ import annotations

from tlstax.clients.engine import specimen_of, tool_command
from tlstax.records.trial import Specimen

NAME = "tlstax-floor"
"""What it calls itself."""


def floor_command() -> list[str]:
    """The command that starts the floor; MachineFault when it, or the engine, has not been built."""
    return tool_command("floor")


def floor_specimen() -> Specimen:
    """The floor as a run's record names it, with the checksum of its binary. MachineFault as above."""
    return specimen_of(NAME, floor_command(), why="the least that a client must do")
