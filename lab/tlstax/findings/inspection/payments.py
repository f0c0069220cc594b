"""What every connect to an inspected server pays for and need not: round trips and signatures. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.results.inspection import Asked, Certificate, ConnectCost, Payment, Use
from tlstax.study.workloads.sessions import FEW_STATEMENTS

MEASURED = {"RSA 4096": "two to four times the server's CPU of a connection with RSA 2048"}
"""What a connection with a longer key costs MySQL 9.7 and 8.0.33 (docs/pool-or-reconnect.md)."""


def payments(
    asked: Sequence[Asked], chain: Sequence[Certificate], cost: ConnectCost | None, watched: Use | None
) -> tuple[Payment, ...]:
    """Those that were seen, what concerns most clients first."""
    return (
        *_of_use(watched),
        *_of_second_hello(asked, cost),
        *_of_resumption(asked),
        *_of_key(chain),
    )


def _of_use(watched: Use | None) -> Iterator[Payment]:
    a_connection = watched.statements_per_connect if watched is not None else None
    if watched is not None and a_connection is not None and a_connection < FEW_STATEMENTS:
        yield Payment(
            what=f"clients make {watched.connects_per_s:.3g} connections a second, for {a_connection:.3g} "
            "statements each",
            costs="making a TLS connection costs the server as much as a transaction of some 14 statements",
            remedy="keep connections: a pool in the application, or a proxy that keeps them (ProxySQL)",
        )


def _of_second_hello(asked: Sequence[Asked], cost: ConnectCost | None) -> Iterator[Payment]:
    default = next((own.agreed for own in asked if own.topic == "default"), None)
    if default is None or not default.hello_retry:
        return
    whole = f" of {cost.whole.round_trips:.3g}" if cost is not None else ""
    yield Payment(
        what="clients left to themselves are asked for a second ClientHello",
        costs=f"one round trip{whole} of each connect, resumed or not",
        remedy="P-256 first in the clients' groups: Groups = P-256:X25519:P-384:P-521 in their openssl.cnf",
    )


def _of_resumption(asked: Sequence[Asked]) -> Iterator[Payment]:
    versions = {own.name: own for own in asked if own.topic == "version"}
    for own in asked:
        spoken = versions.get(own.name)
        if own.topic == "resumption" and not own.agreed and spoken is not None and spoken.agreed:
            yield Payment(
                what=f"sessions of {own.name} are not resumed",
                costs="each connect pays for a signature and a key exchange",
                remedy="ssl_session_cache_mode = ON (MySQL 8.0.29 and newer); and clients that keep sessions",
            )


def _of_key(chain: Sequence[Certificate]) -> Iterator[Payment]:
    for certificate in chain[:1]:
        if certificate.is_costly_rsa:
            more = "more of the server's CPU than a connection with RSA 2048"
            yield Payment(
                what=f"the server signs each full handshake with {certificate.key}",
                costs=MEASURED.get(certificate.key, more),
                remedy="a key of EC P-256, as secure as RSA 3072 (NIST SP 800-57), which costs least",
            )
