"""What the engine counts of round trips and bytes is what crosses the interface, packet by packet."""

from __future__ import annotations

from typing import Any

import pytest
from load_jobs import WITHIN_S, counted_and_seen, job
from packet_capture import why_not

from tlstax.contract import Job, TlsOff, TlsOn, TlsVersion
from tlstax.specimens.private_server import PrivateServer
from tlstax.stats.outcomes import phases_together

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

CONNECTS = 20

CASES: dict[str, dict[str, Any]] = {
    "plaintext": {},
    "TLS 1.2": {"version": "1.2"},
    "TLS 1.2 resumed": {"version": "1.2", "resumption": True},
    "TLS 1.3, groups as the client chooses": {"version": "1.3"},
    "TLS 1.3, P-256": {"version": "1.3", "groups": "P-256"},
    "TLS 1.3 resumed, P-256": {"version": "1.3", "groups": "P-256", "resumption": True},
}


def tls(server: PrivateServer, version: TlsVersion | None = None, **changes: object) -> TlsOff | TlsOn:
    if version is None:
        return TlsOff()
    asked = TlsOn(min_version=version, max_version=version, verify="identity", ca_file=server.ca_file)
    return asked.model_copy(update=changes)


def reconnects(server: PrivateServer, case: str) -> Job:
    """A window of single reconnects."""
    return job(
        server,
        "reconnect",
        tls=tls(server, **CASES[case]),
        connections=1,
        warmup_s=0.0,
        duration_s=WITHIN_S,
        operations=CONNECTS,
    )


@pytest.mark.parametrize("case", CASES)
def test_round_trips_and_bytes_are_those_on_the_interface(private: PrivateServer, case: str) -> None:
    done, capture = counted_and_seen(private, reconnects(private, case))
    whole = phases_together(done, ("connect", "first_query"))
    assert whole is not None
    assert whole.times == 2 * len(capture.conversations) == 2 * CONNECTS
    seen = capture.conversations.values()
    tls13 = CASES[case].get("version") == "1.3"
    assert {one.round_trips(tls13=tls13) for one in seen} == {whole.round_trips / CONNECTS}
    assert whole.bytes_sent == sum(one.bytes_of(client=True) for one in seen)
    assert whole.bytes_received == sum(one.bytes_of(client=False) for one in seen)
