"""Values by case and block, and pooling over ladders: small series by hand."""

from __future__ import annotations

import csv
import io
from math import e, exp, log, sqrt
from statistics import fmean, stdev

import pytest

from fake_slices import in_turns, slices_of
from fake_trials import Truth, crashed, fake_record
from machine_runs import machine_run
from report_runs import all_invalid, one_block, one_workload_one_level, with_document
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.report.run_tables import blocks_csv
from tlstax.stats.series import (
    Series,
    block_rows,
    difference,
    pooled,
    seconds_of_a_block,
    series,
    valid_values,
)
from tlstax.study import Case, load_study, override
from tlstax.study.factors import CaseLevels

STUDY = override(override(load_study("tax"), "tls", ["1.3"]), "workload", ["reconnect"])
PLAIN = CaseLevels.of({"server": "s", "tls": "off", "resumption": "off", "connections": 8})
TLS, OTHER = PLAIN | {"tls": "1.3"}, CaseLevels.of({"tls": "1.2"})


def of(values: dict[int, dict[str, float]], controls: dict[int, dict[str, float]] | None = None) -> Series:
    """Plaintext makes 1 operation a second in blocks 0 to 2; TLS makes what is given."""
    plain = {block: {"ops_per_s": 1.0} for block in range(3)}
    return Series(
        study=STUDY,
        cases={},
        values={PLAIN: plain, TLS: values},
        controls={} if controls is None else {PLAIN: controls},
    )


def test_logarithms_are_of_values_above_nothing() -> None:
    found = of(
        {0: {"ops_per_s": e}, 1: {"ops_per_s": 0.0}, 2: {"latency_p50_us": 5.0}, 3: {"ops_per_s": 0.5}}
    )
    assert found.logs(TLS, "ops_per_s") == pytest.approx({0: 1.0, 3: -0.693147}, abs=1e-6)
    assert found.logs(OTHER, "ops_per_s") == {}


def test_ratios_are_of_blocks_that_both_have_in_their_order() -> None:
    found = of({2: {"ops_per_s": e**2}, 0: {"ops_per_s": e}, 9: {"ops_per_s": e}})
    assert found.log_ratios(TLS, PLAIN, "ops_per_s") == pytest.approx({0: 1.0, 2: 2.0})
    assert list(found.log_ratios(TLS, PLAIN, "ops_per_s")) == [0, 2]
    assert found.log_ratios(OTHER, PLAIN, "ops_per_s") == {}
    assert found.log_ratios(TLS, OTHER, "ops_per_s") == {}
    assert difference({0: 5.0, 1: 1.0}, {1: 3.0, 2: 1.0}) == {1: -2.0}


def test_a_control_is_set_against_the_baseline_with_its_levels() -> None:
    found = of({}, controls={1: {"ops_per_s": e}, 7: {"ops_per_s": e}})
    assert found.control_logs(PLAIN, "ops_per_s") == pytest.approx({1: 1.0})
    assert of({}).control_logs(PLAIN, "ops_per_s") == {}
    assert found.control_logs(OTHER, "ops_per_s") == {}


def test_each_control_has_its_ratio_where_it_has_a_block_in_common_with_its_baseline() -> None:
    found = of({}, controls={0: {"ops_per_s": e}, 1: {"ops_per_s": e}}).control_ratios("ops_per_s")
    assert found.keys() == {PLAIN}
    assert found[PLAIN].point == pytest.approx(e)
    assert of({}, controls={7: {"ops_per_s": e}}).control_ratios("ops_per_s") == {}


def test_an_interval_is_of_one_block_at_least_and_as_sure_as_the_study_wants() -> None:
    found = of({}).interval({3: 1.0, 0: 2.0, 7: 3.0})
    assert found is not None
    assert (found.point, found.blocks) == (pytest.approx(e**2), 3)
    assert found.confidence == STUDY.confidence
    assert of({}).interval({}) is None


def test_means_are_of_the_blocks_that_both_have() -> None:
    found = of({0: {"ops_per_s": 2.0}, 1: {"ops_per_s": 8.0}, 9: {"ops_per_s": 100.0}})
    assert found.geometric_means(TLS, PLAIN, "ops_per_s") == pytest.approx((4.0, 1.0))
    assert found.geometric_means(PLAIN, TLS, "ops_per_s") == pytest.approx((1.0, 4.0))


def test_its_own_baseline_differs_in_what_the_study_says() -> None:
    assert of({}).own_baseline(TLS | {"resumption": "on"}) == PLAIN


def test_a_ladder_is_cases_that_differ_in_connections_alone() -> None:
    steps = [TLS | {"connections": number} for number in (1, 8, 64)]
    planned = {levels: Case(levels=levels, role="treatment") for levels in [*steps, PLAIN]}
    ladders = Series(study=STUDY, cases=planned, values={}, controls={}).ladders()
    assert ladders == {
        TLS.without("connections"): steps,
        PLAIN.without("connections"): [PLAIN],
    }


