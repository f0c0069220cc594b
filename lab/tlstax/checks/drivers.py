"""What proves the treatment of a driver, which counts no handshakes of its own: the server's counters.

What the driver itself says it knows of a connection is checked with the others' in `treatment`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.handshakes import unless_counted
from tlstax.study import tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.level_names import LEFT_TO_THE_DRIVER, UNSET
from tlstax.support.text import counted


def connections(trial: Complete) -> Iterator[Doubt]:
    """The server counted the connections that the driver was asked to make; a driver may make more."""
    if not _is_of_driver(trial):
        return
    seen, claimed = _connections(trial), trial.alone.connections
    more = seen - claimed
    if more < 0:
        yield Doubt(
            "invalid", f"the server counted {counted(seen, 'connection')}, where {_who(trial)} says {claimed}"
        )
    elif more:
        logged = trial.server.logged is not None
        shown = "the server's log" if logged else trial.server.counting.name("connections")
        yield Doubt(
            "note",
            f"{_who(trial)} opened {counted(more, 'connection')} by itself besides the {claimed} that its "
            f"program asked for ({shown})",
        )


def handshakes(trial: Complete) -> Iterator[Doubt]:
    """The server made a TLS handshake for each connection, or none, as the case has it.

    Where the case leaves it to the driver, the server's count must fit what it said on the asked connections.
    """
    if not _is_of_driver(trial):
        return
    seen, made = trial.server.counted("handshakes"), _connections(trial)
    if trial.server.logged is not None:
        # `connections.logged` has each connection's encryption.
        return
    if seen is None:
        yield Doubt(
            "note", "the server counts no handshakes: what it says on the asked connections shows them"
        )
        return
    wanted = tls_levels.tls_at_server(trial.case)
    if wanted == UNSET:
        yield from _left_to_the_driver(trial, seen, made)
        return
    must = "none" if wanted == "off" else "one for each"
    yield from unless_counted(
        trial.server,
        0 if wanted == "off" else made,
        f"the server counted {counted(seen, 'TLS handshake')} on {counted(made, 'connection')} "
        f"({trial.server.counting.name('handshakes')}), where there must be {must}",
    )


def resumption(trial: Complete) -> Iterator[Doubt]:
    """A driver that resumed sessions by itself gets a note; none may be resumed where the case forbids it.

    The counter is of look-ups: a HelloRetryRequest makes two of one connection (see `treatment.cache_hits`).
    """
    hits = trial.server.counted("session_lookups")
    if not _is_of_driver(trial) or not hits:
        return
    resumed = (
        f"{_who(trial)} resumed TLS sessions by itself: on {counted(_connections(trial), 'connection')} the "
        f"server found one {counted(hits, 'time')} ({trial.server.counting.name('session_lookups')})"
    )
    asked_not_to = "resumption" in trial.case and not trial.case.resumes
    if asked_not_to and trial.case.tls not in LEFT_TO_THE_DRIVER:
        yield Doubt("invalid", f"{resumed}, where every handshake is to be full")
    else:
        yield Doubt("note", resumed)


def steady(trial: Complete) -> Iterator[Doubt]:
    """A driver that had not become steady before it was measured is slower than it would be later."""
    if trial.ready.steady is False:
        seconds = trial.ready.warmup[-1].elapsed_s if trial.ready.warmup else 0.0
        yield Doubt(
            "note",
            f"{_who(trial)} was not steady when it was measured: after {seconds:.1f} s its CPU time "
            "per operation was still falling",
        )


def _left_to_the_driver(trial: Complete, seen: int, made: int) -> Iterator[Doubt]:
    asked = sum(side.connections for side in trial.ready.negotiated)
    encrypted = sum(side.connections for side in trial.ready.negotiated if side.server is not None)
    counting = trial.server.counting
    if seen < counting.least("handshakes", encrypted) or made - seen < asked - encrypted:
        yield Doubt(
            "invalid",
            f"the server counted {counted(seen, 'TLS handshake')} on {counted(made, 'connection')} "
            f"({counting.name('handshakes')}), and {encrypted} of the {asked} that it was asked on are "
            "encrypted",
        )
    elif seen and not counting.fits("handshakes", seen, made):
        yield Doubt("note", f"{seen} of {made} connections made a TLS handshake, the others none")


def _is_of_driver(trial: Complete) -> bool:
    return kind_of(trial.case.client).is_driver and not trial.evidence.guest


def _connections(trial: Complete) -> int:
    """As many as the server's log names, where it does; else as many as the server counted."""
    if trial.server.logged is not None:
        return sum(group.connections for group in trial.server.logged)
    return trial.server.counted("connections") or 0


def _who(trial: Complete) -> str:
    return f"{trial.ready.client} ({trial.ready.client_version})"
