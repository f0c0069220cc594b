"""What holding many connections with one engine shows: observations and the document, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.trial import Machine, Specimen
from tlstax.selfbench.records import Observation, ServerFacts, Status

HeldTls = Literal["off", "1.3"]


class Memory(Frozen):
    """What was resident in the middle of the window, and how many threads the server had then."""

    client_rss_bytes: PositiveInt
    server_rss_bytes: PositiveInt
    server_threads: PositiveInt


class Held(Frozen):
    """One job at one TLS level: what was observed as in any trial, and the memory beside it."""

    seen: Observation
    memory: Memory | None = None
    connected: NonNegativeInt = 0


class HeldPair(Frozen):
    """The same job with one connection and with all of them; what one more costs is in the difference."""

    tls: HeldTls
    one: Held
    all: Held


class HoldHeader(Frozen):
    """What a hold set out to do."""

    started_at: str
    tlstax_version: str
    connections: PositiveInt
    rate_per_s: PositiveFloat
    duration_s: PositiveFloat
    machine: Machine


class HeldServer(Frozen):
    """One server and the levels that were complete on it.

    `pooled` is whether connections share the threads of a pool there; else each has one of its own.
    """

    specimens: tuple[Specimen, ...]
    server: ServerFacts
    pooled: bool
    pairs: tuple[HeldPair, ...]


class NotHeld(Frozen):
    """A server on which they could not be held, and why not."""

    server: str
    reason: str


class HoldRun(Frozen):
    """A hold as it ended: what was complete, and whether another run was measuring beside it."""

    header: HoldHeader
    servers: tuple[HeldServer, ...]
    not_held: tuple[NotHeld, ...] = ()
    status: Status = "complete"
    beside_another: bool = False


class Delay(Frozen):
    """How a time was distributed over all operations, in microseconds."""

    p50: float
    p99: float
    max: float


class HeldFigures(Frozen):
    """One TLS level. Memory is per connection: all less one, over their difference in number.

    `connected` is how many connections the server counted before the window. `start_delay_us` is the
    time from when an operation was due to when it was started, None from a client that does not report it.
    `latency_us` counts from when it was due to the answer. `doubts` say why the figures must not be
    used; empty where all claims are proved.
    """

    tls: HeldTls
    connected: NonNegativeInt
    client_rss_bytes: PositiveInt | None
    client_rss_bytes_per_connection: float | None
    server_rss_bytes_per_connection: float | None
    server_threads: PositiveInt | None
    scheduled: NonNegativeInt
    operations: NonNegativeInt
    skipped: NonNegativeInt
    errors: NonNegativeInt
    start_delay_us: Delay | None
    latency_us: Delay | None
    client_cpu_share: float | None
    server_cpu_share: float | None
    doubts: tuple[str, ...] = ()


class ServerFigures(Frozen):
    """What holding them on one server shows.

    `tls_rss_bytes_per_connection` is what TLS adds to a connection in the engine: its own state is the
    same either way, so it is what the TLS library needs. None where a level is missing. `pooled` is whether
    connections share the threads of a pool there; else each has one of its own.
    """

    specimens: tuple[Specimen, ...]
    server: ServerFacts
    pooled: bool
    levels: tuple[HeldFigures, ...]
    tls_rss_bytes_per_connection: float | None
    caveats: tuple[str, ...] = ()


class HoldDocument(HoldHeader):
    """The one document that `self-bench --hold N --json` prints; `not_held` are servers that could not."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Status
    servers: tuple[ServerFigures, ...]
    not_held: tuple[NotHeld, ...] = ()
    caveats: tuple[str, ...] = ()
