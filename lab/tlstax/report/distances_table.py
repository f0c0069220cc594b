"""What distance makes of costs as rows of text, the same for every format. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tlstax.explained import Amount
from tlstax.findings.distances_words import WIDEST, away, claim_sentences, growth_sentence
from tlstax.findings.wording import alike, counted
from tlstax.reached import AtDistance, DistanceCurve, Distances, PoolTime
from tlstax.report import figures
from tlstax.report.overview_text import INDENT, TextTable

TITLE = "What distance makes of the costs"
POOLS = "What a connection that is kept saves in time"

OF = {"connection": "Making a connection", "statement": "A statement on a connection that is kept"}
READING = (
    "Medians of a trial, their means over blocks, in ms, with intervals in brackets. Extra: what it adds to "
    "plaintext; in round trips of the measured distance. Time and rate: ratios to plaintext, the rate in "
    "operations a second."
)
HEADS = ("plaintext", "so", "extra", "extra in\nround trips", "time", "rate")
POOL_HEADS = ("connect", "in round\ntrips", "statement", "worth in\nstatements")
POOL_READING = (
    "Making a connection, in ms and in round trips of the measured distance; a statement on one that is "
    "kept, in ms; and as how many such statements making one takes."
)


def distance_tables(found: Distances | None, *, narrow: bool = False) -> Iterator[TextTable]:
    """A table for each server and way of working; `narrow` ones leave the intervals to other formats."""
    if found is None:
        return
    sides: dict[tuple[str, str, int], list[DistanceCurve]] = {}
    for curve in found.curves:
        sides.setdefault((curve.server, curve.kind, curve.connections), []).append(curve)
    for (server, kind, connections), curves in sides.items():
        at_once = counted(connections, "connection")
        title = ", ".join(part for part in (OF[kind], server, at_once) if part)
        rows = (
            row
            for curve in curves
            for row in _under(curve.label, {away(p.rtt_ms): _cells(p, narrow=narrow) for p in curve.points})
        )
        yield TextTable(title, HEADS, tuple(rows), (READING,), of="treatment, distance")
    if found.pools:
        yield _pools(found.pools, narrow=narrow)


def distance_sentences(found: Distances | None) -> list[str]:
    """The claims with their verdicts, then both trends of every connection's curve."""
    if found is None:
        return []
    curves = (curve for curve in found.curves if curve.kind == "connection")
    return [*claim_sentences(found), *filter(None, map(growth_sentence, curves))]


def cell(found: Amount | None, *, narrow: bool = False, times: bool = False) -> str:
    """A value and its interval, or as much of it as there is room for; `times` marks a ratio."""
    if found is None:
        return figures.NOTHING
    sign = figures.TIMES if times else ""
    if found.low is None or found.high is None:
        return f"{figures.significant(found.point)}{sign}"
    if found.low > 0 and found.high > WIDEST * found.low:
        return "too wide"
    if narrow:
        return f"{figures.significant(found.point)}{sign}"
    point, low, high = (
        text.replace("-", figures.MINUS) for text in alike(found.point, found.low, found.high)
    )
    return f"{point}{sign}" if low == high else f"{point}{sign} [{low} … {high}]"


def _cells(point: AtDistance, *, narrow: bool) -> tuple[str, ...]:
    return (
        cell(point.plaintext_ms, narrow=narrow),
        cell(point.treated_ms, narrow=narrow),
        cell(point.extra_ms, narrow=narrow),
        cell(point.extra_round_trips, narrow=narrow),
        cell(point.time_ratio, narrow=narrow, times=True),
        cell(point.rate_ratio, narrow=narrow, times=True),
    )


def _pools(pools: Iterable[PoolTime], *, narrow: bool) -> TextTable:
    sides: dict[str, dict[str, tuple[str, ...]]] = {}
    for found in pools:
        name = ", ".join(part for part in (found.server, found.label) if part)
        sides.setdefault(name, {})[away(found.rtt_ms)] = (
            cell(found.connect_ms, narrow=narrow),
            cell(found.connect_round_trips, narrow=narrow),
            cell(found.statement_ms, narrow=narrow),
            cell(found.worth, narrow=narrow),
        )
    rows = tuple(row for name, lines in sides.items() for row in _under(name, lines))
    return TextTable(POOLS, POOL_HEADS, rows, (POOL_READING,), of="treatment, distance")


def _under(name: str, lines: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """A heading and its lines; a single line is its own heading."""
    if len(lines) == 1:
        yield (name, *next(iter(lines.values())))
        return
    yield (name, *[""] * len(next(iter(lines.values()), ())))
    for line, cells in lines.items():
        yield (f"{INDENT}{line}", *cells)
