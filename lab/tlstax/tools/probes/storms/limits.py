"""The highest storm, or rate, that a server takes: its rows, the same in sentences, and their table.

A row of the role "limit" has the highest load that does as its value (none where none did), and one of the
role "try" a load that was tried, both in the unit of what is sought: connections at once, or a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from tlstax.results.bench import BenchDocument
from tlstax.results.rows import Row, Told
from tlstax.stats.wording import percent
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Items, Section
from tlstax.topics.core.table import Cell, Number, Table
from tlstax.topics.core.topic import TopicOf

Sought = Literal["connections", "connections_per_s"]

LIMIT, TRY = "limit", "try"

BUSY = 0.9
"""From here on the client may be what limits."""

TITLES: dict[str, str] = {
    "connections": "The largest storm on {server} of which {share} are up within {within}",
    "connections_per_s": (
        "The highest rate of new connections on {server} at which {share} are up within {within}"
    ),
}
HEADS: dict[str, tuple[str, str]] = {
    "connections": ("connections", "too many"),
    "connections_per_s": ("a second", "too fast"),
}
UNITS: dict[str, str] = {"connections": "connections", "connections_per_s": "connections a second"}
LOADS: dict[str, str] = {"connections": "the largest storm", "connections_per_s": "the highest rate"}

READINGS: dict[str, str] = {
    "connections": "A connection is up when the server has let it in.",
    "connections_per_s": (
        "Each rate lasts {lasting}. A connection is due at its time whatever the server does, is up when the "
        "server has let it in, and is closed then; a rate at which they fall further and further behind is "
        "too fast."
    ),
}
VERDICTS = (
    "There is a verdict when more than half of all tries of that load would do, or would not, with "
    "{confidence} confidence: five of five are enough, or eight of nine."
)
VARIABLES = ("back_log", "max_connections", "thread_cache_size", "thread_handling")
"""What a server has for storms, by its own names (reference manual, "Server System Variables")."""


def sentences(_: object, rows: Sequence[Row]) -> Iterator[str]:
    """Between what a limit lies that was not found, and where the client may be the limit."""
    limits = [row for row in rows if row.role == LIMIT]
    yield from (_open(row) for row in limits if not row.more["is_found"])
    for row in limits:
        share = row.number("client_share") or 0
        if share > BUSY:
            used = f"the client used {percent(share)} of a core in {LOADS[row.outcome]}"
            yield f"{row.label}: {used}, so it may be the limit."


def _open(row: Row) -> str:
    unit, highest, too_high = UNITS[row.outcome], row.value, row.number("too_high")
    if highest is None and too_high is None:
        where = "nothing is known of its limit"
    elif too_high is None:
        where = f"its limit is {highest:,.0f} {unit} or more"
    elif highest is None:
        where = f"its limit is less than {too_high:,.0f} {unit}"
    else:
        where = f"its limit is from {highest:,.0f} to {too_high:,.0f} {unit}"
    return f"{row.label}: {where}; the search had not come to its end."


def sections(told: Told, document: BenchDocument) -> Iterator[Section]:
    """A line for each kind of connection, what is not known of it, and what the server has for storms."""
    sought, facts = str(document.facts["sought"]), document.facts
    title = TITLES[sought].format(
        server=f"{facts['server']} ({facts['server_version']})",
        share=percent(document.fact("share")),
        within=f"{facts['within_s']:g} s",
    )
    heads = (*HEADS[sought], "came up a second", "client busy")
    rows = [(row.label, *_cells(row)) for row in told.of(role=LIMIT)]
    reading = f"{READINGS[sought]} {VERDICTS}".format(
        confidence=percent(document.fact("confidence")), lasting=f"{facts['lasting_s'] or 0:g} s"
    )
    known = ", ".join(f"{name} {facts[name]}" for name in VARIABLES if name in facts)
    texts = (*told.sentences, f"The server has {known}.", *document.caveats)
    table = Table("", heads, rows, (reading,), of="connection")
    yield Section((table, Items(texts, all_of_them=True)), title)


_whole = partial(Number, said="{:,.0f}".format)


def _cells(row: Row) -> tuple[Cell, ...]:
    if row.more["is_refused"]:
        return "not taken", "", "", ""
    is_found, too_high = row.more["is_found"], row.number("too_high")
    none, above = ("none", "not tried") if is_found else ("?", "?")
    return (
        none if row.value is None else _whole(row.value),
        above if too_high is None else _whole(too_high),
        _whole(row.number("achieved_per_s")),
        Number(row.number("client_share"), said=percent),
    )


def _as_they_are(rows: Iterable[Row]) -> Iterable[Row]:
    return rows


COLUMNS = (
    Column(
        "too_high",
        "INTEGER",
        "the next higher load that was tried and did not, or was left undecided; empty: none was",
        "connections, or connections a second",
    ),
    Column("is_refused", "INTEGER", "whether the server does not take that version of TLS"),
    Column(
        "is_found",
        "INTEGER",
        "whether the search came to its end: both are close, the lowest does not, or the highest does",
    ),
    Column(
        "achieved_per_s",
        "REAL",
        "how many came up a second in the last try of the highest",
        "connections a second",
    ),
    Column(
        "client_share",
        "REAL",
        "how busy the client's busiest thread was then: near 1 the client is the limit, not the server",
        "1",
    ),
    Column("tries", "INTEGER", "how often the load was tried"),
    Column("did", "INTEGER", "in how many its connections were up in time; `judgement` has the verdict"),
)

FACTS = (
    Column("sought", "TEXT", "connections, or connections_per_s: connections at once, or new ones a second"),
    Column("server", "TEXT", "the server's name"),
    Column("server_version", "TEXT", "the version that it says of itself"),
    Column("within_s", "REAL", "within what time of when they were due connections have to be up", "seconds"),
    Column("share", "REAL", "how many of them", "1"),
    Column("confidence", "REAL", "a verdict is wrong with a probability of 1 less this at the most", "1"),
    Column("budget_s", "REAL", "when the search ends at the latest", "seconds"),
    Column("lasting_s", "REAL", "how long each rate lasts; null for storms", "seconds"),
    Column("at_once", "INTEGER", "how many connections of a rate are in the making at most; null for storms"),
    Column(
        "promised",
        "INTEGER",
        "how many connections at once an external server was promised, which bounds the loads; else null",
    ),
    *(Column(name, "TEXT", "the server's variable of this name") for name in VARIABLES),
)

TOPIC = TopicOf(
    "storm",
    "The highest load of new connections that a server takes in time",
    _as_they_are,
    sections,
    sentences,
    COLUMNS,
)
