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

from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.interval import ClaimVerdict, Interval
from tlstax.results.rows import More, Row, RowSet, Told
from tlstax.stats.series import LADDER, Logs, Series, difference
from tlstax.stats.wording import capitalised
from tlstax.study import GrowthClaim, Levels, within, workloads
from tlstax.study.factors import CaseLevels
from tlstax.study.needs import needs_distance
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, some_of, with_commas
from tlstax.topics.core import charts as parts
from tlstax.topics.core import columns, figures, palette
from tlstax.topics.core.charts import Line, Panel, Point, Style, curves_panel, level_style, quantitative
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Block, Charts, Claim, Claims, Folded, Items, OnPage, Roomy, Section
from tlstax.topics.core.table import INDENT, Cell, Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.distance import spending
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

Steps = dict[float, CaseLevels]
"""The cases of one treatment by their distance."""

Trend = Literal["grows", "shrinks", "inconclusive"]

Figure = tuple[str, str]
"""An outcome without what it is of, and its unit."""

POINT, GROWTH, CLAIM, KEPT = "distance", "growth over distance", "claim of distance", "kept connection"
MS, TRIPS, RATIO = "ms", "round trips", "1"

TIME, RATIO_OF_RATES = ("time", MS), ("rate", "1/s")
PLAINTEXT, TREATED, EXTRA = ("plaintext", MS), ("treated", MS), ("extra", MS)
PLAINTEXT_TRIPS, EXTRA_TRIPS = ("plaintext", TRIPS), ("extra", TRIPS)
NEAR, FAR = ("rates of plaintext, near", RATIO), ("rates of plaintext, far", RATIO)
CHANGE, LIMIT = ("growth of the loss", RATIO), ("loss by round trips alone", RATIO)
CONNECT, CONNECT_TRIPS, STATEMENT = ("connection", MS), ("connection", TRIPS), ("statement", MS)
WORTH = ("connection in statements", "1")

KIND, MEASURED, FROM, TO, KEEPING = "times_of", "round_trip_ms", "from_ms", "to_ms", "kept_workload"
SOURCE, CURVES = "source", "curves"

DODGE = 0.006
"""How far apart, as a share of the axis, dots of two treatments stand at the same distance."""

