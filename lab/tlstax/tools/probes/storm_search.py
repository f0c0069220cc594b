"""The highest load that still does, found by steps and by halving, and how that is shown. Pure.

A try is one storm, or some seconds at one rate; it either does (99 % of its connections were up in time) or
does not. A load does when more than half of all tries of it would. Tries are independent, connections of one
try are not, so tries are what is counted, by the binomial test of a half. It is looked at after each try, and
every look may be wrong: with `LOOK` for each, the probability that a load which does half of the time gets a
verdict "does" in any of at most `MOST_TRIES` looks is 4.8 % (an enumeration of all outcomes, in the tests),
and so is that of "does not". Five of five are enough, or eight of nine, or ten of twelve. A load that can get
neither verdict any more is left: it lies at the limit itself, and counts as too high.

A row of the role "limit" has the highest load that does as its value (none where none did), and one of the
role "try" a load that was tried, both in the unit of what is sought: connections at once, or a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from math import comb, log, log2
from typing import Literal, NamedTuple

from tlstax.results.document import BenchDocument
from tlstax.results.rows import Row, Told
from tlstax.stats.wording import percent
from tlstax.study.level_names import path_words
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
        share, of_path = row.number("client_share") or 0, row.number("path_share") or 0
        if of_path > BUSY:
            used = f"the path's programs used {percent(of_path)} of a core in {LOADS[row.outcome]}"
            yield f"{row.label}: {used}."
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
        server=f"{facts['server']} ({facts['server_version']}){_way(document)}",
        share=percent(document.fact("share")),
        within=f"{facts['within_s']:g} s",
    )
    heads = (*HEADS[sought], "came up a second", "client busy", *(["path busy"] if facts.get("path") else []))
    rows = [(row.label, *_cells(row)[: len(heads)]) for row in told.of(role=LIMIT)]
    reading = f"{READINGS[sought]} {VERDICTS}".format(
        confidence=percent(document.fact("confidence")), lasting=f"{facts['lasting_s'] or 0:g} s"
    )
    known = ", ".join(f"{name} {facts[name]}" for name in VARIABLES if name in facts)
    texts = (*told.sentences, f"The server has {known}.", *document.caveats)
    table = Table("", heads, rows, (reading,), of="connection")
    yield Section((table, Items(texts, all_of_them=True)), title)


def _way(document: BenchDocument) -> str:
    """What its connections go through, to follow the server's name; nothing where they go directly."""
    path = document.facts.get("path")
    return f", {path_words(str(path))}," if path else ""


_whole = partial(Number, said="{:,.0f}".format)


def _cells(row: Row) -> tuple[Cell, ...]:
    if row.more["is_refused"]:
        return "not taken", "", "", "", ""
    is_found, too_high = row.more["is_found"], row.number("too_high")
    none, above = ("none", "not tried") if is_found else ("?", "?")
    return (
        none if row.value is None else _whole(row.value),
        above if too_high is None else _whole(too_high),
        _whole(row.number("achieved_per_s")),
        Number(row.number("client_share"), said=percent),
        Number(row.number("path_share"), said=percent),
    )


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
    Column(
        "path_share",
        "REAL",
        "how busy the programs between client and server were then, in processors; PgBouncer has one thread",
        "cores",
    ),
    Column("tries", "INTEGER", "how often the load was tried"),
    Column("did", "INTEGER", "in how many its connections were up in time; `judgement` has the verdict"),
)

