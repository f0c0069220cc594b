"""What every connect to an inspected server pays for and need not: round trips and signatures. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.contract import TlsView
from tlstax.findings.core.remedies import entry_for
from tlstax.results.inspection import Asked, Certificate, ConnectCost, Payment, Use
from tlstax.study.key_groups import group_name
from tlstax.study.workloads.sessions import FEW_STATEMENTS

MEASURED = {"RSA 4096": "two to four times the server's CPU of a connection with RSA 2048"}
"""What a connection with a longer key costs MySQL 9.7 and 8.0.33 (docs/pool-or-reconnect.md)."""


SLOW_CURVES = ("P-384", "P-521", "X448")
SLOW_KEYS = {
    f"EC {curve}": "several times what a signature with EC P-256 costs, for which OpenSSL has code of its own"
    for curve in ("P-384", "P-521", "secp256k1", "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1")
}
"""Only for P-256 does OpenSSL have code in assembly: `openssl speed ecdsap256 ecdsap384` shows it."""


def payments(
    version: str,
    asked: Sequence[Asked],
    chain: Sequence[Certificate],
    cost: ConnectCost | None,
    watched: Use | None,
) -> tuple[Payment, ...]:
    """Those that were seen at a server that says so of its version, what concerns most clients first."""
    return (
        *_of_use(watched),
        *_of_second_hello(asked, cost),
        *_of_resumption(version, asked),
        *_of_key_exchange(version, asked, cost),
        *_of_key(version, chain),
    )


def _of_use(watched: Use | None) -> Iterator[Payment]:
    a_connection = watched.statements_per_connect if watched is not None else None
    if watched is not None and a_connection is not None and a_connection < FEW_STATEMENTS:
        costs = "making a TLS connection costs the server as much as a transaction of some 14 statements"
        if watched.tls_share == 0:
            costs = "none of them uses TLS, which would make each connection several times as costly"
        yield Payment(
            what=f"clients make {watched.connects_per_s:.3g} connections a second, for {a_connection:.3g} "
            "statements each",
            costs=costs,
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


def _of_resumption(version: str, asked: Sequence[Asked]) -> Iterator[Payment]:
    versions = {own.name: own for own in asked if own.topic == "version"}
    entry = entry_for("resumption", version)
    for own in asked:
        spoken = versions.get(own.name)
        if own.topic == "resumption" and not own.agreed and spoken is not None and spoken.agreed:
            yield Payment(
                what=f"sessions of {own.name} are not resumed",
                costs="each connect pays for a signature and a key exchange",
                remedy=f"{entry.says or 'have the server resume them'}; and clients that keep sessions",
                steps=entry.steps,
            )


def _of_key_exchange(version: str, asked: Sequence[Asked], cost: ConnectCost | None) -> Iterator[Payment]:
    """What clients left to themselves get costs more than it need, for both sides."""
    default = next((own.agreed for own in asked if own.topic == "default"), None)
    slow = _slow_exchange(default) if default is not None else ""
    if not slow:
        return
    tls = next((phase for phase in cost.phases if phase.name == "tls_handshake"), None) if cost else None
    measured = (
        f"{tls.median_us / 1000:.3g} of {cost.whole.median_us / 1000:.3g} ms of a connect from here are TLS; "
        if tls is not None and cost is not None
        else ""
    )
    is_dhe = slow.startswith("DHE")
    yield Payment(
        what=f"clients left to themselves exchange keys by {slow}",
        costs=f"{measured}P-256 and X25519 take a fraction of the time, on both sides",
        remedy="have the server take suites with ECDHE, or TLS 1.3"
        if is_dhe
        else "P-256 first in the clients' groups: Groups = P-256:X25519:P-384:P-521 in their openssl.cnf",
        steps=entry_for("ciphers", version).steps if is_dhe else (),
    )


def _slow_exchange(default: TlsView) -> str:
    """The key exchange, where it is one of those that cost several times what P-256 does; else empty."""
    group = group_name(default.group)
    if default.cipher.startswith("DHE-") or group.startswith(("ffdhe", "dh_")):
        return f"DHE{f' ({group})' if group else ''}"
    return group if group in SLOW_CURVES else ""


def _of_key(version: str, chain: Sequence[Certificate]) -> Iterator[Payment]:
    for certificate in chain[:1]:
        if certificate.is_costly_rsa or certificate.key in SLOW_KEYS:
            more = "more of the server's CPU than a connection with RSA 2048"
            costs = SLOW_KEYS.get(certificate.key) or MEASURED.get(certificate.key, more)
            yield Payment(
                what=f"the server signs each full handshake with {certificate.key}",
                costs=costs,
                remedy="a key of EC P-256, as secure as RSA 3072 (NIST SP 800-57), which costs least",
                steps=entry_for("certificate", version).steps,
            )