MS_LABEL = "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' s' : format(datum.value, '~g') + ' ms'"

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

    def _times_ms(self, levels: CaseLevels) -> dict[int, float]:
        makes = self.series.study.workload_of(levels).makes_connections
        times_us = spending.column(self.series, levels, CONNECT_US if makes else OPERATION_US)
        return {block: us * 1e-3 for block, us in times_us.items()}

    def _round_trip_ms(self, levels: CaseLevels) -> float:
        asked = spending.rtt_of(levels)
        return self.round_trips_ms.get(asked, asked)

    def _slowdown_logs(self, levels: CaseLevels) -> dict[int, float]:
        """Ln of how many times as many operations a second plaintext has, block by block."""
        return self.series.log_ratios(self.series.own_baseline(levels), levels, RATE)

    def _common(self, role: str, levels: CaseLevels, rtt: Levels, more: Mapping[str, More]) -> dict[str, Any]:
        """What all rows of a case and of plaintext have, at this distance or at any."""
        makes = self.series.study.workload_of(levels).makes_connections
        return {
            "role": role,
            "case": levels.without(RTT) | rtt,
            "baseline": self.series.own_baseline(levels).without(RTT) | rtt,
            "label": spending.treatment_label(levels, self.series.study),
            "more": {KIND: "connection" if makes else "statement", **more},
        }

    def _point(self, levels: CaseLevels) -> Iterator[Row]:
        """What one distance makes of it, in the blocks that plaintext has too."""
        treated, plain = self._times_ms(levels), self._times_ms(self.series.own_baseline(levels))
        extra, slowdowns = difference(treated, plain), self._slowdown_logs(levels)
        times = spending.log_quotients(treated, plain)
        if not extra or not slowdowns or not times:
            return
        treated, plain = ({block: column[block] for block in extra} for column in (treated, plain))
        round_trip_ms, pooling = self._round_trip_ms(levels), self.series.pooling
        own = {MEASURED: round_trip_ms}
        common = self._common(POINT, levels, {RTT: spending.rtt_of(levels)}, own)
        means = {figure: pooling.difference(ms) for figure, ms in ((TREATED, treated), (PLAINTEXT, plain))}
        ratio, rates = pooling.interval(times), {block: -value for block, value in slowdowns.items()}
        beside = {"value": means[TREATED].point, "baseline_value": means[PLAINTEXT].point}
        yield _row(common, TIME, ratio, of="ratio", **beside)
        yield _row(common, RATIO_OF_RATES, pooling.interval(rates), of="ratio")
        yield _row(common, PLAINTEXT, means[PLAINTEXT])
        yield _row(common, TREATED, means[TREATED])
        yield _row(common, EXTRA, pooling.difference(extra))
        for figure, ms in ((PLAINTEXT_TRIPS, plain), (EXTRA_TRIPS, extra)) if round_trip_ms > 0 else ():
            yield _row(common, figure, pooling.difference(_over(ms, round_trip_ms)))

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
        extra, change = pooling.difference(grown), pooling.interval(changes)
        k = pooling.difference(_over(grown, apart_ms))
        n = pooling.difference(_over({block: longer[block] for block in grown}, apart_ms))
        common = self._common(GROWTH, near, {}, {FROM: min(steps), TO: max(steps)})
        yield _row(common, EXTRA, extra, judgement=trend(extra, 0.0))
        yield _row(common, EXTRA_TRIPS, k)
        yield _row(common, PLAINTEXT_TRIPS, n)
        yield _row(common, NEAR, pooling.interval(slow_near), of="ratio")
        yield _row(common, FAR, pooling.interval(slow_far), of="ratio")
        yield _row(common, CHANGE, change, of="ratio", judgement=trend(change, 1.0))
        if n.point > 0:
            yield _row(common, LIMIT, None, value=(n.point + k.point) / n.point)

    def pools(self) -> Iterator[Row]:
        """What a kept connection saves in time, for every treatment that was measured both ways.

        Of each server, with as few connections at a time as there are: with many, a connect waits for others,
        and that is no part of what keeping one saves.
        """
        study, every = self.series.study, list(spending.first_processes(self.series))
        sides = grouped(every, lambda levels: study.workload_of(levels).makes_connections)
        made = sides.get(True, [])
        kept = grouped(sides.get(False, []), lambda levels: spending.place_of(levels, study))
        fewest = {
            server: min(int(levels.get(LADDER, 1)) for levels in own)
            for server, own in grouped(made, lambda levels: levels.get(SERVER, "")).items()
        }
        for levels in made:
            if int(levels.get(LADDER, 1)) == fewest[levels.get(SERVER, "")]:
                near = kept.get(spending.place_of(levels, study), [])
                beside = spending.kept_beside(levels, near, study)
                if beside is not None:
                    yield from self._pool(levels, beside)

    def _pool(self, made: CaseLevels, kept: CaseLevels) -> Iterator[Row]:
        """Making a connection, a statement on a kept one, and as how many of these making one takes."""
        connects, statements = self._times_ms(made), self._times_ms(kept)
        logs = spending.log_quotients(connects, statements)
        if not logs:
            return
        both = sorted(connects.keys() & statements.keys())
        connects, statements = ({block: column[block] for block in both} for column in (connects, statements))
        round_trip_ms, pooling = self._round_trip_ms(made), self.series.pooling
        common = {
            "role": KEPT,
            "case": made,
            "label": spending.treatment_label(made, self.series.study),
            "more": {KEEPING: str(kept.get(WORKLOAD, "")), MEASURED: round_trip_ms},
        }
        yield _row(common, CONNECT, pooling.difference(connects))
        if round_trip_ms > 0:
            yield _row(common, CONNECT_TRIPS, pooling.difference(_over(connects, round_trip_ms)))
        yield _row(common, STATEMENT, pooling.difference(statements))
        yield _row(common, WORTH, pooling.interval(logs))


