"""Checks of the processor: CPUs and pinning, frequency, virtualisation, other load, the clock."""

from __future__ import annotations

from pathlib import Path

from tlstax.observers import cgroup, machine, processors
from tlstax.plan.cpu_shares import FEWEST_CORES, share_cores
from tlstax.support.text import as_ranges
from tlstax.tools.doctor.check import Check, Status

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
"""Clock sources that are read without a system call (vdso(7))."""


def cpus() -> Check:
    """Whether server and client can be kept apart."""
    available = machine.available_cpus()
    split, cores = machine.split_cpus(available), machine.physical_cores(available)
    limit = cgroup.cpu_limit()
    found = f"{len(available)} available"
    if split.client_cpus:
        found += (
            f"; the server on {as_ranges(split.server_cpus)}, the client on {as_ranges(split.client_cpus)}"
        )
    if len(cores) >= FEWEST_CORES:
        found += ", until the pilot of a run has balanced them"
    meaning = "Server and client have CPUs of their own."
    status: Status = "ok"
    remedy = ""
    if not split.client_cpus:
        status, meaning = "limited", "Server and client take time from each other: costs of both are mixed."
        remedy = "a machine with two CPUs or more"
    elif share_cores(split, cores):
        status, meaning = "limited", "Server and client run on two threads of one core and slow each other."
        remedy = "a machine with two physical cores or more"
    if limit is not None and limit < len(available):
        status = "limited"
        found += f"; a control group allows {limit:g} CPUs' time"
        meaning = "Trials may be throttled when that is used up."
        remedy = "a container or service without a CPU quota"
    return Check(name="CPUs", status=status, found=found, meaning=meaning, remedy=remedy)


def frequency() -> Check:
    """Whether the clock rate stays the same."""
    name = "CPU frequency"
    governors, turbo = machine.governors() - {""}, machine.turbo()
    settings = [f"governor {', '.join(sorted(governors))}"] if governors else []
    settings += [f"turbo {'on' if turbo else 'off'}"] if turbo is not None else []
    if not settings:
        return Check(
            name=name,
            status="limited",
            found="the kernel does not control it",
            meaning="The clock rate may vary unseen. Cases are compared within blocks, which evens out slow"
            " changes; the control shows what is left.",
        )
    found = ", ".join(settings)
    if governors <= {"performance"} and not turbo:
        return Check(name=name, status="ok", found=found, meaning="The clock rate stays the same.")
    return Check(
        name=name,
        status="limited",
        found=found,
        meaning="The clock rate varies with load and temperature, so that blocks scatter more.",
        remedy="as root, `cpupower frequency-set -g performance`, and turbo off while measuring",
    )


def virtualization() -> Check:
    """Whether a host comes between us and the processor, and how much time it takes."""
    name = "virtualisation"
    around, stolen = machine.virtualization(), machine.stolen_share()
    if around is None:
        return Check(
            name=name, status="ok", found="none seen", meaning="The processor is this machine's own."
        )
    found = f"{around}; {stolen:.2%} of the CPU time since boot went to others on the host"
    if stolen <= machine.MUCH_STEAL:
        return Check(name=name, status="ok", found=found, meaning="The host takes next to no time away.")
    return Check(
        name=name,
        status="limited",
        found=found,
        meaning="Trials lose time to the host's other guests, at random.",
        remedy="a machine of its own, or a guest with CPUs of its own",
    )


def load() -> Check:
    """Whether something else is running."""
    name = "other load"
    others = processors.busy_with_others()
    found = f"other programs keep {others:.2f} CPUs busy"
    if others <= machine.BUSY_CPUS:
        return Check(name=name, status="ok", found=found, meaning="Nothing else is running to speak of.")
    return Check(
        name=name,
        status="limited",
        found=found,
        meaning="Other programs take CPU time from the trials, so that they scatter more.",
        remedy="end them, or wait until they are done",
    )


def clock() -> Check:
    """Whether reading the clock costs next to nothing."""
    name = "clock"
    source = CLOCK_SOURCE.read_text(encoding="ascii").strip() if CLOCK_SOURCE.exists() else "unknown"
    if source in FAST_CLOCKS:
        return Check(name=name, status="ok", found=source, meaning="Reading the time needs no system call.")
    return Check(
        name=name,
        status="limited",
        found=source,
        meaning="Reading the time may need a system call, which client and server both pay for.",
        remedy="a machine whose time stamp counter the kernel trusts (clocksource tsc)",
    )
