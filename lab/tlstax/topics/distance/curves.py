"""What distance makes of costs: connecting and statements over the round trip time, reported both ways.

A treatment that needs k more round trips than plaintext, which needs n, adds k round trip times to a
connection: in time its cost grows with the distance. What it takes of the connections a second need not:
nearby, CPU time decides, far away the round trips alone, (n + k) / n. A claim that "the overhead grows"
leaves open which of the two is meant, so both are given. Differences and ratios are taken within blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Any, Literal, NamedTuple

from tlstax.findings.core.series import LADDER, Frozen, Logs, Series, difference, frozen
from tlstax.findings.core.wording import capitalised
from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.interval import ClaimVerdict, Interval
from tlstax.results.rows import Row, Told
from tlstax.study import GrowthClaim, Level, Levels, within, workloads
from tlstax.study.needs import needs_distance
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, some_of
from tlstax.topics.core import columns, figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Block, Claim, Claims, Folded, Items, OnPage, Roomy, Section
from tlstax.topics.core.table import INDENT, Cell, Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.distance import charts, spending
from tlstax.topics.distance.spending import (
    CONNECT_US,
    OPERATION_US,
    RATE,
    RTT,
    SERVER,
    WORKLOAD,
    cell,
    number,
    place_words,
)

Steps = dict[float, dict[str, Level]]
"""The cases of one treatment by their distance."""

Trend = Literal["grows", "shrinks", "inconclusive"]

Figure = tuple[str, str]
"""An outcome without what it is of, and its unit."""

POINT, GROWTH, CLAIM, KEPT = "distance", "growth over distance", "claim of distance", "kept connection"
MS, TRIPS, TIMES = "ms", "round trips", "1"

TIME, RATIO_OF_RATES = ("time", MS), ("rate", "1/s")
PLAINTEXT, TREATED, EXTRA = ("plaintext", MS), ("treated", MS), ("extra", MS)
PLAINTEXT_TRIPS, EXTRA_TRIPS = ("plaintext", TRIPS), ("extra", TRIPS)
NEAR, FAR = ("rates of plaintext, near", TIMES), ("rates of plaintext, far", TIMES)
CHANGE, LIMIT = ("growth of the loss", TIMES), ("loss by round trips alone", TIMES)
CONNECT, CONNECT_TRIPS, STATEMENT = ("connection", MS), ("connection", TRIPS), ("statement", MS)
WORTH = ("connection in statements", "1")

KIND, MEASURED, FROM, TO, KEEPING = "times_of", "round_trip_ms", "from_ms", "to_ms", "kept_workload"
SOURCE, CURVES = "source", "curves"

MOST_NAMED = 3
"""The most curves that a sentence names, those with the largest effect first."""

IN_TIME, IN_PROPORTION = "time per connection", "a share of the rate"
"""The two things that a claim may mean."""


@dataclass(frozen=True)
class Teller:
    """Tells what distances cost. `round_trips_ms` maps a distance as asked for to what was measured of it."""

    series: Series
    round_trips_ms: Mapping[float, float]

    def curve(self, steps: Steps) -> Iterator[Row]:
        """A treatment over its distances, then how it grows; nothing where none of it can be compared."""
        points = {rtt: own for rtt, levels in steps.items() if (own := list(self._point(levels)))}
        for own in points.values():
            yield from own
        if len(points) > 1:
            yield from self._growth({rtt: steps[rtt] for rtt in points})

    def _times_ms(self, levels: Levels) -> dict[int, float]:
        makes = spending.makes_connections(levels, self.series.study)
        found = spending.column(self.series, levels, CONNECT_US if makes else OPERATION_US)
        return spending.scaled(found, 1e-3)

    def _round_trip_ms(self, levels: Levels) -> float:
        asked = spending.rtt_of(levels)
        return self.round_trips_ms.get(asked, asked)

    def _slowdown_logs(self, levels: Levels) -> dict[int, float]:
        """Ln of how many times as many operations a second plaintext has, block by block."""
        return self.series.log_ratios(self.series.own_baseline(levels), levels, RATE)

    def _common(self, levels: Levels) -> dict[str, Any]:
        return {
            "case": dict(frozen(levels, RTT)),
            "baseline": dict(frozen(self.series.own_baseline(levels), RTT)),
            "label": spending.treatment_label(levels, self.series.study),
        }

    def _kind(self, levels: Levels) -> str:
        return "connection" if spending.makes_connections(levels, self.series.study) else "statement"

    def _point(self, levels: Levels) -> Iterator[Row]:
        """What one distance makes of it, in the blocks that plaintext has too."""
        treated, plain = self._times_ms(levels), self._times_ms(self.series.own_baseline(levels))
        extra, slowdowns = difference(treated, plain), self._slowdown_logs(levels)
        times = spending.log_quotients(treated, plain)
        if not extra or not slowdowns or not times:
            return
        treated, plain = ({block: column[block] for block in extra} for column in (treated, plain))
        common, away = self._common(levels), {RTT: spending.rtt_of(levels)}
        common |= {"case": {**common["case"], **away}, "baseline": {**common["baseline"], **away}}
        round_trip_ms, pooling = self._round_trip_ms(levels), self.series.pooling
        common |= {"role": POINT, "more": {KIND: self._kind(levels), MEASURED: round_trip_ms}}
        yield self._row(
            TIME,
            common,
            pooling.interval(times),
            of="ratio",
            value=self._mean(treated).point,
            baseline_value=self._mean(plain).point,
        )
        rates = pooling.interval({block: -value for block, value in slowdowns.items()})
        yield self._row(RATIO_OF_RATES, common, rates, of="ratio")
        for figure, values in ((PLAINTEXT, plain), (TREATED, treated), (EXTRA, extra)):
            yield self._row(figure, common, self._mean(values))
        for figure, values in ((PLAINTEXT_TRIPS, plain), (EXTRA_TRIPS, extra)) if round_trip_ms > 0 else ():
            yield self._row(
                figure, common, self._mean({block: ms / round_trip_ms for block, ms in values.items()})
            )

    def _growth(self, steps: Steps) -> Iterator[Row]:
        """From the shortest distance to the longest, told both ways; nothing where no block has both.

        In time: by how much more it adds at the far end, and that for each round trip time between the two.
        In proportion: how many times as many operations a second plaintext has at either end; the growth of
        the loss is the one to the other. The loss by round trips alone, (n + k) / n, is where distance is all
        that counts.
        """
        near, far = steps[min(steps)], steps[max(steps)]
        plain_near, plain_far = (self._times_ms(self.series.own_baseline(levels)) for levels in (near, far))
        grown = difference(
            difference(self._times_ms(far), plain_far), difference(self._times_ms(near), plain_near)
        )
        longer = difference(plain_far, plain_near)
        slow_near, slow_far = self._slowdown_logs(near), self._slowdown_logs(far)
        changes = difference(slow_far, slow_near)
        apart_ms = self._round_trip_ms(far) - self._round_trip_ms(near)
        if not grown or not changes or apart_ms <= 0:
            return
        pooling = self.series.pooling
        extra, change = self._mean(grown), pooling.interval(changes)
        k = self._mean({block: value / apart_ms for block, value in grown.items()})
        n = self._mean({block: longer[block] / apart_ms for block in grown})
        common = {
            **self._common(near),
            "role": GROWTH,
            "more": {KIND: self._kind(near), FROM: min(steps), TO: max(steps)},
        }
        yield self._row(EXTRA, common, extra, judgement=trend(extra, 0.0))
        yield self._row(EXTRA_TRIPS, common, k)
        yield self._row(PLAINTEXT_TRIPS, common, n)
        yield self._row(NEAR, common, pooling.interval(slow_near), of="ratio")
        yield self._row(FAR, common, pooling.interval(slow_far), of="ratio")
        yield self._row(CHANGE, common, change, of="ratio", judgement=trend(change, 1.0))
        if n.point > 0:
            yield self._row(LIMIT, common, None, value=(n.point + k.point) / n.point)

    @staticmethod
    def _row(figure: Figure, common: Mapping[str, Any], found: Interval | None, **more: Any) -> Row:
        outcome, unit = figure
        if KIND in common["more"]:
            outcome = f"{common['more'][KIND]}: {outcome}"
        return Row(outcome=outcome, unit=unit, interval=found, **common, **more)

    def _mean(self, values: Logs) -> Interval:
        return self.series.pooling.difference(values)

    def pools(self) -> Iterator[Row]:
        """What a kept connection saves in time, for every treatment that was measured both ways.

        Of each server, with as few connections at a time as there are: with many, a connect waits for others,
        and that is no part of what keeping one saves.
        """
        study, made, kept = self.series.study, list[dict[str, Level]](), list[dict[str, Level]]()
        for levels in spending.first_processes(self.series):
            (made if spending.makes_connections(levels, study) else kept).append(levels)
        fewest: dict[Level, int] = {}
        for levels in made:
            server, many = levels.get(SERVER, ""), int(levels.get(LADDER, 1))
            fewest[server] = min(many, fewest.get(server, many))
        for levels in made:
            if int(levels.get(LADDER, 1)) == fewest[levels.get(SERVER, "")]:
                beside = spending.kept_beside(levels, kept, study)
                if beside is not None:
                    yield from self._pool(levels, beside)

    def _pool(self, made: dict[str, Level], kept: Levels) -> Iterator[Row]:
        """Making a connection, a statement on a kept one, and as how many of these making one takes."""
        connects, statements = self._times_ms(made), self._times_ms(kept)
        logs = spending.log_quotients(connects, statements)
        if not logs:
            return
        both = sorted(connects.keys() & statements.keys())
        connects, statements = ({block: column[block] for block in both} for column in (connects, statements))
        round_trip_ms = self._round_trip_ms(made)
        common = {
            "role": KEPT,
            "case": made,
            "label": spending.treatment_label(made, self.series.study),
            "more": {KEEPING: str(kept.get(WORKLOAD, "")), MEASURED: round_trip_ms},
        }
        yield self._row(CONNECT, common, self._mean(connects))
        if round_trip_ms > 0:
            yield self._row(
                CONNECT_TRIPS,
                common,
                self._mean({block: ms / round_trip_ms for block, ms in connects.items()}),
            )
        yield self._row(STATEMENT, common, self._mean(statements))
        yield self._row(WORTH, common, self.series.pooling.interval(logs))


def rows(run: Run) -> Iterator[Row]:
    """All that a run shows of distances; nothing for a study without any, or of something else than TLS.

    What distance does to other differences stands with those. Times are medians of a trial, their mean over
    blocks, in ms and in round trips of the distance that was measured, else asked for. A treatment at a
    `distance` has its time (value) beside plaintext's (baseline_value), the rate beside plaintext's, both
    times, and what it adds. Then the `growth over distance` of each, what a `kept connection` saves, and how
    each `claim of distance` stands, in either meaning.
    """
    series, study = run.series, run.study
    if not needs_distance(study) or study.baseline.get("tls") != "off":
        return
    teller = Teller(series, measured_round_trips_ms(run.stored.measured))
    told = [row for steps in _steps(series) for row in teller.curve(steps)]
    yield from told
    yield from teller.pools()
    for claim in study.growth_claims:
        yield from _claimed(claim, curves_of(told))


def measured_round_trips_ms(records: Iterable[TrialRecord]) -> dict[float, float]:
    """The mean of the round trip times that were measured around trials, by what was asked for."""
    found: dict[float, list[float]] = {}
    for record in records:
        distance = record.distance
        if distance is not None and record.verdict.value == "valid":
            measured = [m.median_ms for m in (distance.before, distance.after) if m is not None]
            found.setdefault(distance.rtt_ms, []).append(fmean(measured))
    return {asked: fmean(measured) for asked, measured in found.items()}


def trend(found: Interval, nothing: float) -> Trend:
    """Whether what should be `nothing` if distance did not matter differs from it."""
    if found.low is None or found.high is None or found.low <= nothing <= found.high:
        return "inconclusive"
    return "grows" if found.point > nothing else "shrinks"


def _steps(series: Series) -> Iterator[Steps]:
    """The cases of every treatment by their distance, the shortest first, in the plan's order."""
    found: dict[Frozen, Steps] = {}
    for levels in spending.first_processes(series):
        if not series.study.is_baseline(levels):
            found.setdefault(frozen(levels, RTT), {})[spending.rtt_of(levels)] = levels
    for steps in found.values():
        yield dict(sorted(steps.items()))


