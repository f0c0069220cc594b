"""What was seen of a trial while it was measured, as frozen types."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, PositiveInt, field_validator, model_validator

from tlstax.contract import Counts, Frozen
from tlstax.records.server_counts import Count, count_named

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

    Of the segments that were sent again `tcp_segments_arrived_twice` are those of which the receiver said so
    (DSACK, RFC 2883): none of these was lost. None where the kernel does not count them.
    `distance_bytes` are those that crossed a distance, both ways; None where the client was in no place of
    its own.
    """

    tcp_segments_sent: int
    tcp_segments_received: int
    tcp_segments_retransmitted: int
    tcp_segments_arrived_twice: int | None = Field(default=None, exclude_if=lambda number: number is None)
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


class Slices(Frozen):
    """The slices of one case in one sitting, in their order: a number for each in every column.

    Cases with the same `sitting` of a block took turns. `rounds` has the round that each slice belongs to:
    slices of one round are neighbours in time, within a second or so, and no round has two of a case.
    `length_s` is what each was to last. With `lead_in` the other columns are of the part of each slice in
    which all connections were at work (`contract.FullLoadSpan`), after this many operations, and 0 for a
    slice that was over before. Without, they
    are of whole slices: `elapsed_s` until the answer of the last operation, and until the server has done
    with connections that were closed; CPU times read at the slice's two ends, when nothing was in flight.
    `server_cpu_us` and `path_cpu_us` are empty where those processes are out of reach, or there is no path.
    `finished` counts all operations of each slice, its ends included (empty in older records).
    `rounds_s` is the time of a storm's round in each slice, in which its closing is not (0 where no
    connection came up); empty where there is no storm. `took_s` is how long the whole sitting took, with
    starting its clients and ending them.
    """

    sitting: int
    length_s: float
    took_s: float
    rounds: tuple[int, ...]
    operations: tuple[float, ...]
    elapsed_s: tuple[float, ...]
    latency_sum_s: tuple[float, ...]
    client_cpu_us: tuple[float, ...]
    server_cpu_us: tuple[float, ...] = ()
    path_cpu_us: tuple[float, ...] = ()
    lead_in: PositiveInt | None = None
    rounds_s: tuple[float, ...] = ()
    finished: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        count = len(self.rounds)
        always = (self.operations, self.elapsed_s, self.latency_sum_s, self.client_cpu_us)
        maybe = (self.server_cpu_us, self.path_cpu_us, self.rounds_s, self.finished)
        if any(len(column) != count for column in always) or any(len(c) not in {0, count} for c in maybe):
            raise ValueError("the columns of slices have different lengths")
        return self


class Together(Frozen):
    """What the server counted while the clients of a sitting took turns, which it cannot tell apart.

    `clients` is how many took turns at this server. `status_delta` is the change of the counters that the
    claims are held against, by the server's own names; `claims` what all these clients say, together, that
    they made of each: the least and the most (None: any number). `own` is what this client opened meanwhile.
    """

    clients: int
    status_delta: dict[str, int]
    claims: dict[Count, tuple[int, int | None]]
    own: Counts

    @field_validator("claims", mode="before")
    @classmethod
    def _by_counts(cls, claims: dict[str, object]) -> dict[str, object]:
        """Older records name a claim by the server's counter."""
        return {count_named(name): claim for name, claim in claims.items()}


BUSY = 0.9
"""CPUs that work for this share of the time have no room for more: work comes in bursts."""


class LoadPart(Frozen):
    """What one machine's client did of a trial: its connections and CPUs, and what became of them."""

    machine: str
    connections: int
    cpus: int
    operations: int
    cpu_us: float


class Load(Frozen):
    """A trial whose load came from several machines at once: each machine's part, and how exactly they began.

    Each slice was to begin everywhere at one moment. Between the first client's beginning and the last one's
    lay `skew_us` (the median over all slices) and at most `longest_skew_us`; the machines' clocks are known
    to within `clock_error_us` of each other. A slice of `slices` is left out where that is more than a
    twentieth of its length: `apart` counts those. Clients were sent to `server_address`.
    """

    parts: tuple[LoadPart, ...]
    server_address: str
    slices: int
    apart: int
    skew_us: float
    longest_skew_us: float
    clock_error_us: float


class Burned(Frozen):
    """What the planted library counted in each turn, in their order: a number for each in every column.

    The turns of a case that takes turns with others are the part of its work that was watched, then its
    slices; of another one there is one, its window. `calls` is how often the server called the function that
    the fault stands for, `asked_ns` what these calls were to burn, all together, as each of them found it,
    and `burned_ns` the CPU time that they have burned. `cpu_ns` is what that was charged to the threads that
    called, by their own CPU clocks: interrupts that hit them meanwhile count, and so does one reading of the
    clock, whatever is burned (empty in older records).
    """

    calls: tuple[int, ...]
    asked_ns: tuple[int, ...]
    burned_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        columns = (self.asked_ns, self.burned_ns, *([self.cpu_ns] if self.cpu_ns else []))
        if any(len(column) != len(self.calls) for column in columns):
            raise ValueError("the columns of what was burned have different lengths")
        return self

    def turns(self) -> list[tuple[int, int, int]]:
        """Calls, what they were to burn and what they burned, of each turn."""
        return list(zip(self.calls, self.asked_ns, self.burned_ns, strict=True))


LOCKS = ("mutex", "read lock", "write lock", "spin lock")
"""Kinds of calls that take a lock; the others wait, or wake who waits."""


class LockSite(Frozen):
    """Calls of one kind from one function of one file; the function is empty where it has no name there.

    `contended` is how many found the lock taken, `moved` how many found that another thread took it last.
    """

    kind: str
    library: str
    function: str
    calls: int
    contended: int
    moved: int


class LockCounts(Frozen):
    """All of it in the time in which `operations` were finished, most calls first; `lost` found no room.

    `accepted` is how many connections the server that counts had accepted by then, from before the client
    began; None in runs of earlier versions.
    """

    operations: int
    sites: tuple[LockSite, ...]
    lost: int
    accepted: int | None = None

    def of_kinds(self, *kinds: str) -> tuple[LockSite, ...]:
        """The sites of these kinds."""
        return tuple(site for site in self.sites if site.kind in kinds)


class PortUse(Frozen):
    """How many ports wait (TIME_WAIT in tcp(7), a minute each) on a client's machine, when it has finished.

    `there_are` is how many the kernel chooses from for connections to one server, from all addresses that
    the client uses. Whatever else the machine has closed waits there, too.
    """

    waiting: int
    there_are: int
