"""What a probe showed, and which drivers there are, as tables for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.stats.wording import set_ends
from tlstax.support.text import counted
from tlstax.tools.probes.drivers.probed import (
    TRICKS,
    Cache,
    Cost,
    DriverRow,
    ListedDriver,
    ListedDrivers,
    Login,
    LoginOutcome,
    Outcome,
    ProbeDocument,
    TlsAsked,
    TlsShown,
    Way,
)
from tlstax.topics.core.printed import printed

UNKNOWN, NOTHING = "?", "\u2013"
"""What could not be determined, and what there is none of."""

ROOM_FOR_CIPHERS = 100
"""From this width on there is room for the cipher and for HelloRetryRequests; the JSON has all."""

LONGEST_STATEMENT = 200
"""Of a longer statement the rest is left out here, and its comments are; the JSON has the whole."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

COUNTING = (
    "Round trips: how often the driver waits for the server; TCP's own and the server's greeting are one "
    "each. A statement is an insert of one row. First as by default, then in the clear, then over TLS. "
    "\u2013 means there is none, ? that it could not be determined."
)

COSTING = (
    "First in the clear, then over TLS; on one connection, each with its interval over blocks below "
    "it. Connect's time is the median of the driver's whole connect call, and its CPU time that of "
    "connecting, asking and closing, less an insert's."
)

ONCE = " What was measured in one block alone has no interval; a longer --budget gives more."

Cells = Callable[[DriverRow], Iterable[str]]


def probe_text(document: ProbeDocument, *, width: int, colour: bool) -> str:
    """What they do by default, what it takes and costs, what they say by themselves, and notes in words."""
    wide = width >= ROOM_FOR_CIPHERS
    probed = [row for row in document.drivers if row.failed is None]
    notes = _Notes()
    parts: list[RenderableType] = [_heading(document), Text()]
    external = document.external
    if probed:
        parts += _tls_tables(probed, notes, wide=wide, has_checks=external is None)
    if probed and external is None:
        parts += [*_table("Round trips", _TRIPS, probed, _trips, notes), Text(COUNTING, style="dim"), Text()]
    parts += login_tables(probed, notes.marks, width=width, is_external=external is not None)
    if any(row.attacks for row in probed):
        parts += attack_tables(probed)
    costed = [row for row in probed if any(of_ways(row.plain, row.encrypted, *_TIMES))]
    if costed:
        parts += _table(
            "Time, in \u00b5s",
            _COSTS,
            costed,
            lambda row: map(_cost, of_ways(row.plain, row.encrypted, *_TIMES)),
            notes,
        )
        parts += _table(
            "CPU time of the driver's process, in \u00b5s",
            _COSTS,
            costed,
            lambda row: map(_cost, of_ways(row.plain, row.encrypted, "connect_cpu_us", "statement_cpu_us")),
            notes,
        )
        once = any(
            cost and cost.blocks == 1 for row in costed for cost in of_ways(row.plain, row.encrypted, *_TIMES)
        )
        parts += [Text(COSTING + (ONCE if once else ""), style="dim"), Text()]
    for row in probed if external is None else ():
        parts += _own_statements(row)
    parts += [Text(f"{row.name} was not probed: {row.failed}") for row in document.drivers if row.failed]
    parts += notes.printed()
    parts += _end(document)
    return printed(parts, width=width, colour=colour)


class _Notes:
    """Notes in words, numbered in the order in which drivers are first marked; alike ones have one number.

    A driver is marked where it is named first.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._marked: set[str] = set()

    def marks(self, row: DriverRow) -> str:
        """The driver's name with the numbers of its notes."""
        ways = (("in the clear", row.plain), ("encrypted", row.encrypted))
        failures = (f"{words}: {way.failed}" for words, way in ways if way.failed)
        texts = [] if row.name in self._marked else [*row.notes, *failures]
        self._marked.add(row.name)
        numbers = [self._known.setdefault(text, len(self._known) + 1) for text in texts]
        return f"{row.name} [{', '.join(map(str, numbers))}]" if numbers else row.name

    def printed(self) -> list[RenderableType]:
        """Each note on a line of its own."""
        return [Text(f"[{number}] {text}") for text, number in self._known.items()]