class Known(NamedTuple):
    """Rows of one thing, by their figures."""

    rows: Sequence[Row]

    def row(self, figure: Figure) -> Row | None:
        """The row of a figure; None where there is none."""
        return next((r for r in self.rows if (r.outcome.rpartition(": ")[2], r.unit) == figure), None)

    def interval(self, figure: Figure) -> Interval | None:
        """What is known of it; None where there is no such figure."""
        row = self.row(figure)
        return None if row is None else row.interval


class Curve(NamedTuple):
    """One treatment of one server: what it makes of each distance, and how it grows (None of one alone)."""

    points: Mapping[float, Known]
    growth: Known | None

    @property
    def _first(self) -> Row:
        return next(iter(self.points.values())).rows[0]

    @property
    def case(self) -> dict[str, Level]:
        """The treatment's levels but for the distance."""
        return dict(frozen(self._first.case, RTT))

    @property
    def label(self) -> str:
        """The treatment in words."""
        return self._first.label

    @property
    def kind(self) -> str:
        """Whether times are those of a `connection` or of a `statement`."""
        return self._first.word(KIND)

    @property
    def server(self) -> str:
        """Its server; empty where the study names none."""
        return str(self.case.get(SERVER, ""))

    @property
    def at_a_time(self) -> str:
        """How many connections there are at a time."""
        return f"{self.case.get(LADDER, 1)} at a time"

    @property
    def name(self) -> str:
        """The server, the treatment, and how many at a time: "mysql-9.7, TLS 1.3, 100 at a time"."""
        return ", ".join(part for part in (self.server, self.label, self.at_a_time) if part)


