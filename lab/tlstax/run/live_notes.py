"""What a run notes of itself between its blocks, for those who follow it: written, read, waited for."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tlstax.results.live import LiveRun
from tlstax.run.progress import Step
from tlstax.specimens.sessions import open_session
from tlstax.support.directories import sessions_dir
from tlstax.support.errors import MachineFault
from tlstax.support.temporary import is_stale

if TYPE_CHECKING:
    from tlstax.run.pipeline import Watcher

NAME = "live.json"
"""The note's file, in a session directory of its own: who holds the directory's lock is still at work."""


def read(directory: Path) -> LiveRun | None:
    """What was noted last; None where nothing is, or nothing that this version writes."""
    try:
        return LiveRun.model_validate_json((directory / NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def under_way() -> list[tuple[Path, LiveRun]]:
    """Where runs that are at work on this machine note what is known of them, those that measure first.

    Of these the one that noted something last.
    """
    found = []
    for file in sessions_dir().glob(f"*/{NAME}"):
        with contextlib.suppress(OSError):
            noted_ns = file.stat().st_mtime_ns
            live = read(file.parent)
            if live is not None and not is_stale(file.parent):
                found.append((bool(live.run), noted_ns, file.parent, live))
    found.sort(key=lambda note: note[:2], reverse=True)
    return [(directory, live) for _, _, directory, live in found]


class Noting:
    """A run's watcher that also writes down what is known, whenever nobody is being measured.

    Whatever fails in that is nobody's concern but of those who would follow the run. `others` hears all of
    it as well.
    """

    def __init__(self, others: Watcher, directory: Path | None) -> None:
        self._others = others
        self._directory = directory
        self._has_begun = False

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        if not self._has_begun:
            self._write(LiveRun(doing=text))
        self._others.step(text)

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        self._others.warn(text)

    def trial(self, step: Step) -> None:
        """A trial begins: nothing is written now."""
        self._others.trial(step)

    def noted(self, live: LiveRun) -> None:
        """Nobody is being measured now, and this is known of the run."""
        self._has_begun = True
        self._write(live)
        self._others.noted(live)

    def close(self) -> None:
        """The trials have ended."""
        self._others.close()

    def _write(self, live: LiveRun) -> None:
        """The file is there whole, or as it was before; it need not outlive the machine."""
        if self._directory is None:
            return
        with contextlib.suppress(OSError):
            written = self._directory / f".{NAME}"
            written.write_text(live.model_dump_json(), encoding="utf-8")
            written.replace(self._directory / NAME)


@contextlib.contextmanager
def noting(others: Watcher) -> Iterator[tuple[Noting, Path | None]]:
    """A watcher that notes for as long as the block lasts, and where; None where nothing can be noted."""
    with ExitStack() as stack:
        directory = None
        with contextlib.suppress(MachineFault, OSError):
            directory = stack.enter_context(open_session()).path
        yield Noting(others, directory), directory


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
