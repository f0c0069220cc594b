"""Which events can be counted on this machine by this user, at what cost, and why not the others.

Each is tried on ourselves. Counters are saved and loaded at every change of threads. On a virtual machine
each of these accesses may be carried out by its host, which can take longer than all that a server does for a
connection.

Started as a program, its processes do nothing but change: for each line that it reads, it says what a turn
takes. It stays on one processor. In a turn two processes wake each other through pipes, there and back; the
other one is made anew for each line, so that it inherits what counts the first. It ends with its input.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tlstax.observers import counters
from tlstax.observers.counters import EVENTS, HARDWARE, HARDWARE_EVENTS, Event, fault_of
from tlstax.support.text import enumerated

ROUNDS = 5
WITHIN_S = 10.0
_COMMAND = (sys.executable, "-P", "-s", "-m", "tlstax.observers.countable")
TURNS = 100
SWITCHES_PER_TURN = 2
"""There and back."""


def us_per_switch(events: Collection[Event]) -> float | None:
    """How many microseconds more a change of threads costs while these events are counted.

    Two processes on one processor wake each other in turns, with and without; the fastest rounds are
    compared, so what else runs on the machine is left out. None where that could not be tried.
    """
    try:
        with subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as program:
            try:
                rounds = [_round(program, events) for _ in range(ROUNDS)]
                program.communicate(timeout=WITHIN_S)
            finally:
                program.kill()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    alone_us, counted_us = min(alone for alone, _ in rounds), min(counted for _, counted in rounds)
    return max(0.0, (counted_us - alone_us) / SWITCHES_PER_TURN)


def _round(program: subprocess.Popen[str], events: Collection[Event]) -> tuple[float, float]:
    """Microseconds of a turn without and with counting."""
    alone = _turn_us(program)
    descriptors: Sequence[int] = ()
    try:
        descriptors = [counters.open_event(event, program.pid) for event in events]
        return alone, _turn_us(program)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _turn_us(program: subprocess.Popen[str]) -> float:
    if program.stdin is None or program.stdout is None:
        raise ValueError("the program has no pipes")
    print(file=program.stdin, flush=True)
    return float(program.stdout.readline())


def main() -> None:
    """Say the microseconds of a turn, the mean of a hundred, for each line of standard input."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for _ in sys.stdin:
        sys.stdout.write(f"{_own_turn_us()}\n")
        sys.stdout.flush()


def _own_turn_us() -> float:
    their_end, our_pen = os.pipe()
    our_end, their_pen = os.pipe()
    partner = os.fork()
    if not partner:
        os.close(our_pen)
        os.close(our_end)
        while os.read(their_end, 1):
            os.write(their_pen, b".")
        os._exit(0)
    os.close(their_end)
    os.close(their_pen)
    began_ns = time.perf_counter_ns()
    for _ in range(TURNS):
        os.write(our_pen, b".")
        os.read(our_end, 1)
    took_ns = time.perf_counter_ns() - began_ns
    os.close(our_pen)
    os.waitpid(partner, 0)
    os.close(our_end)
    return took_ns / TURNS / 1000


PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
NO_EVENTS = "this kernel has no perf events"
REFUSED = frozenset({errno.EACCES, errno.EPERM})

MOST_US = 3.0
"""Counting may make a change of threads more expensive by this. A server of one thread for each connection
makes some four changes for a connection, which takes it 150 µs and more."""


@dataclass(frozen=True)
class Usable:
    """The events that can be counted here, and why each of the others cannot."""

    events: tuple[Event, ...]
    why_not: Mapping[Event, str] = field(default_factory=dict)

    def among(self, events: Collection[Event]) -> Usable:
        """The same of these events alone."""
        return Usable(
            events=tuple(event for event in self.events if event in events),
            why_not={event: why for event, why in self.why_not.items() if event in events},
        )

    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason, with all that is missing for it."""
        missing: dict[str, dict[str, list[str]]] = {}
        for event, why in self.why_not.items():
            missing.setdefault(why, {}).setdefault(event.family, []).append(event.part)
        return tuple(
            f"{enumerated([_missing(*family) for family in families.items()])} are not counted: {why}"
            for why, families in missing.items()
        )


def usable_events(
    fault: Callable[[Event], int] = fault_of,
    cost_us: Callable[[Collection[Event]], float | None] = us_per_switch,
) -> Usable:
    """What can be counted on this machine by this user, tried on ourselves.

    Hardware counters that make changes of threads much more expensive would be what is measured, so they are
    left alone. It takes a tenth of a second to see that, where they are cheap.
    """
    faults = {event: fault(event) for event in EVENTS}
    why_not = {event: _why(event, number) for event, number in faults.items() if number}
    hardware = [event for event in HARDWARE_EVENTS if event not in why_not]
    cost = cost_us(hardware) if hardware else 0.0
    if cost is None or cost > MOST_US:
        why_not |= dict.fromkeys(hardware, _too_dear(cost))
    return Usable(events=tuple(event for event in EVENTS if event not in why_not), why_not=why_not)


def refusal() -> str:
    """Why the kernel does not count for this user, where it says that it may not."""
    return f"the kernel refuses it ({paranoid()})"


def paranoid() -> str:
    """How much the kernel lets users count and sample (perf_event_open(2), perf_event_paranoid)."""
    try:
        return f"kernel.perf_event_paranoid is {PARANOID.read_text('ascii').strip()}"
    except OSError:
        return NO_EVENTS


def _missing(family: str, parts: list[str]) -> str:
    return f"{family} {parts[0]}" if parts[0] and len(parts) == 1 else family


def _too_dear(cost_us: float | None) -> str:
    if cost_us is None:
        return "what counting them costs could not be tried"
    return (
        f"counting them adds {cost_us:.0f} µs to every change of threads here, as on a virtual machine whose "
        "host has to help"
    )


def _why(event: Event, number: int) -> str:
    if number in REFUSED:
        return refusal()
    if number == errno.ENOSYS:
        return NO_EVENTS
    if event.kind == HARDWARE:
        return "this machine offers no hardware counters for them"
    return f"the kernel does not offer them ({os.strerror(number)})"


if __name__ == "__main__":
    main()
