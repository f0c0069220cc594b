"""The CPU clock of a process on another machine, read over ssh."""

from __future__ import annotations

from tlstax.observers.clock import Clock
from tlstax.observers.far_process import FarProcess


class FarClock(Clock):
    """That of a process on another machine, read in a round trip to it; the server rests meanwhile."""

    is_here = False

    def __init__(self, process: FarProcess) -> None:
        self._process = process

    @property
    def is_known(self) -> bool:
        """There is one, or the process would not have been found."""
        return True

    def read_us(self) -> float:
        """Microseconds so far. MachineFault where it can no longer be read."""
        return self._process.cpu_us()
