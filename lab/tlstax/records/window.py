"""What observers saw over a trial's measured window, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlstax.contract import Frozen

CpuSource = Literal["control group", "task clock", "ticks"]
"""What tells the CPU time of a server of several processes: see `observers/tree.py`."""


class CpuTicks(Frozen):
    """Ticks of a set of processors by what they did: the fields of /proc/stat, summed (proc(5))."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    @property
    def total(self) -> int:
        """All ticks; what a guest of this machine used is within user and nice."""
        return (
            self.user
            + self.nice
            + self.system
            + self.idle
            + self.iowait
            + self.irq
            + self.softirq
            + self.steal
        )


class CpuSlice(Frozen):
    """One slice of the window, a second long or what is left of it.

    `at_s` is its beginning, counted from the window's. `server` holds the processors that the server is
    pinned to, None where it is not pinned.
    """

    at_s: float
    took_s: float
    machine: CpuTicks
    server: CpuTicks | None = None


class ProcessUse(Frozen):
    """What one process used over the window, or all processes of a server that has one for each connection.

    `counters` holds what the kernel and the processor counted, by name, user space and kernel apart where
    they could be told apart: `instructions_user`, `cycles_kernel`, `cache_misses_user`, `context_switches`,
    `page_faults`, and of a process here `read_bytes`, which it read from files. What cannot be counted is
    missing. `rss_bytes` is what was resident at the window's end, while the client still had its connections;
    `pss_bytes` the same with shared pages by their share, and `threads` all of the process, where a trial by
    itself kept connections.

    Of several processes `cpu_source` says what told their CPU time, and `processes` how many they were at the
    window's end; None of one. `rss_bytes` has what they share once.
    """

    cpu_user_us: float | None = None
    cpu_system_us: float | None = None
    cpu_total_us: float | None = None
    rss_bytes: int | None = None
    pss_bytes: int | None = Field(default=None, exclude_if=lambda size: size is None)
    threads: int | None = Field(default=None, exclude_if=lambda number: number is None)
    counters: dict[str, int] = {}
    cpu_source: CpuSource | None = Field(default=None, exclude_if=lambda source: source is None)
    processes: int | None = Field(default=None, exclude_if=lambda number: number is None)


class WireUse(Frozen):
    """What the machine's network stack counted in the client's network namespace (proc(5), net/snmp).

    `distance_bytes` are those that crossed a distance, both ways; None where the client was in no place of
    its own.
    """

    tcp_segments_sent: int
    tcp_segments_received: int
    tcp_segments_retransmitted: int
    loopback_bytes: int | None = None
    distance_bytes: int | None = None


class Window(Frozen):
    """What was watched of the client's work, from a `go` to its end.

    `operations` is how many were finished meanwhile; None where that is all of the trial's.

    `path` is what the programs between client and server used, all of them together; None where there is
    none.

    `status_delta` is the change of the server's counters over the window alone. `observers_cpu_us` is the CPU
    time that the laboratory itself used meanwhile.
    """

    took_s: float
    operations: int | None = None
    server: ProcessUse | None = None
    client: ProcessUse | None = None
    path: ProcessUse | None = None
    cpus: tuple[CpuSlice, ...] = ()
    ticks_per_s: int = 100
    wire: WireUse | None = None
    status_delta: dict[str, int] = {}
    observers_cpu_us: float | None = None
