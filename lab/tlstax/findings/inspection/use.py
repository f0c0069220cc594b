"""How a server was used between two readings of its counters: rates and shares. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.results.inspection import Use

CONNECTIONS, HANDSHAKES = "Connections", "Ssl_finished_accepts"


def use(
    before: Mapping[str, int], after: Mapping[str, int], over_s: float, own_statements: int = 0
) -> Use | None:
    """The rates over so many seconds; None where the server counts no connections.

    With nothing `before` they are those since the server's start. None, too, where the counters went back:
    the server was started meanwhile, or somebody reset them. `own_statements` were asked to find out, and do
    not count.
    """
    if over_s <= 0 or CONNECTIONS not in after:
        return None
    done = {name: value - before.get(name, 0) for name, value in after.items()}
    if any(value < 0 for value in done.values()):
        return None
    connects, handshakes = done[CONNECTIONS], done.get(HANDSHAKES)
    statements = max(0, done["Questions"] - own_statements) if "Questions" in done else None
    return Use(
        over_s=over_s,
        connects_per_s=connects / over_s,
        statements_per_s=_rate(statements, over_s),
        statements_per_connect=_share(statements, connects),
        tls_share=_share(handshakes, connects),
        resumed_share=_share(done.get("Ssl_session_cache_hits"), handshakes),
        received_bytes_per_s=_rate(done.get("Bytes_received"), over_s),
        sent_bytes_per_s=_rate(done.get("Bytes_sent"), over_s),
        aborted_connects_per_s=_rate(done.get("Aborted_connects"), over_s),
    )


def _rate(count: int | None, over_s: float) -> float | None:
    return None if count is None else count / over_s


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