FACTS = (
    Column("sought", "TEXT", "connections, or connections_per_s: connections at once, or new ones a second"),
    Column("server", "TEXT", "the server's name"),
    Column("server_version", "TEXT", "the version that it says of itself"),
    Column("path", "TEXT", "the path that connections went through; null where they went directly"),
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

TOPIC = TopicOf[Iterable[Row], BenchDocument](
    "storm",
    "The highest load of new connections that a server takes in time",
    list,
    sections,
    sentences,
    COLUMNS,
)


CONFIDENCE = 0.95
LOOK = 0.032
MOST_TRIES = 12

FINE = 1.06
"""Loads between the highest that does and the lowest that does not are halved until they differ by 6 %."""

FIRST_STEP, LARGEST_STEP = 1.25, 4.0
"""From the first load to the next, either way. A guess that was far off is left behind soon: each further
step is the square of the one before."""

FEWEST_TRIES = 5
"""No load gets a verdict of fewer."""

USUAL_TRIES = 7
"""How many tries a load takes that is near the limit, for the time that is left."""


Verdict = Literal["does", "does not", "undecided"]


class Tried(NamedTuple):
    """A load that was tried: of `tries` times its connections were up in time `did` times.

    The verdict is "undecided" as well where the search ended before there was another.
    """

    load: int
    tries: int
    did: int
    verdict: Verdict


class Search:
    """The search for one kind of connection: `next_load` says what to try, `note` what came of it.

    What is known grows with each try, so that it can be ended at any time.
    """

    def __init__(self, lowest: int, most: int, guess: int) -> None:
        """`lowest` and `most` are the loads that may be tried, `guess` is about where the limit is.

        The first try is a step below it: a load at the limit itself takes the most tries.
        """
        self._lowest, self._most = lowest, most
        self._start = min(most, max(lowest, round(guess / FIRST_STEP)))
        self._did: dict[int, list[bool]] = {}

    @property
    def tried(self) -> tuple[Tried, ...]:
        """What was tried, in its order."""
        return tuple(
            Tried(load=load, tries=len(did), did=sum(did), verdict=verdict_of(sum(did), len(did)))
            for load, did in self._did.items()
        )

    @property
    def highest(self) -> int | None:
        """The highest load that does; None where none did yet."""
        return max((own.load for own in self.tried if own.verdict == "does"), default=None)

    @property
    def too_high(self) -> int | None:
        """The lowest load that does not, or that was left undecided; None where there was none yet."""
        over = (own for own in self.tried if own.verdict == "does not" or _is_left(own))
        return min((own.load for own in over), default=None)

    def note(self, load: int, *, did: bool) -> None:
        """What came of a try of that load."""
        self._did.setdefault(load, []).append(did)

    def next_load(self) -> int | None:
        """What to try next; None when the search has come to its end."""
        tried = self.tried
        if not tried:
            return self._start
        last = tried[-1]
        if last.verdict == "undecided" and not _is_left(last):
            return last.load
        does, over = self.highest, self.too_high
        if does is not None and over is not None:
            between = round((does * over) ** 0.5)
            return None if over <= does * FINE or between in {does, over} else between
        step = min(LARGEST_STEP, FIRST_STEP ** (2 ** (len(tried) - 1)))
        if does is not None:
            return None if does == self._most else min(self._most, max(does + 1, round(does * step)))
        assert over is not None  # noqa: S101 (of what was tried the last load is one or the other)
        return None if over == self._lowest else max(self._lowest, min(over - 1, round(over / step)))

    def tries_left(self) -> int:
        """About how many tries are still to come."""
        if self.next_load() is None:
            return 0
        does, over = self.highest, self.too_high
        ratio = over / does if does is not None and over is not None else FIRST_STEP**2
        loads = max(1, round(log2(max(2.0, log(ratio) / log(FINE)))))
        return USUAL_TRIES * (loads + (does is None) + (over is None))


def verdict_of(did: int, tries: int) -> Verdict:
    """Whether `did` of `tries` show that more than half would do, or that fewer would."""
    if _at_least(did, tries) <= LOOK:
        return "does"
    if _at_least(tries - did, tries) <= LOOK:
        return "does not"
    return "undecided"


@lru_cache
def _at_least(did: int, tries: int) -> float:
    """The probability of that many of `tries`, or more, where each does half of the time."""
    return float(sum(comb(tries, number) for number in range(did, tries + 1)) / 2**tries)


@lru_cache
def _can_be_decided(did: int, tries: int) -> bool:
    """Whether any outcome of the tries that are left would give a verdict."""
    if verdict_of(did, tries) != "undecided":
        return True
    return tries < MOST_TRIES and any(_can_be_decided(did + more, tries + 1) for more in (0, 1))


def _is_left(own: Tried) -> bool:
    return own.verdict == "undecided" and not _can_be_decided(own.did, own.tries)
