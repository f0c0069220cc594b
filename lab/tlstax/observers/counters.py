"""The counters of one process and of all that it starts, read before and after a window.

They are opened once, before the process executes its program, and inherited by every thread that is started
later, so nothing is missed and nothing has to be started for a trial. Reading an inherited event sums up the
threads that run and those that have ended (perf_event_read_value in the kernel's kernel/events/core.c), so
the difference of two readings is what happened in between.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tlstax.observers import perf_events
from tlstax.observers.perf_events import Event, Reading

Readings = Mapping[str, Reading]
"""What has been counted so far, by event."""

SHARED_NS = 1_000
"""A counter that was taken away for longer than this within a window has missed something."""


ATTEMPTS = 50
"""How often a server whose processes come and go is looked at again until none has come meanwhile."""


class Counters:
    """Counts events of a process; none while it is opened on nothing, and none that the kernel refuses."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = tuple(events)
        self._open: dict[str, list[int]] = {}

    def open_before_exec(self, pid: int) -> None:
        """Count for this process from now on, instead of an earlier one; it has a single thread yet."""
        self._open_on([pid])

    def attach(self, pid: int) -> None:
        """Count for a process that runs already: in each thread that it has now, and in what they start.

        A thread that starts while this goes on may be missed: it must be at rest.
        """
        self._open_on(_threads(pid))

    def attach_to_tree(self, members: Callable[[], Collection[int]]) -> None:
        """Count for processes that run already, and in what they start; `members` says who there is now.

        One that was started meanwhile may be counted by whoever started it, or not yet: then all is tried
        again. Nothing is counted where they come and go too fast for that.
        """
        for _ in range(ATTEMPTS):
            before = members()
            self._open_on([thread for pid in before for thread in _threads(pid)])
            if set(members()) <= set(before):
                return
        self.close()

    def read(self) -> dict[str, Reading]:
        """Everything counted so far, summed up over threads; what cannot be read is missing."""
        found = {}
        for name, descriptors in self._open.items():
            with contextlib.suppress(OSError):
                readings = [perf_events.read_event(descriptor) for descriptor in descriptors]
                found[name] = Reading(*map(sum, zip(*readings, strict=True)))
        return found

    def close(self) -> None:
        """Count no more. May be called twice."""
        opened, self._open = self._open, {}
        for descriptors in opened.values():
            for descriptor in descriptors:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_on(self, threads: Iterable[int]) -> None:
        """An event that cannot be counted in every thread is not counted at all.

        A thread that has ended counts for nothing: one that was joined may be listed for a moment longer.
        """
        self.close()
        threads = tuple(threads)
        for event in self._events if threads else ():
            descriptors: list[int] = []
            try:
                for thread in threads:
                    with contextlib.suppress(ProcessLookupError):
                        descriptors.append(perf_events.open_event(event, thread))
            except OSError:
                for descriptor in descriptors:
                    os.close(descriptor)
                continue
            if descriptors:
                self._open[event.name] = descriptors


def _threads(pid: int) -> list[int]:
    try:
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []


def counted(before: Readings, after: Readings) -> dict[str, int]:
    """How often each event happened between two readings.

    An event that had to share its counter is left out: what the kernel would extrapolate is not a count.
    """
    counts = {}
    for name, now in after.items():
        then = before.get(name)
        if then is None:
            continue
        wanted_ns, had_ns = now.enabled_ns - then.enabled_ns, now.running_ns - then.running_ns
        if wanted_ns - had_ns <= SHARED_NS:
            counts[name] = now.times - then.times
    return counts
