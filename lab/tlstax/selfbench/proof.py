"""Did a contestant do what it was asked to do? The server's own counters against what the client says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tlstax.checks import MOST_ERRORS, SLOW_LOGINS, cache_hits
from tlstax.contract import Done, Frozen, Ready
from tlstax.selfbench.plan import RESUMED, Cell
from tlstax.selfbench.records import Observation, ServerFacts

TLS_1_3 = "TLSv1.3"


class Complete(Frozen):
    """The evidence of a trial that came to its end."""

    cell: Cell
    ready: Ready
    done: Done
    setup_delta: dict[str, int]
    window_delta: dict[str, int]
    row_mismatches: tuple[str, ...]
    server: ServerFacts

    @property
    def failed(self) -> int:
        """How many operations of the window failed."""
        return sum(error.count for error in self.done.errors)


def doubts(seen: Observation, server: ServerFacts) -> tuple[str, ...]:
    """Why the trial must not be counted, in clauses; nothing where every claim is proved.

    At `ready` and `done` nothing is in flight, so what the server counted between them is exactly what
    the client did: numbers must be equal, but for operations that failed, which the server may have
    counted or not.
    """
    if seen.failure:
        return (seen.failure,)
    if seen.ready is None or seen.done is None:
        return ("the trial ended without its evidence",)
    complete = Complete(
        cell=seen.trial.cell,
        ready=seen.ready,
        done=seen.done,
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
    if trial.failed > MOST_ERRORS * (trial.failed + operations):
        kinds = ", ".join(sorted({error.kind for error in trial.done.errors}))
        yield f"{trial.failed} of {trial.failed + operations} operations failed ({kinds})"
    if trial.row_mismatches:
        yield f"rows differ from the server's: {trial.row_mismatches[0]}"


def _statements(trial: Complete) -> Iterator[str]:
    """The server ran as many statements as operations are claimed, prepared where they are to be."""
    yield from _equal(trial, "SELECT statements", "Com_select", trial.done.operations)
    prepared = trial.done.operations if trial.cell.workload == "point-select" else 0
    yield from _equal(trial, "executions of prepared statements", "Com_stmt_execute", prepared)


def _connections(trial: Complete) -> Iterator[str]:
    """Every operation came on a connection of its own, or none did and all connections were there before."""
    reconnects = trial.done.operations if trial.cell.workload == "reconnect" else 0
    yield from _equal(trial, "connections", "Connections", reconnects)
    if trial.cell.tls == "off":
        reconnects = 0
    yield from _equal(trial, "TLS handshakes", "Ssl_finished_accepts", reconnects)
    opened = trial.setup_delta.get("Connections", 0)
    if trial.cell.workload == "point-select" and opened < trial.cell.connections:
        yield f"the server counted {opened} connections before the window, not {trial.cell.connections}"


def _encryption(trial: Complete) -> Iterator[str]:
    """Connections were encrypted with TLS 1.3, or not at all, as the cell has it; the server says so.

    Where a client does not ask it, it is enough that the server accepts no other version.
    """
    accepted = trial.setup_delta.get("Ssl_finished_accepts", 0)
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
    if not trial.server.mariadb:
        hits = cache_hits(handshakes)
        yield from _equal(trial, "look-ups of resumed sessions", "Ssl_session_cache_hits", hits)


def _logins(trial: Complete) -> Iterator[str]:
    """Measured logins took caching_sha2_password's fast path."""
    for way, count in trial.done.window.authentications.items():
        if way in SLOW_LOGINS:
            yield f"{count} measured logins took the slow path ({way})"


def _equal(trial: Complete, what: str, counter: str, claimed: int) -> Iterator[str]:
    """The server's counter over the window is what is claimed; what failed may be on top of it."""
    counted = trial.window_delta.get(counter, 0)
    most = claimed + trial.failed if claimed else 0
    if not claimed <= counted <= most:
        yield f"the server counted {counted} {what} ({counter}) where there must be {claimed}"


CHECKS: tuple[Callable[[Complete], Iterator[str]], ...] = (
    _work,
    _statements,
    _connections,
    _encryption,
    _resumption,
    _logins,
)
