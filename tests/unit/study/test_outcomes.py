"""Outcomes are what the record says, in the units that they claim, and no more than can be told."""

from dataclasses import replace
from itertools import pairwise
from math import exp
from statistics import NormalDist

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from fake_trials import Truth, crashed, fake_record, histogram, tax_truth
from tlstax.contract import DriverTerms, Overhead, WarmupSlice
from tlstax.plan.order import blocks, cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Window
from tlstax.stats.histograms import decode, merge
from tlstax.stats.outcomes import OUTCOMES, UNITS, merged, outcome, outcomes
from tlstax.study import Case, load_study
from tlstax.study.outcomes import COUNTED_WORDS, WIRE_PHASES
from tlstax.support.errors import MachineFault

BYTES = ("bytes_sent", "bytes_received")

STUDY = load_study("tax")
RECONNECT_TLS = Trial(block=0, position=0, case=cases(STUDY)[7])
KEPT = Trial(block=0, position=1, case=cases(STUDY)[0])


def _record(truth: Truth, **changes: object) -> TrialRecord:
    record = fake_record(RECONNECT_TLS, truth)
    assert record.done is not None
    return record.model_copy(update={"done": record.done.model_copy(update=changes)})


def test_numbers_are_exact() -> None:
    truth = Truth(
        ops_per_s=2000,
        phase_us={},
        server_cpu_us_per_op=400,
        client_cpu_us_per_op=100,
        bytes_sent_per_op=60,
        bytes_received_per_op=220,
        segments_per_op=6,
        rss_bytes=5_000_000,
    )
    found = outcomes(fake_record(RECONNECT_TLS, truth, duration_s=2.0, threads=2))
    assert found == pytest.approx(
        {
            "ops_per_s": 2000,
            "server_cpu_us_per_op": 400,
            "server_cpu_user_us_per_op": 300,
            "server_cpu_system_us_per_op": 100,
            "client_cpu_us_per_op": 100,
            "client_cpu_user_us_per_op": 75,
            "client_cpu_system_us_per_op": 25,
            "client_cpu_share": 0.1,
            "server_cpu_share": 0.8,
            "server_rss_bytes": 5_000_000,
            "bytes_per_op": 280,
            "bytes_sent_per_op": 60,
            "bytes_received_per_op": 220,
            "segments_per_op": 6,
        }
    )


def test_the_clients_own_cost_and_its_busiest_thread_are_outcomes() -> None:
    record = fake_record(RECONNECT_TLS, Truth(2000, {}, 400, 100), duration_s=2.0, threads=2)
    assert record.done is not None
    done = record.done.model_copy(
        update={
            "threads_cpu_us": (300_000.0, 100_000.0),
            "overhead": Overhead(cpu_us_per_op=6.5, operations=900),
        }
    )
    found = outcomes(record.model_copy(update={"done": done}))
    assert found["client_overhead_us_per_op"] == 6.5
    assert found["client_cpu_share"] == pytest.approx(0.3 / done.elapsed_s)


def test_percentiles_are_those_of_the_histogram_to_three_digits() -> None:
    truth = Truth(20_000, {"operation": 150.0}, 1, 1)
    record = fake_record(RECONNECT_TLS, truth)
    assert record.done is not None
    spread = record.done.model_copy(
        update={"histograms_ns": {"operation": histogram(150.0, 20_000, spread=0.35, steps=20_000)}}
    )
    found = outcomes(record.model_copy(update={"done": spread}))
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        log_normal_us = 150.0 * exp(0.35 * NormalDist().inv_cdf(share))
        assert found[f"latency_{name}_us"] == pytest.approx(log_normal_us, rel=4e-3)


