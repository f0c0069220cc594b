"""What connections cost in memory, as a table for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.probes.memory.document import MemoryDocument
from tlstax.report.core.printed import printed
from tlstax.results.interval import Interval
from tlstax.study.server_words import key_of

READING = (
    "What each further connection costs, from {sizes} kept connections; means over {rounds} processes of the "
    "server for each kind, with 95 % intervals. RSS: resident memory; PSS: pages that are shared count by "
    "their share."
)
WORDS = {"off": "in the clear", "1.2": "over TLS 1.2", "1.3": "over TLS 1.3"}
KIB = 1024


def memory_text(found: MemoryDocument, *, width: int, colour: bool) -> str:
    """The table, and what TLS adds."""
    over = f" over {found.tls_library}" if found.tls_library else ""
    server = f"{found.server} ({found.server_version}){over}"
    title = f"Memory of a connection on {server}, {key_of(found.certificate)}"
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("RSS", justify="right", overflow="fold")
    table.add_column("PSS", justify="right", overflow="fold")
    for kind in found.kinds:
        table.add_row(Text(WORDS[kind.tls]), *map(Text, (_kib(kind.rss_bytes), _kib(kind.pss_bytes))))
    parts: list[RenderableType] = [Text(title, style="bold"), Text(), table, Text()]
    parts += [Text(f"TLS {tls} adds {_kib(own)} (RSS).") for tls, own in found.tls_adds.items()]
    sizes = ", ".join(f"{size:,}" for size in found.sizes)
    parts.append(Text(READING.format(sizes=sizes, rounds=found.rounds), style="dim"))
    if found.status == "interrupted":
        parts.append(Text("It was interrupted; this is what was known by then."))
    return printed(parts, width=width, colour=colour)


def _kib(found: Interval | None) -> str:
    if found is None:
        return "?"
    point = f"{found.point / KIB:,.1f} KiB"
    if found.low is None or found.high is None:
        return point
    return f"{point} [{found.low / KIB:,.1f}, {found.high / KIB:,.1f}]"
