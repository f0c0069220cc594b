"""What distance makes of costs: connecting and statements over the round trip time, reported both ways. Pure.

A treatment that needs k more round trips than plaintext, which needs n, adds k round trip times to a
connection: in time its cost grows with the distance. What it takes of the connections a second need not:
nearby, CPU time decides, far away the round trips alone, (n + k) / n. A claim that "the overhead grows"
leaves open which of the two is meant, so both are given. Differences and ratios are taken within blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tlstax.findings.core.series import LADDER, Frozen, Logs, Series, difference, frozen
from tlstax.findings.distance import spending, words
from tlstax.findings.distance.spending import CONNECT_US, OPERATION_US, RATE, RTT, SERVER, WORKLOAD
from tlstax.records.trial import TrialRecord
from tlstax.results.distance import AtDistance, ClaimResult, DistanceCurve, Distances, Growth, PoolTime, Trend
from tlstax.results.interval import Interval
from tlstax.study import GrowthClaim, Level, Levels, within
from tlstax.study.needs import needs_distance

Steps = dict[float, dict[str, Level]]
"""The cases of one treatment by their distance."""


@dataclass(frozen=True)
class Teller:
    """Tells what distances cost. `round_trips_ms` maps a distance as asked for to what was measured of it."""

    series: Series
    round_trips_ms: Mapping[float, float]

    def curve(self, steps: Steps) -> DistanceCurve | None:
        """A treatment over its distances; None where nothing of it can be compared."""
        points = {rtt: point for rtt, levels in steps.items() if (point := self._point(levels)) is not None}
        if not points:
            return None
        first = steps[next(iter(points))]
        return DistanceCurve(
            kind="connection" if spending.makes_connections(first, self.series.study) else "statement",
            server=str(first.get(SERVER, "")),
            label=spending.treatment_label(first, self.series.study),
            workload=str(first.get(WORKLOAD, "")),
            connections=int(first.get(LADDER, 1)),
            case=dict(frozen(first, RTT)),
            baseline=dict(frozen(self.series.own_baseline(first), RTT)),
            points=tuple(points.values()),
            growth=self._growth({rtt: steps[rtt] for rtt in points}) if len(points) > 1 else None,
        )

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

    def _point(self, levels: Levels) -> AtDistance | None:
        treated, plain = self._times_ms(levels), self._times_ms(self.series.own_baseline(levels))
        extra, slowdowns = difference(treated, plain), self._slowdown_logs(levels)
        times = spending.log_quotients(treated, plain)
        if not extra or not slowdowns or not times:
            return None
        round_trip_ms = self._round_trip_ms(levels)
        return AtDistance(
            rtt_ms=spending.rtt_of(levels),
            round_trip_ms=round_trip_ms,
            plaintext_ms=self._mean({block: plain[block] for block in extra}),
            treated_ms=self._mean({block: treated[block] for block in extra}),
            extra_ms=self._mean(extra),
            plaintext_round_trips=self._in_round_trips({b: plain[b] for b in extra}, round_trip_ms),
            extra_round_trips=self._in_round_trips(extra, round_trip_ms),
            time_ratio=self.series.pooling.interval(times),
            rate_ratio=self.series.pooling.interval({b: -value for b, value in slowdowns.items()}),
        )

    def _growth(self, steps: Steps) -> Growth | None:
        """From the shortest distance to the longest; None where no block has both."""
        near, far = steps[min(steps)], steps[max(steps)]
        plain = {at: self._times_ms(self.series.own_baseline(steps[at])) for at in (min(steps), max(steps))}
        extra = [
            difference(self._times_ms(levels), plain[at])
            for at, levels in ((min(steps), near), (max(steps), far))
        ]
        grown = difference(extra[1], extra[0])
        longer = difference(plain[max(steps)], plain[min(steps)])
        slow_near, slow_far = self._slowdown_logs(near), self._slowdown_logs(far)
        changes = difference(slow_far, slow_near)
        apart_ms = self._round_trip_ms(far) - self._round_trip_ms(near)
        if not grown or not changes or apart_ms <= 0:
            return None
        extra_ms, change = self._mean(grown), self.series.pooling.interval(changes)
        k = self._mean({block: value / apart_ms for block, value in grown.items()})
        n = self._mean({block: longer[block] / apart_ms for block in grown})
        return Growth(
            from_ms=min(steps),
            to_ms=max(steps),
            extra_ms=extra_ms,
            round_trips=k,
            plaintext_round_trips=n,
            in_time=trend(extra_ms, 0.0),
            near_times=self.series.pooling.interval(slow_near),
            far_times=self.series.pooling.interval(slow_far),
            change=change,
            limit_times=(n.point + k.point) / n.point if n.point > 0 else None,
            in_proportion=trend(change, 1.0),
        )

    def _mean(self, values: Logs) -> Interval:
        return self.series.pooling.difference(values)

    def _in_round_trips(self, values_ms: Logs, round_trip_ms: float) -> Interval | None:
        if round_trip_ms <= 0:
            return None
        return self._mean({block: value / round_trip_ms for block, value in values_ms.items()})

    def pools(self) -> Iterator[PoolTime]:
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
                if beside is not None and (found := self._pool(levels, beside)) is not None:
                    yield found

    def _pool(self, made: Levels, kept: Levels) -> PoolTime | None:
        connects, statements = self._times_ms(made), self._times_ms(kept)
        logs = spending.log_quotients(connects, statements)
        if not logs:
            return None
        both = sorted(connects.keys() & statements.keys())
        round_trip_ms = self._round_trip_ms(made)
        return PoolTime(
            server=str(made.get(SERVER, "")),
            label=spending.treatment_label(made, self.series.study),
            rtt_ms=spending.rtt_of(made),
            made=str(made.get(WORKLOAD, "")),
            kept=str(kept.get(WORKLOAD, "")),
            connect_ms=self._mean({block: connects[block] for block in both}),
            connect_round_trips=self._in_round_trips({b: connects[b] for b in both}, round_trip_ms),
            statement_ms=self._mean({block: statements[block] for block in both}),
            worth=self.series.pooling.interval(logs),
        )


def distances(series: Series, records: Iterable[TrialRecord]) -> Distances | None:
    """All that a run shows of distances; None for a study without any, or of something else than TLS.

    What distance does to other differences stands with those.
    """
    study = series.study
    if not needs_distance(study) or study.baseline.get("tls") != "off":
        return None
    teller = Teller(series, measured_round_trips_ms(records))
    curves = tuple(curve for steps in _steps(series) if (curve := teller.curve(steps)) is not None)
    return Distances(
        curves=curves,
        pools=tuple(teller.pools()),
        claims=tuple(_claimed(claim, curves) for claim in study.growth_claims),
    )


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


def _claimed(claim: GrowthClaim, curves: Sequence[DistanceCurve]) -> ClaimResult:
    grown = [c for c in curves if c.growth is not None and within(c.case, claim.within)]
    times = [(curve, curve.growth.in_time) for curve in grown if curve.growth is not None]
    shares = [(curve, curve.growth.in_proportion) for curve in grown if curve.growth is not None]
    return ClaimResult(
        says=claim.says,
        source=claim.source,
        in_time=words.claim_verdict([trend for _, trend in times]),
        in_time_sentence=words.claim_in_time(grown),
        in_proportion=words.claim_verdict([trend for _, trend in shares]),
        in_proportion_sentence=words.claim_in_proportion(grown),
        curves=len(grown),
    )
