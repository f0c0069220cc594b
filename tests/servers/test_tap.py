"""A tap before real servers: what it counts is what the engine counts, what it reads was agreed on."""

from __future__ import annotations

from typing import Any

import pytest
from load_jobs import ROWS, WITHIN_S, client, job

from tlstax.contract import Done, Ready, TlsOff, TlsOn, TlsVersion
from tlstax.network.tap.opening import open_tap
from tlstax.records.capture import Capture
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent
from tlstax.stats.outcomes import phases_together

OPERATIONS = 20

CASES: dict[str, dict[str, Any]] = {
    "plaintext": {},
    "TLS 1.2": {"version": "1.2"},
    "TLS 1.2 resumed": {"version": "1.2", "resumption": True},
    "TLS 1.3, groups as the client chooses": {"version": "1.3"},
    "TLS 1.3, X25519 first": {"version": "1.3", "groups": "X25519:P-256"},
    "TLS 1.3, P-256": {"version": "1.3", "groups": "P-256"},
    "TLS 1.3 resumed, P-256": {"version": "1.3", "groups": "P-256", "resumption": True},
}


def tls(server: PrivateServer, version: TlsVersion | None = None, **changes: object) -> TlsOff | TlsOn:
    if version is None:
        return TlsOff()
    asked = TlsOn(min_version=version, max_version=version, verify="identity", ca_file=server.ca_file)
    return asked.model_copy(update=changes)


def tapped(server: PrivateServer, workload: str, **changes: object) -> tuple[Ready, Done, Capture]:
    """A window of a few operations, as the engine counted it and as the tap saw it."""
    server.prepare_table(TableContent(rows=ROWS, seed=1))
    endpoint = server.endpoint()
    with open_tap(endpoint) as tap:
        few = job(
            server,
            workload,
            endpoint=tap.entry,
            source_addresses=(),
            warmup_s=0.0,
            duration_s=WITHIN_S,
            operations=OPERATIONS,
            **changes,
        )
        with client(few) as started:
            ready = started.wait_ready(WITHIN_S)
            tap.begin_window()
            started.go()
            done = started.wait_done(WITHIN_S)
            tap.end_window(done.operations)
        capture = tap.capture()
        assert (capture.entry_port, capture.server_port) == (tap.entry.port, endpoint.port)
    return ready, done, capture


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("workload", ["reconnect", "point-select"])
def test_turns_and_bytes_are_those_that_the_engine_counts(
    private: PrivateServer, case: str, workload: str
) -> None:
    _, done, capture = tapped(private, workload, tls=tls(private, **CASES[case]), connections=2)
    reconnects = workload == "reconnect"
    whole = phases_together(done, ("connect", "first_query") if reconnects else ("first_query", "query"))
    window = capture.window
    assert whole is not None
    assert window is not None
    assert capture.window_connections == (OPERATIONS if reconnects else 0)
    assert window.turns + capture.window_connections == whole.round_trips
    if not reconnects:
        assert (window.bytes_sent, window.bytes_received) == (whole.bytes_sent, whole.bytes_received)
    assert capture.connections == done.lifetime.connections
    assert capture.operations == OPERATIONS


@pytest.mark.parametrize("case", CASES)
def test_what_it_reads_of_the_handshakes_was_agreed_on(private: PrivateServer, case: str) -> None:
    _, done, capture = tapped(private, "reconnect", tls=tls(private, **CASES[case]), connections=1)
    agreed = {(h.version, h.cipher, h.group, h.resumed, h.hello_retry) for h in done.window.handshakes}
    seen = {
        (one.tls.version, one.tls.cipher, one.tls.group, one.tls.resumed, one.tls.hello_retry)
        for one in capture.conversations
        if one.in_window and one.tls is not None
    }
    assert seen == agreed
    assert capture.encrypted == (capture.connections if agreed else 0)
