"""The document that `tlstax memory --json` prints, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval

Tls = Literal["off", "1.2", "1.3"]


class Held(Frozen):
    """So many connections, up and at work once, in one process of the server; None where that is not told.

    `rss_bytes` is resident memory, `pss_bytes` the same with pages that are shared counted by their share
    (proc(5), smaps_rollup).
    """

    tls: Tls
    round: int
    connections: PositiveInt
    rss_bytes: PositiveInt
    pss_bytes: PositiveInt | None
    threads: PositiveInt


class KindOfConnection(Frozen):
    """What each further connection of a kind costs: slopes over the numbers of connections, one a process."""

    tls: Tls
    rss_bytes: Interval
    pss_bytes: Interval | None


class MemoryDocument(Frozen):
    """What connections cost a server in memory; `tls_adds` is what TLS adds, by its version.

    Each round is a new process of the server for each kind of connection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Literal["complete", "interrupted"]
    server: str
    server_version: str
    tls_library: str | None
    certificate: str
    sizes: tuple[PositiveInt, ...]
    rounds: int
    kinds: tuple[KindOfConnection, ...]
    tls_adds: dict[Tls, Interval]
    held: tuple[Held, ...]
