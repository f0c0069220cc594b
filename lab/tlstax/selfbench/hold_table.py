"""Held connections as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tlstax.report.formats.markdown import escaped
from tlstax.selfbench.hold_records import Delay, HeldFigures, HoldDocument, ServerFigures
from tlstax.topics.core.facts import machine_words
from tlstax.topics.core.figures import NOTHING, quantity
from tlstax.topics.core.untrusted import printable

LEVEL_WORDS = {"off": "plaintext", "1.3": "TLS 1.3"}

LINES: dict[str, Callable[[HeldFigures], str]] = {
    "connections at the server": lambda level: f"{level.connected:,}",
    "engine's memory per connection": lambda level: _bytes(level.client_rss_bytes_per_connection),
    "server's memory per connection": lambda level: _bytes(level.server_rss_bytes_per_connection),
    "server's threads": lambda level: f"{level.server_threads:,}" if level.server_threads else NOTHING,
    "started late by: p50, p99, max": lambda level: _delay(level.start_delay_us),
    "answered after: p50, p99, max": lambda level: _delay(level.latency_us),
    "operations due": lambda level: f"{level.scheduled:,}",
    "done": lambda level: f"{level.operations:,}",
    "never started": lambda level: f"{level.skipped:,}",
    "failed": lambda level: f"{level.errors:,}",
    "engine's CPU": lambda level: _share(level.client_cpu_share),
    "server's CPU": lambda level: _share(level.server_cpu_share),
}


def hold_terminal(document: HoldDocument) -> str:
    """What was asked; of each server a line for each figure with a column for each TLS level, and facts."""
    names = max(len(name) for name in LINES)
    lines = [_title(document), ""]
    for held in document.servers:
        lines.append(printable(_name(held)))
        for head, *cells in _rows(held):
            lines.append(f"{head:{names}}" + "".join(f"  {cell:>28}" for cell in cells))
        lines += ["", *_bulleted(_facts_of(held)), ""]
    return "\n".join([*lines, *_bulleted(_facts(document)), ""])


def _bulleted(texts: Iterable[str]) -> Iterator[str]:
    return (f"\N{BULLET} {printable(text)}" for text in texts)


def hold_markdown(document: HoldDocument) -> str:
    """The same as Markdown tables."""
    parts = [escaped(_title(document))]
    for held in document.servers:
        head, *rows = [[escaped(cell) for cell in row] for row in _rows(held)]
        rules = ["---", *["---:"] * (len(head) - 1)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in (head, rules, *rows))
        parts += [f"**{escaped(_name(held))}**", table, _listed(_facts_of(held))]
    return "\n\n".join(filter(None, [*parts, _listed(_facts(document))])) + "\n"


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)


def _title(document: HoldDocument) -> str:
    return (
        f"One engine holding {document.connections:,} connections, {document.rate_per_s:,g} queries a second "
        f"in all, for {document.duration_s:g} s"
    )


def _name(held: ServerFigures) -> str:
    threads = "with its thread pool" if held.pooled else "with a thread for each connection"
    return f"{held.server.name} ({held.server.version}), {threads}"


def _rows(held: ServerFigures) -> list[list[str]]:
    return [
        ["", *(LEVEL_WORDS[level.tls] for level in held.levels)],
        *([name, *(show(level) for level in held.levels)] for name, show in LINES.items()),
    ]


def _facts_of(held: ServerFigures) -> Iterator[str]:
    added = held.tls_rss_bytes_per_connection
    if added is not None:
        yield f"TLS adds {_bytes(added)} a connection in the engine, nearly all of it OpenSSL's"
    for level in held.levels:
        yield from (f"{LEVEL_WORDS[level.tls]} does not count: {doubt}" for doubt in level.doubts)
    yield from held.caveats


def _facts(document: HoldDocument) -> Iterator[str]:
    yield from (f"not held on {own.server}: {own.reason}" for own in document.not_held)
    yield machine_words(document.machine)
    yield from document.caveats


def _bytes(value: float | None) -> str:
    return quantity(value, "B") if value is not None else NOTHING


def _delay(delay: Delay | None) -> str:
    if delay is None:
        return NOTHING
    return ", ".join(quantity(value, "us") for value in (delay.p50, delay.p99, delay.max))


def _share(share: float | None) -> str:
    return f"{share:.0%}" if share is not None else NOTHING
