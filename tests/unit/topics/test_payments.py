"""What connects pay for and need not is named where it was seen; rates between two readings of counters."""

from __future__ import annotations

import pytest

from inspected_servers import inspected
from tlstax.contract import TlsView
from tlstax.results.inspection import Asked, Certificate, Concern, ConnectPhase, Use
from tlstax.topics.inspection.concerns import payments, use

RETRIED = TlsView(version="TLSv1.3", cipher="x", resumed=False, hello_retry=True)
AT_ONCE = RETRIED.model_copy(update={"hello_retry": False})
WHOLE = ConnectPhase(name="connect", connects=8, round_trips=5, sent_bytes=1, received_bytes=1, median_us=1)


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


def found(
    *asked: Asked,
    chain: tuple[Certificate, ...] = (),
    watched: Use | None = None,
    connect: tuple[ConnectPhase, ...] = (WHOLE,),
    version: str = "9.7.4",
) -> list[Concern]:
    server = inspected(chain=chain, watched=watched, version=version)
    return list(payments(server.model_copy(update={"asked": asked, "connect": connect})))


def test_nothing_is_paid_for_in_vain_where_nothing_was_seen() -> None:
    taken = [Asked(topic=topic, name="TLS 1.3", agreed=AT_ONCE) for topic in ("version", "resumption")]
    assert found(default(AT_ONCE), *taken, chain=(key("RSA 2048"),), watched=used(20.0)) == []
    assert found(default(None), chain=(key("EC P-256"),), watched=used(None)) == []
    assert found() == []


def test_a_second_hello_is_a_round_trip_of_each_connect() -> None:
    (paid,) = found(default(RETRIED))
    assert paid.why == "one round trip of 5 of each connect, resumed or not"
    assert "P-256:X25519" in paid.remedy
    (unknown,) = found(default(RETRIED), connect=())
    assert unknown.why == "one round trip of each connect, resumed or not"


@pytest.mark.parametrize(("spoken", "paid"), [(True, ["sessions of TLS 1.2 are not resumed"]), (False, [])])
def test_sessions_that_are_not_resumed_where_the_version_is_spoken(spoken: bool, paid: list[str]) -> None:
    version = Asked(topic="version", name="TLS 1.2", agreed=AT_ONCE if spoken else None)
    assert [one.what for one in found(version, Asked(topic="resumption", name="TLS 1.2"))] == paid


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("RSA 4096", "two to four times"),
        ("RSA 3072", "more of"),
        ("RSA-PSS 4096", "more of"),
        ("RSA 2048", None),
        ("EC P-256", None),
        ("EC P-521", "several times"),
    ],
)
def test_a_long_key_is_paid_for_in_each_full_handshake(name: str, costs: str | None) -> None:
    paid = found(chain=(key(name), key("RSA 4096")))
    assert [one.why.startswith(costs or "") for one in paid] == ([True] if costs else [])


@pytest.mark.parametrize(
    ("cipher", "group", "slow"),
    [
        ("DHE-RSA-AES256-GCM-SHA384", "ffdhe2048", "DHE (ffdhe2048)"),
        ("DHE-RSA-AES256-GCM-SHA384", None, "DHE"),
        ("TLS_AES_128_GCM_SHA256", "ffdhe3072", "DHE (ffdhe3072)"),
        ("TLS_AES_128_GCM_SHA256", "secp521r1", "P-521"),
        ("TLS_AES_128_GCM_SHA256", "secp256r1", None),
        ("ECDHE-RSA-AES256-GCM-SHA384", "x25519", None),
        ("AES256-GCM-SHA384", None, None),
    ],
)
def test_a_slow_key_exchange_is_the_cause_of_the_time(
    cipher: str, group: str | None, slow: str | None
) -> None:
    view = TlsView(version="TLSv1.2", cipher=cipher, resumed=False, group=group)
    whole = WHOLE.model_copy(update={"median_us": 12_600.0})
    tls = WHOLE.model_copy(update={"name": "tls_handshake", "median_us": 12_200.0})
    paid = found(default(view), connect=(whole, tls))
    assert [own.what for own in paid] == (
        [f"clients left to themselves exchange keys by {slow}"] if slow else []
    )
    for own in paid:
        assert own.why.startswith("12.2 of 12.6 ms of a connect from here are TLS")
        assert bool(own.steps) == (slow is not None and slow.startswith("DHE"))


