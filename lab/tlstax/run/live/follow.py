"""Follows a run from outside: sleeps until it notes something new, and costs nothing meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

from tlstax.results.live import LiveRun
from tlstax.run.live.note import NAME, read
from tlstax.support.temporary import is_stale

LOOK_S = 1.0
"""How often to look without having been woken: whether the run is still there, or where nothing wakes."""


def keep_out_of_the_way() -> None:
    """Run when nobody else wants a processor (sched(7), SCHED_IDLE); threads begun later do as well."""
    with contextlib.suppress(OSError):
        os.nice(19)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def followed(directory: Path) -> Iterator[LiveRun]:
    """What a run notes in its directory, each time that it is new, until the run is gone.

    For the main thread. The kernel wakes it when the file is replaced, which is right after a block: a look
    at some other moment would fall among slices.
    """
    with _woken_by(directory) as woken:
        last: tuple[int, int] | None = None
        while True:
            is_gone = is_stale(directory)
            with contextlib.suppress(OSError):
                status = (directory / NAME).stat()
                if (status.st_ino, status.st_mtime_ns) != last:
                    last = status.st_ino, status.st_mtime_ns
                    live = read(directory)
                    if live is not None:
                        yield live
            if is_gone:
                return
            if select.select([woken], [], [], LOOK_S)[0]:
                os.read(woken, 4096)


@contextlib.contextmanager
def _woken_by(directory: Path) -> Iterator[int]:
    """A descriptor that can be read once a file of the directory was replaced or removed.

    The kernel says so with a signal (fcntl(2), F_NOTIFY), of which Python writes a byte
    (`signal.set_wakeup_fd`). Where it cannot, nothing ever comes.
    """
    woken, wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    handler = signal.signal(signal.SIGIO, lambda _number, _frame: None)
    before = signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    watched = None
    try:
        with contextlib.suppress(OSError):
            watched = os.open(directory, os.O_RDONLY)
            fcntl.fcntl(watched, fcntl.F_NOTIFY, fcntl.DN_RENAME | fcntl.DN_DELETE | fcntl.DN_MULTISHOT)
        yield woken
    finally:
        # First of all what signals: without a handler the signal would end the program.
        if watched is not None:
            os.close(watched)
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGIO, handler if handler is not None else signal.SIG_IGN)
        os.close(wakes)
        os.close(woken)
