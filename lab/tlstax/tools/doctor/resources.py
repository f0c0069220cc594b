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
from tlstax.tools.doctor.check import Seen, Status, missing

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
"""Clock sources that are read without a system call (vdso(7))."""


def cpus() -> Seen:
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
    return Seen(status, found, meaning, remedy)


def frequency() -> Seen:
    """Whether the clock rate stays the same."""
    governors, turbo = machine.governors() - {""}, machine.turbo()
    settings = [f"governor {', '.join(sorted(governors))}"] if governors else []
    settings += [f"turbo {'on' if turbo else 'off'}"] if turbo is not None else []
    if not settings:
        return Seen(
            "limited",
            "the kernel does not control it",
            "The clock rate may vary unseen. Cases are compared within blocks, which evens out slow"
            " changes; the control shows what is left.",
        )
    found = ", ".join(settings)
    if governors <= {"performance"} and not turbo:
        return Seen("ok", found, "The clock rate stays the same.")
    return Seen(
        "limited",
        found,
        "The clock rate varies with load and temperature, so that blocks scatter more.",
        "as root, `cpupower frequency-set -g performance`, and turbo off while measuring",
    )


def virtualization() -> Seen:
    """Whether a host comes between us and the processor, and how much time it takes."""
    around, stolen = machine.virtualization(), machine.stolen_share()
    if around is None:
        return Seen("ok", "none seen", "The processor is this machine's own.")
    found = f"{around}; {stolen:.2%} of the CPU time since boot went to others on the host"
    if stolen <= machine.MUCH_STEAL:
        return Seen("ok", found, "The host takes next to no time away.")
    return Seen(
        "limited",
        found,
        "Trials lose time to the host's other guests, at random.",
        "a machine of its own, or a guest with CPUs of its own",
    )


def load() -> Seen:
    """Whether something else is running."""
    others = processors.busy_with_others()
    found = f"other programs keep {others:.2f} CPUs busy"
    if others <= machine.BUSY_CPUS:
        return Seen("ok", found, "Nothing else is running to speak of.")
    return Seen(
        "limited",
        found,
        "Other programs take CPU time from the trials, so that they scatter more.",
        "end them, or wait until they are done",
    )


def priority() -> Seen:
    """Whether others have the processors first."""
    own = machine.niceness()
    if own <= 0:
        return Seen("ok", f"nice {own}", "Other programs have no right to the processors before it.")
    return Seen(
        "limited",
        f"nice {own}",
        "Whatever else runs has the processors first: server and client wait for it.",
        "start tlstax without nice(1), or from a session or service without a nice value",
    )


def clock() -> Seen:
    """Whether reading the clock costs next to nothing."""
    source = CLOCK_SOURCE.read_text(encoding="ascii").strip() if CLOCK_SOURCE.exists() else "unknown"
    if source in FAST_CLOCKS:
        return Seen("ok", source, "Reading the time needs no system call.")
    return Seen(
        "limited",
        source,
        "Reading the time may need a system call, which client and server both pay for.",
        "a machine whose time stamp counter the kernel trusts (clocksource tsc)",
    )


def counting() -> Seen:
    """What can be counted of a process by the processor and the kernel, tried on ourselves."""
    usable = countable.usable_events()
    counted = dict.fromkeys(event.family for event in usable.events)
    found = ", ".join(counted) if counted else "none"
    hardware = set(HARDWARE_EVENTS)
    if not hardware - set(usable.events):
        return Seen(
            "ok", found, "Instructions per operation can be counted, which scatter far less than times."
        )
    return Seen(
        "limited" if usable.events else "missing",
        "; ".join((found, *usable.notes())),
        "Costs are given in CPU time, not in instructions per operation."
        if not set(INSTRUCTIONS) & set(usable.events)
        else "Of what is not counted, only the time is known.",
        _remedy(usable),
    )


def _remedy(usable: Usable) -> str:
    if countable.refusal() in usable.why_not.values():
        return "as root, `sysctl kernel.perf_event_paranoid=1`, and a container that allows perf_event_open"
    return "bare metal, or a virtual machine whose counters cost nothing (a virtual PMU in hardware)"


SYMBOLS, HIDING = Path("/proc/kallsyms"), Path("/proc/sys/kernel/kptr_restrict")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
ALLOW = "as root, `sysctl kernel.perf_event_paranoid=-1`"


