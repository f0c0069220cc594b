"""What connections cost in memory, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.probes.memory.document import MemoryDocument, MemoryOfServer, Tls
from tlstax.results.interval import Interval
from tlstax.study.level_words import key_of
from tlstax.support.text import counted, enumerated
from tlstax.topics.core.printed import printed

READING = (
    "What each further connection costs, from {sizes} kept connections; means over {rounds}, each a process "
    "of the server for each kind of connection, with 95 % intervals. RSS: resident memory; PSS: pages that "
    "are shared count by their share."
)
READING_EXTERNAL = (
    "What each further connection costs: how much the server's process grew by in steps that were opened one "
    "after another and kept, up to {most}; means over {rounds}, each a step of each kind, with 95 % "
    "intervals. Others who connect or leave meanwhile are in them. RSS: resident memory; PSS: pages that are "
    "shared count by their share."
)
REUSED = (
    "The server has had {used} connections at once before, and keeps the memory of those that have gone: "
    "what is shown is the least that a connection costs. A server that was started anew, or a "
    "--max-connections far above {used}, shows all of it."
)
WORDS: dict[Tls, str] = {"off": "plaintext", "1.2": "TLS 1.2", "1.3": "TLS 1.3"}
KIB = 1024


def memory_text(found: MemoryDocument, *, width: int, colour: bool) -> str:
    """A table for each server, and how it is to be read."""
    parts: list[RenderableType] = []
    for server in found.servers:
        parts += [Text(_title(server), style="bold"), Text(), *_of_server(server), Text()]
    sizes, rounds = [f"{size:,}" for size in found.sizes], counted(found.rounds, "round")
    if found.promised is None:
        reading = READING.format(sizes=enumerated(sizes), rounds=rounds)
    else:
        reading = READING_EXTERNAL.format(most=sizes[-1] if sizes else "none", rounds=rounds)
    if found.used_before is not None:
        parts.append(Text(REUSED.format(used=f"{found.used_before:,}")))
    parts.append(Text(reading, style="dim"))
    if found.status == "interrupted":
        parts.append(Text("It was interrupted; this is what was known by then."))
    return printed(parts, width=width, colour=colour)


def _title(server: MemoryOfServer) -> str:
    over = f" over {server.tls_library}" if server.tls_library else ""
    name = f"{server.server} ({server.server_version}){over}"
    key = f", {key_of(server.certificate)}" if server.certificate is not None else ""
    return f"Memory of a connection on {name}{key}"


def _of_server(server: MemoryOfServer) -> Iterator[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for heading in ("RSS KiB", "PSS KiB", "RSS to plaintext", "threads"):
        table.add_column(heading, justify="right", overflow="fold")
    added = {own.tls: own for own in server.tls_adds}
    for kind in server.kinds:
        more = added.get(kind.tls)
        ratio = "" if more is None or more.rss_ratio is None else _figure(more.rss_ratio, 1, "×", 2)
        cells = [_kib(kind.rss_bytes), _kib(kind.pss_bytes), ratio, f"{kind.threads.point:.2f}"]
        table.add_row(Text(WORDS[kind.tls]), *map(Text, cells))
        if more is not None:
            cells = ["  adds", _kib(more.rss_bytes), _kib(more.pss_bytes), "", ""]
            table.add_row(*(Text(cell, style="dim") for cell in cells))
    yield table if server.kinds else Text("Nothing is known yet: no process had two numbers of connections.")
    for tls in server.refused:
        yield Text(f"It does not take {WORDS[tls]}.")


def _kib(found: Interval | None) -> str:
    return "?" if found is None else _figure(found, KIB, "", 1)


def _figure(found: Interval, unit: int, sign: str, decimals: int) -> str:
    """A figure in its unit, with its interval in brackets where it has one."""
    point = f"{sign}{found.point / unit:,.{decimals}f}"
    if found.low is None or found.high is None:
        return point
    return f"{point} [{found.low / unit:,.{decimals}f} … {found.high / unit:,.{decimals}f}]"
