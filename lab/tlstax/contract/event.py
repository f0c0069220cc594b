"""The events: what a load client answers, one JSON object a line on standard output; sums of its counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from tlstax.contract.compression import CompressedBytes
from tlstax.contract.frozen import Frozen
from tlstax.contract.tls import (
    Handshakes,
    Negotiated,
    TlsLibrary,
)

PHASES = (
    "tcp_connect",
    "greeting",
    "tls_handshake",
    "authentication",
    "connect",
    "first_query",
    "query",
    "close",
    "operation",
    "start_delay",
)
"""Histograms of a `done` event: the phases of a connection's life in their order, `connect` (from the
first SYN to the server's OK packet, all phases before it together), `operation` (what the workload
counts as one operation) and, in an open loop, `start_delay` (from when an operation was due to when it
was begun)."""


class Overhead(Frozen):
    """What the client's own loop costs per operation on this machine, and over how many it was measured.

    The CPU time of one load thread that does the job's operations against a server that does nothing,
    in the clear, before the first connection to the real one.
    """

    cpu_us_per_op: NonNegativeFloat
    operations: PositiveInt


class WarmupSlice(Frozen):
    """A part of the warm-up: when it ended, counted from its begin, and what was done in it."""

    elapsed_s: NonNegativeFloat
    operations: NonNegativeInt
    cpu_us: NonNegativeFloat


class Ready(Frozen):
    """All connections are up, proved and warm; nothing is in flight; the client waits for `go`.

    `warmup` holds the slices of a warm-up that lasted until the client was steady, `steady` whether it was at
    the end; None where it was not looked for.
    """

    event: Literal["ready"] = "ready"
    client: str
    client_version: str
    pid: PositiveInt
    server_version: str
    tls_library: TlsLibrary | None
    negotiated: tuple[Negotiated, ...]
    warmup: tuple[WarmupSlice, ...] = ()
    steady: bool | None = None


class Interval(Frozen):
    """Progress, about once a second in a slice: operations finished and errors met since the last one."""

    event: Literal["interval"] = "interval"
    elapsed_s: NonNegativeFloat
    operations: NonNegativeInt
    errors: NonNegativeInt


ErrorKind = Literal[
    "bad_job",
    "tls_library",
    "resolve",
    "connect",
    "timeout",
    "not_mysql",
    "server_closed",
    "server_error",
    "access_denied",
    "no_tls",
    "no_compression",
    "tls_handshake",
    "certificate",
    "protocol",
    "limits",
    "rows_differ",
    "internal",
]
"""All that can go wrong, in the order in which a connection meets it; contract/README.md explains each."""


class ErrorEvent(Frozen):
    """Something went wrong. `fault` says where to look; a fatal one ends the job.

    `code` is the MySQL error number, the SQLSTATE of PostgreSQL as a number in base 36, or errno.
    """

    event: Literal["error"] = "error"
    kind: ErrorKind
    fault: Literal["job", "client", "network", "server"]
    fatal: bool
    message: str
    code: int | None = None
    count: PositiveInt = 1


class Counts(Frozen):
    """Connections opened, handshakes completed and how logins went, over one span of time."""

    connections: NonNegativeInt
    handshakes: tuple[Handshakes, ...]
    authentications: dict[str, NonNegativeInt]


class FullLoadSpan(Frozen):
    """What was done in a slice while all connections were at work.

    From the answer of the last operation of its lead-in (`FullLoad.after_operations`) to the first answer
    after the slice's length, when every connection still has an operation in flight. `elapsed_s` lies between
    these two answers; `operations` were under way meanwhile, each by the part of its latency that lies
    between them, `latency_sum_s` is the sum of these parts; `cpu_us` is the client's process's, `cpu_of_us`
    that of each of the job's `full_load.cpu_of`, in its order.
    """

    elapsed_s: PositiveFloat
    operations: PositiveFloat
    latency_sum_s: NonNegativeFloat
    cpu_us: NonNegativeFloat
    cpu_of_us: tuple[NonNegativeFloat, ...]


class Slice(Frozen):
    """What was done in one slice: from one `go` to the answer of the last operation that was started in it.

    `elapsed_s` lasts until that answer, as long as the slice was to last where nothing was done. `operations`
    are those that succeeded, `latency_sum_s` the sum of their latencies as the histogram `operation` has
    them. `cpu_us` is the CPU time of the client's process, less what it takes to report this. `counts` is
    what was opened in the slice, `rounds_s` the times of a storm's rounds (see `Done`). `full_load` is the
    part in which all connections were at work: None where the job does not ask, or the slice was too short.
    """

    event: Literal["slice"] = "slice"
    elapsed_s: PositiveFloat
    operations: NonNegativeInt
    latency_sum_s: NonNegativeFloat
    cpu_us: NonNegativeFloat
    counts: Counts
    rounds_s: tuple[PositiveFloat, ...] = ()
    full_load: FullLoadSpan | None = Field(default=None, exclude_if=lambda part: part is None)


class CpuTime(Frozen):
    """CPU time of the client's process; the total from a nanosecond clock, split as the kernel says."""

    total_us: NonNegativeFloat
    user_us: NonNegativeFloat
    system_us: NonNegativeFloat


class Wire(Frozen):
    """Bytes of TCP payload and TCP segments each way; segments are None where TCP_INFO is not available.

    `records_sent` and `records_received` are TLS records with data (RFC 8446, section 5.1), so neither the
    handshake's nor those with session tickets; None in the clear, and where the client does not count them.
    """

    bytes_sent: NonNegativeInt
    bytes_received: NonNegativeInt
    segments_sent: NonNegativeInt | None
    segments_received: NonNegativeInt | None
    records_sent: NonNegativeInt | None = Field(default=None, exclude_if=lambda count: count is None)
    records_received: NonNegativeInt | None = Field(default=None, exclude_if=lambda count: count is None)


