"""What distance and tunnels cost, as frozen types: curves over the round trip time, break-even points."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from tlstax.contract.frozen import Frozen
from tlstax.results.interval import ClaimVerdict, Interval
from tlstax.study import Level

Trend = Literal["grows", "shrinks", "inconclusive"]


class AtDistance(Frozen):
    """What connecting, or a statement, takes at one distance, in plaintext and treated, in the same blocks.

    Times are medians of a trial, their mean over blocks. `round_trip_ms` is the round trip time that was
    measured where it was, else the one that was asked for; `plaintext_round_trips` and
    `extra_round_trips` are times in terms of it, None where there is no distance. `time_ratio` and
    `rate_ratio` are ratios to plaintext, of the time and of operations a second.
    """

    rtt_ms: float
    round_trip_ms: float
    plaintext_ms: Interval
    treated_ms: Interval
    extra_ms: Interval
    plaintext_round_trips: Interval | None
    extra_round_trips: Interval | None
    time_ratio: Interval
    rate_ratio: Interval


class Growth(Frozen):
    """How what a treatment costs changes from the shortest distance to the longest, told both ways.

    In time: `extra_ms` is by how much more it adds at the far end, `round_trips` for each round trip
    time between the two; plaintext itself takes `plaintext_round_trips`. In proportion: plaintext has
    `near_times` as many operations a second as the treatment at the near end and `far_times` at the far
    end; `change` is the one to the other, above 1 where the loss has grown. `limit_times` is what round trips
    alone would make of it, (n + k) / n, where distance is all that counts.
    """

    from_ms: float
    to_ms: float
    extra_ms: Interval
    round_trips: Interval
    plaintext_round_trips: Interval
    in_time: Trend
    near_times: Interval
    far_times: Interval
    change: Interval
    limit_times: float | None
    in_proportion: Trend


class DistanceCurve(Frozen):
    """One treatment of one server over all distances. `case` and `baseline` lack the distance.

    `kind` is what the times are of: making a connection, or a statement on a connection that is kept.
    `growth` is None where there is one distance alone.
    """

    kind: Literal["connection", "statement"]
    server: str
    label: str
    workload: str
    connections: PositiveInt
    case: dict[str, Level]
    baseline: dict[str, Level]
    points: tuple[AtDistance, ...]
    growth: Growth | None


class PoolTime(Frozen):
    """What a connection that is kept saves in time, under one treatment and at one distance.

    Making a connection takes `connect_ms`, `connect_round_trips` of the distance (None without one), and as
    long as `worth` statements on a connection that is kept, which take `statement_ms` each.
    """

    server: str
    label: str
    rtt_ms: float
    made: str
    kept: str
    connect_ms: Interval
    connect_round_trips: Interval | None
    statement_ms: Interval
    worth: Interval


class ClaimResult(Frozen):
    """What a run says of a published claim that the cost of encryption grows with distance: both ways."""

    says: str
    source: str
    in_time: ClaimVerdict
    in_time_sentence: str
    in_proportion: ClaimVerdict
    in_proportion_sentence: str
    curves: int


class Distances(Frozen):
    """All that a run shows of distances."""

    curves: tuple[DistanceCurve, ...]
    pools: tuple[PoolTime, ...]
    claims: tuple[ClaimResult, ...]


class TunnelWorth(Frozen):
    """Whether a tunnel without TLS inside is worth it in place of the server's own TLS, and when.

    `measure` is "time" (of a client that does one thing after another), "many" (a second divided by how many
    are done in it, with many at a time) or "CPU" (of client, tunnel and server together). A connection
    through the tunnel takes `saved_per_connection_us` less than one with TLS, a statement
    `lost_per_statement_us` more; either may be below zero. `statements` is the number of statements on a
    connection at which both cost the same, where there is one: "below" and "above" say on which side of it
    the tunnel is worth it. Where a sign cannot be told, the tunnel is still surely worth it up to
    `worth_until`, or surely not from `not_from` on, as far as these are known.
    """

    server: str
    rtt_ms: float
    tunnel: str
    rival: str
    tunnel_case: dict[str, Level]
    rival_case: dict[str, Level]
    measure: Literal["time", "many", "CPU"]
    made: str
    kept: str
    saved_per_connection_us: Interval
    lost_per_statement_us: Interval
    verdict: Literal["below", "above", "always", "never", "inconclusive"]
    statements: Interval | None = None
    worth_until: float | None = None
    not_from: float | None = None
    sentence: str
