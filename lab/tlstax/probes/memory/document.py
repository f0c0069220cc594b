"""The document that `tlstax memory --json` prints, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval

Tls = Literal["off", "1.2", "1.3"]
KINDS: tuple[Tls, ...] = ("off", "1.3", "1.2")
"""The kinds of connection that are compared."""


class Held(Frozen):
    """Connections that were up and had worked, in one process of the server; None where that was not read.

    `rss_bytes` is resident memory, `pss_bytes` the same with pages that are shared counted by their share
    (proc(5), smaps_rollup). `threads` are all of the process. At an external server
    `connections` are those of all kinds, since none is closed before the end.
    """

    tls: Tls
    round: NonNegativeInt
    connections: PositiveInt
    rss_bytes: PositiveInt
    pss_bytes: PositiveInt | None
    threads: PositiveInt


class KindOfConnection(Frozen):
    """What each further connection of a kind costs: slopes over the numbers of connections, one a process.

    An interval's `blocks` are processes; at an external server, which has one, they are steps.
    `threads` is how many each further connection has.
    """

    tls: Tls
    rss_bytes: Interval
    pss_bytes: Interval | None
    threads: Interval


class TlsAdds(Frozen):
    """What a version of TLS adds to a connection in the clear, round by round.

    `rss_ratio` is the mean slope under TLS divided by that in the clear, without a unit; null where
    memory did not grow with connections in the clear.
    """

    tls: Tls
    rss_bytes: Interval
    rss_ratio: Interval | None
    pss_bytes: Interval | None


class MemoryOfServer(Frozen):
    """What connections cost one server. `refused` are the versions of TLS that it does not take.

    `certificate` is null for an external server, which has its own.
    """

    server: str
    server_version: str
    tls_library: str | None
    certificate: str | None
    kinds: tuple[KindOfConnection, ...]
    tls_adds: tuple[TlsAdds, ...]
    refused: tuple[Tls, ...]
    held: tuple[Held, ...]


class MemoryDocument(Frozen):
    """What connections cost servers in memory.

    Each round is a new process of each server for each kind of connection, in random order. An external
    server was promised that it gets `promised` connections at once at the most, and a round is a step of
    further connections of each kind; null for private ones. It had `used_before` connections at once before,
    whose memory these may use again, so that the figures are the least; null where it had no more than a few.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Literal["complete", "interrupted"]
    sizes: tuple[PositiveInt, ...]
    rounds: PositiveInt
    promised: PositiveInt | None = None
    used_before: PositiveInt | None = None
    servers: tuple[MemoryOfServer, ...]
