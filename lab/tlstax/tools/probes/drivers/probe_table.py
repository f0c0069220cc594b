"""What a probe showed, as tables for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.stats.wording import set_ends
from tlstax.support.text import counted
from tlstax.tools.probes.drivers.attack_table import attack_tables
from tlstax.tools.probes.drivers.login_table import login_tables
from tlstax.tools.probes.drivers.probe_document import Cost, DriverRow, ProbeDocument, TlsShown, Way
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

Cells = Callable[[DriverRow], Sequence[str]]


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
    costed = [row for row in probed if any(_costs(way) for way in (row.plain, row.encrypted))]
    if costed:
        parts += _table("Time, in \u00b5s", _COSTS, costed, lambda row: _cells(_times(row)), notes)
        parts += _table("CPU time of the driver's process, in \u00b5s", _COSTS, costed, _cpu_cells, notes)
        once = any(cost is not None and cost.blocks == 1 for row in costed for cost in _times(row))
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
        self._numbers = count(1)
        self._known: dict[str, int] = {}
        self._marked: set[str] = set()

    def marks(self, row: DriverRow) -> str:
        """The driver's name with the numbers of its notes."""
        texts = [] if row.name in self._marked else [*row.notes, *_failures(row)]
        self._marked.add(row.name)
        numbers = [self._known.setdefault(text, 0) or self._numbered(text) for text in texts]
        return f"{row.name} [{', '.join(map(str, numbers))}]" if numbers else row.name

    def printed(self) -> list[RenderableType]:
        """Each note on a line of its own."""
        return [Text(f"[{number}] {text}") for text, number in self._known.items()]

    def _numbered(self, text: str) -> int:
        self._known[text] = next(self._numbers)
        return self._known[text]


def _failures(row: DriverRow) -> list[str]:
    """Why one of the two ways could not be gone."""
    ways = (("in the clear", row.plain), ("encrypted", row.encrypted))
    return [f"{words}: {way.failed}" for words, way in ways if way.failed]


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
        return [_yes(row.encrypts_by_default), *[NOTHING] * (len(_TLS) - 1)]
    checks = (row.verifies_ca_by_default, row.verifies_host_by_default, row.verifies_expiry_by_default)
    agreed = (row.cipher or UNKNOWN, row.group or NOTHING, _yes(row.hello_retry))
    return [f"TLS {_version(row.tls_version)}", *agreed, *map(_yes, checks), _yes(row.resumes_by_default)]


def _required(row: DriverRow) -> list[str]:
    shown = row.required
    if shown is None:
        return [UNKNOWN] * len(_TLS)
    checks = (
        row.verifies_ca_when_required,
        row.verifies_host_when_required,
        row.verifies_expiry_when_required,
    )
    agreed = (shown.cipher or UNKNOWN, shown.group or NOTHING, _yes(shown.hello_retry))
    return [f"TLS {_version(shown.version)}", *agreed, *map(_yes, checks), _yes(shown.resumes)]


def _offered(row: DriverRow) -> list[str]:
    shown: DriverRow | TlsShown = row if row.versions_offered or row.required is None else row.required
    lists = (tuple(map(_version, shown.versions_offered)), shown.key_shares, shown.groups_offered)
    return [", ".join(names) or NOTHING for names in lists]


_TRIPS = ("connect", "plain", "TLS", "statement", "plain", "TLS")


def _trips(row: DriverRow) -> list[str]:
    connect = (row.round_trips_per_connect, *(w.round_trips_per_connect for w in (row.plain, row.encrypted)))
    each = (
        row.round_trips_per_statement,
        *(way.round_trips_per_statement for way in (row.plain, row.encrypted)),
    )
    return [UNKNOWN if number is None else str(number) for number in (*connect, *each)]


_COSTS = ("connect", "TLS", "insert", "TLS")


def _times(row: DriverRow) -> tuple[Cost | None, ...]:
    connect = (row.plain.connect_us, row.encrypted.connect_us)
    return (*connect, row.plain.statement_us, row.encrypted.statement_us)


def _cpu_cells(row: DriverRow) -> list[str]:
    connect = (row.plain.connect_cpu_us, row.encrypted.connect_cpu_us)
    return _cells((*connect, row.plain.statement_cpu_us, row.encrypted.statement_cpu_us))


def _cells(costs: Sequence[Cost | None]) -> list[str]:
    return [_cost(cost) for cost in costs]


def _costs(way: Way) -> bool:
    return way.connect_us is not None or way.statement_us is not None


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
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(Text(notes.marks(row)), *map(Text, cells(row)))
    return [Text(title, style="bold"), table, Text()]


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
    nothing = "" if table.row_count else ": nothing"
    heading = Text(f"{row.name} sends of its own accord{nothing}", style="bold")
    return [heading, table, Text()] if table.row_count else [heading, Text()]


def _short(statement: str) -> str:
    """A statement without its comments, and no longer than reads well."""
    bare = " ".join(_COMMENT.sub(" ", statement).split())
    return bare if len(bare) <= LONGEST_STATEMENT else f"{bare[:LONGEST_STATEMENT]}\u2026"


def _end(document: ProbeDocument) -> list[RenderableType]:
    parts = []
    if document.external is not None:
        there = document.external
        parts += [
            Text(
                f"{document.server} got {counted(there.connections, 'connection')}, one after the other, and "
                "nothing was changed there."
            ),
            *map(Text, there.not_seen),
        ]
    if document.run:
        parts.append(Text(f"Costs are from run {document.run} ({document.stopped_because})."))
    if document.status == "failed":
        parts.append(Text(f"It ended before all drivers were probed: {document.stopped_because}"))
    if document.status == "interrupted":
        parts.append(Text("It was interrupted; this is what was known by then."))
    return list(parts)


def _yes(answer: bool | None) -> str:
    return UNKNOWN if answer is None else "yes" if answer else "no"


def _version(version: str | None) -> str:
    number = version.removeprefix("TLSv") if version else UNKNOWN
    return "1.0" if number == "1" else number
