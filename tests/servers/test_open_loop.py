"""An open loop shows a server's stall to all work that was due in it, where a closed loop hides it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from load_jobs import ROWS, WITHIN_S, job, measured

from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.contract import Done, Job, OpenLoop
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent
from tlstax.stats.histograms import Histogram, decode

CONNECTIONS = 4
RATE_PER_S = 500.0
WINDOW_S, STALL_S, LONG_S = 2.0, 0.75, 0.25


@pytest.fixture
def server(mysql: PrivateServer) -> PrivateServer:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    return mysql


@dataclass(frozen=True)
class Stall:
    """When the server stood still at the least, in seconds after the client was told to go."""

    began_s: float
    ended_s: float

    def long_waits(self) -> float:
        """How many operations at the least were due in the stall and LONG_S or more before its end.

        The client was told to go before its window began, so that the window ends no sooner than this says.
        """
        return RATE_PER_S * (min(self.ended_s - LONG_S, WINDOW_S) - self.began_s)


def stalled(server: PrivateServer, job: Job, *, after_s: float) -> tuple[Done, Stall]:
    """The result of a job whose server stands still for a while, and when it did."""
    with LoadClient(engine_command(), job) as client:
        client.wait_ready(WITHIN_S)
        went_s = time.monotonic()
        client.go()
        time.sleep(after_s)
        server.pause()
        try:
            began_s = time.monotonic()
            time.sleep(STALL_S)
            ended_s = time.monotonic()
        finally:
            server.resume()
        return client.wait_done(WITHIN_S), Stall(began_s - went_s, ended_s - went_s)


def nth_slowest_s(latencies: Histogram, number: float) -> float:
    # HdrHistogram rounds the share of values to a whole number of them: a half would fall on either side.
    (found_us,) = latencies.percentiles_us((100 * (1 - (number - 1) / latencies.count),))
    return found_us / 1e6


@pytest.mark.parametrize("after_s", [WINDOW_S / 4, WINDOW_S - STALL_S / 2])
def test_an_open_loop_shows_a_stall_to_all_that_was_due_in_it(server: PrivateServer, after_s: float) -> None:
    """In the middle of the window, and over its end, where late work is easily forgotten.

    A busy machine makes waits longer, never shorter: of what waited long, the least is asserted.
    """
    schedule = OpenLoop(rate_per_s=RATE_PER_S, arrivals="uniform")
    asked = job(server, connections=CONNECTIONS, schedule=schedule, duration_s=WINDOW_S)
    done, stall = stalled(server, asked, after_s=after_s)
    latencies = decode(done.histograms_ns["operation"])
    assert done.errors == ()
    assert done.operations + done.skipped == done.scheduled == latencies.count
    assert done.scheduled == pytest.approx(RATE_PER_S * WINDOW_S, abs=2)
    assert nth_slowest_s(latencies, 0.9 * stall.long_waits()) > LONG_S
    assert nth_slowest_s(latencies, 1) > 0.9 * (min(stall.ended_s, WINDOW_S) - stall.began_s)
    delays = decode(done.histograms_ns["start_delay"])
    assert delays.count == done.scheduled
    assert nth_slowest_s(delays, 0.9 * stall.long_waits()) > LONG_S
    # What was due while the server worked is not charged with it.
    assert nth_slowest_s(latencies, 0.75 * done.scheduled) < LONG_S


def test_a_closed_loop_shows_the_same_stall_to_one_operation_a_connection(server: PrivateServer) -> None:
    asked = job(server, connections=CONNECTIONS, duration_s=WINDOW_S)
    done, stall = stalled(server, asked, after_s=WINDOW_S / 4)
    latencies = decode(done.histograms_ns["operation"])
    assert nth_slowest_s(latencies, CONNECTIONS) > 0.9 * (stall.ended_s - stall.began_s)
    # Far fewer than an open loop has, even where the machine itself stood still for a moment too.
    assert nth_slowest_s(latencies, 0.2 * stall.long_waits()) < LONG_S
    assert "start_delay" not in done.histograms_ns


def test_with_connections_to_spare_operations_start_when_they_are_due(server: PrivateServer) -> None:
    """Even while the server stands still: then they wait for its answer, and not for their start."""
    gap_us = 5000.0
    due = STALL_S * 1e6 / gap_us
    schedule = OpenLoop(rate_per_s=1e6 / gap_us, arrivals="uniform")
    asked = job(server, connections=int(2 * due), schedule=schedule, duration_s=WINDOW_S)
    done, stall = stalled(server, asked, after_s=WINDOW_S / 4)
    assert done.scheduled == pytest.approx(WINDOW_S * 1e6 / gap_us, abs=2)
    long_waits = stall.long_waits() / RATE_PER_S * 1e6 / gap_us
    assert nth_slowest_s(decode(done.histograms_ns["operation"]), 0.9 * long_waits) > LONG_S
    assert nth_slowest_s(decode(done.histograms_ns["start_delay"]), 0.2 * long_waits) < LONG_S


def test_more_than_a_server_can_do_is_skipped_and_not_forgotten(server: PrivateServer) -> None:
    schedule = OpenLoop(rate_per_s=1_000_000.0)
    _, done = measured(job(server, connections=1, schedule=schedule, duration_s=0.2))
    assert done.skipped > 0.5 * done.scheduled
    assert done.operations + done.skipped == done.scheduled
    latencies = decode(done.histograms_ns["operation"])
    assert latencies.count == done.scheduled
    # What was due at the beginning has waited for the window and as long again.
    assert nth_slowest_s(latencies, 1) > 1.5 * 0.2


def test_a_storm_opens_what_is_due_and_closes_it_when_it_is_up(server: PrivateServer) -> None:
    schedule = OpenLoop(rate_per_s=200.0, arrivals="uniform")
    _, done = measured(job(server, "storm", schedule=schedule, duration_s=0.5))
    assert done.errors == ()
    assert done.scheduled == pytest.approx(100, abs=1)
    assert done.operations + done.skipped == done.scheduled
    assert done.window.connections == done.operations
    assert done.phase_wire["close"].times == done.operations
    assert done.rounds_s == ()
    up, connected = (decode(done.histograms_ns[phase]) for phase in ("operation", "connect"))
    assert (up.count, connected.count) == (done.scheduled, done.operations)
    # One that waited for its start has its wait in it.
    assert nth_slowest_s(up, 1) >= nth_slowest_s(connected, 1)


def test_the_engines_own_cost_is_told(server: PrivateServer) -> None:
    kept, reconnecting = (measured(job(server, name))[1] for name in ("point-select", "reconnect"))
    assert kept.overhead is not None
    assert reconnecting.overhead is not None
    assert 0 < kept.overhead.cpu_us_per_op < reconnecting.overhead.cpu_us_per_op
    assert kept.overhead.operations > 0
    assert kept.lifetime.connections == CONNECTIONS