def curves_of(told: Iterable[Row]) -> list[Curve]:
    """The curves of a run, from its rows."""
    own = [row for row in told if row.role in {POINT, GROWTH}]
    by_curve = grouped(own, lambda row: (frozen(row.case, RTT), row.word(KIND)))
    return [_curve(rows) for rows in by_curve.values()]


def _curve(own: Sequence[Row]) -> Curve:
    points = grouped((row for row in own if row.role == POINT), lambda row: spending.rtt_of(row.case))
    growth = [row for row in own if row.role == GROWTH]
    return Curve({rtt: Known(rows) for rtt, rows in points.items()}, Known(growth) if growth else None)


def _claimed(claim: GrowthClaim, curves: Sequence[Curve]) -> Iterator[Row]:
    """How a published claim that the cost of encryption grows with distance stands, in either meaning."""
    grown = [curve for curve in curves if curve.growth is not None and within(curve.case, claim.within)]
    for meant, figure, words_of in ((IN_TIME, EXTRA, _in_time), (IN_PROPORTION, CHANGE, _in_proportion)):
        trends = [_trend(curve, figure) for curve in grown]
        yield Row(
            role=CLAIM,
            outcome=meant,
            label=claim.says,
            judgement=claim_verdict(trends),
            caveats=(_told(grown, trends, figure, words_of),),
            more={SOURCE: claim.source, CURVES: len(grown)},
        )


