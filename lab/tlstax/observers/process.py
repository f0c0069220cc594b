"""One process watched from outside: its CPU clock, CPU time, memory, its threads, its libraries."""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tlstax.contract import Frozen
from tlstax.records.trial import MappedLibrary, ServerCpu
from tlstax.records.window import ProcessUse
from tlstax.support.here import text_of
from tlstax.support.text import natural
from tlstax.support.trusted import sha256_of

SETTLING_S, SETTLED_US, LONGEST_SETTLING_S = 0.0001, 20.0, 0.05
"""After a slice in which connections came and went the server may go on for a moment with those that the
client has left, which belongs to the slice. Its clock is read when it has used less than this in this time,
or at the latest then."""


class Clock(ABC):
    """The CPU time of a server: of all threads and processes of it, those that have ended among them."""

    clients_read_it = True
    """Whether it is that of one process of this machine, which load clients can read as well."""

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Whether there is a clock to be read."""

    @abstractmethod
    def read_us(self) -> float:
        """Microseconds so far. OSError or MachineFault where the process has ended."""

    def read_settled(self, *, comes_and_goes: bool) -> tuple[float, float]:
        """Microseconds so far at the end of a slice, and the seconds for which the process went on after it.

        Where connections came and went (`comes_and_goes`) it is given the time to be done with them.
        """
        now_us, ended = self.read_us(), time.monotonic()
        busy_until = now = ended
        while comes_and_goes and now - ended < LONGEST_SETTLING_S:
            then_us = now_us
            time.sleep(SETTLING_S)
            now_us, now = self.read_us(), time.monotonic()
            if now_us - then_us < SETTLED_US and not self._is_at_work():
                break
            busy_until = now
        return now_us, busy_until - ended

    def _is_at_work(self) -> bool:
        """Whether it goes on although the clock does not show it yet."""
        return False


class CpuClock(Clock):
    """That of a process of this machine, read in a microsecond.

    The clock's id is made from the process id as clock_getcpuclockid(3) makes it (the kernel's
    MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED).
    `pid` None is a process that is out of reach: its clock stands still at 0.
    """

    def __init__(self, pid: int | None) -> None:
        self._clock_id = None if pid is None else (~pid << 3) | 2

    @property
    def is_known(self) -> bool:
        """Whether there is a clock to be read."""
        return self._clock_id is not None

    def read_us(self) -> float:
        """Microseconds so far. OSError where the process has ended."""
        return 0.0 if self._clock_id is None else time.clock_gettime_ns(self._clock_id) / 1e3


ROOT = Path("/")
_SWITCHES = re.compile(rb"voluntary_ctxt_switches:\s*([0-9]{1,20})")
"""Of both kinds, voluntary and not."""
_STATUS_BYTES = 1 << 16
"""More than /proc/PID/task/TID/status ever has, so that one read gives all of it."""
_READ = re.compile(r"^rchar: ([0-9]{1,20})$", re.MULTILINE)
_MINOR, _MAJOR = 7, 9
"""The places of minflt and majflt in /proc/PID/stat, counted from the field behind the name."""

_FAULT = re.compile(r"/libtlstax-(?:fault|variant)-[^/]*\.so[^/]*$")
_TLS_LIBRARY = re.compile(r"/lib(?:ssl|crypto|wolfssl)[^/]*\.so[^/]*$")


class CpuReading(Frozen):
    """CPU time of a process so far: a nanosecond total, and ticks in user and kernel."""

    total_us: float
    user_ticks: int
    system_ticks: int


def read_cpu(pid: int) -> CpuReading | None:
    """CPU time that all threads of `pid` have used so far; None when it is out of reach.

    The total is that of its CPU-time clock (`CpuClock`). The split comes from /proc/PID/stat, fields 14 and
    15 (proc(5)), which count ticks.
    """
    try:
        total_us = CpuClock(pid).read_us()
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return CpuReading(total_us=total_us, user_ticks=int(fields[11]), system_ticks=int(fields[12]))


def cpu_between(before: CpuReading | None, after: CpuReading | None) -> ServerCpu | None:
    """CPU time used between two readings, the ticks' shares scaled to the exact total."""
    if before is None or after is None:
        return None
    total_us = after.total_us - before.total_us
    user = after.user_ticks - before.user_ticks
    system = after.system_ticks - before.system_ticks
    scale = total_us / (user + system) if user + system > 0 else 0.0
    return ServerCpu(total_us=total_us, user_us=user * scale, system_us=system * scale)


def server_cpu(use: ProcessUse | None) -> ServerCpu | None:
    """The CPU time of a watched server as results are taken from it, from stores of every age."""
    if use is None or use.cpu_total_us is None:
        return None
    return ServerCpu(
        total_us=use.cpu_total_us, user_us=use.cpu_user_us or 0.0, system_us=use.cpu_system_us or 0.0
    )


def ticks_per_s() -> int:
    """The ticks of a second in which the kernel reports what processes and processors did (times(2))."""
    return os.sysconf("SC_CLK_TCK")


