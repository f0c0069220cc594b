"""When a tunnel is worth it in place of the server's own TLS, by what each costs. Pure.

A connection that serves n statements costs C + n·S: C to make it, S for each statement. SSH makes its own
connection once, so a connection through it costs little more than in plaintext (stunnel and HAProxy shake
hands for each), but all bytes pass two more programs; TLS is expensive to set up and cheap from then on. With
D = C(TLS) - C(tunnel), what the tunnel saves on a connection, and E = S(tunnel) - S(TLS), what it loses on a
statement, the tunnel is worth it as long as n·E < D: below n = D / E where both are above zero, above it
where both are below, else always or never.

Costs are taken in time, as the medians of connects and of statements with few at a time; with many at a time,
as how long each takes of a machine that has no time to spare (a second divided by their rate); and in CPU
time of client, tunnel and server together. Where connections were measured by operations that make one and
ask one question, C is an operation less that statement. All differences are taken within blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tlstax.findings.core.pooling import Pooling
from tlstax.findings.core.series import Frozen, Logs, Series, difference
from tlstax.findings.distance import spending
from tlstax.findings.distance.spending import (
    CONNECT_US,
    OPERATION_US,
    PATH,
    RATE,
    RECONNECT,
    SERVER,
    WORKLOAD,
)
from tlstax.findings.distance.tunnel_words import sentence
from tlstax.results.distance import TunnelWorth
from tlstax.study import Level, Levels
from tlstax.study.case_levels import CaseLevels
from tlstax.study.level_names import DIRECT, PATHS

TUNNELS = (*(path for path in PATHS if path.startswith("ssh-")), "stunnel", "haproxy-tls")
"""The paths that protect the bytes between two ends of their own, whatever client and server do."""

SIDES = ("client", "server")
Measure = Literal["time", "many", "CPU"]
MEASURES: tuple[Measure, ...] = ("time", "many", "CPU")

MANY, SEVERAL = 32, 2
"""The fewest connections that count as made many at a time, and the fewest kept ones that go with them."""


@dataclass(frozen=True)
class Way:
    """One way of protecting connections: a case that makes them, and one that keeps them."""

    made: dict[str, Level]
    kept: dict[str, Level]


@dataclass(frozen=True)
class Prices:
    """What a way costs in each block: a connection, and a statement; both in µs."""

    connection: dict[int, float]
    statement: dict[int, float]


def is_tunnel(levels: Levels) -> bool:
    """Whether the case's bytes are protected by a tunnel alone."""
    case = CaseLevels.of(levels)
    return case.path in TUNNELS and not case.is_encrypted


def is_direct_tls(levels: Levels) -> bool:
    """Whether the case's bytes are protected by TLS between client and server alone."""
    case = CaseLevels.of(levels)
    return case.path == DIRECT and case.is_encrypted


def tunnels(series: Series) -> tuple[TunnelWorth, ...]:
    """Every tunnel of the study against every TLS of its own server and distance, in the plan's order."""
    return tuple(
        found
        for measure in MEASURES
        for ways in _places(series, many=measure == "many").values()
        for tunnel in ways
        if is_tunnel(tunnel.made)
        for rival in ways
        if is_direct_tls(rival.made)
        if (found := _worth(series, tunnel, rival, measure)) is not None
    )


def _places(series: Series, *, many: bool) -> dict[Frozen, list[Way]]:
    """All ways by server and distance, with `many` connections at a time alone, else the quietest."""
    study = series.study
    cases = [
        levels
        for levels in spending.first_processes(series)
        if not many
        or CaseLevels.of(levels).connections
        >= (MANY if spending.makes_connections(levels, study) else SEVERAL)
    ]
    kept = [levels for levels in cases if not spending.makes_connections(levels, study)]
    made: dict[tuple[Frozen, Frozen], dict[str, Level]] = {}
    for levels in sorted(
        (levels for levels in cases if spending.makes_connections(levels, study)),
        key=lambda levels: (CaseLevels.of(levels).workload != RECONNECT, CaseLevels.of(levels).connections),
    ):
        made.setdefault((spending.place_of(levels, study), spending.treatment_of(levels, study)), levels)
    found: dict[Frozen, list[Way]] = {}
    for levels in cases:
        place, treatment = spending.place_of(levels, study), spending.treatment_of(levels, study)
        one = made.pop((place, treatment), None)
        beside = spending.kept_beside(one, kept, study) if one is not None else None
        if one is not None and beside is not None:
            found.setdefault(place, []).append(Way(one, beside))
    return found


