"""What a server's count of TLS handshakes is worth as proof: it may be right, short by a few, or wrong."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Doubt
from tlstax.records.server_counts import Counting
from tlstax.records.trial import ServerObservation


def unless_counted(server: ServerObservation, made: int, otherwise: str) -> Iterator[Doubt]:
    """Nothing if the server counted as many handshakes as it `made`, a note if it may have missed some.

    Where it cannot have, `otherwise` is what makes the trial invalid.
    """
    counting, counted = server.counting, server.counted("handshakes") or 0
    if counted == made:
        return
    if counting.fits("handshakes", counted, made):
        yield Doubt("note", missed(counting, counted, made))
    else:
        yield Doubt("invalid", otherwise)


def missed(counting: Counting, counted: int, made: int) -> str:
    """What a note says of a count that fits and is short: "MariaDB counted 325 of 326 TLS handshakes …"."""
    return (
        f"{counting.product} counted {counted} of {made} TLS handshakes: it counts without a lock, and may "
        "miss some"
    )
