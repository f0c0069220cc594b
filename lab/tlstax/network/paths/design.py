"""What every path is made of: its programs, in the order in which they start, and how it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tlstax.network.paths.ends import Ends
from tlstax.network.paths.program import Plan, Program
from tlstax.specimens.manifest import Kept


@dataclass(frozen=True)
class Ports:
    """TCP ports that were free a moment ago: of the entry, between its parts, for its status."""

    entry: int
    between: int
    status: int


@dataclass(frozen=True)
class Laid:
    """A path whose files are written: its programs, the server's side first, and where clients enter.

    `banner` is what the first program says to whoever connects to it, None where the next one may start
    before it is up; clients connect to `entry_host`.
    """

    plans: tuple[Plan, ...]
    entry_host: str
    banner: bytes | None = None


class Design(Protocol):
    """One kind of path. It is asked by whoever starts it; it keeps no process itself."""

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """Write keys, certificates and configuration into the directory. MachineFault."""
        ...

    def began(self, programs: Sequence[Program]) -> None:
        """It carries: what was logged until now is of the start. MachineFault where it is not as meant."""
        ...

    def connections(self, programs: Sequence[Program]) -> int | None:
        """How many connections have been counted since it was asked last; None where it does not answer."""
        ...

    @property
    def protection(self) -> str | None:
        """What protects the bytes between its ends, as its programs say; None where nothing does."""
        ...

    @property
    def said_by(self) -> str:
        """Who says so, and who counts."""
        ...
