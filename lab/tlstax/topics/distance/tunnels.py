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
from dataclasses import dataclass
from math import ceil, floor
from typing import Literal, NamedTuple

from tlstax.findings.core.series import Frozen, Series, difference, frozen
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.study import Level, Levels
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


def _worth(series: Series, tunnel: Way, rival: Way, measure: Measure) -> Iterator[Row]:
    own, other = _prices(series, tunnel, measure), _prices(series, rival, measure)
    saved = difference(other.connection, own.connection)
    lost = difference(own.statement, other.statement)
    blocks = sorted(saved.keys() & lost.keys())
    if not blocks:
        return
    saved, lost = ({block: column[block] for block in blocks} for column in (saved, lost))
    d, e = series.pooling.difference(saved), series.pooling.difference(lost)
    verdict = _verdict(d, e)
    label = spending.treatment_label(dict(frozen(rival.made, PATH)), series.study)

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
    spent = [spending.column(series, levels, outcome) for outcome in programs]
    blocks = set.intersection(*(set(column) for column in spent))
    return {block: sum(column[block] for column in spent) for block in sorted(blocks)}


def _verdict(saved: Interval, lost: Interval) -> str:
    """From the signs of what is saved and what is lost, as far as they can be determined."""
    return {(1, 1): "below", (-1, -1): "above", (1, -1): "always", (-1, 1): "never"}.get(
        (_sign(saved), _sign(lost)), "inconclusive"
    )


def _bounds(d: Interval, e: Interval) -> Iterator[tuple[str, float]]:
    """How far a verdict reaches where only one of the two signs is known: by the ends of both intervals."""
    signs = _sign(d), _sign(e)
    if signs == (1, 0) and d.low is not None and e.high:
        yield WORTH_UNTIL, d.low / e.high
    if signs == (0, 1) and d.high is not None and e.low:
        yield NOT_FROM, d.high / e.low


def _sign(found: Interval) -> int:
    """Above zero (1), below it (-1), or not known (0)."""
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return 0
    return 1 if found.low > 0 else -1


class Worth(NamedTuple):
    """The rows of one tunnel against one TLS, by one measure."""

    rows: Sequence[Row]

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

    def row(self, outcome: str) -> Row | None:
        """The row of an outcome; None where there is none."""
        return next((row for row in self.rows if row.outcome == f"{self.measure}: {outcome}"), None)

    def interval(self, outcome: str) -> Interval | None:
        """What is known of it; None where there is none."""
        row = self.row(outcome)
        return None if row is None else row.interval


def worths_of(told: Sequence[Row]) -> list[Worth]:
    """The rows of a run, by who is compared, and in what."""
    pairs = grouped(told, lambda row: (row.word(MEASURE), frozen(row.case), frozen(row.baseline)))
    return [Worth(own) for own in pairs.values()]


def sentence(found: Worth) -> str:
    """Who is compared, in what, and when the tunnel is worth it."""
    compared = f"{found.tunnel_words} in place of {found.rival}"
    return f"{found.place}: {compared}, {MEASURES[found.measure]}: {when(found)}"


def when(found: Worth) -> str:
    """The verdict in words: "worth it below 31 statements a connection (28 to 35)"."""
    if found.verdict in {"always", "never"}:
        return f"{found.verdict} worth it"
    if (statements := found.interval(STATEMENTS)) is not None:
        return f"worth it {found.verdict} {number(statements)} statements a connection"
    if (until := _until(found)) is not None:
        return f"worth it up to {counted(until, 'statement')} a connection; beyond that is inconclusive"
    if (start := _from(found)) is not None:
        return f"not worth it from {counted(start, 'statement')} a connection on; below that is inconclusive"
    return "whether it is worth it is inconclusive"


def briefly(found: Worth) -> str:
    """The verdict as the cell of a table whose head says what it is of: "below 31 (28 to 35)"."""
    if found.verdict in {"always", "never"}:
        return found.verdict
    if (statements := found.interval(STATEMENTS)) is not None:
        return f"{found.verdict} {number(statements)}"
    if (until := _until(found)) is not None:
        return f"up to {until:,} or more"
    if (start := _from(found)) is not None:
        return f"not from {start:,} on"
    return "inconclusive"


def _until(found: Worth) -> int | None:
    row = found.row(WORTH_UNTIL)
    return None if row is None or row.value is None or row.value < 1 else floor(row.value)


def _from(found: Worth) -> int | None:
    row = found.row(NOT_FROM)
    return None if row is None or row.value is None else ceil(row.value)


def sentences(_: Run, told: Sequence[Row]) -> Iterator[str]:
    """For each server, distance and measure a sentence of one tunnel against every TLS of that server."""
    found = worths_of(told)
    names = [each.tunnel for each in found]
    shown = HEADLINE if HEADLINE in names else names[0]
    of_shown = (each for each in found if each.tunnel == shown)
    for several in grouped(of_shown, lambda each: (each.place, each.measure)).values():
        yield _of_all_rivals(several)


def _of_all_rivals(several: Sequence[Worth]) -> str:
    first, verdicts = several[0], {when(each) for each in several}
    begin = f"{first.place}: {first.tunnel_words}, {MEASURES[first.measure]}"
    if len(verdicts) == 1 and len(several) > 1:
        return f"{begin}: in place of any of {len(several)} kinds of TLS {verdicts.pop()}"
    by_rival = [f"in place of {each.rival} {when(each)}" for each in several]
    return f"{begin}: {'; '.join(some_of(by_rival, MOST_RIVALS, '{} more in the table'))}"


TITLES: dict[Measure, str] = {
    "time": "When a tunnel is worth it in place of the server's own TLS: in time",
    "many": "When a tunnel is worth it in place of the server's own TLS: in time with many at a time",
    "CPU": "When a tunnel is worth it in place of the server's own TLS: in CPU time",
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
            lines += [
                (f"{INDENT}{each.tunnel_words}", _ms(each, SAVED), _ms(each, LOST), briefly(each))
                for each in several
            ]
        notes = (READINGS[measure], BREAK_EVEN)
        yield Table(TITLES[measure], HEADS, lines, notes, of="tunnel in place of TLS")


def _ms(found: Worth, outcome: str) -> Cell:
    cost = found.interval(outcome)
    return cell(cost and cost.each(lambda us: us / 1e3))


COLUMNS = (
    Column(MEASURE, "TEXT", "in what a tunnel is compared: time, many (time with many at a time) or CPU"),
    columns.KEPT,
)

TOPIC = Topic("tunnels", "When a tunnel is worth it", rows, sections, sentences, COLUMNS)