def test_every_phase_that_occurred_is_told_and_no_other() -> None:
    tls = outcomes(fake_record(RECONNECT_TLS, tax_truth(RECONNECT_TLS.case)))
    assert {name for name in OUTCOMES if name.endswith("_p99_us")} - tls.keys() == {
        "query_p99_us",
        "start_delay_p99_us",
    }
    plain = outcomes(fake_record(KEPT, tax_truth(KEPT.case)))
    assert [name for name in plain if name.endswith("_p50_us")] == ["latency_p50_us", "query_p50_us"]
    # A client that says neither what it costs itself nor what crossed the wire in each phase or in which
    # records, in a closed loop of several connections, alone and no storm, for a time, on a machine without
    # counters; no driver, and nothing that copies a server.
    untold = {
        "latency_mean_us",
        "outside_client_us_per_op",
        "client_overhead_us_per_op",
        "start_delay_p50_us",
        "start_delay_p99_us",
        "total_s",
        "round_s",
        "statements_per_op",
        "warmup_s",
        "cold_us_per_op",
        "client_read_bytes_per_op",
        "copy_bytes",
        "copy_wire_bytes",
        "path_cpu_us_per_op",
        "all_cpu_us_per_op",
        "observers_cpu_us",
        "server_pss_bytes",
        "server_threads",
        "client_rss_bytes",
        "records_sent_per_op",
        "records_received_per_op",
        "connections_per_s",
        "connections_per_s_sd",
        *(f"{what}_per_{name}" for what in ("round_trips", *BYTES) for name in WIRE_PHASES),
        *(name for name in OUTCOMES if name.endswith("_percent")),
        *(name for name in OUTCOMES if "_lock" in name),
        *(f"{side}_{name}_per_op" for side in ("server", "client") for name in COUNTED_WORDS),
    }
    assert {**tls, **plain}.keys() | untold == OUTCOMES.keys() == UNITS.keys()


def test_a_trial_of_a_number_of_operations_has_a_total_time() -> None:
    record = fake_record(KEPT, replace(tax_truth(KEPT.case), ops_per_s=4000), duration_s=0.5)
    assert record.job is not None
    counted = {wanted: record.job.model_copy(update={"operations": wanted}) for wanted in (2000, 2001)}
    found = {wanted: outcomes(record.model_copy(update={"job": job})) for wanted, job in counted.items()}
    assert found[2000]["total_s"] == pytest.approx(0.5)
    assert "total_s" not in found[2001], "one operation is missing"


def test_what_a_driver_sends_by_itself_is_counted_by_the_server() -> None:
    record = fake_record(KEPT, replace(tax_truth(KEPT.case), ops_per_s=1000))
    assert record.job is not None
    counted = {"Com_insert": 1000, "Com_stmt_execute": 1000, "Com_select": 500, "Bytes_sent": 9000}
    watched = record.model_copy(update={"window": Window(took_s=1.0, status_delta=counted)})
    assert "statements_per_op" not in outcomes(watched), "the engine sends what it is told"
    driver = watched.model_copy(update={"job": record.job.model_copy(update={"driver": DriverTerms()})})
    assert outcomes(driver)["statements_per_op"] == pytest.approx(1.5)
    assert "statements_per_op" not in outcomes(driver.model_copy(update={"guest": True}))


def test_the_warm_up_tells_when_a_client_was_steady_and_how_slow_it_began() -> None:
    record = fake_record(KEPT, tax_truth(KEPT.case))
    assert record.ready is not None
    slices = tuple(
        WarmupSlice(elapsed_s=0.1 * (place + 1), operations=100, cpu_us=cpu_us)
        for place, cpu_us in enumerate((90_000, 40_000, 10_000))
    )
    steady = record.ready.model_copy(update={"warmup": slices, "steady": True})
    found = outcomes(record.model_copy(update={"ready": steady}))
    assert (found["warmup_s"], found["cold_us_per_op"]) == (pytest.approx(0.3), 900)
    restless = record.ready.model_copy(update={"warmup": slices, "steady": False})
    assert "warmup_s" not in outcomes(record.model_copy(update={"ready": restless}))


def test_instructions_of_the_server_are_told_per_operation_where_they_were_counted() -> None:
    record = fake_record(KEPT, tax_truth(KEPT.case))
    assert "server_instructions_per_op" not in outcomes(record)
    assert record.server is not None
    assert record.done is not None
    counted = record.server.model_copy(update={"instructions": 90_000 * record.done.operations})
    told = outcomes(record.model_copy(update={"server": counted}))
    assert told["server_instructions_per_op"] == 90_000


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        (1, {"latency_p50_us"}),
        (99, {"latency_p50_us"}),
        (100, {"latency_p50_us", "latency_p99_us"}),
        (9_999, {"latency_p50_us", "latency_p99_us"}),
        (10_000, {"latency_p50_us", "latency_p99_us", "latency_p999_us"}),
    ],
)
def test_a_percentile_is_told_only_from_enough_samples(samples: int, told: set[str]) -> None:
    record = _record(Truth(20_000, {}, 1, 1), histograms_ns={"operation": histogram(10.0, samples)})
    assert {name for name in outcomes(record) if name.endswith("_us")} & {*OUTCOMES} >= told
    assert {name for name in outcomes(record) if name.startswith("latency")} == told


