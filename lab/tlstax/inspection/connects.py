"""What a connect costs whoever makes it: round trips, bytes and time, over a few connects."""

from __future__ import annotations

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Account, Done, Endpoint, TlsOn
from tlstax.findings.core import histograms
from tlstax.inspection.asking import WITHIN_S, least_job
from tlstax.results.inspection import ConnectCost, ConnectPhase
from tlstax.support.errors import MachineFault

CONNECTS = 8
"""Enough for a median; a server that is far away is asked for no more."""

PROVED = 1
"""The engine makes one more before it begins, to see what is negotiated."""

PHASES = ("tcp_connect", "greeting", "tls_handshake", "authentication")
"""In the order in which a connection meets them."""


def connect_cost(tls: TlsOn, endpoint: Endpoint, account: Account) -> ConnectCost:
    """Make `CONNECTS` connects, one after another. Raises MachineFault where that fails."""
    job = least_job(tls, endpoint, account, CONNECTS)
    try:
        with LoadClient(engine_command(), job) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            return _cost(client.wait_done(2 * WITHIN_S))
    except ClientFailure as failure:
        raise MachineFault(f"what a connect costs could not be measured: {failure}") from failure


def _cost(done: Done) -> ConnectCost:
    """Each phase by itself, and all of them together."""
    if "connect" not in done.phase_wire or "connect" not in done.histograms_ns:
        raise MachineFault("what a connect costs could not be measured: none of the connects succeeded")
    return ConnectCost(
        connects=done.phase_wire["connect"].times,
        whole=_phase(done, "connect"),
        phases=tuple(_phase(done, name) for name in PHASES if name in done.phase_wire),
    )


def _phase(done: Done, name: str) -> ConnectPhase:
    wire = done.phase_wire[name]
    (median_us,) = histograms.decode(done.histograms_ns[name]).percentiles_us((50.0,))
    return ConnectPhase(
        name=name,
        round_trips=wire.round_trips / wire.times,
        sent_bytes=wire.bytes_sent / wire.times,
        received_bytes=wire.bytes_received / wire.times,
        median_us=median_us,
    )