def _trend(curve: Curve, figure: Figure) -> str:
    row = curve.growth.row(figure) if curve.growth is not None else None
    return "" if row is None else row.judgement


def claim_verdict(trends: Sequence[str]) -> ClaimVerdict:
    """What the trends of all curves say of a claim that they grow."""
    if not trends:
        return "inconclusive"
    if all(found == "grows" for found in trends):
        return "held"
    if "grows" in trends:
        return "held in part"
    return "did not hold" if "shrinks" in trends else "inconclusive"


def _told(
    curves: Sequence[Curve], trends: Sequence[str], figure: Figure, words_of: Callable[[Known], str]
) -> str:
    """In how many treatments it grows and shrinks, and those that it does most in."""
    grown = [(curve, curve.growth) for curve in curves if curve.growth is not None]
    if not grown:
        return "nothing that was measured bears on it"
    counts = [f"{word} in {trends.count(word)}" for word in ("grows", "shrinks") if word in trends]
    undecided = trends.count("inconclusive")
    parts = [f"of {counted(len(grown), 'treatment')} it {' and '.join(counts)}"] if counts else []
    parts += [f"{undecided} inconclusive"] if undecided else []
    largest = sorted(grown, key=lambda pair: -_size(pair[1], figure))
    named = some_of([f"{curve.name}: {words_of(growth)}" for curve, growth in largest], MOST_NAMED)
    return f"{', '.join(parts)} ({'; '.join(named)})"


