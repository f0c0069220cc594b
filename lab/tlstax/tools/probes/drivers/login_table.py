"""How drivers logged in, for a terminal: a table for each plugin; on a narrow one a line for each driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.tools.probes.drivers.attacked import TlsAsked
from tlstax.tools.probes.drivers.probe_document import DriverRow
from tlstax.tools.probes.drivers.probed import Cache, Login, LoginOutcome

ROOM_FOR_COLUMNS = 70
"""On a terminal that is narrower there is no room for names beside four ways."""

NOTHING = "\u2013"

SHORT: dict[LoginOutcome, str] = {
    "fast": "fast",
    "full": "full",
    "key asked for": "key",
    "yes": "yes",
    "refused": "refused",
    "ended": "ended",
}

HEADINGS: dict[tuple[TlsAsked, Cache | None], str] = {
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

Way = tuple[TlsAsked, Cache | None]


def login_tables(
    rows: Sequence[DriverRow], marks: Callable[[DriverRow], str], *, width: int, is_external: bool
) -> Iterator[RenderableType]:
    """A table for each plugin that accounts were proved by; `marks` names a driver, with its notes."""
    plugins = dict.fromkeys(own.plugin for row in rows for own in row.logins)
    for plugin in plugins:
        of_plugin = [row for row in rows if any(own.plugin == plugin for own in row.logins)]
        ways = _ways(of_plugin, plugin)
        names = [THERE[way[0]] if is_external else HEADINGS[way] for way in ways]
        yield Text(f"Logging in by {plugin}", style="bold")
        if width < ROOM_FOR_COLUMNS:
            yield from (_line(row, plugin, dict(zip(ways, names, strict=True)), marks) for row in of_plugin)
        else:
            yield _table(of_plugin, plugin, dict(zip(ways, names, strict=True)), marks)
        yield Text()
    logins = [own for row in rows for own in row.logins]
    if explained := _explained(logins):
        yield from (Text(explained, style="dim"), Text())


def _ways(rows: Sequence[DriverRow], plugin: str) -> list[Way]:
    seen = {(own.tls, own.cache) for row in rows for own in row.logins if own.plugin == plugin}
    return sorted(seen, key=lambda way: (list(THERE).index(way[0]), way[1] or ""))


def _table(
    rows: Sequence[DriverRow], plugin: str, ways: dict[Way, str], marks: Callable[[DriverRow], str]
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ways.values():
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(Text(marks(row)), *map(Text, _cells(row, plugin, ways)))
    return table


def _line(
    row: DriverRow, plugin: str, ways: dict[Way, str], marks: Callable[[DriverRow], str]
) -> RenderableType:
    cells = zip(ways.values(), _cells(row, plugin, ways), strict=True)
    return Text(f"{marks(row)}: {'; '.join(f'{name}: {cell}' for name, cell in cells)}")


def _cells(row: DriverRow, plugin: str, ways: dict[Way, str]) -> list[str]:
    known = {(own.tls, own.cache): SHORT[own.outcome] for own in row.logins if own.plugin == plugin}
    return [known.get(way, NOTHING) for way in ways]


def _explained(logins: Sequence[Login]) -> str:
    by_cache = any(own.cache is not None for own in logins)
    cold = any(own.cache == "cold" for own in logins)
    ended = any(own.outcome == "ended" for own in logins)
    parts = (BY_CACHE if by_cache else "", COLD if cold else "", ENDED if ended else "")
    return "".join(parts).strip()
