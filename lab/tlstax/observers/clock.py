"""The CPU clock of one process, read in a microsecond: what it has used, to the nanosecond."""

from __future__ import annotations

import time


class CpuClock:
    """The CPU time that all threads of a process have used, those that have ended among them.

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