def read_rss_bytes(pid: int) -> int | None:
    """Resident memory of `pid` (/proc/PID/statm, second field, in pages); None when out of reach."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


class ProcessMemory(NamedTuple):
    """What a process holds: resident memory, the same with shared pages by their share, and threads.

    `pss_anonymous_bytes` is what of the second belongs to no file and to no shared memory.
    """

    rss_bytes: int
    pss_bytes: int | None
    threads: int
    pss_anonymous_bytes: int | None = None


def read_memory(pid: int | None, root: Path = ROOT) -> ProcessMemory | None:
    """What a process of this machine holds; None where it is gone or out of reach.

    smaps_rollup counts pages, where it may be read; statm adds up what each CPU has counted so far, which may
    be some dozens of pages off (proc(5)).
    """
    sizes = _rollup(pid, root) if pid is not None else {}
    rss_bytes = sizes.get("Rss:") or (read_rss_bytes(pid) if pid is not None else None)
    if pid is None or not rss_bytes:
        return None
    try:
        threads = len(list((root / f"proc/{pid}/task").iterdir()))
    except OSError:
        return None
    return ProcessMemory(rss_bytes, sizes.get("Pss:"), threads, sizes.get("Pss_Anon:"))


def _rollup(pid: int, root: Path) -> dict[str, int]:
    lines = [line.split() for line in text_of(root / f"proc/{pid}/smaps_rollup").splitlines()]
    return {
        words[0]: kib * 1024 for words in lines if len(words) > 1 and (kib := natural(words[1])) is not None
    }


class Threads(NamedTuple):
    """Context switches so far by thread id; page faults of the process, those of ended threads included.

    `read_bytes` are what read(2) and its kin have returned, from files for the most part, since sockets have
    calls of their own (proc(5), /proc/PID/io, rchar); None where that is out of reach.
    """

    context_switches: Mapping[int, int]
    page_faults: int
    read_bytes: int | None = None


def read_threads(pid: int, root: Path = ROOT) -> Threads | None:
    """What the kernel has counted of a process so far; None where it is out of reach.

    A thread that ends while its file is read is left out.
    """
    try:
        stat = (root / f"proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        tasks = [str(task) for task in (root / f"proc/{pid}/task").iterdir()]
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    switches = {}
    for task in tasks:
        try:
            status = _status(f"{task}/status")
        except OSError:
            continue
        switches[int(task.rpartition("/")[2])] = sum(map(int, _SWITCHES.findall(status)))
    return Threads(switches, int(fields[_MINOR]) + int(fields[_MAJOR]), _read_bytes(root, pid))


def _read_bytes(root: Path, pid: int) -> int | None:
    found = _READ.search(text_of(root / f"proc/{pid}/io"))
    return int(found[1]) if found else None


def threads_between(before: Threads | None, after: Threads | None) -> dict[str, int]:
    """What was counted between two readings.

    What a thread counted goes with it when it ends: where one has, context switches are not reported.
    (Servers keep the threads of ended connections for the next ones, as many as their thread cache holds.)
    """
    if before is None or after is None:
        return {}
    counts = {"page_faults": after.page_faults - before.page_faults}
    if before.context_switches.keys() <= after.context_switches.keys():
        now, then = sum(after.context_switches.values()), sum(before.context_switches.values())
        counts["context_switches"] = now - then
    if before.read_bytes is not None and after.read_bytes is not None:
        counts["read_bytes"] = after.read_bytes - before.read_bytes
    return counts


def _status(path: str) -> bytes:
    """A thread's status. A server has a hundred of them, and `Path.read_text` takes three times as long."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _STATUS_BYTES)
    finally:
        os.close(descriptor)


def shares_network(pid: int) -> bool:
    """Whether a process is in our own network namespace (namespaces(7)); also where that is out of reach."""
    try:
        return Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink()
    except OSError:
        return True


def mapped_tls_libraries(pid: int) -> tuple[MappedLibrary, ...]:
    """The TLS libraries mapped into `pid`, in alphabetical order, each with its content's checksum.

    Empty when the process is out of reach or has none mapped (it may be linked statically).
    """
    return _mapped(pid, _TLS_LIBRARY) or ()


def allowed_cpus(pid: int) -> int | None:
    """How many processors a process may use (sched_getaffinity(2)); None where it is out of reach."""
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return None


def environment_of(pid: int, name: str) -> str | None:
    """What a variable was when the process's program was executed (proc(5), /proc/PID/environ).

    Empty where it was not set, None where the process is out of reach.
    """
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = (value for key, _, value in (each.partition(b"=") for each in variables) if key == name.encode())
    return next(found, b"").decode(errors="replace")


def mapped_faults(pid: int) -> tuple[MappedLibrary, ...] | None:
    """The faults and variants of ours that are mapped into `pid`, with their checksums; None out of reach."""
    return _mapped(pid, _FAULT)


def _mapped(pid: int, wanted: re.Pattern[str]) -> tuple[MappedLibrary, ...] | None:
    """The mapped files with these names, in alphabetical order; None when the process is out of reach."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return None
    paths = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/")}
    matching = sorted(path for path in paths if wanted.search(path))
    return tuple(MappedLibrary(path=path, sha256=_sha256(path)) for path in matching)


def _sha256(path: str) -> str:
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return _sha256_of_version(path, status.st_ino, status.st_mtime_ns)


@lru_cache
def _sha256_of_version(path: str, _inode: int, _mtime_ns: int) -> str:
    return sha256_of(Path(path))
