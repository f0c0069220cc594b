"""What clients of several machines did is put together: counts, histograms, and times by one clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trials import fake_record, histogram, tax_truth
from tlstax.clients import merging
from tlstax.clients.fleet import LEAD_S, lead_in_s, spread_error_s
from tlstax.clients.fleet_messages import ClockOffset, of_exchanges, over_time
from tlstax.contract import Counts, Done, Overhead, Ready, Slice, Wire
from tlstax.plan.order import cases
from tlstax.records.trial import Trial
from tlstax.stats import histograms
from tlstax.study import load_study

CASE = cases(load_study("tax"))[0]


def done(operations: int, **changed: object) -> Done:
    record = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE))
    assert record.done is not None
    return record.done.model_copy(update={"operations": operations, **changed})


def ready() -> Ready:
    record = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE))
    assert record.ready is not None
    return record.ready


def slice_of(operations: int, elapsed_s: float) -> Slice:
    return Slice(
        elapsed_s=elapsed_s,
        operations=operations,
        latency_sum_s=operations / 100,
        cpu_us=operations * 10.0,
        counts=Counts(connections=operations, handshakes=(), authentications={"fast": operations}),
    )


def test_a_slice_lasts_from_the_first_begin_to_the_last_end() -> None:
    whole = merging.slices([slice_of(3, 1.0), slice_of(4, 0.5)], [10.0, 10.8])
    assert whole.elapsed_s == pytest.approx(1.3)
    assert (whole.operations, whole.cpu_us) == (7, 70.0)
    assert whole.latency_sum_s == pytest.approx(0.07)
    assert whole.counts.connections == 7
    assert whole.counts.authentications == {"fast": 7}


def test_results_add_up() -> None:
    first = done(10, wire=None, overhead=Overhead(cpu_us_per_op=1.0, operations=100))
    second = done(20, wire=None, overhead=Overhead(cpu_us_per_op=4.0, operations=200))
    whole = merging.done([first, second], elapsed_s=1.5)
    assert (whole.operations, whole.elapsed_s) == (30, 1.5)
    assert whole.cpu.total_us == pytest.approx(2 * first.cpu.total_us)
    assert whole.lifetime.connections == 2 * first.lifetime.connections
    assert whole.overhead == Overhead(cpu_us_per_op=3.0, operations=300)
    assert merging.done([done(1, overhead=None)] * 2, 1.0).overhead is None
    assert len(whole.row_samples) == 2 * len(first.row_samples)
    for phase, seen in first.phase_wire.items():
        assert whole.phase_wire[phase].times == 2 * seen.times


def test_bytes_are_known_where_all_tell() -> None:
    told = Wire(
        bytes_sent=10,
        bytes_received=20,
        segments_sent=3,
        segments_received=None,
        records_sent=4,
        records_received=5,
    )
    both = merging.done([done(1, wire=told), done(1, wire=told)], 1.0).wire
    assert both == Wire(
        bytes_sent=20,
        bytes_received=40,
        segments_sent=6,
        segments_received=None,
        records_sent=8,
        records_received=10,
    )
    assert merging.done([done(1, wire=told), done(1, wire=None)], 1.0).wire is None


def test_histograms_have_the_values_of_all() -> None:
    fast, slow = histogram(100.0, 900), histogram(1000.0, 100)
    whole = merging.done(
        [
            done(1, histograms_ns={"query": fast, "connect": fast}),
            done(1, histograms_ns={"query": slow}),
        ],
        1.0,
    )
    assert whole.histograms_ns["connect"] == fast
    merged = histograms.decode(whole.histograms_ns["query"])
    again = histograms.merge([fast, slow])
    assert again is not None
    assert merged.count == 1000
    assert merged.percentiles_us((50.0, 99.0)) == again.percentiles_us((50.0, 99.0))


def test_connections_that_negotiated_alike_are_counted_together() -> None:
    part = ready()
    whole = merging.ready([part, part])
    assert sum(one.connections for one in whole.negotiated) == 2 * sum(
        one.connections for one in part.negotiated
    )
    assert len(whole.negotiated) == len(part.negotiated)


@given(st.floats(-1e3, 1e3), st.floats(0, 0.1), st.floats(0, 0.1))
def test_another_clock_is_known_to_half_the_exchange(ahead_s: float, there_s: float, back_s: float) -> None:
    asked_s = 5.0
    found = of_exchanges([(asked_s, asked_s + there_s + back_s, asked_s + there_s + ahead_s)])
    assert abs(found.ahead_s - ahead_s) <= found.error_s + 1e-9
    assert found.error_s == pytest.approx((there_s + back_s) / 2)


def test_the_exchange_that_took_the_least_time_tells() -> None:
    assert of_exchanges([(0.0, 1.0, 7.0), (2.0, 2.1, 7.05), (3.0, 4.0, 9.0)]) == pytest.approx((5.0, 0.05))


def test_clocks_that_drift_are_known_less() -> None:
    assert over_time(ClockOffset(1.0, 0.1), ClockOffset(1.2, 0.05)) == pytest.approx((1.1, 0.2))


def test_how_far_two_clocks_may_be_off_is_of_the_two_worst() -> None:
    known = [ClockOffset(0, 0.001), ClockOffset(0, 0.003), ClockOffset(0, 0.002)]
    assert spread_error_s(known) == pytest.approx(0.005)
    assert spread_error_s(known[:1]) == 0.0
    assert lead_in_s(known) == pytest.approx(LEAD_S + 0.006)
