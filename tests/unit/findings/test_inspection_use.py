"""Rates between two readings of a server's counters, and what becomes of what it does not count."""

from __future__ import annotations

from tlstax.findings.inspection.use import use
from tlstax.results.inspection import Use

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
