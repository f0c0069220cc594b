"""When a tunnel is worth it in place of the server's own TLS, by what each costs.

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

from collections.abc import Iterator, Sequence
from itertools import filterfalse
from math import ceil, floor
from typing import Literal, NamedTuple

from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, RowSet, Told
from tlstax.stats.series import Series, difference
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import label_levels
from tlstax.study.level_names import DIRECT, PATHS
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, some_of
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Folded, Items, OnPage, Section
from tlstax.topics.core.table import INDENT, Cell, Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.distance import spending
from tlstax.topics.distance.spending import (
    CONNECT_US,
    OPERATION_US,
    PATH,
    RATE,
    RECONNECT,
    SERVER,
    WORKLOAD,
    ByBlock,
    cell,
    number,
    place_words,
)

TUNNELS = (*(path for path in PATHS if path.startswith("ssh-")), "stunnel", "haproxy-tls")
"""The paths that protect the bytes between two ends of their own, whatever client and server do."""

SIDES = ("client", "server")
Measure = Literal["time", "many", "CPU"]
MEASURES: dict[Measure, str] = {
    "time": "in time",
    "many": "in time with many at a time",
    "CPU": "in CPU time of client, tunnel and server",
}

MANY, SEVERAL = 32, 2
"""The fewest connections that count as made many at a time, and the fewest kept ones that go with them."""

SAVED, LOST = "saved per connection", "lost per statement"
STATEMENTS = "statements at which both cost the same"
WORTH_UNTIL = "statements up to which it is surely worth it"
NOT_FROM = "statements from which it surely is not"
MEASURE, KEEPING = "measure", "kept_workload"

HEADLINE = "ssh-aes256-ctr"
"""The tunnel that the answer is about, where a study has several; all are in the table."""

MOST_RIVALS = 3
"""The most ways of TLS in a sentence."""


class Way(NamedTuple):
    """One way of protecting connections: a case that makes them, and one that keeps them."""

    made: CaseLevels
    kept: CaseLevels


def is_tunnel(case: CaseLevels) -> bool:
    """Whether the case's bytes are protected by a tunnel alone."""
    return case.path in TUNNELS and not case.is_encrypted


def is_direct_tls(case: CaseLevels) -> bool:
    """Whether the case's bytes are protected by TLS between client and server alone."""
    return case.path == DIRECT and case.is_encrypted


def rows(run: Run) -> Iterator[Row]:
    """Every tunnel of the study against every TLS of its own server and distance, in the plan's order.

    The case is the tunnel's, the baseline that with TLS. What is saved and what is lost are in µs, either may
    be below zero. The judgement says on which side of the number of statements at which both cost the same
    the tunnel is worth it: "below" or "above"; or "always", or "never". Where it is inconclusive, the tunnel
    may still surely be worth it up to a number of statements, or surely not from one on.
    """
    for measure in MEASURES:
        for ways in _places(run.series, many=measure == "many").values():
            for tunnel in ways:
                for rival in ways if is_tunnel(tunnel.made) else ():
                    if is_direct_tls(rival.made):
                        own = list(_worth(run.series, tunnel, rival, measure))
                        said = (sentence(Worth(own)),) if own else ()
                        yield from (row.model_copy(update={"caveats": said}) for row in own)


def _places(series: Series, *, many: bool) -> dict[CaseLevels, list[Way]]:
    """All ways by server and distance, with `many` connections at a time alone, else the quietest.

    None where there is no tunnel.
    """
    study = series.study

    def makes(levels: CaseLevels) -> bool:
        return study.workload_of(levels).makes_connections

    def loudness(case: CaseLevels) -> tuple[bool, int]:
        return case.workload != RECONNECT, case.connections

    cases = [
        levels
        for levels in spending.first_processes(series)
        if not many or loudness(levels)[1] >= (MANY if makes(levels) else SEVERAL)
    ]
    if not any(map(is_tunnel, cases)):
        return {}
    kept = grouped(filterfalse(makes, cases), lambda at: spending.place_of(at, study))
    places: dict[CaseLevels, list[Way]] = {}
    by_way = grouped(cases, lambda at: (spending.place_of(at, study), spending.treatment_of(at, study)))
    for (place, _), own in by_way.items():
        made = min(filter(makes, own), key=loudness, default=None)
        beside = spending.kept_beside(made, kept.get(place, []), study) if made is not None else None
        if made is not None and beside is not None:
            places.setdefault(place, []).append(Way(made, beside))
    return places