def test_what_was_out_of_reach_is_left_out() -> None:
    record = _record(Truth(2000, {}, 1, 1))
    assert record.server is not None
    assert record.done is not None
    guest = record.server.model_copy(update={"cpu": None, "rss_bytes": None})
    wire = record.done.wire.model_copy(update={"segments_sent": None, "segments_received": None})
    blind = record.model_copy(update={"server": guest, "done": record.done.model_copy(update={"wire": wire})})
    gone = {name for name in OUTCOMES if name.startswith(("server", "segments"))}
    assert outcomes(blind).keys() == outcomes(record).keys() - gone
    assert outcomes(crashed(KEPT)) == {}


def test_on_one_connection_the_clients_own_cpu_is_taken_off_an_operations_time() -> None:
    truth = tax_truth(KEPT.case)
    alone = Case(levels={**KEPT.case.levels, "connections": 1}, role="treatment")
    told = outcomes(fake_record(Trial(block=0, position=0, case=alone), truth))
    expected = 1e6 / truth.ops_per_s - truth.client_cpu_us_per_op
    assert told["outside_client_us_per_op"] == pytest.approx(expected)


def test_a_trial_without_an_operation_has_no_cost_per_operation() -> None:
    idle = _record(Truth(2000, {}, 1, 1), operations=0)
    assert outcomes(idle)["ops_per_s"] == 0
    assert not [name for name in outcomes(idle) if name.endswith("_per_op")]


@given(st.sampled_from(sorted(OUTCOMES)), st.sampled_from(cases(STUDY)))
def test_one_outcome_is_the_same_as_among_all(name: str, case: object) -> None:
    trial = next(t for t in next(blocks(STUDY, 1)) if t.case == case)
    record = fake_record(trial, tax_truth(trial.case), duration_s=0.05)
    assert outcome(record, name) == outcomes(record).get(name)


def test_an_empty_histogram_has_no_percentile() -> None:
    empty = HdrHistogram(1, 60_000_000_000, 3).encode().decode()
    record = _record(Truth(2000, {}, 1, 1), histograms_ns={"operation": empty})
    assert "latency_p50_us" not in outcomes(record)


@pytest.mark.parametrize("broken", ["", "not base64!", "SGVsbG8=", histogram(10.0, 100)[:-8]])
def test_a_broken_histogram_is_the_clients_fault(broken: str) -> None:
    record = _record(Truth(2000, {}, 1, 1), histograms_ns={"operation": broken})
    with pytest.raises(MachineFault, match="cannot be decoded"):
        outcomes(record)


@given(st.lists(st.tuples(st.floats(1, 1e6), st.integers(1, 5000)), min_size=1, max_size=5))
def test_merging_adds_up(parts: list[tuple[float, int]]) -> None:
    encoded = [histogram(median_us, count, steps=20) for median_us, count in parts]
    together = merge(encoded)
    assert together is not None
    assert together.count == sum(count for _, count in parts)
    levels = [0.0, 10.0, 50.0, 90.0, 100.0]
    values = together.percentiles_us(levels)
    assert all(low <= high for low, high in pairwise(values))
    each = [decode(text).percentiles_us(levels) for text in encoded]
    assert values[-1] == pytest.approx(max(part[-1] for part in each), rel=2e-3)
    assert values[0] == pytest.approx(min(part[0] for part in each), rel=2e-3)


def test_the_distribution_of_many_trials_is_that_of_all_their_operations() -> None:
    truth = Truth(1000, {"operation": 100.0}, 1, 1)
    slower = fake_record(KEPT, truth.times(0.5))
    assert slower.done is not None
    records = [fake_record(KEPT, truth), slower, crashed(KEPT)]
    together = merged(records, "operation")
    assert together is not None
    assert together.count == 1500
    slower_of_the_two_us = decode(slower.done.histograms_ns["operation"]).percentiles_us([100.0])
    assert together.percentiles_us([100.0]) == slower_of_the_two_us
    assert merged(records, "tls_handshake") is None


def test_instructions_are_told_per_operation() -> None:
    record = fake_record(KEPT, tax_truth(KEPT.case))
    assert record.server is not None
    assert record.done is not None
    server = record.server.model_copy(update={"instructions": 9000 * record.done.operations})
    found = outcomes(record.model_copy(update={"server": server}))
    assert found["server_instructions_per_op"] == 9000


def test_percentiles_are_those_of_the_library() -> None:
    encoded = histogram(300.0, 5_000)
    theirs = HdrHistogram.decode(encoded)
    levels = [0.0, 0.01, 37.5, 50.0, 99.0, 99.9, 100.0]
    expected = [theirs.get_value_at_percentile(level) / 1000 for level in levels]
    assert list(decode(encoded).percentiles_us(levels)) == expected
