"""What distance makes of costs as rows of text, the same for every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tlstax.findings.core.wording import MINUS, alike, capitalised
from tlstax.findings.distance.words import WIDEST, claim_sentences, growth_sentence
from tlstax.results.distance import AtDistance, DistanceCurve, Distances, PoolTime
from tlstax.results.interval import Interval
from tlstax.study import workloads
from tlstax.support.grouping import grouped
from tlstax.topics.core import figures
from tlstax.topics.core.table import INDENT, Table

TITLE = "What distance makes of the costs"
POOLS = "What a connection that is kept saves in time"

OF = {"connection": "Making a connection", "statement": "A statement on a connection that is kept"}
READING = (
    "Medians of a trial, their means over blocks, in ms, with intervals in brackets. Extra: what it adds to "
    "plaintext; in round trips of the measured distance. Time and rate: ratios to plaintext, the rate in "
    f"operations a second. {figures.UNKNOWN}: inconclusive, the interval holds nothing."
)
HEADS = ("plaintext", "treated", "extra", "extra in\nround trips", "time", "rate")
POOL_HEADS = ("connect", "in round\ntrips", "statement", "worth in\nstatements")
POOL_READING = (
    "Making a connection, in ms and in round trips of the measured distance; a statement on one that is "
    "kept, in ms; and as how many such statements making one takes."
)


def distance_tables(found: Distances | None, *, narrow: bool = False) -> Iterator[Table]:
    """A table for each server and way of working; `narrow` ones leave the intervals to other formats."""
    if found is None:
        return
    titled = by_title(found.curves)
    last = list(titled)[-1:]
    for title, curves in titled.items():
        rows = (row for curve in curves for row in _curve_rows(curve, narrow=narrow))
        notes = (READING,) if title in last else ()
        yield Table(title, HEADS, tuple(rows), notes, of="treatment, round trip time")
    if found.pools:
        yield _pools(found.pools, narrow=narrow)


def _curve_rows(curve: DistanceCurve, *, narrow: bool) -> Iterator[tuple[str, ...]]:
    return _under(curve.label, {distance_word(p.rtt_ms): _cells(p, narrow=narrow) for p in curve.points})


def by_title(curves: Iterable[DistanceCurve]) -> dict[str, list[DistanceCurve]]:
    """The curves that stand together, by what they are of: "Making a connection, mysql-9.7, 100 at a time".

    Where there are several workloads of a kind, each is named in its place.
    """
    listed = list(curves)
    varied = Counter(kind for kind, _ in {(curve.kind, curve.workload) for curve in listed})

    def title(curve: DistanceCurve) -> str:
        of = OF[curve.kind]
        if varied[curve.kind] > 1:
            of = capitalised(workloads.in_words(curve.workload))
        return ", ".join(part for part in (of, curve.server, f"{curve.connections} at a time") if part)

    return grouped(listed, title)


def distance_sentences(found: Distances | None) -> list[str]:
    """The claims with their verdicts, then both trends of every connection's curve."""
    if found is None:
        return []
    return [*claim_sentences(found), *filter(None, map(connection_growth, found.curves))]


def connection_growth(curve: DistanceCurve) -> str:
    """Both trends of a connection's curve; empty for one of statements, or of one distance alone."""
    return growth_sentence(curve) if curve.kind == "connection" else ""


def cell(found: Interval | None, *, narrow: bool = False, nothing: float | None = 0.0) -> str:
    """A value and its interval, or as much of it as there is room for.

    What is not told apart from `nothing` is marked; 1 is that of a ratio, None of what is never nothing.
    """
    if found is None:
        return figures.NOTHING
    sign = figures.TIMES if nothing == 1 else ""
    if found.low is None or found.high is None:
        return f"{figures.significant(found.point)}{sign}"
    if found.low > 0 and found.high > WIDEST * found.low:
        return "too wide"
    mark = f"{figures.UNKNOWN} " if nothing is not None and found.low <= nothing <= found.high else ""
    point, low, high = (text.replace("-", MINUS) for text in alike(found.point, found.low, found.high))
    if narrow:
        return f"{mark}{point if mark else figures.significant(found.point)}{sign}"
    return f"{mark}{point}{sign}" if low == high else f"{mark}{point}{sign} [{low} … {high}]"


def distance_word(rtt_ms: float) -> str:
    """A distance as the name of a row: "45 ms"."""
    return f"{rtt_ms:.10g} ms"


def _cells(point: AtDistance, *, narrow: bool) -> tuple[str, ...]:
    return (
        cell(point.plaintext_ms, narrow=narrow, nothing=None),
        cell(point.treated_ms, narrow=narrow, nothing=None),
        cell(point.extra_ms, narrow=narrow),
        cell(point.extra_round_trips, narrow=narrow),
        cell(point.time_ratio, narrow=narrow, nothing=1),
        cell(point.rate_ratio, narrow=narrow, nothing=1),
    )


def _pools(pools: Iterable[PoolTime], *, narrow: bool) -> Table:
    sides: dict[str, dict[str, tuple[str, ...]]] = {}
    for found in pools:
        name = ", ".join(part for part in (found.server, found.label) if part)
        sides.setdefault(name, {})[distance_word(found.rtt_ms)] = (
            cell(found.connect_ms, narrow=narrow, nothing=None),
            cell(found.connect_round_trips, narrow=narrow, nothing=None),
            cell(found.statement_ms, narrow=narrow, nothing=None),
            cell(found.worth, narrow=narrow, nothing=None),
        )
    rows = tuple(row for name, lines in sides.items() for row in _under(name, lines))
    return Table(POOLS, POOL_HEADS, rows, (POOL_READING,), of="treatment, round trip time")


def _under(name: str, lines: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """A heading and its lines; a single line is its own heading."""
    if len(lines) == 1:
        yield (name, *next(iter(lines.values())))
        return
    yield (name, *[""] * len(next(iter(lines.values()), ())))
    for line, cells in lines.items():
        yield (f"{INDENT}{line}", *cells)
