"""Round trips and bytes of connects and queries as rows of text, the same for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tlstax.findings.connect.words import asks_for_counts
from tlstax.findings.core.outcomes import is_large
from tlstax.results.connect import OverDistance, PhaseCrossing, RoundTripsResult, WirePhase
from tlstax.results.document import RunDocument
from tlstax.support.grouping import grouped
from tlstax.topics.core import figures
from tlstax.topics.core.lines import MOST_ROWS, Line, Lines
from tlstax.topics.core.table import Table

ROUND_TRIPS = "Round trips: how often the client waits for the server"
BYTES = "Bytes of TCP payload, sent / received"
OVER_DISTANCE = "Connecting over a distance: the time beside the round trips"

NAMES: dict[WirePhase, str] = {
    "connect": "connect",
    "tcp_connect": "TCP",
    "greeting": "greeting",
    "tls_handshake": "TLS",
    "authentication": "login",
    "query": "query",
}

_ORDER: tuple[WirePhase, ...] = (
    "tcp_connect",
    "greeting",
    "tls_handshake",
    "authentication",
    "connect",
    "query",
)
"""The parts of a connect, the whole of it, and what follows."""

DIFFERS = "~"
COUNTED = (
    f"Counted by the client, not timed. {DIFFERS} marks a mean over connections that differ; bytes are of "
    "TCP payload, sent / received."
)


class _Column(NamedTuple):
    head: str
    cell: Callable[[RoundTripsResult], str]


def short_tables(document: RunDocument) -> Iterator[Table]:
    """As it is shown beside other results: round trips and bytes of a connect and of a query.

    A study that asks for round trips has all of them.
    """
    columns = [
        _Column("connect", _turns("connect")),
        _Column("of it TLS", _turns("tls_handshake")),
        _Column("query", _turns("query")),
        _Column("bytes of\na connect", _bytes("connect")),
    ]
    most: int | None = MOST_ROWS
    if asks_for_counts(document):
        most, columns = None, [*(_Column(NAMES[phase], _turns(phase)) for phase in _ORDER), columns[-1]]
    if document.round_trips:
        yield from _lines(ROUND_TRIPS, columns, document.round_trips, _notes(document)).by_group(most)
    for lines in _over_distance(document):
        yield from lines.by_group(most)


def every_line(document: RunDocument) -> Iterator[Lines]:
    """Everything that was counted, phase by phase."""
    if not document.round_trips:
        return
    turns = [_Column(NAMES[phase], _turns(phase)) for phase in _ORDER]
    size = [_Column(NAMES[phase], _bytes(phase)) for phase in _ORDER if phase != "tcp_connect"]
    yield _lines(ROUND_TRIPS, turns, document.round_trips, _notes(document))
    yield _lines(BYTES, size, document.round_trips, ())
    yield from _over_distance(document)


def _over_distance(document: RunDocument) -> Iterator[Lines]:
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
    yield _lines(OVER_DISTANCE, columns, found, (reading,))


def _lines(
    title: str, columns: Sequence[_Column], results: Sequence[RoundTripsResult], notes: tuple[str, ...]
) -> Lines:
    return Lines(
        title=title,
        heads=tuple(column.head for column in columns),
        lines=tuple(
            Line(result.group, result.label, tuple(column.cell(result) for column in columns))
            for result in results
        ),
        notes=notes,
    )


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
    return figures.quantity(value * 1e3, "us")


def _notes(document: RunDocument) -> tuple[str, ...]:
    """How to read it, and which cases met a HelloRetryRequest in every handshake."""
    retried = [result for result in document.round_trips if result.hello_retry]
    if not retried:
        return (COUNTED,)
    if is_large(document.design) or len(retried) > MOST_ROWS:
        named = f"{len(retried)} cases"
    else:
        several = len({result.group for result in document.round_trips}) > 1
        named = "; ".join(
            f"{f'{group}: ' if several else ''}{'; '.join(result.label for result in of_group)}"
            for group, of_group in grouped(retried, lambda result: result.group).items()
        )
    return (COUNTED, f"Every handshake met a HelloRetryRequest, a round trip more: {named}.")