def _over(values: Logs, divisor: float) -> dict[int, float]:
    return {block: value / divisor for block, value in values.items()}


def _row(common: Mapping[str, Any], figure: Figure, interval: Interval | None, **more: Any) -> Row:
    """A figure of a case; that of a time names what the time is of."""
    outcome, unit = figure
    of = common["more"].get(KIND)
    return Row(outcome=f"{of}: {outcome}" if of else outcome, unit=unit, interval=interval, **common, **more)


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
        if distance is not None and record.is_valid:
            measured = [m.median_ms for m in (distance.before, distance.after) if m is not None]
            found.setdefault(distance.rtt_ms, []).append(fmean(measured))
    return {asked: fmean(measured) for asked, measured in found.items()}


def trend(found: Interval, nothing: float) -> Trend:
    """Whether what should be `nothing` if distance did not matter differs from it."""
    trends: tuple[Trend, ...] = ("inconclusive", "grows", "shrinks")
    return trends[found.side_of(nothing)]


def _steps(series: Series) -> Iterator[Steps]:
    """The cases of every treatment by their distance, the shortest first, in the plan's order."""
    treated = (at for at in spending.first_processes(series) if not series.study.is_baseline(at))
    for several in grouped(treated, lambda levels: levels.without(RTT)).values():
        yield dict(sorted({spending.rtt_of(levels): levels for levels in several}.items()))


class Curve(NamedTuple):
    """One treatment of one server: what it makes of each distance, and how it grows (None of one alone)."""

    points: Mapping[float, RowSet]
    growth: RowSet | None

    @property
    def _first(self) -> Row:
        return next(iter(self.points.values())).rows[0]

    @property
    def case(self) -> CaseLevels:
        """The treatment's levels but for the distance."""
        return self._first.case.without(RTT)

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
        return with_commas(self.server, self.label, self.at_a_time)


def curves_of(told: Iterable[Row]) -> list[Curve]:
    """The curves of a run, from its rows."""
    of_curves = (row for row in told if row.role in {POINT, GROWTH})
    curves = []
    for own in grouped(of_curves, lambda row: (row.case.without(RTT), row.word(KIND))).values():
        growth = [row for row in own if row.role == GROWTH]
        points = _by_distance(row for row in own if row.role == POINT)
        curves.append(Curve(points, RowSet(growth) if growth else None))
    return curves


def _by_distance(rows: Iterable[Row]) -> dict[float, RowSet]:
    by_rtt = grouped(rows, lambda row: spending.rtt_of(row.case))
    return {rtt_ms: RowSet(own) for rtt_ms, own in by_rtt.items()}


Grown = Sequence[tuple[Curve, RowSet]]
"""Curves that grow or shrink over distance, and how."""


def _claimed(claim: GrowthClaim, curves: Sequence[Curve]) -> Iterator[Row]:
    """How a published claim that the cost of encryption grows with distance stands, in either meaning."""
    grown = [(own, own.growth) for own in curves if own.growth is not None and within(own.case, claim.within)]
    for meant, figure, words_of in ((IN_TIME, EXTRA, _in_time), (IN_PROPORTION, CHANGE, _in_proportion)):
        trends = [row.judgement for _, growth in grown if (row := growth.row(*figure)) is not None]
        yield Row(
            role=CLAIM,
            outcome=meant,
            label=claim.says,
            judgement=claim_verdict(trends),
            caveats=(_told(grown, trends, figure, words_of),),
            more={SOURCE: claim.source, CURVES: len(grown)},
        )


def claim_verdict(trends: Sequence[str]) -> ClaimVerdict:
    """What the trends of all curves say of a claim that they grow."""
    if not trends:
        return "inconclusive"
    if all(found == "grows" for found in trends):
        return "held"
    if "grows" in trends:
        return "held in part"
    return "did not hold" if "shrinks" in trends else "inconclusive"


