"""What a server's counter of TLS handshakes is worth as proof: whether it counts, and what it may miss."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Doubt
from tlstax.records.trial import ServerObservation
from tlstax.study.product import product_of

COUNTER = "Ssl_finished_accepts"
"""What a server calls the handshakes that it finished (reference manual, "Server Status Variables")."""

MISSED_SHARE = 100
"""MariaDB may miss one handshake of these: far more than it does, far fewer than a wrong treatment would."""


def counts_handshakes(server: ServerObservation) -> bool:
    """Whether the server's global counters show handshakes and resumed sessions.

    yaSSL counts neither: MariaDB says that it has it, MySQL 5 has no word for its library. Where such a
    server counts after all, because it was built over OpenSSL, the counts must agree.
    """
    word = server.tls_library_version or ""
    has_yassl = "yassl" in word.lower() or (not word and server.version.startswith("5."))
    return not has_yassl or server.status_delta.get(COUNTER, 0) > 0


def least(version: str, counter: str, made: int) -> int:
    """The least that this counter of a server of this version may show where it `made` so many.

    MariaDB adds to its own counter of handshakes without a lock (`ssl_acceptor_stats_update`; the `addq` of
    11.8 on x86-64 has no `lock` prefix), so two that finish on two processors at once may be counted as one.
    MySQL shows OpenSSL's counter, which is atomic (SSL_CTX_sess_accept_good(3)).
    """
    is_loose = counter == COUNTER and product_of(version) == "mariadb"
    may_miss = -(-made // MISSED_SHARE) if is_loose else 0
    return made - may_miss


def fits(version: str, counter: str, counted: int, made: int) -> bool:
    """Whether this counter of a server of this version may show so many where it `made` these."""
    return least(version, counter, made) <= counted <= made


def unless_counted(server: ServerObservation, made: int, otherwise: str) -> Iterator[Doubt]:
    """Nothing if the server counted as many handshakes as it `made`, a note if it may have missed some.

    Where it cannot have, `otherwise` is what makes the trial invalid.
    """
    counted = server.status_delta.get(COUNTER, 0)
    if counted == made:
        return
    if fits(server.version, COUNTER, counted, made):
        yield Doubt("note", missed(counted, made))
    else:
        yield Doubt("invalid", otherwise)


def missed(counted: int, made: int) -> str:
    """What a note says of a count that fits and is short: "MariaDB counted 325 of 326 TLS handshakes …"."""
    return f"MariaDB counted {counted} of {made} TLS handshakes: it counts without a lock, and may miss some"
