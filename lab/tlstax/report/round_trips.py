"""Round trips and bytes of connects and queries as rows of text, the same for every format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tlstax.connecting import OverDistance, PhaseCrossing, RoundTripsResult, WirePhase
from tlstax.findings.scope import is_large
from tlstax.report import figures
from tlstax.report.overview_text import INDENT, TextTable
from tlstax.results import RunDocument

ROUND_TRIPS = "Round trips: how often the client waits for the server"
BYTES = "Bytes of TCP payload, sent / received"
OVER_DISTANCE = "Connecting over a distance: the time beside the round trips"

NAMES: dict[WirePhase, str] = {
    "connect": "connect",
    "tcp_connect": "TCP",
    "greeting": "greeting",
    "tls_handshake": "TLS",
    "authentication": "authentication",
    "query": "query",
}

DIFFERS = "~"
COUNTED = (
    f"Counted by the client, not timed: a connect is all that stands before it. {DIFFERS} marks a mean over "
    "connections that differ."
)
MOST_ROWS = 12
"""So many lines are shown where room is short; the page, the CSV and the JSON document have all."""


class _Column(NamedTuple):
    head: str
    cell: Callable[[RoundTripsResult], str]


def short_tables(document: RunDocument) -> Iterator[TextTable]:
    """One table, as it is shown beside other results: round trips and bytes of a connect and of a query.

    A study that asks for round trips is told whole.
    """
    if document.design.deciding_outcome.startswith("round_trips_"):
        yield from tables(document)
        return
    if document.round_trips:
        columns = [
            _Column("connect", _turns("connect")),
            _Column("of it TLS", _turns("tls_handshake")),
            _Column("query", _turns("query")),
            _Column("bytes of\na connect", _bytes("connect")),
        ]
        yield _table(ROUND_TRIPS, columns, document.round_trips, _notes(document), most=MOST_ROWS)
    yield from _over_distance(document, most=MOST_ROWS)


def tables(document: RunDocument) -> Iterator[TextTable]:
    """Everything that was counted, phase by phase."""
    if not document.round_trips:
        return
    order: Sequence[WirePhase] = (*(phase for phase in NAMES if phase not in _TOLD_LAST), *_TOLD_LAST)
    turns = [_Column(NAMES[phase], _turns(phase)) for phase in order]
    size = [_Column(NAMES[phase], _bytes(phase)) for phase in order if phase != "tcp_connect"]
    yield _table(ROUND_TRIPS, turns, document.round_trips, _notes(document))
    yield _table(BYTES, size, document.round_trips, ())
    yield from _over_distance(document)


_TOLD_LAST: tuple[WirePhase, ...] = ("connect", "query")
"""The sum of the phases before it, and what follows."""


def _over_distance(document: RunDocument, most: int | None = None) -> Iterator[TextTable]:
    found = [result for result in document.round_trips if result.over_distance is not None]
    if not found:
        return
    columns = [
        _Column("RTT", _away(lambda away: _ms(away.rtt_ms))),
        _Column("connect", _away(lambda away: _ms(away.connect_ms))),
        _Column("in RTTs", _away(lambda away: f"{away.in_round_trips:.2f}")),
        _Column("counted", _turns("connect")),
        _Column("extra", _away(lambda away: _ms(away.extra_ms))),
    ]
    reading = (
        "The median connect beside the round trip time (RTT) measured before each trial. Extra is what it "
        "took beyond its counted round trips: work at both ends, and waiting for windows or acknowledgements."
    )
    yield _table(OVER_DISTANCE, columns, found, (reading,), most=most)


def _table(
    title: str,
    columns: Sequence[_Column],
    results: Sequence[RoundTripsResult],
    notes: tuple[str, ...],
    *,
    most: int | None = None,
) -> TextTable:
    shown = results[:most]
    left = len(results) - len(shown)
    more = (f"{left} more are on the page and in the other formats.",) if left else ()
    return TextTable(
        title=title,
        heads=tuple(column.head for column in columns),
        rows=tuple(_rows(shown, columns)),
        notes=(*notes, *more),
    )


def _rows(results: Iterable[RoundTripsResult], columns: Sequence[_Column]) -> Iterator[tuple[str, ...]]:
    """A line with the group's name before the cases of each."""
    last = ""
    for result in results:
        if result.group != last:
            yield (result.group, *[""] * len(columns))
        last = result.group
        yield (f"{INDENT}{result.label}", *(column.cell(result) for column in columns))


def _turns(phase: WirePhase) -> Callable[[RoundTripsResult], str]:
    def cell(result: RoundTripsResult) -> str:
        found = result.of(phase)
        return figures.NOTHING if found is None else _turns_of(found)

    return cell


def _turns_of(found: PhaseCrossing) -> str:
    return f"{found.round_trips:.0f}" if found.agreed else f"{DIFFERS}{found.round_trips:.2f}"


def _bytes(phase: WirePhase) -> Callable[[RoundTripsResult], str]:
    def cell(result: RoundTripsResult) -> str:
        found = result.of(phase)
        if found is None:
            return figures.NOTHING
        both = f"{found.bytes_sent:,.0f} / {found.bytes_received:,.0f}"
        return both if found.bytes_agreed else f"{DIFFERS}{both}"

    return cell


def _away(said: Callable[[OverDistance], str]) -> Callable[[RoundTripsResult], str]:
    def cell(result: RoundTripsResult) -> str:
        return figures.NOTHING if result.over_distance is None else said(result.over_distance)

    return cell


def _ms(value: float) -> str:
    return f"{value:.1f} ms"


def _notes(document: RunDocument) -> tuple[str, ...]:
    """How to read it, and which cases met a HelloRetryRequest in every handshake."""
    retried = [result for result in document.round_trips if result.hello_retry]
    if not retried:
        return (COUNTED,)
    if is_large(document.design) or len(retried) > MOST_ROWS:
        named = f"{len(retried)} cases"
    else:
        named = "; ".join(dict.fromkeys(result.label for result in retried))
    return (COUNTED, f"Every handshake met a HelloRetryRequest, a round trip more: {named}.")