def _size(growth: Known, figure: Figure) -> float:
    found = growth.interval(figure)
    return 0.0 if found is None else abs(log(found.point) if figure == CHANGE else found.point)


def _in_time(growth: Known) -> str:
    extra, trips, plaintext = map(growth.interval, (EXTRA, EXTRA_TRIPS, PLAINTEXT_TRIPS))
    if extra is None or trips is None or plaintext is None:
        return ""
    near_ms, far_ms = growth.rows[0].number(FROM), growth.rows[0].number(TO)
    ends = f"from {near_ms:.10g} to {far_ms:.10g} ms"
    found = trend(extra, 0.0)
    if found == "inconclusive":
        return f"{ends} what it adds changes by {number(extra)} ms, which is inconclusive"
    more = "more" if found == "grows" else "less"
    size, beside = (extra, trips) if found == "grows" else (-extra, -trips)
    return (
        f"{ends} what it adds becomes {number(size)} ms {more}, {number(beside)} round trips beside the "
        f"{number(plaintext)} of plaintext"
    )


def _in_proportion(growth: Known) -> str:
    near, far, change = map(growth.interval, (NEAR, FAR, CHANGE))
    if near is None or far is None or change is None:
        return ""
    near_ms, far_ms = growth.rows[0].number(FROM), growth.rows[0].number(TO)
    limit = growth.row(LIMIT)
    alone = f"; round trips alone would make it {limit.value:.2f}" if limit is not None else ""
    word = {
        "grows": "the loss grows",
        "shrinks": "the loss shrinks",
        "inconclusive": "whether the loss changes is inconclusive",
    }[trend(change, 1.0)]
    return (
        f"{word}: plaintext does {number(near)} times as many a second at {near_ms:.10g} ms and "
        f"{number(far)} times as many at {far_ms:.10g} ms{alone}"
    )


def growth_sentence(curve: Curve) -> str:
    """Both trends of one curve; empty where it has one distance alone."""
    growth = curve.growth
    return "" if growth is None else f"{curve.name}: {_in_time(growth)}; {_in_proportion(growth)}"


def _growths(curves: Iterable[Curve]) -> list[str]:
    """Both trends of the curves of connections."""
    said = [growth_sentence(curve) for curve in curves if curve.kind == "connection"]
    return [sentence for sentence in said if sentence]


def claim_verdicts(told: Iterable[Row]) -> list[str]:
    """Each claim with both verdicts on it, without what they rest on."""
    return [
        f"“{row.label}” ({row.word(SOURCE)}), taken as {row.outcome}: {row.judgement}"
        for row in told
        if row.role == CLAIM
    ]


def claim_sentences(told: Sequence[Row]) -> list[str]:
    """Each claim with both verdicts on it, a sentence each."""
    rest_on = [row.caveats[0] for row in told if row.role == CLAIM]
    return [": ".join(pair) for pair in zip(claim_verdicts(told), rest_on, strict=True)]


