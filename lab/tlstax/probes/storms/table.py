"""What was found of storms, or of rates, as a table for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.findings.core.wording import percent
from tlstax.probes.storms.document import Limit, Sought, StormDocument
from tlstax.topics.core.printed import printed

BUSY = 0.9
"""From here on the client may be what limits."""

TITLES: dict[Sought, str] = {
    "connections": "The largest storm on {server} of which {share} are up within {within}",
    "connections_per_s": (
        "The highest rate of new connections on {server} at which {share} are up within {within}"
    ),
}
COLUMNS: dict[Sought, tuple[str, str]] = {
    "connections": ("connections", "too many"),
    "connections_per_s": ("a second", "too fast"),
}
UNITS: dict[Sought, str] = {"connections": "connections", "connections_per_s": "connections a second"}
LOADS: dict[Sought, str] = {"connections": "the largest storm", "connections_per_s": "the highest rate"}

READINGS: dict[Sought, str] = {
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


def storm_text(found: StormDocument, *, width: int, colour: bool) -> str:
    """The table, what is not known of it, and what the server has for storms."""
    title = TITLES[found.sought].format(
        server=f"{found.server} ({found.server_version})",
        share=percent(found.share),
        within=f"{found.within_s:g} s",
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for heading in (*COLUMNS[found.sought], "came up a second", "client busy"):
        table.add_column(heading, justify="right", overflow="fold")
    for limit in found.limits:
        table.add_row(Text(limit.label), *map(Text, _cells(limit)))
    reading = f"{READINGS[found.sought]} {VERDICTS}".format(
        confidence=percent(found.confidence), lasting=f"{found.lasting_s or 0:g} s"
    )
    known = ", ".join(f"{name} {value}" for name, value in found.variables.items())
    parts: list[RenderableType] = [Text(title, style="bold"), Text(), table, Text()]
    parts += [Text(_open(limit, found.sought)) for limit in found.limits if not limit.is_found]
    parts += [Text(_busy(limit, found.sought)) for limit in found.limits if (limit.client_share or 0) > BUSY]
    parts += [Text(f"The server has {known}."), Text(reading, style="dim")]
    if found.status == "interrupted":
        parts.append(Text("It was interrupted; this is what was known by then."))
    if found.status == "budget":
        parts.append(Text(f"The budget of {found.budget_s:g} s ended the search; a longer --budget goes on."))
    return printed(parts, width=width, colour=colour)


def _cells(limit: Limit) -> tuple[str, ...]:
    if limit.is_refused:
        return "not taken", "", "", ""
    none = "none" if limit.is_found else "?"
    above = "not tried" if limit.is_found else "?"
    return (
        none if limit.highest is None else f"{limit.highest:,}",
        above if limit.too_high is None else f"{limit.too_high:,}",
        "\u2013" if limit.achieved_per_s is None else f"{limit.achieved_per_s:,.0f}",
        "\u2013" if limit.client_share is None else percent(limit.client_share),
    )


def _open(limit: Limit, sought: Sought) -> str:
    """Between what a limit lies that was not found."""
    unit = UNITS[sought]
    if limit.highest is None and limit.too_high is None:
        where = "nothing is known of its limit"
    elif limit.too_high is None:
        where = f"its limit is {limit.highest:,} {unit} or more"
    elif limit.highest is None:
        where = f"its limit is less than {limit.too_high:,} {unit}"
    else:
        where = f"its limit is from {limit.highest:,} to {limit.too_high:,} {unit}"
    return f"{limit.label}: {where}; the search had not come to its end."


def _busy(limit: Limit, sought: Sought) -> str:
    share = percent(limit.client_share or 0)
    return f"{limit.label}: the client used {share} of a core in {LOADS[sought]}, so it may be the limit."
