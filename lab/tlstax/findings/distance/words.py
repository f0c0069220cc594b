"""What distance makes of costs, in sentences; and verdicts on claims that they grow with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, log10

from tlstax.findings.core.wording import MINUS, alike
from tlstax.results.distance import (
    ClaimResult,
    DistanceCurve,
    Distances,
    Growth,
    PoolTime,
    Trend,
)
from tlstax.results.interval import ClaimVerdict, Interval
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, some_of

MOST_NAMED = 3
"""So many curves are named in a sentence, those with the largest effect first."""

WIDEST = 10.0
"""An interval over more than this factor shows nothing."""


def claim_verdict(trends: Sequence[Trend]) -> ClaimVerdict:
    """What the trends of all curves say of a claim that they grow."""
    if not trends:
        return "inconclusive"
    if all(found == "grows" for found in trends):
        return "held"
    if "grows" in trends:
        return "held in part"
    return "did not hold" if "shrinks" in trends else "inconclusive"


def claim_in_time(curves: Sequence[DistanceCurve]) -> str:
    """The claim as one of the time that a connection takes."""
    return _told(curves, lambda growth: growth.in_time, _in_time, lambda g: abs(g.extra_ms.point))


def claim_in_proportion(curves: Sequence[DistanceCurve]) -> str:
    """The claim as one of the share of all connections a second that is lost."""
    return _told(
        curves, lambda growth: growth.in_proportion, _in_proportion, lambda g: abs(log(g.change.point))
    )


def claim_sentences(found: Distances) -> list[str]:
    """Each claim with both verdicts on it, a sentence each."""
    sentences = (sentence for claim in found.claims for _, _, sentence in both_ways(claim))
    return [": ".join(pair) for pair in zip(claim_verdicts(found), sentences, strict=True)]


def claim_verdicts(found: Distances) -> list[str]:
    """Each claim with both verdicts on it, without what they rest on."""
    return [
        f"“{claim.says}” ({claim.source}), taken as {meant}: {verdict}"
        for claim in found.claims
        for meant, verdict, _ in both_ways(claim)
    ]


def both_ways(claim: ClaimResult) -> tuple[tuple[str, ClaimVerdict, str], ...]:
    """The two things that a claim may mean, the verdict on each and what it rests on."""
    return (
        ("time per connection", claim.in_time, claim.in_time_sentence),
        ("a share of the rate", claim.in_proportion, claim.in_proportion_sentence),
    )


def growth_sentence(curve: DistanceCurve) -> str:
    """Both trends of one curve; empty where it has one distance alone."""
    growth = curve.growth
    if growth is None:
        return ""
    return f"{curve_name(curve)}: {_in_time(growth)}; {_in_proportion(growth)}"


def pool_sentences(found: Distances) -> list[str]:
    """For each server, at the longest distance: what a kept connection saves, treatment by treatment."""
    sides = grouped(found.pools, lambda pool: pool.server)
    return [
        _saved([p for p in pools if p.rtt_ms == max(q.rtt_ms for q in pools)]) for pools in sides.values()
    ]


def _saved(pools: Sequence[PoolTime]) -> str:
    first = pools[0]
    costs = [
        f"{pool.label} {number(pool.connect_ms)} ms, as long as {number(pool.worth)} statements"
        for pool in pools
    ]
    takes = "; ".join(some_of(costs, MOST_NAMED, "{} more in the table"))
    place = ", ".join(part for part in (first.server, away(first.rtt_ms)) if part)
    return f"{place}, a connection that is kept saves making it, which takes: {takes}"


def curve_name(curve: DistanceCurve) -> str:
    """The server, the treatment, and how many at a time: "mysql-9.7, TLS 1.3, 100 at a time"."""
    parts = (curve.server, curve.label, f"{curve.connections} at a time")
    return ", ".join(part for part in parts if part)


def away(rtt_ms: float) -> str:
    """How far apart client and server are: "45 ms away"."""
    return f"{rtt_ms:.10g} ms away" if rtt_ms else "on the same machine"


def number(found: Interval) -> str:
    """A value and its interval: "2.03 (2.01 to 2.05)"."""
    if found.low is None or found.high is None:
        return f"{alike(found.point)[0]} (one block alone)"
    if found.low > 0 and found.high > WIDEST * found.low:
        return "a number that is not known to a factor of ten of"
    point, low, high = (text.replace("-", MINUS) for text in _alike(found))
    return point if point == low == high else f"{point} ({low} to {high})"


def _alike(found: Interval) -> list[str]:
    """To three digits at most where the interval is narrower than that."""
    values = [found.point, *(end for end in (found.low, found.high) if end is not None)]
    largest = max(abs(value) for value in values)
    if max(values) - min(values) < largest / 200:
        decimals = max(0, 2 - int(log10(largest))) if largest >= 1 else 2
        return [f"{value:.{decimals}f}" for value in values]
    return alike(*values)


def _in_time(growth: Growth) -> str:
    ends = f"from {growth.from_ms:.10g} to {growth.to_ms:.10g} ms"
    if growth.in_time == "inconclusive":
        return f"{ends} what it adds changes by {number(growth.extra_ms)} ms, which is inconclusive"
    more = "more" if growth.in_time == "grows" else "less"
    size, trips = growth.extra_ms, growth.round_trips
    if growth.in_time != "grows":
        size, trips = -size, -trips
    return (
        f"{ends} what it adds becomes {number(size)} ms {more}, {number(trips)} round trips beside the "
        f"{number(growth.plaintext_round_trips)} of plaintext"
    )


def _in_proportion(growth: Growth) -> str:
    limit = f"; round trips alone would make it {growth.limit_times:.2f}" if growth.limit_times else ""
    word = {
        "grows": "the loss grows",
        "shrinks": "the loss shrinks",
        "inconclusive": "whether the loss changes is inconclusive",
    }[growth.in_proportion]
    return (
        f"{word}: plaintext does {number(growth.near_times)} times as many a second at {growth.from_ms:.10g} "
        f"ms and {number(growth.far_times)} times as many at {growth.to_ms:.10g} ms{limit}"
    )


def _told(
    curves: Sequence[DistanceCurve],
    trend_of: Callable[[Growth], Trend],
    words_of: Callable[[Growth], str],
    size_of: Callable[[Growth], float],
) -> str:
    grown = [(curve, curve.growth) for curve in curves if curve.growth is not None]
    if not grown:
        return "nothing that was measured bears on it"
    trends = [trend_of(growth) for _, growth in grown]
    counts = [f"{word} in {trends.count(word)}" for word in ("grows", "shrinks") if word in trends]
    undecided = trends.count("inconclusive")
    parts = [f"of {counted(len(grown), 'treatment')} it {' and '.join(counts)}"] if counts else []
    parts += [f"{undecided} inconclusive"] if undecided else []
    largest = sorted(grown, key=lambda pair: -size_of(pair[1]))
    named = some_of([f"{curve_name(curve)}: {words_of(growth)}" for curve, growth in largest], MOST_NAMED)
    return f"{', '.join(parts)} ({'; '.join(named)})"