def _pools(told: Iterable[Row]) -> dict[tuple[str, str], dict[float, Known]]:
    """What kept connections save, by server and treatment, at each distance."""
    own = grouped(
        (row for row in told if row.role == KEPT),
        lambda row: (str(row.case.get(SERVER, "")), row.label, spending.rtt_of(row.case)),
    )
    found: dict[tuple[str, str], dict[float, Known]] = {}
    for (server, label, rtt_ms), rows in own.items():
        found.setdefault((server, label), {})[rtt_ms] = Known(rows)
    return found


def pool_sentences(told: Iterable[Row]) -> list[str]:
    """For each server, at the longest distance: what a kept connection saves, treatment by treatment."""
    sides = grouped(_pools(told).items(), lambda pool: pool[0][0])
    return [_saved(server, pools) for server, pools in sides.items()]


def _saved(server: str, pools: Sequence[tuple[tuple[str, str], Mapping[float, Known]]]) -> str:
    rtt_ms = max(max(at) for _, at in pools)
    costs = [
        f"{label} {number(connect)} ms, as long as {number(worth)} statements"
        for (_, label), at in pools
        if rtt_ms in at
        if (connect := at[rtt_ms].interval(CONNECT)) and (worth := at[rtt_ms].interval(WORTH))
    ]
    takes = "; ".join(some_of(costs, MOST_NAMED, "{} more in the table"))
    return f"{place_words(server, rtt_ms)}, a connection that is kept saves making it, which takes: {takes}"


def sentences(_: Run, told: Sequence[Row]) -> Iterator[str]:
    """The claims with their verdicts, both trends of every connection's curve, what keeping them saves."""
    yield from claim_sentences(told)
    yield from _growths(curves_of(told))
    yield from pool_sentences(told)


OF = {"connection": "Making a connection", "statement": "A statement on a connection that is kept"}
READING = (
    "Medians of a trial, their means over blocks, in ms, with intervals in brackets. Extra: what it adds to "
    "plaintext; in round trips of the measured distance. Time and rate: ratios to plaintext, the rate in "
    f"operations a second. {figures.UNKNOWN}: inconclusive, the interval holds nothing."
)
HEADS = ("plaintext", "treated", "extra", "extra in\nround trips", "time", "rate")
POOLS = "What a connection that is kept saves in time"
POOL_HEADS = ("connect", "in round\ntrips", "statement", "worth in\nstatements")
POOL_READING = (
    "Making a connection, in ms and in round trips of the measured distance; a statement on one that is "
    "kept, in ms; and as how many such statements making one takes."
)
SAVED = "What a connection that is kept saves"
GROWTHS = "Every treatment in words: what it adds as the distance grows, and what share it takes"
AS_TABLES = "The same as tables, with what a connection that is kept saves"


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """What distance makes of the costs, in tables; on the page each meaning of a claim, and curves, first."""
    curves = curves_of(told.rows)
    tables = tuple(distance_tables(curves, told.rows))
    said = tuple(map(capitalised, (*claim_sentences(told.rows), *_growths(curves))))
    page = OnPage(
        lambda: (*_page_blocks(curves, told.rows), Folded(AS_TABLES, tables)),
        otherwise=(Roomy((Items(said),)), *tables),
    )
    yield Section((page,), told.title)


def _page_blocks(curves: Sequence[Curve], told: Sequence[Row]) -> Iterator[Block]:
    """Each meaning of a claim by itself, the curves, what keeping a connection saves, treatments in words."""
    claims = [row for row in told if row.role == CLAIM]
    if claims:
        yield Claims(
            tuple(
                Claim(
                    f"“{row.label}”",
                    f"Here: {row.judgement}",
                    row.caveats,
                    f"{row.word(SOURCE)} · taken as {row.outcome}",
                )
                for row in claims
            )
        )
    drawn = by_title([curve for curve in curves if len(curve.points) > 1])
    for title, own in drawn.items():
        yield charts.distance_charts(title, *_lines(own))
    yield Items(tuple(f"{sentence}." for sentence in pool_sentences(told)), SAVED)
    growths = tuple(f"{sentence}." for sentence in _growths(curves))
    if growths:
        yield Folded(GROWTHS, (Items(growths),))


