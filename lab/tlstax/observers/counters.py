"""What the kernel and the processor count of a process and of all that it starts, before and after a window.

The call is perf_event_open(2), through ctypes: the C library has no wrapper for it, and what there is for
Python (py-perf-event) counts in the calling process; so the call and its structure are here, as the manual
page gives them. Hardware events are counted in user space and in the kernel by an event each. The kernel's
own (software) events happen in the kernel and are counted whole.

Counters are opened once, before the process executes its program, and inherited by every thread that is
started later, so nothing is missed and nothing has to be started for a trial. Reading an inherited event
sums up the threads that run and those that have ended (perf_event_read_value in the kernel's
kernel/events/core.c), so the difference of two readings is what happened in between.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

CALL_NUMBER = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
"""Number of the system call perf_event_open(2) by architecture (asm/unistd.h)."""

# Of struct perf_event_attr, which is taken at the size of its first version by every kernel.
_ATTRIBUTE = struct.Struct("=IIQQQQQ")
_ATTRIBUTE_BYTES = 64
HARDWARE, _SOFTWARE = 0, 1
_INHERIT, _EXCLUDE_USER, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 4, 1 << 5, 1 << 6
_TIME_ENABLED, _TIME_RUNNING = 1 << 0, 1 << 1
_CLOSE_ON_EXEC = 1 << 3
_READING = struct.Struct("=QQQ")


@dataclass(frozen=True)
class Event:
    """Something that is counted, under the name that a record has for it.

    `family` is what it is in words; `part` in which part of a thread's time, empty where in all of it.
    """

    name: str
    family: str
    kind: int
    config: int
    part: str = ""
    exclude: int = 0


class Reading(NamedTuple):
    """How often the event has happened; how long it was wanted, and how long a counter was free for it."""

    times: int
    enabled_ns: int
    running_ns: int


def _hardware(name: str, family: str, config: int) -> tuple[Event, Event]:
    user, kernel = _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR, _EXCLUDE_USER | _EXCLUDE_HYPERVISOR
    return (
        Event(f"{name}_user", family, HARDWARE, config, "in user space", user),
        Event(f"{name}_kernel", family, HARDWARE, config, "in the kernel", kernel),
    )


INSTRUCTIONS = _hardware("instructions", "instructions", 1)
CYCLES = _hardware("cycles", "cycles", 0)
CACHE_MISSES = _hardware("cache_misses", "cache misses", 3)
TASK_CLOCK = Event(
    "task_clock_ns", "CPU time by perf", _SOFTWARE, 1, exclude=_EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
)
"""Time in the kernel is counted all the same, as a clock cannot leave it out, and the kernel lets users have
this one who may not look at it (kernel.perf_event_paranoid 2)."""

SOFTWARE_EVENTS = (
    Event("page_faults", "page faults", _SOFTWARE, 2),
    Event("context_switches", "context switches", _SOFTWARE, 3),
    Event("cpu_migrations", "CPU migrations", _SOFTWARE, 4),
)
"""The kernel's own events, which every machine has; by them counting is proved where there are no hardware
counters. Not counted in trials: an event makes changes of threads more expensive (with these three, a point
select cost its server 7 % more CPU where that was measured), and /proc has the same."""

HARDWARE_EVENTS = (*INSTRUCTIONS, *CYCLES, *CACHE_MISSES)
"""What trials count where the machine does, and where counting costs next to nothing."""

EVENTS = (*HARDWARE_EVENTS, *SOFTWARE_EVENTS)
"""All that is known here, the numbers from linux/perf_event.h."""


def open_event(event: Event, pid: int) -> int:
    """A descriptor that counts the event from now on: in the thread `pid`, and in all that it starts.

    A thread or process that is started later inherits the counting, over any exec, and what it counted stays
    in the sum when it ends. 0 is this thread. OSError where the kernel refuses.
    """
    number = CALL_NUMBER.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    attribute = _ATTRIBUTE.pack(
        event.kind,
        _ATTRIBUTE_BYTES,
        event.config,
        0,
        0,
        _TIME_ENABLED | _TIME_RUNNING,
        _INHERIT | event.exclude,
    )
    buffer = ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES)
    any_cpu, no_group = -1, -1
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(number, buffer, pid, any_cpu, no_group, _CLOSE_ON_EXEC)
    if descriptor < 0:
        error = ctypes.get_errno() or errno.EINVAL
        raise OSError(error, os.strerror(error))
    return descriptor


def read_event(descriptor: int) -> Reading:
    """What an open event has counted so far, in threads that run and that have ended. OSError."""
    return Reading(*_READING.unpack(os.read(descriptor, _READING.size)))


def fault_of(event: Event) -> int:
    """Count the event in this thread for a moment: 0 where that works, else an errno.

    A hardware counter that counts nothing while instructions are executed does not work (ENODATA).
    """
    try:
        descriptor = open_event(event, 0)
    except OSError as error:
        return error.errno or errno.EINVAL
    try:
        reading = read_event(descriptor)
    except OSError as error:
        return error.errno or errno.EINVAL
    finally:
        os.close(descriptor)
    needed = event in {*INSTRUCTIONS, *CYCLES}
    return errno.ENODATA if needed and reading.times == 0 else 0


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
                readings = [read_event(descriptor) for descriptor in descriptors]
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

    def __exit__(self, *_: object) -> None:
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
                        descriptors.append(open_event(event, thread))
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
