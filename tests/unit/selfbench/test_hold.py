"""Held connections: memory per connection is a difference, lateness has its own histogram."""

from __future__ import annotations

import pytest
from hdrh.histogram import HdrHistogram

from fake_contestants import MACHINE, SERVER, observation
from tlstax.report.formats.render import render
from tlstax.selfbench.hold_estimate import hold_document
from tlstax.selfbench.hold_records import (
    Held,
    HeldPair,
    HeldServer,
    HeldTls,
    HoldHeader,
    HoldRun,
    Memory,
    NotHeld,
    ServerFigures,
)
from tlstax.selfbench.plan import Cell, Trial
from tlstax.selfbench.records import Status

BASE, PLAIN, ENCRYPTED = 5_000_000, 1_500, 41_500
"""What an engine needs at all, and for each connection without and with TLS, in bytes."""

HEADER = HoldHeader(
    started_at="2026-11-21T12:00:00+00:00",
    tlstax_version="0.1.0",
    connections=1001,
    rate_per_s=1001,
    duration_s=10,
    machine=MACHINE,
)


def run_of(*pairs: HeldPair, status: Status = "complete") -> HoldRun:
    server = HeldServer(specimens=(), server=SERVER, pooled=True, pairs=pairs)
    return HoldRun(header=HEADER, servers=(server,), status=status)


def figures(*pairs: HeldPair) -> ServerFigures:
    (found,) = hold_document(run_of(*pairs)).servers
    return found


def held(tls: HeldTls, connections: int, *, delays_us: tuple[int, ...] = ()) -> Held:
    cell = Cell(workload="point-select", tls=tls, connections=connections)
    trial = Trial(block=0, position=0, cell=cell, contestant="engine")
    seen = observation(trial, cpu_us_per_op=20)
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for delay_us in delays_us:
        histogram.record_value(delay_us * 1000)
    assert seen.done is not None
    encoded = {"start_delay": histogram.encode().decode()} if delays_us else {}
    done = seen.done.model_copy(update={"histograms_ns": encoded})
    of_each = PLAIN if tls == "off" else ENCRYPTED
    return Held(
        seen=seen.model_copy(update={"done": done}),
        memory=Memory(
            client_rss_bytes=BASE + of_each * connections,
            server_rss_bytes=10 * BASE + 3 * of_each * connections,
            server_threads=12,
        ),
        connected=connections,
    )


def pair(tls: HeldTls, *, delays_us: tuple[int, ...] = (30,) * 99 + (900,)) -> HeldPair:
    return HeldPair(tls=tls, one=held(tls, 1), all=held(tls, 1001, delays_us=delays_us))


def test_memory_per_connection_is_what_each_adds() -> None:
    found = figures(pair("off"), pair("1.3"))
    plain, encrypted = found.levels
    assert (plain.client_rss_bytes_per_connection, encrypted.client_rss_bytes_per_connection) == (
        PLAIN,
        ENCRYPTED,
    )
    assert plain.server_rss_bytes_per_connection == 3 * PLAIN
    assert found.tls_rss_bytes_per_connection == ENCRYPTED - PLAIN
    assert (plain.connected, plain.server_threads, plain.doubts) == (1001, 12, ())


def test_lateness_is_read_from_its_own_histogram() -> None:
    (level,) = figures(pair("off")).levels
    assert level.start_delay_us is not None
    assert level.start_delay_us.p50 == pytest.approx(30, rel=0.001)
    assert level.start_delay_us.p99 == pytest.approx(30, rel=0.001)
    assert level.start_delay_us.max == pytest.approx(900, rel=0.001)
    assert level.latency_us is None


def test_an_engine_that_does_not_tell_how_late_it_was_is_said() -> None:
    found = figures(pair("off", delays_us=()))
    assert found.levels[0].start_delay_us is None
    assert any("does not report how late" in caveat for caveat in found.caveats)


def test_connections_that_were_not_all_there_are_a_doubt() -> None:
    few = pair("1.3").model_copy(update={"all": held("1.3", 1001).model_copy(update={"connected": 999})})
    found = hold_document(run_of(pair("off"), few))
    assert found.servers[0].levels[1].doubts == ("the server had 999 connections, not 1001",)
    assert "TLS 1.3 does not count: the server had 999 connections, not 1001" in render(found, "terminal")


def test_what_any_trial_must_prove_is_proved_here_too() -> None:
    whole = held("off", 1001)
    seen = whole.seen.model_copy(update={"window_delta": {"Com_select": 7, "Com_stmt_execute": 7}})
    liar = pair("off").model_copy(update={"all": whole.model_copy(update={"seen": seen})})
    (level,) = figures(liar).levels
    assert "the server counted 7 SELECT statements" in level.doubts[0]


def test_an_interrupted_hold_shows_what_was_complete() -> None:
    found = hold_document(run_of(pair("off"), status="interrupted"))
    (server,) = found.servers
    assert (len(server.levels), server.tls_rss_bytes_per_connection) == (1, None)
    assert "interrupted" in found.caveats[0]
    for form in ("terminal", "md", "json"):
        assert "interrupted" in render(found, form)


def test_a_busy_side_is_said() -> None:
    busy = held("off", 1001)
    assert busy.seen.done is not None
    cpu = busy.seen.done.cpu.model_copy(update={"total_us": 950_000.0})
    seen = busy.seen.model_copy(update={"done": busy.seen.done.model_copy(update={"cpu": cpu})})
    level = pair("off").model_copy(update={"all": busy.model_copy(update={"seen": seen})})
    caveats = figures(level).caveats
    assert (
        "in plaintext the client's CPU was busy 95% of the time, with little to spare for the schedule"
        in caveats
    )


def test_every_server_has_its_own_and_one_that_cannot_has_its_reason() -> None:
    run = run_of(pair("off"), pair("1.3"))
    threads = run.servers[0].model_copy(update={"pooled": False})
    refused = NotHeld(server="mysql-5.6.14", reason="mysql-5.6.14 has no TLS 1.3, it has TLS 1.0")
    both = run.model_copy(update={"servers": (*run.servers, threads), "not_held": (refused,)})
    for form in ("terminal", "md"):
        text = render(hold_document(both), form)
        for part in (
            "with its thread pool",
            "with a thread for each connection",
            "not held on mysql-5.6.14: mysql-5.6.14 has no TLS 1.3, it has TLS 1.0",
        ):
            assert part in text
        assert text.count("TLS adds 39.1 KiB a connection in the engine") == 2