def _heading(document: ProbeDocument) -> Text:
    server = f" on {document.server} ({document.server_version})" if document.server else ""
    options = {f"{name}={value}": None for row in document.drivers for name, value in row.options.items()}
    given = f", given {', '.join(options)}" if options else ""
    return Text(f"What drivers do by default{server}{given}", style="bold")


_TLS = ("encrypts", "cipher", "group", "twice", "CA", "host", "expired", "resumes")
_ONLY_WIDE = frozenset({"cipher", "twice"})
_CHECKS = frozenset({"CA", "host", "expired", "resumes"})


WRONG_ONES = (
    "CA, host, expired: whether it refuses a certificate of an unknown authority, for another host, or past "
    "its time."
)
TWICE = "Twice: the server wanted another key share (HelloRetryRequest)."


def _tls_tables(
    rows: Sequence[DriverRow], notes: _Notes, *, wide: bool, has_checks: bool
) -> list[RenderableType]:
    """What is so by default, and what is so when there must be TLS; checks where they were tried."""
    left_out = (frozenset() if wide else _ONLY_WIDE) | (frozenset() if has_checks else _CHECKS)

    def chosen(cells: Sequence[str]) -> list[str]:
        return [cell for name, cell in zip(_TLS, cells, strict=True) if name not in left_out]

    parts = _table(
        "When TLS is not configured", chosen(_TLS), rows, lambda row: chosen(_by_default(row)), notes
    )
    others = [row for row in rows if row.required is not None]
    if others:
        parts += _table(
            "When TLS is required, and nothing else is configured",
            chosen(_TLS),
            others,
            lambda row: chosen(_required(row)),
            notes,
        )
    explained = [WRONG_ONES] if has_checks else []
    explained += [TWICE] if wide else []
    offers = [row for row in rows if row.versions_offered or row.required]
    parts += [Text(" ".join(explained), style="dim"), Text()] if explained else []
    return parts + _table("What they offer", ("versions", "key share", "groups"), offers, _offered, notes)


def _by_default(row: DriverRow) -> list[str]:
    if not row.encrypts_by_default:
        return [yes(row.encrypts_by_default), *[NOTHING] * (len(_TLS) - 1)]
    return _agreed(row, row.tls_version, *row.verified("by_default"), row.resumes_by_default)


def _required(row: DriverRow) -> list[str]:
    shown = row.required
    if shown is None:
        return [UNKNOWN] * len(_TLS)
    return _agreed(shown, shown.version, *row.verified("when_required"), shown.resumes)


def _agreed(shown: DriverRow | TlsShown, version: str | None, *answers: bool | None) -> list[str]:
    agreed = (shown.cipher or UNKNOWN, shown.group or NOTHING)
    return [f"TLS {_version(version)}", *agreed, *map(yes, (shown.hello_retry, *answers))]


def _offered(row: DriverRow) -> list[str]:
    shown: DriverRow | TlsShown = row if row.versions_offered or row.required is None else row.required
    lists = (tuple(map(_version, shown.versions_offered)), shown.key_shares, shown.groups_offered)
    return [", ".join(names) or NOTHING for names in lists]


_TRIPS = ("connect", "plain", "TLS", "statement", "plain", "TLS")


def _trips(row: DriverRow) -> list[str]:
    names = ("round_trips_per_connect", "round_trips_per_statement")
    numbers = (
        number for name in names for number in (getattr(row, name), *of_ways(row.plain, row.encrypted, name))
    )
    return [UNKNOWN if number is None else str(number) for number in numbers]


_COSTS = ("connect", "TLS", "insert", "TLS")


_TIMES = ("connect_us", "statement_us")


def of_ways(plain: Way, encrypted: Way, *names: str) -> list[Any]:
    """These fields of the two ways, in the clear and then over TLS, field by field."""
    return [getattr(way, name) for name in names for way in (plain, encrypted)]


def _cost(cost: Cost | None) -> str:
    if cost is None:
        return UNKNOWN
    if cost.low is None or cost.high is None:
        return f"{cost.point:,.0f}"
    ends = set_ends(f"{cost.low:,.0f}", f"{cost.high:,.0f}", "[…]")
    return f"{cost.point:,.0f}\n{ends}"


