"""Did held connections do what they were asked to? The server's own counters against what the engine says."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks import MOST_ERRORS, SLOW_LOGINS
from tlstax.checks.handshakes import COUNTER as HANDSHAKES
from tlstax.contract import Done, Ready
from tlstax.selfbench.records import Observation, ServerFacts

TLS_1_3 = "TLSv1.3"

COUNTERS = {
    "Com_select": "SELECT statements",
    "Com_stmt_execute": "executions of prepared statements",
    "Connections": "connections",
    HANDSHAKES: "TLS handshakes",
    "Ssl_session_cache_hits": "look-ups of resumed sessions",
}
"""What a server counts of the work (reference manual, "Server Status Variables"), in words."""


def doubts(seen: Observation, server: ServerFacts) -> tuple[str, ...]:
    """Why the trial must not be counted, in clauses; nothing where every claim is proved."""
    if seen.ready is None or seen.done is None:
        return ("the trial ended without its evidence",)
    return (
        *_work(seen, seen.done),
        *_counted(seen, seen.done, server),
        *_connected(seen),
        *_encryption(seen, seen.ready),
    )


def _work(seen: Observation, done: Done) -> Iterator[str]:
    """Operations were finished, few of them failed, logins were fast, and the rows were the server's."""
    failures = sum(error.count for error in done.errors)
    if done.operations == 0:
        yield "no operation was finished"
    if failures > MOST_ERRORS * (failures + done.operations):
        kinds = ", ".join(sorted({error.kind for error in done.errors}))
        yield f"{failures} of {failures + done.operations} operations failed ({kinds})"
    if seen.row_mismatches:
        yield f"rows differ from the server's: {seen.row_mismatches[0]}"
    for way, count in done.window.authentications.items():
        if way in SLOW_LOGINS:
            yield f"{count} measured logins took the slow path ({way})"


def _counted(seen: Observation, done: Done, server: ServerFacts) -> Iterator[str]:
    """The server counted in the window what was claimed of it; MariaDB counts no look-ups."""
    failures = sum(error.count for error in done.errors)
    for counter, words in COUNTERS.items():
        if counter == "Ssl_session_cache_hits" and "MariaDB" in server.version:
            continue
        claimed = done.operations if counter.startswith("Com_") else 0
        counted = seen.window_delta.get(counter, 0)
        if not claimed <= counted <= claimed + (failures if claimed else 0):
            yield f"the server counted {counted} {words} ({counter}) where there must be {claimed}"


def _connected(seen: Observation) -> Iterator[str]:
    """All connections were there before the window."""
    opened, wanted = seen.setup_delta.get("Connections", 0), seen.trial.cell.connections
    if opened < wanted:
        yield f"the server counted {opened} connections before the window, not {wanted}"


def _encryption(seen: Observation, ready: Ready) -> Iterator[str]:
    """Connections were encrypted with TLS 1.3, or not at all, as the cell has it; the server says so."""
    accepted, cell = seen.setup_delta.get(HANDSHAKES, 0), seen.trial.cell
    if cell.tls == "off":
        if accepted:
            yield f"the server counted {accepted} TLS handshakes before a window of plaintext"
        if any(asked.server is not None for asked in ready.negotiated):
            yield "the server says that a connection was encrypted where the cell is plaintext"
        return
    if accepted < cell.connections:
        yield f"the server counted {accepted} TLS handshakes for {cell.connections} connections"
    for asked in ready.negotiated:
        if asked.server is None:
            yield "the server says that a connection was not encrypted"
        elif asked.server.version != TLS_1_3:
            yield f"the server says {asked.server.version} where the cell is TLS 1.3"