def _lines(curves: Sequence[Curve]) -> tuple[charts.Drawn, list[charts.Drawn], list[charts.Drawn]]:
    """Plaintext's times, beside the treatment with most distances; treatments' times and ratios."""
    longest = max(curves, key=lambda curve: len(curve.points))
    return (
        _line(longest, "plaintext", PLAINTEXT),
        [_line(curve, curve.label, TREATED) for curve in curves],
        [_line(curve, curve.label, TIME) for curve in curves],
    )


def _line(curve: Curve, label: str, figure: Figure) -> charts.Drawn:
    known = {rtt_ms: point.interval(figure) for rtt_ms, point in curve.points.items()}
    return label, {rtt_ms: found for rtt_ms, found in known.items() if found is not None}


def by_title(curves: Iterable[Curve]) -> dict[str, list[Curve]]:
    """The curves that stand together, by what they are of: "Making a connection, mysql-9.7, 100 at a time".

    Where there are several workloads of a kind, each is named in its place.
    """
    listed = list(curves)
    varied = Counter(kind for kind, _ in {(curve.kind, curve.case.get(WORKLOAD)) for curve in listed})

    def title(curve: Curve) -> str:
        of = OF[curve.kind]
        if varied[curve.kind] > 1:
            of = capitalised(workloads.in_words(str(curve.case.get(WORKLOAD, ""))))
        return ", ".join(part for part in (of, curve.server, curve.at_a_time) if part)

    return grouped(listed, title)


def distance_tables(curves: Sequence[Curve], told: Iterable[Row]) -> Iterator[Table]:
    """A table for each server and way of working, and one of what kept connections save."""
    titled = by_title(curves)
    last = list(titled)[-1:]
    for title, own in titled.items():
        lines = [
            line
            for curve in own
            for line in _under(curve.label, {at: _cells(p) for at, p in curve.points.items()})
        ]
        notes = (READING,) if title in last else ()
        yield Table(title, HEADS, lines, notes, of="treatment, round trip time")
    pools = [
        line
        for (server, label), at in _pools(told).items()
        for line in _under(
            ", ".join(part for part in (server, label) if part),
            {rtt_ms: _pool_cells(pool) for rtt_ms, pool in at.items()},
        )
    ]
    if pools:
        yield Table(POOLS, POOL_HEADS, pools, (POOL_READING,), of="treatment, round trip time")


def _cells(point: Known) -> list[Cell]:
    nothing = {PLAINTEXT: None, TREATED: None, EXTRA: 0.0, EXTRA_TRIPS: 0.0, TIME: 1.0, RATIO_OF_RATES: 1.0}
    return [cell(point.interval(figure), nothing=of) for figure, of in nothing.items()]


def _pool_cells(pool: Known) -> list[Cell]:
    return [cell(pool.interval(each), nothing=None) for each in (CONNECT, CONNECT_TRIPS, STATEMENT, WORTH)]


def _under(name: str, lines: Mapping[float, Sequence[Cell]]) -> Iterator[tuple[Cell, ...]]:
    """A heading and its lines, each a distance; a single line is its own heading."""
    if len(lines) == 1:
        yield (name, *next(iter(lines.values())))
        return
    yield (name, *[""] * len(next(iter(lines.values()), ())))
    for rtt_ms, cells in lines.items():
        yield (f"{INDENT}{rtt_ms:.10g} ms", *cells)


COLUMNS = (
    Column(
        KIND, "TEXT", "what times at a distance are of: making a connection, or a statement on a kept one"
    ),
    Column(
        MEASURED, "REAL", "the round trip time that was measured, else that was asked for", "milliseconds"
    ),
    Column(FROM, "REAL", "the shortest distance of a curve", "milliseconds"),
    Column(TO, "REAL", "the longest distance of a curve", "milliseconds"),
    columns.KEPT,
    columns.SOURCE,
    Column(CURVES, "INTEGER", "how many curves bear on a claim"),
)

TOPIC = Topic("distance", "What distance makes of the costs", rows, sections, sentences, COLUMNS)
