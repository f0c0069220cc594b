"""Everything that is watched over a measured window, read in one order by whoever measures.

That is both sides, each a process of this machine or of another one, and what a network stack has sent and
received. Its counts are of a whole network namespace, so of whatever else talks there too: of the machine's,
or of the place that a distance gives the client, which is its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from tlstax.observers import process
from tlstax.observers.counters import Counters, Readings, counted
from tlstax.observers.far_process import FarProcess
from tlstax.observers.process import (
    ROOT,
    CpuReading,
    ProcessMemory,
    Threads,
    cpu_between,
    read_threads,
    threads_between,
)
from tlstax.observers.processors import CpuSeries
from tlstax.observers.profiler import Profiler, Sampled
from tlstax.plan.addresses import DEVICE
from tlstax.records.trial import ServerCpu
from tlstax.records.window import CpuSource, ProcessUse, Window, WireUse
from tlstax.sql.facts import changed_counters
from tlstax.support.here import text_of
from tlstax.support.text import integer, natural


@dataclass(frozen=True)
class Side:
    """A process here, and its counters where it has some; `pid` is None where it is out of reach."""

    pid: int | None
    counters: Counters | None = None

    @property
    def cpu_source(self) -> CpuSource | None:
        """What tells the CPU time of several processes; None of one."""
        return None

    def count_processes(self) -> int | None:
        """How many processes they are; None where it is one by its nature."""
        return None

    def read_cpu(self) -> CpuReading | None:
        """Its CPU time; None where it is out of reach."""
        return process.read_cpu(self.pid) if self.pid else None

    def read_counters(self) -> Readings:
        """What the processor has counted of it; empty where nothing is counted."""
        return self.counters.read() if self.counters else {}

    def read_threads(self, root: Path = ROOT) -> Threads | None:
        """What the kernel has counted of its threads; None where it is out of reach."""
        return read_threads(self.pid, root) if self.pid else None

    def read_rss_bytes(self) -> int | None:
        """Its resident memory; None where it is out of reach."""
        return process.read_rss_bytes(self.pid) if self.pid else None

    def read_memory(self, root: Path = ROOT) -> ProcessMemory | None:
        """What it holds, page by page; None where it is out of reach."""
        return process.read_memory(self.pid, root)


@dataclass(frozen=True, kw_only=True)
class FarSide(Side):
    """A process elsewhere, asked in a round trip. MachineFault where it no longer answers."""

    far: FarProcess

    @property
    def cpu_source(self) -> CpuSource | None:
        """What tells the CPU time of several processes there; None of one."""
        return self.far.cpu_source

    def count_processes(self) -> int | None:
        """How many processes they are; None where it is one by its nature."""
        return self.far.use().processes if self.far.cpu_source else None

    def read_cpu(self) -> CpuReading | None:
        """Its CPU time."""
        return self.far.use().cpu

    def read_counters(self) -> Readings:
        """What the processor has counted of it, where the kernel there lets this user count."""
        return self.far.use().counters

    def read_threads(self, root: Path = ROOT) -> Threads | None:  # noqa: ARG002 (its files are not here)
        """What the kernel there has counted of its threads."""
        return self.far.use().threads

    def read_rss_bytes(self) -> int | None:
        """Its resident memory."""
        return self.far.rss_bytes()

    def read_memory(self, root: Path = ROOT) -> ProcessMemory | None:  # noqa: ARG002 (its files are not here)
        """Its resident memory and its threads; shared pages are not told apart from there."""
        return ProcessMemory(self.far.rss_bytes(), None, len(self.far.use().threads.context_switches))


def read_wire(pid: int | None = None, root: Path = ROOT) -> WireUse | None:
    """Everything since boot where this process is; None where the kernel does not report it.

    /proc/PID/net/snmp has a line of names and a line of values for each protocol, as has netstat beside it
    for what is Linux's own; /proc/PID/net/dev a line for each device, whose first field is the bytes
    received, and whose ninth those sent (proc(5)). Each byte is counted once.
    """
    place = root / "proc" / ("self" if pid is None else str(pid)) / "net"
    tcp, more = _counts(text_of(place / "snmp"), "Tcp:"), _counts(text_of(place / "netstat"), "TcpExt:")
    if not {"InSegs", "OutSegs", "RetransSegs"} <= tcp.keys():
        return None
    devices = _devices(text_of(place / "dev"))
    distance = devices.get(DEVICE)
    return WireUse(
        tcp_segments_sent=tcp["OutSegs"],
        tcp_segments_received=tcp["InSegs"],
        tcp_segments_retransmitted=tcp["RetransSegs"],
        tcp_segments_arrived_twice=more.get("TCPDSACKRecvSegs"),
        loopback_bytes=devices["lo"][0] if "lo" in devices else None,
        distance_bytes=sum(distance) if distance else None,
    )


def wire_between(before: WireUse | None, after: WireUse | None) -> WireUse | None:
    """What was sent and received between two readings."""
    if before is None or after is None:
        return None
    then, now = before.model_dump(), after.model_dump()
    both = {name: (then.get(name), count) for name, count in now.items()}
    return WireUse(**{name: None if None in ends else ends[1] - ends[0] for name, ends in both.items()})


def _counts(text: str, protocol: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(protocol)]
    if len(lines) != 2:
        return {}
    return {name: integer(value) or 0 for name, value in zip(*lines, strict=False)}


def _devices(text: str) -> dict[str, tuple[int, int]]:
    """Bytes received and sent, by device."""
    devices = {}
    for line in text.splitlines():
        device, colon, counts = line.partition(":")
        fields = counts.split()
        if colon and len(fields) > 8:
            devices[device.strip()] = natural(fields[0]) or 0, natural(fields[8]) or 0
    return devices


@dataclass(frozen=True)
class Watched:
    """What a watch reads beside the CPU clocks and the memory of both sides.

    `read_status` gives the server's counters, once nothing of the client's is under way there; with
    `machine`, the processors (those of `server_cpus` apart), the network and the threads of both are read
    too. A `profiler` samples both sides. `path` are the processes between client and server. With
    `whole_memory` the pages of both sides are counted at the window's end, which takes milliseconds.
    """

    client: Side
    server: Side
    read_status: Callable[[], dict[str, int]] | None = None
    machine: bool = False
    server_cpus: tuple[int, ...] = ()
    profiler: Profiler | None = None
    path: tuple[int, ...] = ()
    whole_memory: bool = False


class _Clocks(NamedTuple):
    """CPU clocks, the laboratory's own among them, and the time."""

    client: CpuReading | None
    server: CpuReading | None
    path: tuple[CpuReading | None, ...]
    own_us: float
    at_s: float