class PhaseWire(Frozen):
    """What crossed the wire in one phase, summed over N `times` that the phase occurred.

    `round_trips` counts how often the client had sent something and then had to wait for the server before
    it could go on: one for a TCP connect (SYN and its answer), one for the greeting, for which the server
    waits for the last segment of the TCP handshake; from then on each change from sending to receiving.
    Within a TLS handshake it is counted by the handshake's messages. Bytes are of TCP payload; what is
    sent without waiting belongs to the phase that it is sent in.
    """

    times: PositiveInt
    round_trips: NonNegativeInt
    bytes_sent: NonNegativeInt
    bytes_received: NonNegativeInt


class ErrorCount(Frozen):
    """How often an error of one kind and code was met in the window."""

    kind: ErrorKind
    code: int | None
    count: PositiveInt


class RowSample(Frozen):
    """A statement as it was run and the rows it returned (None is NULL), to be checked at the server."""

    sql: str
    rows: tuple[tuple[str | None, ...], ...]


class Streamed(Frozen):
    """What a program that copies a server's data or its log got.

    One copy before the window was looked through: it was `copy_bytes` long, and had what `holds` says (see
    `StreamTerms`). `written` is what each run of the program wrote, in bytes, that one first: those of the
    window are looked through no more. `received_bytes` is what crossed the wire from the server for one copy,
    counted on the way, with TLS and compressed as it was; None of clients before it was counted.
    """

    copy_bytes: NonNegativeInt
    written: tuple[NonNegativeInt, ...]
    holds: dict[str, int]
    received_bytes: NonNegativeInt | None = Field(default=None, exclude_if=lambda count: count is None)


class Done(Frozen):
    """The result of all slices together, which are the window; what was started in a slice is finished in it.

    `elapsed_s` and the CPU times are sums over the slices: what lies between two of them counts nowhere.
    `histograms_ns` holds one histogram for each of PHASES that occurred, in nanoseconds, in
    HdrHistogram's V2 DEFLATE encoding, base64. `window` counts within the slices, `lifetime` from the start
    of the process. `threads_cpu_us` is the CPU time of each load thread over the window, empty where it is
    not known; `overhead` is None where it was not measured, `wire` where the client cannot tell,
    `compression` where nothing was compressed.
    `reported_s` are times that the client prints of itself, by name (mysqlslap: average, minimum and maximum
    of its rounds).
    `rounds_s` are the times of a storm's rounds, from the first SYN to the last connection's OK; `phase_wire`
    holds one entry for each of PHASES that occurred and of which the client counts what crossed the wire.
    `streamed` is for clients whose job has a `stream`.
    """

    event: Literal["done"] = "done"
    elapsed_s: PositiveFloat
    operations: NonNegativeInt
    scheduled: NonNegativeInt
    skipped: NonNegativeInt
    window: Counts
    lifetime: Counts
    histograms_ns: dict[str, str]
    cpu: CpuTime
    threads_cpu_us: tuple[NonNegativeFloat, ...] = ()
    wire: Wire | None
    compression: CompressedBytes | None = Field(default=None, exclude_if=lambda part: part is None)
    errors: tuple[ErrorCount, ...]
    row_samples: tuple[RowSample, ...]
    overhead: Overhead | None = None
    reported_s: dict[str, NonNegativeFloat] = {}
    rounds_s: tuple[PositiveFloat, ...] = ()
    phase_wire: dict[str, PhaseWire] = {}
    streamed: Streamed | None = Field(default=None, exclude_if=lambda part: part is None)


Event = Annotated[Ready | Interval | Slice | ErrorEvent | Done, Field(discriminator="event")]

Numbers = TypeVar("Numbers", CpuTime, Wire, CompressedBytes, PhaseWire)


def total(parts: Iterable[Counts]) -> Counts:
    """All of these together."""
    connections, handshakes, ways = 0, Counter[Handshakes](), Counter[str]()
    for part in parts:
        connections += part.connections
        handshakes += _by_kind(part)
        ways += Counter(part.authentications)
    return _counts(connections, handshakes, ways)


def summed(parts: Sequence[Numbers]) -> Numbers:
    """The sum of each of their fields; None of one that is not known of all."""
    fields = {name: [getattr(part, name) for part in parts] for name in type(parts[0]).model_fields}
    return type(parts[0])(**{name: None if None in own else sum(own) for name, own in fields.items()})


def less(counts: Counts, part: Counts) -> Counts:
    """What is left of these counts without a part of them. What the part has more of leaves nothing."""
    return _counts(
        max(0, counts.connections - part.connections),
        _by_kind(counts) - _by_kind(part),
        Counter(counts.authentications) - Counter(part.authentications),
    )


def _by_kind(counts: Counts) -> Counter[Handshakes]:
    """How often each kind of handshake was made; a kind is its handshakes with a count of one."""
    found = Counter[Handshakes]()
    for seen in counts.handshakes:
        found[seen.model_copy(update={"count": 1})] += seen.count
    return found


def _counts(connections: int, handshakes: Mapping[Handshakes, int], ways: Mapping[str, int]) -> Counts:
    return Counts(
        connections=connections,
        handshakes=tuple(kind.model_copy(update={"count": count}) for kind, count in handshakes.items()),
        authentications=dict(ways),
    )
