"""Proof of what several clients did: in turns at one server, or from several machines at once.

While clients take turns every few milliseconds, nobody asks the server in between: it counted of all clients
of a sitting what they claim together. Each was proved by itself before that, over its connections, its
warm-up and the work that was watched (`treatment`, `drivers`). Of a load from several machines each did its
part, and they began together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.treatment import cache_hits, handshakes_at_server
from tlstax.contract import Counts
from tlstax.records.server_counts import WORDS, Count, in_words
from tlstax.study import tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, UNSET
from tlstax.support.text import counted, was

OF_CONNECTIONS: Final[tuple[Count, ...]] = ("connections", "handshakes", "session_lookups")
"""What a server counts of connections."""

Range = tuple[int, int | None]
"""The least and the most of something; None for no limit."""


def claims(made: Iterable[tuple[CaseLevels, Counts]]) -> dict[Count, Range]:
    """What a server must have counted when all its clients together opened this."""
    every = [_claims(case, counts) for case, counts in made]
    return {count: _sum(claimed[count] for claimed in every) for count in OF_CONNECTIONS}


def together(trial: Complete) -> Iterator[Doubt]:
    """The server counted, of all who took turns, what they claim together."""
    seen = trial.evidence.together
    if seen is None:
        return
    counting = trial.server.counting
    for count, (least, most) in seen.claims.items():
        counted = counting.of(seen.status_delta, count)
        if counted is None or (counted >= counting.least(count, least) and (most is None or counted <= most)):
            continue
        if trial.evidence.guest and counted > least:
            yield Doubt("note", "others used the server during the trial")
            return
        yield Doubt(
            "invalid",
            f"while {seen.clients} clients took turns the server counted {in_words(counted, WORDS[count])} "
            f"({counting.name(count)}), the clients {least}",
        )


def _claims(case: CaseLevels, counts: Counts) -> dict[Count, Range]:
    """A driver counts no handshakes and may connect by itself: only that there are enough can be told.

    What stands at another address of the server's makes connections of its own, or keeps some, as do paths
    that lend them.
    """
    if case.address != DIRECT or case.path in tls_levels.POOLS:
        return dict.fromkeys(OF_CONNECTIONS, (0, None))
    if kind_of(case.client).is_driver:
        at_server = tls_levels.tls_at_server(case)
        encrypted, never = at_server not in {"off", UNSET}, at_server == "off"
        return {
            "connections": (counts.connections, None),
            "handshakes": (counts.connections if encrypted else 0, 0 if never else None),
            "session_lookups": (0, 0 if never else None),
        }
    handshakes, own = handshakes_at_server(case, counts), tls_levels.is_of_client(case)
    hits = cache_hits(counts.handshakes) if own else 0
    return {
        "connections": (counts.connections, counts.connections),
        "handshakes": (handshakes, handshakes),
        "session_lookups": (hits, hits if own else None),
    }


def _sum(ranges: Iterable[Range]) -> Range:
    found = list(ranges)
    most = [high for _, high in found]
    return sum(low for low, _ in found), None if None in most else sum(high or 0 for high in most)


MOST_APART = 1 / 2
"""How many of the slices may have begun too far apart: those that did not are still enough, and what keeps
machines from beginning began_together more often than this is no accident."""


def began_together(trial: Complete) -> Iterator[Doubt]:
    """Every machine's client worked, their parts are the whole, and most of their slices began together."""
    load = trial.evidence.load
    if load is None:
        return
    for part in load.parts:
        if not part.operations:
            yield Doubt(
                "invalid", f"no operation came from {part.machine}, which was given a part of the load"
            )
    job = trial.evidence.job
    connections = sum(part.connections for part in load.parts)
    if job is not None and connections != job.connections:
        yield Doubt(
            "invalid",
            f"{counted(connections, 'connection')} {was(connections)} given to the load machines, where "
            f"{job.connections} are wanted",
        )
    operations = sum(part.operations for part in load.parts)
    if operations != trial.done.operations:
        yield Doubt(
            "invalid",
            f"the load machines finished {counted(operations, 'operation')}, all together "
            f"{trial.done.operations}",
        )
    if load.apart > MOST_APART * load.slices:
        yield Doubt(
            "invalid",
            f"in {load.apart} of {load.slices} slices the load machines began more than a twentieth of it "
            f"apart ({load.skew_us:.0f} µs in the median, clocks known to {load.clock_error_us:.0f} µs)",
        )
