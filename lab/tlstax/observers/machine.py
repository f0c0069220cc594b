"""The machine that the trials run on, as far as it bears on their numbers, and which of its CPUs may be used.

Everything is read from /proc and /sys below `root`, so that a test can bring a machine of its own; so is how
much CPU time and memory the control groups of this process allow it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from tlstax.observers.processors import busy_with_others
from tlstax.plan.cpu_shares import AskedCpus, Split, as_asked, by_default, share_cores
from tlstax.records.trial import Machine
from tlstax.specimens.processes import stat_of
from tlstax.support.errors import UserMistake
from tlstax.support.here import text_of
from tlstax.support.text import as_ranges, natural

ROOT = Path("/")
CPUS = "sys/devices/system/cpu"
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
BUSY_CPUS = 0.25
"""Processors that other programs keep busy, above which something else is running."""
NICE_PLACE = 16
"""Place of the niceness in /proc/PID/stat, counted behind the name (proc(5))."""
MUCH_STEAL = 0.01
"""Share of the CPU time since boot, taken by the host, above which a virtual machine is told so."""


def available_cpus() -> set[int]:
    """The CPUs that this process may run on; the kernel has applied cpusets to them (cpuset(7))."""
    return set(os.sched_getaffinity(0))


def split_cpus(available: AbstractSet[int], root: Path = ROOT) -> Split:
    """How the CPUs are shared out where nobody asked for any (see `by_default`)."""
    return by_default(physical_cores(available, root))


def split_as_asked(asked: AskedCpus, available: AbstractSet[int] | None = None, root: Path = ROOT) -> Split:
    """How the CPUs are shared out as they are asked for; UserMistake of `check_usable` and `as_asked`."""
    cpus = available_cpus() if available is None else available
    check_usable(asked, cpus, root)
    return as_asked(asked, physical_cores(cpus, root))


def check_usable(asked: AskedCpus, available: AbstractSet[int] | None = None, root: Path = ROOT) -> None:
    """UserMistake where a CPU is asked for that is not there, or not for this process to use."""
    cpus = available_cpus() if available is None else available
    for option, wanted in (("--server-cpus", asked.server), ("--client-cpus", asked.client)):
        if lacking := sorted(set(wanted or ()) - cpus):
            raise UserMistake(
                f"{option}: {_why_not(lacking[0], root)}", remedy=f"choose among CPU {as_ranges(cpus)}"
            )


def _why_not(cpu: int, root: Path) -> str:
    known = root / CPUS
    if known.is_dir() and not (known / f"cpu{cpu}").is_dir():
        return f"this machine has no CPU {cpu}"
    return f"CPU {cpu} may not be used here: it is offline, or kept from this process"


def physical_cores(available: AbstractSet[int], root: Path = ROOT) -> list[tuple[int, ...]]:
    """The available CPUs, grouped by the core that they are threads of, in order of their first CPU."""
    cores = set()
    for cpu in available:
        siblings = text_of(root / CPUS / f"cpu{cpu}/topology/thread_siblings_list")
        cores.add(tuple(sorted({cpu} | (_parse_list(siblings) & available))))
    return sorted(cores)


def describe_machine(
    available: AbstractSet[int] | None = None, root: Path = ROOT, split: Split | None = None
) -> Machine:
    """What is worth knowing of this machine beside a result. `cores` counts the CPUs available to us.

    `split` says how they are shared out, None as they are by default.
    """
    cpus = available_cpus() if available is None else available
    split = split_cpus(cpus, root) if split is None else split
    release = _assignments(text_of(root / "etc/os-release"))
    limit = memory_limit(root)
    memory_bytes = _memory_bytes(root)
    return Machine(
        cpu_model=cpu_model(root),
        cores=len(cpus),
        memory_bytes=memory_bytes if limit is None else min(limit, memory_bytes),
        kernel=text_of(root / "proc/sys/kernel/osrelease").strip(),
        distribution=release.get("PRETTY_NAME", "unknown"),
        virtualization=virtualization(root),
        microcode=microcode(root),
        server_cpus=split.server_cpus,
        client_cpus=split.client_cpus,
        notes=(*_sharing_notes(cpus, split, root), *_speed_notes(root), *_neighbour_notes(root)),
    )


def cpu_model(root: Path = ROOT) -> str:
    """The processor's name; on machines whose kernel gives none (ARM), the architecture."""
    found = re.search(r"^model name\s*:\s*(.+)$", text_of(root / "proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else os.uname().machine


def microcode(root: Path = ROOT) -> str | None:
    """The revision of the processor's microcode (proc(5), /proc/cpuinfo); None where the kernel has none."""
    found = re.search(r"^microcode\s*:\s*(.+)$", text_of(root / "proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else None


def virtualization(root: Path = ROOT) -> str | None:
    """What this machine runs in (kvm, docker on kvm…); None on bare metal.

    By systemd-detect-virt(1) where it is there, else by the CPU's hypervisor flag.
    """
    container, machine = _detect("--container", root), _detect("--vm", root)
    cpuinfo = text_of(root / "proc/cpuinfo")
    if machine is None and re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        machine = "a virtual machine"
    if container is None and any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        container = "a container"
    return " on ".join(name for name in (container, machine) if name) or None


def governors(root: Path = ROOT) -> set[str]:
    """The CPU frequency governors in force; empty where the kernel does not control the frequency."""
    return {text_of(path).strip() for path in (root / CPUS).glob("cpu[0-9]*/cpufreq/scaling_governor")}


def turbo(root: Path = ROOT) -> bool | None:
    """May the CPU clock itself higher while it is cool? None where the kernel does not say."""
    boost = text_of(root / CPUS / "cpufreq/boost").strip()
    if boost:
        return boost == "1"
    no_turbo = text_of(root / CPUS / "intel_pstate/no_turbo").strip()
    return no_turbo == "0" if no_turbo else None


def niceness(root: Path = ROOT) -> int:
    """Nice value of this process, and so of all it starts (nice(2); proc(5)); 0 where it is not told."""
    fields = stat_of(os.getpid(), root)
    return int(fields[NICE_PLACE]) if fields else 0


def stolen_share(root: Path = ROOT) -> float:
    """Share of the CPU time since boot that the host gave to others (proc(5), /proc/stat, steal)."""
    fields = [natural(field) or 0 for field in text_of(root / "proc/stat").partition("\n")[0].split()[1:9]]
    total = sum(fields)
    return fields[7] / total if len(fields) == 8 and total > 0 else 0.0


def _sharing_notes(cpus: AbstractSet[int], split: Split, root: Path) -> list[str]:
    notes = []
    if len(cpus) == 1:
        notes.append("one CPU: server and client take time from each other")
    elif share_cores(split, physical_cores(cpus, root)):
        notes.append("server and client run on threads of one physical core and slow each other")
    limit = cpu_limit(root)
    if limit is not None and limit < len(cpus):
        notes.append(f"a control group allows {limit:g} of {len(cpus)} CPUs' time: trials may be throttled")
    return notes


def _speed_notes(root: Path) -> list[str]:
    notes = []
    slow = sorted(governors(root) - {"performance", ""})
    if slow:
        notes.append(f"CPU frequency governor {', '.join(slow)}, not performance: speed varies with load")
    if turbo(root):
        notes.append("turbo is on: speed varies with temperature and with how many cores are busy")
    return notes


def _neighbour_notes(root: Path) -> list[str]:
    notes = []
    if stolen_share(root) > MUCH_STEAL:
        notes.append(f"the host took {stolen_share(root):.1%} of the CPU time since boot for others")
    others = busy_with_others(root)
    if others > BUSY_CPUS:
        notes.append(f"other programs were running when this began: they kept {others:.1f} CPUs busy")
    if (own := niceness(root)) > 0:
        notes.append(f"tlstax ran at nice {own}: other programs had the processors first")
    return notes


def _detect(kind: str, root: Path) -> str | None:
    program = shutil.which("systemd-detect-virt")
    if program is None or root != ROOT:
        return None
    try:
        done = subprocess.run([program, kind], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    name = done.stdout.strip()
    return name if done.returncode == 0 and name not in {"", "none"} else None


def _memory_bytes(root: Path) -> int:
    found = re.search(r"^MemTotal:\s*([0-9]{1,15}) kB", text_of(root / "proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _assignments(text: str) -> dict[str, str]:
    """The variables of a file in the syntax of os-release(5)."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: value.strip("\"'") for name, value in pairs}


def _parse_list(text: str) -> set[int]:
    """The kernel's list of CPUs, `0-3,8` (cpuset(7), "List format")."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        ends = _RANGE.fullmatch(part)
        if ends:
            numbers.update(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return numbers


def cpu_limit(root: Path = ROOT) -> float | None:
    """CPUs' worth of time that may be used, the least along the hierarchy; None where there is no limit.

    Version 2 gives `cpu.max` as quota and period (Documentation/admin-guide/cgroup-v2.rst), version 1
    `cpu.cfs_quota_us` and `cpu.cfs_period_us` (Documentation/scheduler/sched-bwc.rst), -1 for no limit.
    """
    limits = [_quota(directory) for directory in _groups(root, "cpu")]
    return min((limit for limit in limits if limit is not None), default=None)


def memory_limit(root: Path = ROOT) -> int | None:
    """Bytes of memory that may be used, the least along the hierarchy; None where there is no limit."""
    limits = [_memory(directory) for directory in _groups(root, "memory")]
    return min((limit for limit in limits if limit is not None), default=None)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The directories of this process's group and its parents, in version 1 and 2 (cgroups(7)).

    In a container the path may be the host's, which is not there; what is mounted is the container's own.
    """
    mount = root / "sys/fs/cgroup"
    for line in text_of(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            top = mount
        elif controller in controllers.split(","):
            top = mount / controller
        else:
            continue
        group = top / path.lstrip("/")
        yield from (directory for directory in (group, *group.parents) if directory.is_relative_to(top))


def _quota(directory: Path) -> float | None:
    quota, _, period = text_of(directory / "cpu.max").strip().partition(" ")
    if not quota:
        quota = text_of(directory / "cpu.cfs_quota_us").strip()
        period = text_of(directory / "cpu.cfs_period_us").strip()
    taken, of = natural(quota), natural(period)
    return taken / of if taken is not None and of else None


def _memory(directory: Path) -> int | None:
    text = text_of(directory / "memory.max").strip() or text_of(directory / "memory.limit_in_bytes").strip()
    # Version 1 writes "no limit" as the largest multiple of the page size below 2 to the 63.
    limit = natural(text)
    return limit if limit is not None and limit < 1 << 62 else None
