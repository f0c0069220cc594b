"""Proof of what was done in turns: a server counted of all clients of a sitting what they claim together.

While clients take turns every few milliseconds, nobody asks the server in between. Each was proved by itself
before that, over its connections, its warm-up and the work that was watched (`treatment`, `drivers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.handshakes import COUNTER as HANDSHAKES
from tlstax.checks.handshakes import counts_handshakes
from tlstax.checks.handshakes import least as least_counted
from tlstax.checks.statements import WORDS as STATEMENTS
from tlstax.checks.treatment import cache_hits, handshakes_at_server
from tlstax.contract import Counts
from tlstax.study import tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, UNSET
from tlstax.study.product import product_of

COUNTERS = {
    "Connections": "connections",
    HANDSHAKES: "TLS handshakes",
    "Ssl_session_cache_hits": "look-ups of resumed sessions",
}
"""What a server counts of connections (reference manual, "Server Status Variables"), in words."""

ROWS = {
    "Innodb_rows_inserted": "rows inserted",
    "Innodb_rows_updated": "rows updated",
    "Innodb_rows_deleted": "rows deleted",
    "Handler_write": "rows inserted",
    "Handler_update": "rows updated",
    "Handler_delete": "rows deleted",
}
"""The same of what clients write, where one's word for it is claimed (`rows_changed.claims`)."""

Range = tuple[int, int | None]
"""The least and the most of something; None for no limit."""


def claims(made: Iterable[tuple[CaseLevels, Counts]]) -> dict[str, Range]:
    """What a server must have counted, by its counters, when all its clients together opened this."""
    every = [_claims(case, counts) for case, counts in made]
    return {counter: _sum(claimed[counter] for claimed in every) for counter in COUNTERS}


def together(trial: Complete) -> Iterator[Doubt]:
    """The server counted, of all who took turns, what they claim together."""
    seen = trial.evidence.together
    if seen is None:
        return
    for counter, (least, most) in seen.claims.items():
        if not _is_counted(trial, counter):
            continue
        counted = seen.status_delta.get(counter, 0)
        fewest = least_counted(trial.server.version, counter, least)
        if counted >= fewest and (most is None or counted <= most):
            continue
        if trial.evidence.guest and counted > least:
            yield Doubt("note", "others used the server during the trial")
            return
        what = (COUNTERS | ROWS | STATEMENTS)[counter]
        yield Doubt(
            "invalid",
            f"while {seen.clients} clients took turns the server counted {counted} {what} ({counter}), "
            f"the clients {least}",
        )


def _claims(case: CaseLevels, counts: Counts) -> dict[str, Range]:
    """A driver counts no handshakes and may connect by itself: only that there are enough can be told.

    What stands at another address of the server's makes connections of its own, or keeps some.
    """
    if case.address != DIRECT:
        return dict.fromkeys(COUNTERS, (0, None))
    if kind_of(case.client).is_driver:
        at_server = tls_levels.tls_at_server(case)
        encrypted, never = at_server not in {"off", UNSET}, at_server == "off"
        return {
            "Connections": (counts.connections, None),
            HANDSHAKES: (counts.connections if encrypted else 0, 0 if never else None),
            "Ssl_session_cache_hits": (0, 0 if never else None),
        }
    handshakes, own = handshakes_at_server(case, counts), tls_levels.is_of_client(case)
    hits = cache_hits(counts.handshakes) if own else 0
    return {
        "Connections": (counts.connections, counts.connections),
        HANDSHAKES: (handshakes, handshakes),
        "Ssl_session_cache_hits": (hits, hits if own else None),
    }


def _sum(ranges: Iterable[Range]) -> Range:
    found = list(ranges)
    most = [high for _, high in found]
    return sum(low for low, _ in found), None if None in most else sum(high or 0 for high in most)


def _is_counted(trial: Complete, counter: str) -> bool:
    """YaSSL counts nothing of TLS, MariaDB no look-ups (see `treatment.server_counts`)."""
    if counter not in {HANDSHAKES, "Ssl_session_cache_hits"}:
        return True
    if not counts_handshakes(trial.server):
        return False
    return counter == HANDSHAKES or product_of(trial.server.version) != "mariadb"
