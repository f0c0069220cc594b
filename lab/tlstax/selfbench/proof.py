"""Did a contestant do what it was asked to do? The server's own counters against what the client says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tlstax.checks import MOST_ERRORS, SLOW_LOGINS, cache_hits
from tlstax.checks.handshakes import COUNTER as HANDSHAKES
from tlstax.checks.handshakes import least as least_counted
from tlstax.contract import Done, Frozen, Handshakes, Ready
from tlstax.selfbench.plan import RESUMED, Cell
from tlstax.selfbench.records import InTurns, Observation, ServerFacts
from tlstax.support.text import counted

TLS_1_3 = "TLSv1.3"

COUNTERS = {
    "Com_select": "SELECT statements",
    "Com_stmt_execute": "executions of prepared statements",
    "Connections": "connections",
    HANDSHAKES: "TLS handshakes",
    "Ssl_session_cache_hits": "look-ups of resumed sessions",
}
"""What a server counts of the work (reference manual, "Server Status Variables"), in words."""


class Work(Frozen):
    """What a contestant says that it did in some time; `failed` is None where that is not known."""

    operations: int
    handshakes: tuple[Handshakes, ...]
    failed: int | None = 0


class Complete(Frozen):
    """The evidence of a trial that came to its end.

    `work` is what it did in its window, `in_slices` how many operations it claimed slice by slice, the
    watched one among them; None where it took no turns.
    """

    cell: Cell
    ready: Ready
    done: Done
    work: Work
    in_slices: int | None
    in_turns: InTurns | None
    setup_delta: dict[str, int]
    window_delta: dict[str, int]
    row_mismatches: tuple[str, ...]
    server: ServerFacts


def failed(done: Done) -> int:
    """How many operations failed."""
    return sum(error.count for error in done.errors)


def claims(cell: Cell, works: Iterable[Work]) -> dict[str, tuple[int, int | None]]:
    """What the server must have counted of this work, by its counters: the least and the most.

    Operations that failed it may have counted or not. The most is None where it is not known what failed.
    """
    works = tuple(works)
    unknown = any(work.failed is None for work in works)
    found: dict[str, tuple[int, int | None]] = {}
    for counter in COUNTERS:
        each = [(_claimed(cell, counter, work), work.failed or 0) for work in works]
        most = sum(claimed + failures if claimed else 0 for claimed, failures in each)
        found[counter] = sum(claimed for claimed, _ in each), None if unknown else most
    return found


def _claimed(cell: Cell, counter: str, work: Work) -> int:
    reconnects = work.operations if cell.workload == "reconnect" else 0
    return {
        "Com_select": work.operations,
        "Com_stmt_execute": work.operations - reconnects,
        "Connections": reconnects,
        HANDSHAKES: 0 if cell.tls == "off" else reconnects,
        "Ssl_session_cache_hits": cache_hits(work.handshakes),
    }[counter]


def doubts(seen: Observation, server: ServerFacts) -> tuple[str, ...]:
    """Why the trial must not be counted, in clauses; nothing where every claim is proved.

    Nothing is in flight before and after a window, so what the server counted between is exactly what the
    client did in it: numbers must be equal, but for operations that failed, which the server may have
    counted or not. The turns of several are proved together.
    """
    if seen.failure:
        return (seen.failure,)
    if seen.ready is None or seen.done is None:
        return ("the trial ended without its evidence",)
    complete = Complete(
        cell=seen.trial.cell,
        ready=seen.ready,
        done=seen.done,
        work=_in_window(seen, seen.done),
        in_slices=_in_slices(seen),
        in_turns=seen.in_turns,
        setup_delta=seen.setup_delta,
        window_delta=seen.window_delta,
        row_mismatches=seen.row_mismatches,
        server=server,
    )
    return tuple(doubt for check in CHECKS for doubt in check(complete))


def _work(trial: Complete) -> Iterator[str]:
    """Operations were finished, few of them failed, and the rows were the server's."""
    operations = trial.done.operations
    if operations == 0:
        yield "no operation was finished"
    failures = failed(trial.done)
    if failures > MOST_ERRORS * (failures + operations):
        kinds = ", ".join(sorted({error.kind for error in trial.done.errors}))
        yield f"{failures} of {failures + operations} operations failed ({kinds})"
    if trial.in_slices is not None and trial.in_slices != operations:
        yield f"its result has {operations} operations and its slices have {trial.in_slices}"
    if trial.row_mismatches:
        yield f"rows differ from the server's: {trial.row_mismatches[0]}"