def test_a_family_is_cases_that_have_the_factors_and_differ_in_them_alone() -> None:
    steps = [TLS | {"connections": number} for number in (1, 8)]
    levels = [*steps, PLAIN, TLS.without("connections")]
    planned = {each: Case(levels=each, role="treatment") for each in levels}
    series = Series(study=STUDY, cases=planned, values={}, controls={})
    assert series.families("connections") == [steps, [PLAIN]]
    assert series.families("no such factor") == []


def test_a_series_is_of_valid_trials_with_controls_apart() -> None:
    """Speeds are told apart by role; the baseline's second block crashed."""
    speeds = {"baseline": 1000.0, "control": 2000.0, "treatment": 3000.0}
    records: list[TrialRecord] = []
    for block in range(2):
        for position, case in enumerate(cases(STUDY)):
            trial = Trial(block=block, position=position, case=case)
            is_broken = (block, case.role) == (1, "baseline")
            records.append(
                crashed(trial) if is_broken else fake_record(trial, Truth(speeds[case.role], {}, 1, 1))
            )
    values = valid_values(STUDY, records)
    assert len(values) == len(records) - 1
    assert (1, 0) not in values
    found = series(STUDY, records, values)
    baseline = next(case.levels for case in cases(STUDY) if case.role == "baseline")
    treatment = next(case.levels for case in cases(STUDY) if case.role == "treatment")
    speed = {
        name: {block: outcomes["ops_per_s"] for block, outcomes in blocks.items()}
        for name, blocks in (
            ("baseline", found.values[CaseLevels.of(baseline)]),
            ("treatment", found.values[CaseLevels.of(treatment)]),
            ("control", found.controls[CaseLevels.of(baseline)]),
        )
    }
    assert speed == {
        "baseline": {0: 1000.0},
        "treatment": {0: 3000.0, 1: 3000.0},
        "control": {0: 2000.0, 1: 2000.0},
    }
    assert list(found.cases) == [case.levels for case in cases(STUDY) if case.role != "control"]
    assert found.cases[CaseLevels.of(baseline)].role == "baseline"
    assert found.study is STUDY


def test_a_large_study_is_told_in_the_phases_of_its_overview() -> None:
    """Of many groups, only the percentiles of an operation, a connect and a handshake are told."""
    connections = [str(number) for number in range(1, 14)]
    large = override(override(load_study("tax"), "workload", ["point-select"]), "connections", connections)
    case = cases(large)[0]
    record = fake_record(
        Trial(block=0, position=0, case=case), Truth(1000, {"query": 9.0, "operation": 9.0}, 1, 1)
    )
    (found,) = valid_values(large, [record]).values()
    assert "latency_p50_us" in found
    assert not [name for name in found if name.startswith("query")]
    (all_of_it,) = valid_values(STUDY, [record]).values()
    assert all_of_it.keys() > found.keys()


def test_with_nothing_missing_pooling_is_each_blocks_mean() -> None:
    assert pooled({1: {0: 1.0, 1: 3.0}, 8: {0: 5.0, 1: 9.0}}) == pytest.approx({0: 3.0, 1: 6.0})


def test_a_step_that_lacks_a_block_does_not_tilt_it_by_its_own_level() -> None:
    """By hand: steps at 1 and 11 on average, 6 together. Block 1 has only the first, 1 above its mean: 7."""
    assert pooled({1: {0: 0.0, 1: 2.0}, 8: {0: 11.0}}) == pytest.approx({0: 5.5, 1: 7.0})


def test_a_block_with_fewer_than_half_of_the_steps_is_left_out() -> None:
    steps = {1: {0: 1.0, 1: 1.0}, 2: {0: 1.0}, 4: {0: 1.0}}
    assert pooled(steps) == {0: 1.0}
    assert pooled({**steps, 2: {0: 1.0, 1: 1.0}}) == {0: 1.0, 1: 1.0}
    assert pooled({1: {0: 1.0, 1: 1.0}, 2: {0: 1.0}}) == {0: 1.0, 1: 1.0}, "half is enough"


def test_a_step_without_a_block_does_not_count() -> None:
    assert pooled({1: {0: 2.0}, 2: {}, 4: {}}) == {0: 2.0}
    assert pooled({1: {}}) == pooled({}) == {}


def test_blocks_are_pooled_in_their_order() -> None:
    assert list(pooled({1: {5: 1.0, 0: 1.0}, 2: {3: 1.0, 0: 1.0}})) == [0, 3, 5]


def test_the_outcomes_of_a_series_are_those_of_any_case_in_any_block() -> None:
    found = of({0: {"latency_p50_us": 1.0}, 1: {"server_cpu_us_per_op": 1.0}})
    assert found.outcomes == {"ops_per_s", "latency_p50_us", "server_cpu_us_per_op"}


