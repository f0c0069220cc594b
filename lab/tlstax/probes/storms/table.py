"""The limits of storms as a table for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.findings.core.wording import percent
from tlstax.probes.storms.document import StormDocument, StormLimit
from tlstax.report.core.printed import printed

BUSY = 0.9
"""From here on the client may be what limits a storm."""

READING = (
    "A size does when more than half of all storms of that size would, with {confidence} confidence: five of "
    "five tell it, or seven of eight. A connection is up when the server has let it in."
)


def storm_text(found: StormDocument, *, width: int, colour: bool) -> str:
    """The table, and what the server has for storms."""
    title = (
        f"The largest storm on {found.server} ({found.server_version}) of which {percent(found.share)} are "
        f"up within {found.within_s:g} s"
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("connections", "too many", "connections a second"):
        table.add_column(heading, justify="right", overflow="fold")
    for limit in found.limits:
        table.add_row(Text(limit.label), *map(Text, _cells(limit)))
    parts: list[RenderableType] = [Text(title, style="bold"), Text(), table, Text()]
    known = ", ".join(f"{name} {value}" for name, value in found.variables.items())
    reading = READING.format(confidence=percent(found.confidence))
    parts += [Text(f"The server has {known}."), Text(reading, style="dim")]
    parts += [Text(_busy(limit)) for limit in found.limits if (limit.client_share or 0) > BUSY]
    if found.status == "interrupted":
        parts.append(Text("It was interrupted; this is what was known by then."))
    return printed(parts, width=width, colour=colour)


def _cells(limit: StormLimit) -> tuple[str, str, str]:
    does = "none" if limit.connections is None else f"{limit.connections:,}"
    more = "not tried" if limit.too_many is None else f"{limit.too_many:,}"
    rate = "\u2013" if limit.connections_per_s is None else f"{limit.connections_per_s:,.0f}"
    return does, more, rate


def _busy(limit: StormLimit) -> str:
    share = percent(limit.client_share or 0)
    return f"{limit.label}: the client used {share} of a core in the largest storm, so it may be the limit."
