"""The CPU clock of one process, to the nanosecond, and what every CPU clock of a server can do."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

SETTLING_S, SETTLED_US, LONGEST_SETTLING_S = 0.0001, 20.0, 0.05
"""After a slice in which connections came and went the server may go on for a moment with those that the
client has left, which belongs to the slice. Its clock is read when it has used less than this in this time,
or at the latest then."""


class Clock(ABC):
    """The CPU time of a server: of all threads and processes of it, those that have ended among them."""

    clients_read_it = True
    """Whether it is that of one process of this machine, which load clients can read as well."""

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Whether there is a clock to be read."""

    @abstractmethod
    def read_us(self) -> float:
        """Microseconds so far. OSError or MachineFault where the process has ended."""

    def read_settled(self, *, comes_and_goes: bool) -> tuple[float, float]:
        """Microseconds so far at the end of a slice, and the seconds for which the process went on after it.

        Where connections came and went (`comes_and_goes`) it is given the time to be done with them.
        """
        now_us, ended = self.read_us(), time.monotonic()
        busy_until = now = ended
        while comes_and_goes and now - ended < LONGEST_SETTLING_S:
            then_us = now_us
            time.sleep(SETTLING_S)
            now_us, now = self.read_us(), time.monotonic()
            if now_us - then_us < SETTLED_US and not self._is_at_work():
                break
            busy_until = now
        return now_us, busy_until - ended

    def _is_at_work(self) -> bool:
        """Whether it goes on although the clock does not show it yet."""
        return False


class CpuClock(Clock):
    """That of a process of this machine, read in a microsecond.

    The clock's id is made from the process id as clock_getcpuclockid(3) makes it (the kernel's
    MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED).
    `pid` None is a process that is out of reach: its clock stands still at 0.
    """

    def __init__(self, pid: int | None) -> None:
        self._clock_id = None if pid is None else (~pid << 3) | 2

    @property
    def is_known(self) -> bool:
        """Whether there is a clock to be read."""
        return self._clock_id is not None

    def read_us(self) -> float:
        """Microseconds so far. OSError where the process has ended."""
        return 0.0 if self._clock_id is None else time.clock_gettime_ns(self._clock_id) / 1e3
