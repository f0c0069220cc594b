"""Checks of what can be observed of a process: counters, a profiler."""

from __future__ import annotations

from tlstax.observers import countable
from tlstax.observers.countable import Usable
from tlstax.observers.perf_events import HARDWARE_EVENTS, INSTRUCTIONS
from tlstax.tools.doctor.check import Check


def counting() -> Check:
    """What can be counted of a process by the processor and the kernel, tried on ourselves."""
    name = "counters"
    usable = countable.usable_events()
    counted = dict.fromkeys(event.family for event in usable.events)
    found = ", ".join(counted) if counted else "none"
    hardware = set(HARDWARE_EVENTS)
    if not hardware - set(usable.events):
        return Check(
            name=name,
            status="ok",
            found=found,
            meaning="Instructions per operation can be counted, which scatter far less than times.",
        )
    return Check(
        name=name,
        status="limited" if usable.events else "missing",
        found="; ".join((found, *usable.notes())),
        meaning="Costs are given in CPU time, not in instructions per operation."
        if not set(INSTRUCTIONS) & set(usable.events)
        else "Of what is not counted, only the time is known.",
        remedy=_remedy(usable),
    )


def _remedy(usable: Usable) -> str:
    if countable.refusal() in usable.why_not.values():
        return "as root, `sysctl kernel.perf_event_paranoid=1`, and a container that allows perf_event_open"
    return "bare metal, or a virtual machine whose counters cost nothing (a virtual PMU in hardware)"