def _told(grown: Grown, trends: Sequence[str], figure: Figure, words_of: Callable[[RowSet], str]) -> str:
    """In how many treatments it grows and shrinks, and those that it does most in."""

    def size(grown: tuple[Curve, RowSet]) -> float:
        change = grown[1].known(*figure)
        return abs(log(change.point)) if figure == CHANGE else change.point

    if not grown:
        return "nothing that was measured bears on it"
    counts = [f"{word} in {trends.count(word)}" for word in ("grows", "shrinks") if word in trends]
    undecided = trends.count("inconclusive")
    parts = [f"of {counted(len(grown), 'treatment')} it {' and '.join(counts)}"] if counts else []
    parts += [f"{undecided} inconclusive"] if undecided else []
    largest = sorted(grown, key=size, reverse=True)
    named = some_of([f"{curve.name}: {words_of(growth)}" for curve, growth in largest], MOST_NAMED)
    return f"{', '.join(parts)} ({'; '.join(named)})"


def _in_time(growth: RowSet) -> str:
    extra, trips, plaintext = (growth.known(*figure) for figure in (EXTRA, EXTRA_TRIPS, PLAINTEXT_TRIPS))
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


def _in_proportion(growth: RowSet) -> str:
    near, far, change = (growth.known(*figure) for figure in (NEAR, FAR, CHANGE))
    near_ms, far_ms = growth.rows[0].number(FROM), growth.rows[0].number(TO)
    limit = growth.row(*LIMIT)
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
    return [said for curve in curves if curve.kind == "connection" and (said := growth_sentence(curve))]


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


def _pools(told: Iterable[Row]) -> dict[tuple[str, str], dict[float, RowSet]]:
    """What kept connections save, by server and treatment, at each distance."""
    kept = (row for row in told if row.role == KEPT)
    pools = grouped(kept, lambda row: (str(row.case.get(SERVER, "")), row.label))
    return {pool: _by_distance(own) for pool, own in pools.items()}


def pool_sentences(told: Iterable[Row]) -> list[str]:
    """For each server, at the longest distance: what a kept connection saves, treatment by treatment."""
    said = []
    for server, pools in grouped(_pools(told).items(), lambda pool: pool[0][0]).items():
        rtt_ms = max(max(at) for _, at in pools)
        costs = [
            f"{label} {number(connect)} ms, as long as {number(worth)} statements"
            for (_, label), at in pools
            if rtt_ms in at
            if (connect := at[rtt_ms].interval(*CONNECT)) and (worth := at[rtt_ms].interval(*WORTH))
        ]
        takes = "; ".join(some_of(costs, MOST_NAMED, "{} more in the table"))
        saves = "a connection that is kept saves making it, which takes"
        said.append(f"{place_words(server, rtt_ms)}, {saves}: {takes}")
    return said


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
        yield _charts(title, own)
    yield Items(tuple(f"{sentence}." for sentence in pool_sentences(told)), SAVED)
    growths = tuple(f"{sentence}." for sentence in _growths(curves))
    if growths:
        yield Folded(GROWTHS, (Items(growths),))


def _charts(title: str, curves: Sequence[Curve]) -> Charts:
    """Times, with plaintext's, and beside them ratios to plaintext; a treatment has one colour in both.

    Plaintext's times are those beside the treatment with most distances.
    """
    longest = max(curves, key=lambda curve: len(curve.points))
    styles = [level_style(curve.label, place) for place, curve in enumerate(curves)]
    both = list(zip(curves, styles, strict=True))
    plaintext = Style("plaintext", palette.BASELINE.light, palette.level_shape(0))
    times = [
        _line(longest, plaintext, PLAINTEXT, "{:.4g} ms".format),
        *(_line(curve, style, TREATED, lambda ms: f"{figures.significant(ms)} ms") for curve, style in both),
    ]
    ratios = [
        _line(curve, style, TIME, lambda ratio: f"{figures.significant(ratio)}{figures.TIMES}")
        for curve, style in both
    ]
    panels = (
        _panel(("Time", "Lower is better."), title, times, ratio=False),
        _panel(("Time against plaintext", "1× is as long as plaintext."), title, ratios, ratio=True),
    )
    return Charts(panels, title, (plaintext, *styles), small=True)