@pytest.mark.parametrize(
    ("started", "seconds"),
    [
        ([(0, "00:00:10"), (0, "00:00:00"), (1, "00:01:00"), (3, "00:05:00"), (2, "00:03:00")], 120.0),
        ([(0, "00:00:00"), (0, "00:00:30")], None),
        ([], None),
    ],
)
def test_a_block_takes_what_lies_between_beginnings(
    started: list[tuple[int, str]], seconds: float | None
) -> None:
    """By hand: blocks begin at 0, 1, 3 and 5 minutes, so that 1, 2 and 2 minutes lie between."""
    case = cases(STUDY)[0]
    records = [
        fake_record(Trial(block=block, position=0, case=case), Truth(1000, {}, 1, 1)).model_copy(
            update={"started_at": f"2026-11-21T{at}+00:00"}
        )
        for block, at in started
    ]
    assert seconds_of_a_block(records) == seconds


def test_a_case_that_took_turns_twice_in_a_block_has_both() -> None:
    case = cases(STUDY)[0]
    twice = [
        in_turns(Trial(block=0, position=place, case=case), slices_of([(9, 1.0)] * 3, sitting=place))
        for place in range(2)
    ]
    taken = series(STUDY, twice, valid_values(STUDY, twice)).turns[case.levels][0]
    assert [each.sitting for each in (taken, *taken.elsewhere)] == [(0, 0), (0, 1)]


def test_a_missing_step_does_not_tilt_its_block() -> None:
    whole = {1: {0: 0.0, 1: 0.2, 2: 0.1}, 2: {0: 1.0, 1: 1.2, 2: 1.1}}
    assert pooled(whole) == pytest.approx({0: 0.5, 1: 0.7, 2: 0.6})
    missing = {1: {0: 0.0, 1: 0.2, 2: 0.1}, 2: {0: 1.0, 1: 1.2}}
    assert pooled(missing)[2] == pytest.approx(0.6)
    assert exp(pooled(missing)[0]) == pytest.approx(exp(0.55), abs=0.1)


OUTCOMES = ("ops_per_s", "server_cpu_us_per_op")
T_OF_FIVE_BLOCKS = 3.495406
"""Student's t for 97.5 % and 4 degrees of freedom, both sides: see `ALPHA_SHARE`."""


def five_blocks() -> StoredRun:
    return one_workload_one_level()


def read(stored: StoredRun, *outcomes: str) -> list[dict[str, str]]:
    names = outcomes or OUTCOMES
    return list(csv.DictReader(io.StringIO(blocks_csv(block_rows(stored, names), names))))


@pytest.mark.parametrize(("role", "outcome"), [(r, o) for r in ("treatment", "control") for o in OUTCOMES])
def test_a_ratio_and_its_interval_are_computed_again(role: str, outcome: str) -> None:
    stored, document = with_document(five_blocks)
    logs = [log(float(row[f"{outcome}_ratio"])) for row in read(stored) if row["role"] == role]
    (found,) = [f.ratio for f in document.findings if f.role == role and f.outcome == outcome]
    half = T_OF_FIVE_BLOCKS * stdev(logs) / sqrt(len(logs))
    again = (exp(fmean(logs)), exp(fmean(logs) - half), exp(fmean(logs) + half))
    assert again == pytest.approx((found.point, found.low, found.high), rel=1e-4)
    assert len(logs) == found.blocks == 5


def test_a_row_is_a_case_and_block_with_what_varies() -> None:
    rows = read(five_blocks())
    assert list(rows[0]) == [
        "role",
        "tls",
        "block",
        "ops_per_s",
        "ops_per_s_ratio",
        "server_cpu_us_per_op",
        "server_cpu_us_per_op_ratio",
    ]
    named = [(row["role"], row["tls"], row["block"]) for row in rows]
    assert named == [
        (role, tls, str(block))
        for role, tls in (("baseline", "off"), ("treatment", "1.3"), ("control", "off"))
        for block in range(1, 6)
    ]
    assert {row["ops_per_s_ratio"] for row in rows if row["role"] == "baseline"} == {"1"}
    assert all(float(row["ops_per_s"]) > 0 for row in rows)


def test_only_what_was_asked_for_and_measured_is_there() -> None:
    (baseline, *_) = read(one_block(), "latency_p50_us", "tls_handshake_p50_us")
    assert list(baseline)[3:] == [
        "latency_p50_us",
        "latency_p50_us_ratio",
        "tls_handshake_p50_us",
        "tls_handshake_p50_us_ratio",
    ]
    assert float(baseline["latency_p50_us"]) > 0
    assert (baseline["tls_handshake_p50_us"], baseline["tls_handshake_p50_us_ratio"]) == ("", "")


def test_of_one_machine_no_row_names_it() -> None:
    assert {row.machine for row in block_rows(five_blocks(), OUTCOMES)} == {""}


def test_invalid_trials_have_no_row() -> None:
    assert read(all_invalid()) == []


def test_of_several_machines_each_row_names_its_own() -> None:
    machines = {row["machine"] for row in read(machine_run({"a": 1.0, "b": 1.0}))}
    assert len(machines) == 2
    assert "" not in machines