def test_clients_in_the_clear_are_not_told_what_tls_costs_them() -> None:
    (plain,) = found(watched=used(1.0).model_copy(update={"tls_share": 0.0}))
    assert "none of them uses TLS" in plain.why


def test_no_variable_is_named_that_the_server_has_not() -> None:
    asked = [
        Asked(topic="version", name="TLS 1.2", agreed=AT_ONCE),
        Asked(topic="resumption", name="TLS 1.2"),
    ]
    for version, has_it in (("8.0.29", True), ("8.0.28", False), ("11.8.9-MariaDB", False)):
        (paid,) = found(*asked, connect=(), version=version)
        assert ("ssl_session_cache_mode" in str(paid)) == has_it


def test_few_statements_a_connection_come_first() -> None:
    paid = found(default(RETRIED), watched=used(1.0))
    assert paid[0].what == "clients make 12 connections a second, for 1 statements each"
    assert len(paid) == 2


BEFORE = {
    "Uptime": 100,
    "Connections": 50,
    "Questions": 1000,
    "Bytes_received": 10_000,
    "Bytes_sent": 20_000,
    "Aborted_connects": 1,
    "Ssl_finished_accepts": 40,
    "Ssl_session_cache_hits": 4,
}
AFTER = {
    "Uptime": 110,
    "Connections": 70,
    "Questions": 1100,
    "Bytes_received": 10_500,
    "Bytes_sent": 21_000,
    "Aborted_connects": 2,
    "Ssl_finished_accepts": 50,
    "Ssl_session_cache_hits": 9,
}


def test_what_was_done_between_is_a_rate() -> None:
    assert use(BEFORE, AFTER, 10.0) == Use(
        over_s=10.0,
        connects_per_s=2.0,
        statements_per_s=10.0,
        statements_per_connect=5.0,
        tls_share=0.5,
        resumed_share=0.5,
        received_bytes_per_s=50.0,
        sent_bytes_per_s=100.0,
        aborted_connects_per_s=0.1,
    )


def test_since_the_start_everything_counts() -> None:
    found = use({}, BEFORE, 100.0)
    assert found is not None
    assert (found.connects_per_s, found.tls_share, found.resumed_share) == (0.5, 0.8, 0.1)


def test_what_was_asked_to_find_out_does_not_count() -> None:
    found = use(BEFORE, AFTER, 10.0, 20)
    assert found is not None
    assert (found.statements_per_s, found.statements_per_connect) == (8.0, 4.0)
    idle = use(BEFORE, {**BEFORE, "Uptime": 110, "Questions": 1001}, 10.0, 2)
    assert idle is not None
    assert idle.statements_per_s == 0.0, "a server may count the last one late"


def test_what_is_not_counted_is_none() -> None:
    found = use({}, {"Uptime": 10, "Connections": 20}, 10.0)
    assert found is not None
    assert (found.connects_per_s, found.statements_per_s, found.tls_share) == (2.0, None, None)


def test_without_connections_there_are_no_shares() -> None:
    idle = use(BEFORE, {**BEFORE, "Uptime": 110}, 10.0)
    assert idle is not None
    assert (idle.connects_per_s, idle.statements_per_connect, idle.tls_share) == (0.0, None, None)


def test_of_a_server_that_was_started_anew_nothing_is_known() -> None:
    assert use(BEFORE, {**AFTER, "Uptime": 5}, 10.0) is None
    assert use(BEFORE, {**AFTER, "Questions": 7}, 10.0) is None, "somebody reset the counters"
    assert use({}, {"Uptime": 1}, 1.0) is None
    assert use({}, AFTER, 0.0) is None
    assert use({}, AFTER, 0.5) is not None