def _counted(trial: Complete) -> Iterator[str]:
    """The server counted over the window what is claimed of it, and over all turns what all claim together.

    It ran as many statements as operations are claimed, prepared where they are to be. Every operation came
    on a connection of its own, or none did and all connections were there before.
    """
    yield from _equal(trial.server, trial.window_delta, claims(trial.cell, [trial.work]))
    if trial.in_turns is not None:
        turns = trial.in_turns
        for doubt in _equal(trial.server, turns.status_delta, turns.claims):
            yield f"while {counted(turns.clients, 'contestant')} took turns {doubt}"


def _connected(trial: Complete) -> Iterator[str]:
    """Connections that are kept were there before the window."""
    opened = trial.setup_delta.get("Connections", 0)
    if trial.cell.workload == "point-select" and opened < trial.cell.connections:
        yield f"the server counted {opened} connections before the window, not {trial.cell.connections}"


def _encryption(trial: Complete) -> Iterator[str]:
    """Connections were encrypted with TLS 1.3, or not at all, as the cell has it; the server says so.

    Where a client does not ask it, it is enough that the server accepts no other version.
    """
    accepted = trial.setup_delta.get(HANDSHAKES, 0)
    if trial.cell.tls == "off":
        if accepted:
            yield f"the server counted {accepted} TLS handshakes before a window of plaintext"
        if any(seen.server is not None for seen in trial.ready.negotiated):
            yield "the server says that a connection was encrypted where the cell is plaintext"
        return
    if trial.cell.workload == "point-select" and accepted < trial.cell.connections:
        yield f"the server counted {accepted} TLS handshakes for {trial.cell.connections} connections"
    if not trial.ready.negotiated and trial.server.tls_versions != TLS_1_3:
        yield "the server was not asked what was negotiated"
    for seen in trial.ready.negotiated:
        if seen.server is None:
            yield "the server says that a connection was not encrypted"
        elif seen.server.version != TLS_1_3:
            yield f"the server says {seen.server.version} where the cell is TLS 1.3"


def _resumption(trial: Complete) -> Iterator[str]:
    """Sessions were resumed where the cell says so, and nowhere else."""
    handshakes = trial.done.window.handshakes
    resumed = sum(seen.count for seen in handshakes if seen.resumed)
    if trial.cell.tls != RESUMED:
        if resumed:
            yield f"{resumed} handshakes were resumed where none may be"
    elif resumed != sum(seen.count for seen in handshakes) or resumed == 0:
        yield "not all measured handshakes were resumed"


def _logins(trial: Complete) -> Iterator[str]:
    """Measured logins took caching_sha2_password's fast path."""
    for way, count in trial.done.window.authentications.items():
        if way in SLOW_LOGINS:
            yield f"{count} measured logins took the slow path ({way})"


def _equal(
    server: ServerFacts, delta: dict[str, int], claimed: dict[str, tuple[int, int | None]]
) -> Iterator[str]:
    """The server's counters are what is claimed; MariaDB counts no look-ups and may miss handshakes."""
    for counter, (least, most) in claimed.items():
        if counter == "Ssl_session_cache_hits" and server.mariadb:
            continue
        found = delta.get(counter, 0)
        if found < least_counted(server.version, counter, least) or (most is not None and found > most):
            yield f"the server counted {found} {COUNTERS[counter]} ({counter}) where there must be {least}"


def _in_window(seen: Observation, done: Done) -> Work:
    if seen.watched is None:
        return Work(operations=done.operations, handshakes=done.window.handshakes, failed=failed(done))
    watched = seen.watched
    return Work(operations=watched.operations, handshakes=watched.counts.handshakes, failed=failed(done))


def _in_slices(seen: Observation) -> int | None:
    if seen.watched is None or seen.slices is None:
        return None
    long = seen.beside.operations if seen.beside is not None else ()
    return seen.watched.operations + int(sum(seen.slices.operations) + sum(long))


CHECKS: tuple[Callable[[Complete], Iterator[str]], ...] = (
    _work,
    _counted,
    _connected,
    _encryption,
    _resumption,
    _logins,
)