class _Counts(NamedTuple):
    """What the counters of both sides stand at, and what the kernel has counted of their threads."""

    client: Readings
    server: Readings
    client_threads: Threads | None
    server_threads: Threads | None


class Watch:
    """Watches a window: `begin` just before the client is told to go, `end` when it has said that it is done.

    The client keeps its connections until it is told to leave, so both are moments in which nothing happens
    but what the watch does itself. What is cheap and counts exactly is read innermost; what makes the server
    work (its status) is read outside that, and memory when all is over.

    Use it as a context manager: leaving it ends the thread that reads the processors.
    """

    def __init__(self, watched: Watched, root: Path = ROOT) -> None:
        self._watched = watched
        self._root = root
        self._series = CpuSeries(watched.server_cpus, root)
        self._wire: WireUse | None = None
        self._begun: tuple[_Counts, _Clocks] | None = None
        self.status_at_begin: Mapping[str, int] = {}
        self.status_at_end: Mapping[str, int] = {}
        self.sampled = Sampled(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._series.end()

    def begin(self) -> None:
        """Read everything as it is before the window. MachineFault where the server does not report."""
        watched = self._watched
        if watched.read_status is not None:
            self.status_at_begin = watched.read_status()
        if watched.machine:
            self._wire = read_wire(watched.client.pid, self._root)
            self._series.start()
        if watched.profiler is not None:
            watched.profiler.start()
        self._begun = self._counts(), self._clocks()

    def end(self) -> Window:
        """What has changed since `begin`. MachineFault where the server does not report its counters."""
        clocks, counts, watched = self._clocks(), self._counts(), self._watched
        if self._begun is None:
            raise RuntimeError("a window ends that has not begun")
        counts_then, then = self._begun
        cpus = self._series.stop() if watched.machine else ()
        wire = (
            wire_between(self._wire, read_wire(watched.client.pid, self._root)) if watched.machine else None
        )
        if watched.profiler is not None:
            self.sampled = watched.profiler.stop()
        client = self._use(
            watched.client,
            cpu_between(then.client, clocks.client),
            counted(counts_then.client, counts.client)
            | threads_between(counts_then.client_threads, counts.client_threads),
        )
        server = self._use(
            watched.server,
            cpu_between(then.server, clocks.server),
            counted(counts_then.server, counts.server)
            | threads_between(counts_then.server_threads, counts.server_threads),
        )
        self.status_at_end = watched.read_status() if watched.read_status is not None else {}
        return Window(
            took_s=round(clocks.at_s - then.at_s, 6),
            server=server,
            client=client,
            path=_path_use(zip(then.path, clocks.path, strict=True)),
            cpus=cpus,
            ticks_per_s=process.ticks_per_s(),
            wire=wire,
            status_delta=changed_counters(self.status_at_begin, self.status_at_end),
            observers_cpu_us=clocks.own_us - then.own_us,
        )

    def _counts(self) -> _Counts:
        client, server = self._watched.client, self._watched.server
        return _Counts(
            client=client.read_counters(),
            server=server.read_counters(),
            client_threads=self._threads(client),
            server_threads=self._threads(server),
        )

    def _use(self, side: Side, cpu: ServerCpu | None, counts: dict[str, int]) -> ProcessUse | None:
        """What a process used and holds; None where it is out of reach."""
        if cpu is None:
            return None
        memory = side.read_memory(self._root) if self._watched.whole_memory else None
        return ProcessUse(
            cpu_user_us=cpu.user_us,
            cpu_system_us=cpu.system_us,
            cpu_total_us=cpu.total_us,
            rss_bytes=side.read_rss_bytes() if memory is None else memory.rss_bytes,
            pss_bytes=None if memory is None else memory.pss_bytes,
            threads=None if memory is None else memory.threads,
            counters=counts,
            cpu_source=side.cpu_source,
            processes=side.count_processes(),
        )

    def _threads(self, side: Side) -> Threads | None:
        return side.read_threads(self._root) if self._watched.machine else None

    def _clocks(self) -> _Clocks:
        client, server = self._watched.client, self._watched.server
        return _Clocks(
            client=client.read_cpu(),
            server=server.read_cpu(),
            path=tuple(process.read_cpu(pid) for pid in self._watched.path),
            own_us=time.process_time_ns() / 1e3,
            at_s=time.monotonic(),
        )


def _path_use(readings: Iterable[tuple[CpuReading | None, CpuReading | None]]) -> ProcessUse | None:
    """What all programs of a path used together; None without one, or where one of them has died."""
    used = [cpu_between(then, now) for then, now in readings]
    known = [cpu for cpu in used if cpu is not None]
    if not used or len(known) < len(used):
        return None
    return ProcessUse(
        cpu_user_us=sum(cpu.user_us for cpu in known),
        cpu_system_us=sum(cpu.system_us for cpu in known),
        cpu_total_us=sum(cpu.total_us for cpu in known),
    )
