"""Which events can be counted on this machine by this user, tried on ourselves, and why not the others."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tlstax.observers.counting_cost import us_per_switch
from tlstax.observers.perf_events import EVENTS, HARDWARE, HARDWARE_EVENTS, Event, fault_of
from tlstax.support.text import enumerated

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