def profiler() -> Seen:
    """What `--profile` would sample; tried on a program that does nothing."""
    try:
        return check_of(probe(), named=kernel_is_named())
    except MachineFault as fault:
        refused = "permitted" in fault.message
        return Seen(
            "missing",
            fault.message + (f", which is {_text(PARANOID)}" if refused else ""),
            "Costs can be measured, but not attributed to functions: --profile is refused.",
            f"{ALLOW}, and a container that allows perf_event_open" if refused else fault.remedy,
        )


def check_of(sampling: Sampling, *, named: bool) -> Seen:
    """The check of a machine that can sample this, and shows the names of the kernel's functions or not."""
    event = f"perf, by {sampling.event}"
    if not sampling.kernel:
        return Seen(
            "limited",
            f"{event}, of user space only (kernel.perf_event_paranoid is {_text(PARANOID)})",
            "Costs can be attributed to functions, but not those of the kernel.",
            ALLOW,
        )
    if not named:
        return Seen(
            "limited",
            f"{event}; the kernel hides its functions' names (kernel.kptr_restrict is {_text(HIDING)})",
            "Costs can be attributed to functions; the kernel's have no names.",
            "as root, `sysctl kernel.kptr_restrict=0`",
        )
    if not sampling.processors:
        return Seen(
            "limited",
            f"{event}, process by process (kernel.perf_event_paranoid is {_text(PARANOID)})",
            "Costs can be attributed to functions, but sampling disturbs what changes threads often.",
            ALLOW,
        )
    return Seen(
        "ok", f"{event}, of user space and kernel", "Costs can be attributed to functions (--profile)."
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


def processes() -> Seen:
    """Whether processes can be watched at all."""
    try:
        here.check_proc()
    except MachineFault as fault:
        return missing(fault, "Nothing can be measured.")
    return Seen("ok", "mounted", "Processes can be watched.")


def memory() -> Seen:
    """Whether there is memory for a server and its buffers."""
    told = re.search(
        r"^MemAvailable:\s*([0-9]{1,15}) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE
    )
    available_bytes = int(told[1]) * 1024 if told else 0
    limit = machine.memory_limit()
    available_bytes = available_bytes if limit is None else min(limit, available_bytes)
    found = f"{available_bytes / 1e9:.1f} GB available"
    if available_bytes >= MEMORY_WANTED_BYTES:
        return Seen("ok", found, "Server, client and laboratory fit.")
    wanted = f"{MEMORY_WANTED_BYTES / 1e9:.0f} GB of free memory"
    return Seen("limited", found, "The server may swap or be killed.", wanted)


def disk() -> Seen:
    """Whether there is room for servers and runs, and we may write there."""
    try:
        folder = directories.cache_dir()
        directories.check_place(folder)
    except TlstaxError as fault:
        return missing(fault, "No server can be fetched and none can be started.")
    try:
        trusted.check(folder, "TLSTAX_CACHE")
        directories.plain(folder)
    except MachineFault as fault:
        return missing(fault, "Nothing that is kept there is run.")
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free_bytes = shutil.disk_usage(there).free
    found = f"{free_bytes / 1e9:.1f} GB free for {folder}"
    if free_bytes < DISK_WANTED_BYTES:
        return Seen(
            "limited",
            found,
            "Servers that are not yet there may not fit.",
            f"{DISK_WANTED_BYTES / 1e9:.0f} GB of room, or another disk named with TLSTAX_CACHE",
        )
    return Seen("ok", found, "Servers and runs fit.")


def runs() -> Seen:
    """Whether runs and their reports can be kept."""
    try:
        folder = directories.data_dir()
        for place in (folder, folder / "reports"):
            directories.check_place(place)
    except TlstaxError as fault:
        return missing(fault, "No run can be kept, and so none is measured.")
    return Seen("ok", f"kept in {folder}", "Runs and reports can be kept.")


def file_descriptors() -> Seen:
    """How many connections can be open at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = "without limit" if hard == resource.RLIM_INFINITY else f"up to {hard}"
    found = f"{soft}, which a program may raise {most}"
    if hard == resource.RLIM_INFINITY or hard >= DESCRIPTORS_WANTED:
        return Seen("ok", found, "Thousands of connections can be open at once.")
    return Seen(
        "limited",
        found,
        f"Studies with more than about {hard // 2} connections will fail.",
        f"`ulimit -Hn {DESCRIPTORS_WANTED}` or more, as root",
    )
