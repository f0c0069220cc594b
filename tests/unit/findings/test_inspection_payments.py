"""What connects pay for and need not is named where it was seen, and only there."""

from __future__ import annotations

import pytest

from tlstax.contract import TlsView
from tlstax.findings.inspection.payments import payments
from tlstax.results.inspection import Asked, Certificate, ConnectCost, ConnectPhase, Payment, Use

RETRIED = TlsView(version="TLSv1.3", cipher="x", resumed=False, hello_retry=True)
AT_ONCE = RETRIED.model_copy(update={"hello_retry": False})
WHOLE = ConnectPhase(name="connect", round_trips=5, sent_bytes=1, received_bytes=1, median_us=1)
COST = ConnectCost(connects=8, whole=WHOLE, phases=())


def default(view: TlsView | None) -> Asked:
    return Asked(topic="default", name="a client left to itself", agreed=view)


def key(name: str) -> Certificate:
    return Certificate(
        subject="",
        issuer="",
        is_self_signed=False,
        key=name,
        signature="SHA256",
        names=(),
        not_before="",
        not_after="",
        size_bytes=1,
        sha256="",
    )


def used(statements_per_connect: float | None) -> Use:
    return Use(
        over_s=5.0,
        connects_per_s=12.0,
        statements_per_s=None,
        statements_per_connect=statements_per_connect,
        tls_share=None,
        resumed_share=None,
        received_bytes_per_s=None,
        sent_bytes_per_s=None,
        aborted_connects_per_s=None,
    )


def found(*asked: Asked, chain: tuple[Certificate, ...] = (), watched: Use | None = None) -> list[Payment]:
    return list(payments(asked, chain, COST, watched))


def test_nothing_is_paid_for_in_vain_where_nothing_was_seen() -> None:
    taken = [Asked(topic=topic, name="TLS 1.3", agreed=AT_ONCE) for topic in ("version", "resumption")]
    assert found(default(AT_ONCE), *taken, chain=(key("RSA 2048"),), watched=used(20.0)) == []
    assert found(default(None), chain=(key("EC P-256"),), watched=used(None)) == []
    assert found() == []


def test_a_second_hello_is_a_round_trip_of_each_connect() -> None:
    (paid,) = found(default(RETRIED))
    assert paid.costs == "one round trip of 5 of each connect, resumed or not"
    assert "P-256:X25519" in paid.remedy
    (unknown,) = payments([default(RETRIED)], (), None, None)
    assert unknown.costs == "one round trip of each connect, resumed or not"


@pytest.mark.parametrize(("spoken", "paid"), [(True, ["sessions of TLS 1.2 are not resumed"]), (False, [])])
def test_sessions_that_are_not_resumed_where_the_version_is_spoken(spoken: bool, paid: list[str]) -> None:
    version = Asked(topic="version", name="TLS 1.2", agreed=AT_ONCE if spoken else None)
    assert [one.what for one in found(version, Asked(topic="resumption", name="TLS 1.2"))] == paid


@pytest.mark.parametrize(
    ("name", "costs"),
    [("RSA 4096", "two to four times"), ("RSA 3072", "more of"), ("RSA 2048", None), ("EC P-384", None)],
)
def test_a_long_key_is_paid_for_in_each_full_handshake(name: str, costs: str | None) -> None:
    paid = found(chain=(key(name), key("RSA 4096")))
    assert [one.costs.startswith(costs or "") for one in paid] == ([True] if costs else [])


def test_few_statements_a_connection_come_first() -> None:
    paid = found(default(RETRIED), watched=used(1.0))
    assert paid[0].what == "clients make 12 connections a second, for 1 statements each"
    assert len(paid) == 2