def _worth(series: Series, tunnel: Way, rival: Way, measure: Measure) -> Iterator[Row]:
    (connection, statement), (others_connection, others_statement) = (
        _prices(series, way, measure) for way in (tunnel, rival)
    )
    saved, lost = difference(others_connection, connection), difference(statement, others_statement)
    blocks = sorted(saved.keys() & lost.keys())
    if not blocks:
        return
    saved, lost = ({block: column[block] for block in blocks} for column in (saved, lost))
    d, e = series.pooling.difference(saved), series.pooling.difference(lost)
    signs = {(1, 1): "below", (-1, -1): "above", (1, -1): "always", (-1, 1): "never"}
    verdict = signs.get((d.side_of(0), e.side_of(0)), "inconclusive")
    label = spending.treatment_label(rival.made.without(PATH), series.study)

    def row(outcome: str, unit: str, found: Interval | None, value: float | None = None) -> Row:
        return Row(
            role="tunnel",
            outcome=f"{measure}: {outcome}",
            unit=unit,
            label=label,
            case=tunnel.made,
            baseline=rival.made,
            value=value,
            interval=found,
            judgement=verdict,
            more={MEASURE: measure, KEEPING: str(tunnel.kept[WORKLOAD])},
        )

    yield row(SAVED, "us", d)
    yield row(LOST, "us", e)
    if verdict in {"below", "above"}:
        yield row(STATEMENTS, "1", series.pooling.quotient(saved, lost))
    for outcome, bound in _bounds(d, e):
        yield row(outcome, "1", None, bound)


def _prices(series: Series, way: Way, measure: Measure) -> tuple[ByBlock, ByBlock]:
    """What a way costs in each block: a connection, and a statement; both in µs."""
    if measure == "time":
        connects = spending.column(series, way.made, CONNECT_US)
        return connects, spending.column(series, way.kept, OPERATION_US)
    used = _each_us if measure == "many" else _cpu_us
    operation, statement = used(series, way.made), used(series, way.kept)
    asks = way.made.workload == RECONNECT
    return difference(operation, statement) if asks else operation, statement


def _each_us(series: Series, levels: CaseLevels) -> dict[int, float]:
    """How long each operation takes of a second, whoever waits for whom."""
    return {block: 1e6 / rate for block, rate in spending.column(series, levels, RATE).items() if rate > 0}


def _cpu_us(series: Series, case: CaseLevels) -> dict[int, float]:
    """CPU time of all sides per operation, in blocks where every side is known."""
    programs = [f"{side}_cpu_us_per_op" for side in SIDES]
    if case.path in TUNNELS:
        programs.append("path_cpu_us_per_op")
    spent = [spending.column(series, case, outcome) for outcome in programs]
    blocks = set.intersection(*(set(column) for column in spent))
    return {block: sum(column[block] for column in spent) for block in sorted(blocks)}


def _bounds(d: Interval, e: Interval) -> Iterator[tuple[str, float]]:
    """How far a verdict reaches where only one of the two signs is known: by the ends of both intervals."""
    signs = d.side_of(0), e.side_of(0)
    if signs == (1, 0) and d.low is not None and e.high:
        yield WORTH_UNTIL, d.low / e.high
    if signs == (0, 1) and d.high is not None and e.low:
        yield NOT_FROM, d.high / e.low


class Worth(RowSet):
    """The rows of one tunnel against one TLS, by one measure."""

    @property
    def measure(self) -> Measure:
        """In what they are compared."""
        return next(known for known in MEASURES if known == self.rows[0].more[MEASURE])

    @property
    def place(self) -> str:
        """Which server, and how far away it is."""
        case = self.rows[0].case
        return place_words(str(case.get(SERVER, "")), spending.rtt_of(case))

    @property
    def tunnel(self) -> str:
        """The path of the tunnel."""
        return str(self.rows[0].case[PATH])

    @property
    def tunnel_words(self) -> str:
        """What the tunnel is called."""
        return label_levels({PATH: self.tunnel})

    @property
    def rival(self) -> str:
        """What the TLS in place of which it stands is called."""
        return self.rows[0].label

    @property
    def verdict(self) -> str:
        """When it is worth it."""
        return self.rows[0].judgement


def worths_of(told: Sequence[Row]) -> list[Worth]:
    """The rows of a run, by who is compared, and in what."""
    pairs = grouped(told, lambda row: (row.word(MEASURE), row.case, row.baseline))
    return [Worth(own) for own in pairs.values()]


def sentence(found: Worth) -> str:
    """Who is compared, in what, and when the tunnel is worth it."""
    compared = f"{found.tunnel_words} in place of {found.rival}"
    return f"{found.place}: {compared}, {MEASURES[found.measure]}: {when(found)}"


