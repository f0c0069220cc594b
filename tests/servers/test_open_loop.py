"""An open loop shows a server's stall to all work that was due in it, where a closed loop hides it."""

from __future__ import annotations

import time

import pytest
from load_jobs import ROWS, WITHIN_S, job, measured

from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.contract import Done, Job, OpenLoop
from tlstax.findings.core.histograms import Histogram, decode
from tlstax.mysql.database import TableContent
from tlstax.specimens.private_server import PrivateServer

CONNECTIONS = 4
RATE_PER_S = 500.0
WINDOW_S, STALL_S, LONG_S = 2.0, 0.5, 0.25


@pytest.fixture
def server(mysql: PrivateServer) -> PrivateServer:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    return mysql


def stalled(server: PrivateServer, job: Job, *, after_s: float) -> tuple[Done, float]:
    """The result of a job whose server stands still for a while, and for how long at least it did."""
    with LoadClient(engine_command(), job) as client:
        client.wait_ready(WITHIN_S)
        client.go()
        time.sleep(after_s)
        server.pause()
        try:
            started = time.monotonic()
            time.sleep(STALL_S)
            stall_s = time.monotonic() - started
        finally:
            server.resume()
        return client.wait_done(WITHIN_S), stall_s


def nth_slowest_s(latencies: Histogram, number: float) -> float:
    (found_us,) = latencies.percentiles_us((100 * (1 - (number - 0.5) / latencies.count),))
    return found_us / 1e6


@pytest.mark.parametrize("after_s", [WINDOW_S / 4, WINDOW_S - STALL_S / 2])
def test_an_open_loop_shows_a_stall_to_all_that_was_due_in_it(server: PrivateServer, after_s: float) -> None:
    """In the middle of the window, and over its end, where late work is easily forgotten."""
    schedule = OpenLoop(rate_per_s=RATE_PER_S, arrivals="uniform")
    asked = job(server, connections=CONNECTIONS, schedule=schedule, duration_s=WINDOW_S)
    done, stall_s = stalled(server, asked, after_s=after_s)
    latencies = decode(done.histograms_ns["operation"])
    assert done.errors == ()
    assert done.operations + done.skipped == done.scheduled == latencies.count
    assert done.scheduled == pytest.approx(RATE_PER_S * WINDOW_S, abs=2)
    # An operation waits for what is left of the stall when it is due: what was due until a quarter of
    # a second before its end has a long wait.
    long_waits = RATE_PER_S * (min(after_s + stall_s - LONG_S, WINDOW_S) - after_s)
    assert nth_slowest_s(latencies, 0.8 * long_waits) > LONG_S
    assert nth_slowest_s(latencies, 1.3 * long_waits) < LONG_S
    assert nth_slowest_s(latencies, 1) > 0.9 * stall_s
    delays = decode(done.histograms_ns["start_delay"])
    assert delays.count == done.scheduled
    assert nth_slowest_s(delays, 0.8 * long_waits) > LONG_S


def test_a_closed_loop_shows_the_same_stall_to_one_operation_a_connection(server: PrivateServer) -> None:
    asked = job(server, connections=CONNECTIONS, duration_s=WINDOW_S)
    done, stall_s = stalled(server, asked, after_s=WINDOW_S / 4)
    latencies = decode(done.histograms_ns["operation"])
    assert nth_slowest_s(latencies, 1) > 0.9 * stall_s
    assert nth_slowest_s(latencies, CONNECTIONS) > LONG_S
    assert nth_slowest_s(latencies, CONNECTIONS + 1) < LONG_S
    assert "start_delay" not in done.histograms_ns


def test_with_connections_to_spare_operations_start_when_they_are_due(server: PrivateServer) -> None:
    gap_us = 5000.0
    schedule = OpenLoop(rate_per_s=1e6 / gap_us, arrivals="uniform")
    _, done = measured(job(server, connections=16, schedule=schedule, duration_s=1.0))
    assert done.scheduled == pytest.approx(200, abs=2)
    (median_us,) = decode(done.histograms_ns["start_delay"]).percentiles_us((50,))
    assert median_us < gap_us / 10


def test_more_than_a_server_can_do_is_skipped_and_not_forgotten(server: PrivateServer) -> None:
    schedule = OpenLoop(rate_per_s=1_000_000.0)
    _, done = measured(job(server, connections=1, schedule=schedule, duration_s=0.2))
    assert done.skipped > 0.5 * done.scheduled
    assert done.operations + done.skipped == done.scheduled
    latencies = decode(done.histograms_ns["operation"])
    assert latencies.count == done.scheduled
    # What was due at the beginning has waited for the window and as long again.
    assert nth_slowest_s(latencies, 1) > 1.5 * 0.2


def test_the_engines_own_cost_is_told(server: PrivateServer) -> None:
    kept, reconnecting = (measured(job(server, name))[1] for name in ("point-select", "reconnect"))
    assert kept.overhead is not None
    assert reconnecting.overhead is not None
    assert 0 < kept.overhead.cpu_us_per_op < reconnecting.overhead.cpu_us_per_op
    assert kept.overhead.operations > 0
    assert kept.lifetime.connections == CONNECTIONS
