"""How many bytes a second go through a connection, and what each costs, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.study import Level

Direction = Literal["received", "sent", "inserted", "connected"]
"""Which way the payload goes: as results, in a statement that keeps nothing, as rows that are inserted, or as
a result on a connection that is made for it."""


SMALL_SHARE = 0.05
"""What a part of a connection's cost is called small below."""


class Records(Frozen):
    """TLS records with data that one side sends for a statement, and how many bytes each has on the wire."""

    per_statement: Interval
    bytes_each: Interval


class BulkPoint(Frozen):
    """Statements of one size: `payload_bytes` are those of the values alone, without any protocol's own.

    `row_bytes` is how long each row is, None where bytes are sent and kept nowhere. CPU times are those of a
    MiB, `path_cpu_us_per_mib` of all programs between client and server, None where they are not known.
    `server_to_plaintext` is the ratio of the server's to the same in the clear and not compressed, None of
    that itself. `wire_bytes_per_byte` is how many bytes crossed the wire in the payload's direction for each
    of its own, with those of MySQL's protocol and of TLS; None where that is not counted. `client_records`
    and `server_records` are what each side sends, None in the clear. `handshake_share` is what TLS adds to a
    connection with the smallest result, as a part of the server's CPU time for a connection with this one;
    None where no connection is made for it.
    """

    payload_bytes: PositiveInt
    row_bytes: PositiveInt | None
    mib_per_s: Interval
    server_cpu_us_per_mib: Interval | None
    server_to_plaintext: Interval | None
    client_cpu_us_per_mib: Interval | None
    path_cpu_us_per_mib: Interval | None
    wire_bytes_per_byte: Interval | None
    client_records: Records | None
    server_records: Records | None
    handshake_share: Interval | None


class BulkCurve(Frozen):
    """One case over the sizes of its statements: the smallest first.

    `case` lacks the workload. `further_server_us`, `further_client_us` and `further_path_us` are what each
    further MiB costs from the smallest size to the largest, without what a statement costs by itself; None
    where that is not known. `handshake_is_small_bytes` is the size of the result from which on the handshake
    is less than `SMALL_SHARE` of what its connection costs the server: between two sizes that were measured,
    and None where it is not between any.
    """

    case: dict[str, Level]
    label: str
    direction: Direction
    row_bytes: PositiveInt | None
    points: tuple[BulkPoint, ...]
    further_server_us: Interval | None
    further_client_us: Interval | None
    further_path_us: Interval | None
    handshake_is_small_bytes: Interval | None