def _worth(series: Series, tunnel: Way, rival: Way, measure: Measure) -> TunnelWorth | None:
    own, other = _prices(series, tunnel, measure), _prices(series, rival, measure)
    saved = difference(other.connection, own.connection)
    lost = difference(own.statement, other.statement)
    blocks = sorted(saved.keys() & lost.keys())
    if not blocks:
        return None
    saved, lost = ({block: column[block] for block in blocks} for column in (saved, lost))
    study = series.study
    found = TunnelWorth(
        server=str(tunnel.made.get(SERVER, "")),
        rtt_ms=spending.rtt_of(tunnel.made),
        tunnel=str(tunnel.made[PATH]),
        rival=spending.treatment_label(
            {name: level for name, level in rival.made.items() if name != PATH}, study
        ),
        tunnel_case=tunnel.made,
        rival_case=rival.made,
        measure=measure,
        made=str(tunnel.made[WORKLOAD]),
        kept=str(tunnel.kept[WORKLOAD]),
        saved_per_connection_us=series.pooling.difference(saved),
        lost_per_statement_us=series.pooling.difference(lost),
        verdict="inconclusive",
        sentence="",
    )
    judged = _judged(found, saved, lost, series.pooling)
    return judged.model_copy(update={"sentence": sentence(judged)})


def _prices(series: Series, way: Way, measure: Measure) -> Prices:
    if measure == "time":
        return Prices(
            spending.column(series, way.made, CONNECT_US), spending.column(series, way.kept, OPERATION_US)
        )
    used = _each_us if measure == "many" else _cpu_us
    operation, statement = used(series, way.made), used(series, way.kept)
    if CaseLevels.of(way.made).workload == RECONNECT:
        return Prices(difference(operation, statement), statement)
    return Prices(operation, statement)


def _each_us(series: Series, levels: Levels) -> dict[int, float]:
    """How long each operation takes of a second, whoever waits for whom."""
    return {block: 1e6 / rate for block, rate in spending.column(series, levels, RATE).items() if rate > 0}


def _cpu_us(series: Series, levels: Levels) -> dict[int, float]:
    """CPU time of all sides per operation, in blocks where every side is known."""
    programs = [f"{side}_cpu_us_per_op" for side in SIDES]
    if CaseLevels.of(levels).path in TUNNELS:
        programs.append("path_cpu_us_per_op")
    columns = [spending.column(series, levels, outcome) for outcome in programs]
    blocks = set.intersection(*(set(column) for column in columns))
    return {block: sum(column[block] for column in columns) for block in sorted(blocks)}


def _judged(found: TunnelWorth, saved: Logs, lost: Logs, pooling: Pooling) -> TunnelWorth:
    """The verdict from the signs of what is saved and what is lost, as far as they can be determined."""
    d, e = found.saved_per_connection_us, found.lost_per_statement_us
    signs = _sign(d.low, d.high), _sign(e.low, e.high)
    if signs in {(1, 1), (-1, -1)}:
        statements = pooling.quotient(saved, lost)
        return found.model_copy(
            update={"verdict": "below" if signs == (1, 1) else "above", "statements": statements}
        )
    if signs in {(1, -1), (-1, 1)}:
        return found.model_copy(update={"verdict": "always" if signs == (1, -1) else "never"})
    return found.model_copy(update=dict(_bounds(found, signs)))


def _bounds(found: TunnelWorth, signs: tuple[int, int]) -> Iterator[tuple[str, float]]:
    """How far a verdict reaches where only one of the two signs is known: by the ends of both intervals."""
    d, e = found.saved_per_connection_us, found.lost_per_statement_us
    if signs == (1, 0) and d.low is not None and e.high:
        yield "worth_until", d.low / e.high
    if signs == (0, 1) and d.high is not None and e.low:
        yield "not_from", d.high / e.low


def _sign(low: float | None, high: float | None) -> int:
    """Above zero (1), below it (-1), or not known (0)."""
    if low is None or high is None or low <= 0 <= high:
        return 0
    return 1 if low > 0 else -1