def when(worth: Worth, *, briefly: bool = False) -> str:
    """The verdict in words: "worth it below 31 statements a connection (28 to 35)".

    For a cell of a table, whose head says what it is of, briefly: "below 31 (28 to 35)".
    """
    verdict, statements = worth.verdict, worth.interval(STATEMENTS)
    until, start = worth.row(WORTH_UNTIL), worth.row(NOT_FROM)
    if verdict in {"always", "never"}:
        return verdict if briefly else f"{verdict} worth it"
    if statements is not None:
        below = f"{verdict} {number(statements)}"
        return below if briefly else f"worth it {below} statements a connection"
    if until is not None and until.value is not None and until.value >= 1:
        most = floor(until.value)
        few = f"{counted(most, 'statement')} a connection"
        return f"up to {most:,} or more" if briefly else f"worth it up to {few}; beyond that is inconclusive"
    if start is not None and start.value is not None:
        least = ceil(start.value)
        many = f"{counted(least, 'statement')} a connection"
        return (
            f"not from {least:,} on"
            if briefly
            else f"not worth it from {many} on; below that is inconclusive"
        )
    return "inconclusive" if briefly else "whether it is worth it is inconclusive"


def sentences(_: Run, told: Sequence[Row]) -> Iterator[str]:
    """For each server, distance and measure a sentence of one tunnel against every TLS of that server."""
    found = worths_of(told)
    names = [each.tunnel for each in found]
    shown = HEADLINE if HEADLINE in names else names[0]
    of_shown = (each for each in found if each.tunnel == shown)
    for several in grouped(of_shown, lambda each: (each.place, each.measure)).values():
        first, verdicts = several[0], {when(each) for each in several}
        by_rival = [f"in place of {each.rival} {when(each)}" for each in several]
        said = "; ".join(some_of(by_rival, MOST_RIVALS, "{} more in the table"))
        if len(verdicts) == 1 and len(several) > 1:
            said = f"in place of any of {len(several)} kinds of TLS {verdicts.pop()}"
        yield f"{first.place}: {first.tunnel_words}, {MEASURES[first.measure]}: {said}"


TITLES: dict[Measure, str] = {
    "time": "In time, in place of the server's own TLS",
    "many": "In time with many at a time, in place of the server's own TLS",
    "CPU": "In CPU time, in place of the server's own TLS",
}
HEADS = ("saved per\nconnection", "lost per\nstatement", "worth it with how many\nstatements a connection")
READINGS: dict[Measure, str] = {
    "time": "In ms, of medians: by how much sooner a connection is up, and by how much later a statement is "
    "answered.",
    "many": "In ms: a second divided by how many connections or statements are done in it.",
    "CPU": "In ms of CPU time of client, tunnel and server together.",
}
BREAK_EVEN = (
    "Below that number of statements on a connection the tunnel costs less in all. SSH makes its own "
    "connection once; stunnel and HAProxy shake hands for each that they carry."
)


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """Every tunnel against every TLS, a table for each measure; on the page in sentences first."""
    tables = tuple(tunnel_tables(worths_of(told.rows)))
    said = Items(tuple(f"{sentence}." for sentence in told.sentences))
    page = OnPage(lambda: (said, Folded("Every tunnel against every TLS", tables)), otherwise=tables)
    yield Section((page,), told.title)


def tunnel_tables(found: Sequence[Worth]) -> Iterator[Table]:
    """A table for each measure: the tunnels below what they are in place of."""
    for measure, own in grouped(found, lambda each: each.measure).items():
        lines: list[tuple[Cell, ...]] = []
        for (place, rival), several in grouped(own, lambda each: (each.place, each.rival)).items():
            lines.append((f"{place}, in place of {rival}", "", "", ""))
            for each in several:
                costs = (each.interval(outcome) for outcome in (SAVED, LOST))
                cells = (cell(cost and cost.each(lambda us: us / 1e3)) for cost in costs)
                lines.append((f"{INDENT}{each.tunnel_words}", *cells, when(each, briefly=True)))
        notes = (READINGS[measure], BREAK_EVEN)
        yield Table(TITLES[measure], HEADS, lines, notes, of="tunnel in place of TLS")


COLUMNS = (
    Column(MEASURE, "TEXT", "in what a tunnel is compared: time, many (time with many at a time) or CPU"),
    columns.KEPT,
)

TOPIC = Topic("tunnels", "When a tunnel is worth it", rows, sections, sentences, COLUMNS)
