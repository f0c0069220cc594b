"""The one protocol between laboratory and load clients: a job in, events out, as frozen types.

The laboratory writes one `Job` (one JSON line) to the client's standard input. The client answers
with events, one JSON object a line: `ready` when every connection is up and warm and nothing is in
flight; then it waits. The laboratory reads the servers' counters and writes the line `go`. The
client measures, says `interval` about once a second, finishes what is in flight and says `done`.
End of file on standard input means that the laboratory is gone: the client stops at once.

The JSON schemas in `contract/` are generated from here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from tlstax.contract_tls import (
    Handshakes,
    Negotiated,
    Tls,
    TlsLibrary,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    TlsVersion,
    TlsView,
)
from tlstax.contract_workload import (
    Digits,
    Offset,
    OneOf,
    Parameter,
    Protocol,
    Sequence,
    Statement,
    Transaction,
    UniformInt,
    Workload,
)
from tlstax.frozen import Frozen

__all__ = [
    "HIGHEST_RATE_PER_S",
    "LONGEST_S",
    "PHASES",
    "Account",
    "ClosedLoop",
    "Counts",
    "CpuTime",
    "Digits",
    "Done",
    "DriverTerms",
    "Endpoint",
    "ErrorCount",
    "ErrorEvent",
    "ErrorKind",
    "Event",
    "Frozen",
    "Handshakes",
    "Interval",
    "Job",
    "Negotiated",
    "Offset",
    "OneOf",
    "OpenLoop",
    "Overhead",
    "Parameter",
    "PhaseWire",
    "Protocol",
    "Ready",
    "RowSample",
    "Schedule",
    "Sequence",
    "Statement",
    "TcpEndpoint",
    "Tls",
    "TlsLibrary",
    "TlsOff",
    "TlsOn",
    "TlsRequired",
    "TlsUnset",
    "TlsVersion",
    "TlsView",
    "Transaction",
    "UniformInt",
    "UnixEndpoint",
    "WarmupSlice",
    "Wire",
    "Workload",
]

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

HIGHEST_RATE_PER_S = 10_000_000
"""More operations a second than any client can start; a rate beyond it is a slip of the pen."""

LONGEST_S = 365 * 24 * 3600
"""A year: no time in a job is longer, so that a client's clock can count to its end."""


class TcpEndpoint(Frozen):
    """A server reached over TCP."""

    kind: Literal["tcp"] = "tcp"
    host: str
    port: Annotated[int, Field(ge=1, le=65535)]


class UnixEndpoint(Frozen):
    """A server reached over a Unix socket."""

    kind: Literal["unix"] = "unix"
    path: str


Endpoint = Annotated[TcpEndpoint | UnixEndpoint, Field(discriminator="kind")]


class Account(Frozen):
    """Whom to log in as. The password travels on standard input only."""

    user: str
    password: str = Field(repr=False)
    database: str | None = None


class ClosedLoop(Frozen):
    """Every connection starts its next operation when the last one is answered."""

    mode: Literal["closed"] = "closed"


class OpenLoop(Frozen):
    """Operations are due at scheduled times whatever the server does; latency counts from then.

    What is due within `duration_s` and cannot be started in it is started later, for as long again;
    then it is skipped.
    """

    mode: Literal["open"] = "open"
    rate_per_s: Annotated[float, Field(gt=0, le=HIGHEST_RATE_PER_S)]
    arrivals: Literal["uniform", "poisson"] = "poisson"


Schedule = Annotated[ClosedLoop | OpenLoop, Field(discriminator="mode")]


class DriverTerms(Frozen):
    """What only a driver is told: its own options, word by word, and how long it may take to become steady.

    The client warms up in slices of 0.1 s until the CPU time per operation has stopped to fall,
    `steady_within_s` at most (contract/README.md has the rule); 0 leaves the warm-up as long as the job
    says. With `batch`, so many operations are handed to the driver at once, by its own way of doing so;
    each counts as an operation.
    """

    options: dict[str, str] = {}
    steady_within_s: NonNegativeFloat = 0.0
    batch: PositiveInt = 1


class Job(Frozen):
    """All that a client is told. Never stored as it is: `without_password` is.

    `schema` is the version of the protocol; a client refuses a job of another version. With `operations`, the
    window ends when so many were started, and `duration_s` is the longest that it may last; a client that
    works in rounds does them in `rounds` equal parts and says `reset` before each, to put the data back. A
    storm has `rounds` rounds of `connections` operations each. `driver` is for clients that are drivers
    alone.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    endpoint: Endpoint
    account: Account
    tls: Tls
    workload: Workload
    schedule: Schedule = ClosedLoop()
    connections: PositiveInt
    threads: PositiveInt = 1
    cpus: tuple[NonNegativeInt, ...] = ()
    warmup_s: Annotated[float, Field(ge=0, le=LONGEST_S)] = 0.1
    duration_s: Annotated[float, Field(gt=0, le=LONGEST_S)]
    operations: PositiveInt | None = None
    rounds: PositiveInt = 1
    reset: tuple[str, ...] = ()
    timeout_s: Annotated[float, Field(gt=0, le=LONGEST_S)] = 10.0
    source_addresses: tuple[str, ...] = ()
    seed: NonNegativeInt
    row_samples: NonNegativeInt = 16
    attributes: dict[str, str] = {}
    driver: DriverTerms | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    def without_password(self) -> Job:
        """The same job with the password blanked, fit for the store and the report."""
        return self.model_copy(update={"account": self.account.model_copy(update={"password": ""})})


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
    """Progress, about once a second: operations finished and errors met since the last one."""

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

    `code` is the MySQL error number or errno.
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


class CpuTime(Frozen):
    """CPU time of the client's process; the total from a nanosecond clock, split as the kernel says."""

    total_us: NonNegativeFloat
    user_us: NonNegativeFloat
    system_us: NonNegativeFloat


class Wire(Frozen):
    """Bytes of TCP payload and TCP segments each way; segments are None where TCP_INFO is not to be had."""

    bytes_sent: NonNegativeInt
    bytes_received: NonNegativeInt
    segments_sent: NonNegativeInt | None
    segments_received: NonNegativeInt | None


class PhaseWire(Frozen):
    """What crossed the wire in one phase, summed over so many `times` that the phase occurred.

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


class Done(Frozen):
    """The result. The window runs from `go` to the last answer; what was started in it is finished.

    `histograms_ns` holds one histogram for each of PHASES that occurred, in nanoseconds, in
    HdrHistogram's V2 DEFLATE encoding, base64. `window` counts from `go`, `lifetime` from the start.
    `threads_cpu_us` is the CPU time of each load thread over the window, empty where it is not known;
    `overhead` is None where it was not measured, `wire` where the client cannot tell. `reported_s` are times
    that the client prints of itself, by name (mysqlslap: average, minimum and maximum of its rounds).
    `rounds_s` are the times of a storm's rounds, from the first SYN to the last connection's OK; `phase_wire`
    holds one entry for each of PHASES that occurred and of which the client counts what crossed the wire.
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
    errors: tuple[ErrorCount, ...]
    row_samples: tuple[RowSample, ...]
    overhead: Overhead | None = None
    reported_s: dict[str, NonNegativeFloat] = {}
    rounds_s: tuple[PositiveFloat, ...] = ()
    phase_wire: dict[str, PhaseWire] = {}


Event = Annotated[Ready | Interval | ErrorEvent | Done, Field(discriminator="event")]