def _table(
    title: str, headings: Sequence[str], rows: Sequence[DriverRow], cells: Cells, notes: _Notes
) -> list[RenderableType]:
    if not rows:
        return []
    lines = ((notes.marks(row), *cells(row)) for row in rows)
    return [Text(title, style="bold"), _plain(headings, lines), Text()]


def _plain(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> Table:
    """A table whose first column has no heading and is never broken."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _own_statements(row: DriverRow) -> list[RenderableType]:
    """What the driver sends of its own accord, statement by statement."""
    when = (
        ("on connect", row.statements_on_connect),
        ("before each statement", row.statements_before_each_statement),
        ("after each statement", row.statements_after_each_statement),
        ("on close", row.statements_on_close),
    )
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 2))
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    for words, texts in when:
        for text in texts:
            table.add_row(words, Text(_short(text)))
    heading = f"{row.name} sends of its own accord"
    if not table.row_count:
        return [Text(f"{heading}: nothing", style="bold"), Text()]
    return [Text(heading, style="bold"), table, Text()]


def _short(statement: str) -> str:
    """A statement without its comments, and no longer than reads well."""
    bare = " ".join(_COMMENT.sub(" ", statement).split())
    return bare if len(bare) <= LONGEST_STATEMENT else f"{bare[:LONGEST_STATEMENT]}\u2026"


def _end(document: ProbeDocument) -> Iterator[RenderableType]:
    there = document.external
    if there is not None:
        times = counted(there.connections, "connection")
        yield Text(f"{document.server} got {times}, one after the other, and nothing was changed there.")
        yield from map(Text, there.not_seen)
    if document.run:
        yield Text(f"Costs are from run {document.run} ({document.stopped_because}).")
    if document.status == "failed":
        yield Text(f"It ended before all drivers were probed: {document.stopped_because}")
    if document.status == "interrupted":
        yield Text("It was interrupted; this is what was known by then.")


def yes(answer: bool | None) -> str:
    """Of a question that may have no answer."""
    return UNKNOWN if answer is None else "yes" if answer else "no"


def _version(version: str | None) -> str:
    number = version.removeprefix("TLSv") if version else UNKNOWN
    return "1.0" if number == "1" else number


ROOM_FOR_COLUMNS = 70
"""On a terminal that is narrower there is no room for names beside four ways."""

LOGIN_WORDS: dict[LoginOutcome, str] = {"key asked for": "key"}
"""Of outcomes that are not their own words."""

LOGIN_HEADINGS: dict[tuple[TlsAsked, Cache | None], str] = {
    ("off", "cold"): "clear, cold",
    ("off", "warm"): "clear, warm",
    ("verified", "cold"): "TLS, cold",
    ("verified", "warm"): "TLS, warm",
    ("off", None): "in the clear",
    ("verified", None): "over TLS",
}

THERE: dict[TlsAsked, str] = {
    "unset": "by default",
    "off": "TLS off",
    "required": "required",
    "verified": "verified",
}
"""At an external server, whose cache is as it is."""

BY_CACHE = (
    "Fast: by the proof alone. Full: by the whole password, over TLS. Key: by the password under a key that "
    "the driver asked the server for, and would take from anybody."
)
COLD = " Cold: the server does not remember the account, as after each start."
ENDED = " Ended: tlstax hung up before the password could be given away."

LoginWay = tuple[TlsAsked, Cache | None]


def login_tables(
    rows: Sequence[DriverRow], marks: Callable[[DriverRow], str], *, width: int, is_external: bool
) -> Iterator[RenderableType]:
    """A table for each plugin that accounts were proved by; `marks` names a driver, with its notes."""
    plugins = dict.fromkeys(own.plugin for row in rows for own in row.logins)
    for plugin in plugins:
        of_plugin = [row for row in rows if any(own.plugin == plugin for own in row.logins)]
        ways = _ways(of_plugin, plugin)
        names = [THERE[way[0]] if is_external else LOGIN_HEADINGS[way] for way in ways]
        lines = ((marks(row), *_login_cells(row, plugin, ways)) for row in of_plugin)
        yield Text(f"Logging in by {plugin}", style="bold")
        if width < ROOM_FOR_COLUMNS:
            for driver, *cells in lines:
                said = (f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))
                yield Text(f"{driver}: {'; '.join(said)}")
        else:
            yield _plain(names, lines)
        yield Text()
    logins = [own for row in rows for own in row.logins]
    if explained := _explained(logins):
        yield from (Text(explained, style="dim"), Text())


def _ways(rows: Sequence[DriverRow], plugin: str) -> list[LoginWay]:
    seen = {(own.tls, own.cache) for row in rows for own in row.logins if own.plugin == plugin}
    return sorted(seen, key=lambda way: (list(THERE).index(way[0]), way[1] or ""))


def _login_cells(row: DriverRow, plugin: str, ways: Sequence[LoginWay]) -> list[str]:
    outcomes = {(own.tls, own.cache): own.outcome for own in row.logins if own.plugin == plugin}
    known = {way: LOGIN_WORDS.get(outcome, outcome) for way, outcome in outcomes.items()}
    return [known.get(way, NOTHING) for way in ways]


def _explained(logins: Sequence[Login]) -> str:
    by_cache = any(own.cache is not None for own in logins)
    cold = any(own.cache == "cold" for own in logins)
    ended = any(own.outcome == "ended" for own in logins)
    return f"{BY_CACHE * by_cache}{COLD * cold}{ENDED * ended}".strip()


ATTACK_TITLES: dict[TlsAsked, str] = {
    "unset": "On a hostile wire, when TLS is not configured",
    "required": "On a hostile wire, when TLS is required, and nothing else is configured",
    "verified": "On a hostile wire, when the server is to be verified",
}

ATTACK_WORDS: dict[Outcome, str] = {"went on": "yes", "hash": "weak hash"}
"""Of outcomes that are not their own words."""

TRICK_HEADINGS = ("clear", "1", "2", "3", "4", "5")

ATTACKS_EXPLAINED = (
    "Clear: it goes on without TLS where the offer of TLS was taken away. What it then gives to whoever asks "
    "for its password by mysql_clear_password (1), by mysql_old_password (2), by a full caching_sha2 login "
    "with a key of their own (3), or for a file (4). And what it gives over TLS to whoever shows a "
    "certificate that nobody vouches for, and asks for a full login (5). \u2013 means that it did not come "
    "to that."
)


def attack_tables(rows: Sequence[DriverRow]) -> Iterator[RenderableType]:
    """The tables, and what their columns are."""
    for tls, title in ATTACK_TITLES.items():
        table = _plain(TRICK_HEADINGS, ((row.name, *_attack_cells(row, tls)) for row in rows))
        yield from (Text(title, style="bold"), table, Text())
    yield from (Text(ATTACKS_EXPLAINED, style="dim"), Text())


def _attack_cells(row: DriverRow, tls: TlsAsked) -> Iterator[str]:
    known = {attack.trick: attack.outcome for attack in row.attacks if attack.tls == tls}
    for trick in TRICKS:
        yield ATTACK_WORDS.get(known[trick], known[trick]) if trick in known else NOTHING


def listed_text(listing: ListedDrivers, *, width: int, colour: bool) -> str:
    """One line a driver, then how many there are and what would make the others ready."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("Driver", "of", "version", "language", "status"):
        table.add_column(heading, no_wrap=heading in {"Driver", "version", "language"})
    for driver in listing.drivers:
        table.add_row(driver.name, driver.product, driver.version, driver.language, _status(driver))
    ready = sum(driver.status == "ready" for driver in listing.drivers)
    summary = f"{ready} of {len(listing.drivers)} are built; the others are when they are first used."
    missing = sorted({program for driver in listing.drivers for program in driver.missing})
    if missing:
        summary += f" Not here, and needed for some: {', '.join(missing)}."
    return printed([table, Text(), Text(summary)], width=width, colour=colour)


def _status(driver: ListedDriver) -> str:
    if driver.status == "ready":
        return "ready"
    if driver.missing:
        return f"needs {', '.join(driver.missing)}"
    return "to be built" if driver.status == "absent" else "to be built anew"
