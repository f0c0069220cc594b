"""Checks of what the machine has: processors, counters, a profiler, memory, disk, descriptors."""

from __future__ import annotations

import re
import resource
import shutil
from pathlib import Path

from tlstax.observers import countable, machine, processors
from tlstax.observers.countable import Usable
from tlstax.observers.counters import HARDWARE_EVENTS, INSTRUCTIONS
from tlstax.observers.profiler import Sampling, probe
from tlstax.plan.cpu_shares import FEWEST_CORES, share_cores
from tlstax.support import directories, here, trusted
from tlstax.support.errors import MachineFault, TlstaxError
from tlstax.support.text import as_ranges
from tlstax.tools.doctor.check import Check, Status

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
"""Clock sources that are read without a system call (vdso(7))."""


def cpus() -> Check:
    """Whether server and client can be kept apart."""
    available = machine.available_cpus()
    split, cores = machine.split_cpus(available), machine.physical_cores(available)
    limit = machine.cpu_limit()
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


PROFILER = "profiler"
SYMBOLS, HIDING = Path("/proc/kallsyms"), Path("/proc/sys/kernel/kptr_restrict")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
ALLOW = "as root, `sysctl kernel.perf_event_paranoid=-1`"


def profiler() -> Check:
    """What `--profile` would sample; tried on a program that does nothing."""
    try:
        return check_of(probe(), named=kernel_is_named())
    except MachineFault as fault:
        refused = "permitted" in fault.message
        return Check(
            name=PROFILER,
            status="missing",
            found=fault.message + (f", which is {_text(PARANOID)}" if refused else ""),
            meaning="Costs can be measured, but not attributed to functions: --profile is refused.",
            remedy=f"{ALLOW}, and a container that allows perf_event_open" if refused else fault.remedy,
        )


def check_of(sampling: Sampling, *, named: bool) -> Check:
    """The check of a machine that can sample this, and shows the names of the kernel's functions or not."""
    event = f"perf, by {sampling.event}"
    if not sampling.kernel:
        return Check(
            name=PROFILER,
            status="limited",
            found=f"{event}, of user space only (kernel.perf_event_paranoid is {_text(PARANOID)})",
            meaning="Costs can be attributed to functions, but not those of the kernel.",
            remedy=ALLOW,
        )
    if not named:
        return Check(
            name=PROFILER,
            status="limited",
            found=f"{event}; the kernel hides its functions' names (kernel.kptr_restrict is {_text(HIDING)})",
            meaning="Costs can be attributed to functions; the kernel's have no names.",
            remedy="as root, `sysctl kernel.kptr_restrict=0`",
        )
    if not sampling.processors:
        return Check(
            name=PROFILER,
            status="limited",
            found=f"{event}, process by process (kernel.perf_event_paranoid is {_text(PARANOID)})",
            meaning="Costs can be attributed to functions, but sampling disturbs what changes threads often.",
            remedy=ALLOW,
        )
    return Check(
        name=PROFILER,
        status="ok",
        found=f"{event}, of user space and kernel",
        meaning="Costs can be attributed to functions (--profile).",
    )


def kernel_is_named(symbols: Path = SYMBOLS) -> bool:
    """Whether the kernel's symbols have addresses; they read as zero where they are hidden (proc(5))."""
    try:
        with symbols.open(encoding="ascii", errors="replace") as lines:
            return any(int(line.split()[0], 16) for _, line in zip(range(1000), lines, strict=False))
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return "not there"


MEMORY_WANTED_BYTES = 2_000_000_000
"""A server with its buffers, the client, the laboratory and its statistics."""
DISK_WANTED_BYTES = 2_000_000_000
"""A fetched server (800 MB while it is unpacked), its data, and the runs."""
DESCRIPTORS_WANTED = 4096
"""Both ends of a thousand connections, four times over."""


def processes() -> Check:
    """Whether processes can be watched at all."""
    try:
        here.check_proc()
    except MachineFault as fault:
        meaning = "Nothing can be measured."
        return Check(
            name="/proc", status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy
        )
    return Check(name="/proc", status="ok", found="mounted", meaning="Processes can be watched.")


def memory() -> Check:
    """Whether there is memory for a server and its buffers."""
    found = re.search(
        r"^MemAvailable:\s*([0-9]{1,15}) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE
    )
    available_bytes = int(found[1]) * 1024 if found else 0
    limit = machine.memory_limit()
    available_bytes = available_bytes if limit is None else min(limit, available_bytes)
    enough = available_bytes >= MEMORY_WANTED_BYTES
    return Check(
        name="memory",
        status="ok" if enough else "limited",
        found=f"{available_bytes / 1e9:.1f} GB available",
        meaning="Server, client and laboratory fit." if enough else "The server may swap or be killed.",
        remedy="" if enough else f"{MEMORY_WANTED_BYTES / 1e9:.0f} GB of free memory",
    )


def disk() -> Check:
    """Whether there is room for servers and runs, and we may write there."""
    name = "disk"
    try:
        folder = directories.cache_dir()
        directories.check_place(folder)
    except TlstaxError as fault:
        meaning = "No server can be fetched and none can be started."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    try:
        trusted.check(folder, "TLSTAX_CACHE")
        directories.plain(folder)
    except MachineFault as fault:
        meaning = "Nothing that is kept there is run."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free_bytes = shutil.disk_usage(there).free
    found = f"{free_bytes / 1e9:.1f} GB free for {folder}"
    if free_bytes < DISK_WANTED_BYTES:
        return Check(
            name=name,
            status="limited",
            found=found,
            meaning="Servers that are not yet there may not fit.",
            remedy=f"{DISK_WANTED_BYTES / 1e9:.0f} GB of room, or another disk named with TLSTAX_CACHE",
        )
    return Check(name=name, status="ok", found=found, meaning="Servers and runs fit.")


def runs() -> Check:
    """Whether runs and their reports can be kept."""
    name = "runs"
    try:
        folder = directories.data_dir()
        for place in (folder, folder / "reports"):
            directories.check_place(place)
    except TlstaxError as fault:
        meaning = "No run can be kept, and so none is measured."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    return Check(name=name, status="ok", found=f"kept in {folder}", meaning="Runs and reports can be kept.")


def file_descriptors() -> Check:
    """How many connections can be open at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = "without limit" if hard == resource.RLIM_INFINITY else f"up to {hard}"
    enough = hard == resource.RLIM_INFINITY or hard >= DESCRIPTORS_WANTED
    return Check(
        name="file descriptors",
        status="ok" if enough else "limited",
        found=f"{soft}, which a program may raise {most}",
        meaning="Thousands of connections can be open at once."
        if enough
        else f"Studies with more than about {hard // 2} connections will fail.",
        remedy="" if enough else f"`ulimit -Hn {DESCRIPTORS_WANTED}` or more, as root",
    )