def _line(curve: Curve, style: Style, figure: Figure, said: Callable[[float], str]) -> Line:
    """A figure at each distance. An interval is cut off where it would flatten everything else."""
    known = {rtt_ms: point.interval(*figure) for rtt_ms, point in curve.points.items()}
    points = (
        Point(
            rtt_ms,
            ms.point,
            f"{style.label}, {spending.away(rtt_ms)}: {said(ms.point)}",
            ms.point if ms.low is None else max(ms.low, ms.point / 2),
            ms.point if ms.high is None else min(ms.high, 2 * ms.point),
        )
        for rtt_ms, ms in known.items()
        if ms is not None
    )
    return Line(style, tuple(points))


def _panel(panel: tuple[str, str], title: str, lines: Sequence[Line], *, ratio: bool) -> Panel:
    """Over the round trip time: times from nothing on, ratios on a logarithmic axis."""
    points = [point for line in lines for point in line.points]
    rtts = sorted({point.x for point in points})
    ends = [end for point in points for end in (point.low, point.high) if end is not None]
    span = (rtts[-1] - rtts[0]) or 1.0
    across = {"domain": [rtts[0] - 0.04 * span, rtts[-1] + 0.04 * span]}
    label = "format(datum.value, '~g') + ' ms'"
    scale: dict[str, Any] = {"domain": [0, max(ends) * 1.04]}
    axis: dict[str, Any] = {"tickCount": 5, "labelExpr": MS_LABEL}
    if ratio:
        low, high = min(*ends, 1.0) / 1.05, max(*ends, 1.0) * 1.05
        scale = {"type": "log", "domain": [low, high]}
        axis = {"values": parts.ratio_ticks(low, high), "labelExpr": parts.RATIO_LABEL}
    return curves_panel(
        panel,
        f"{title}: {panel[0].lower()} over the round trip time",
        lines,
        x=quantitative("x", across, values=rtts, labelExpr=label, title="round trip time", grid=False),
        scale=scale,
        axis=axis,
        beside=lambda rtt_ms, place: rtt_ms + place * DODGE * span,
        reference=1 if ratio else None,
    )


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
        return with_commas(of, curve.server, curve.at_a_time)

    return grouped(listed, title)


def distance_tables(curves: Sequence[Curve], told: Iterable[Row]) -> Iterator[Table]:
    """A table for each server and way of working, and one of what kept connections save."""
    nothing = {PLAINTEXT: None, TREATED: None, EXTRA: 0.0, EXTRA_TRIPS: 0.0, TIME: 1.0, RATIO_OF_RATES: 1.0}
    titled = by_title(curves)
    last = list(titled)[-1:]
    for title, own in titled.items():
        lines = [line for curve in own for line in _under(curve.label, curve.points, nothing)]
        notes = (READING,) if title in last else ()
        yield Table(title, HEADS, lines, notes, of="treatment, round trip time")
    never = dict.fromkeys((CONNECT, CONNECT_TRIPS, STATEMENT, WORTH))
    pools = [line for pool, at in _pools(told).items() for line in _under(with_commas(*pool), at, never)]
    if pools:
        yield Table(POOLS, POOL_HEADS, pools, (POOL_READING,), of="treatment, round trip time")


def _under(
    name: str, points: Mapping[float, RowSet], nothing: Mapping[Figure, float | None]
) -> Iterator[tuple[Cell, ...]]:
    """A heading and its lines, each a distance; a single line is its own heading.

    A line has these figures, each with what it is where there is no difference.
    """
    single = len(points) == 1
    if not single:
        yield (name, *[""] * len(nothing))
    for rtt_ms, own in points.items():
        cells = (cell(own.interval(*figure), nothing=of) for figure, of in nothing.items())
        yield (name if single else f"{INDENT}{rtt_ms:.10g} ms", *cells)


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
