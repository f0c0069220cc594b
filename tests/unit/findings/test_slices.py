"""Ratios of trials that took turns, and absolute figures of their median slice, by hand."""

from math import exp, log

import pytest

from fake_slices import CLIENT_US, LATENCY_S, SERVER_US, SLICE_S, Done, in_turns, slices_of
from tlstax.findings.core.estimates import estimates
from tlstax.findings.core.outcomes import log_ratio_between, outcome, outcomes
from tlstax.findings.core.series import series, valid_values
from tlstax.findings.core.slices import log_ratio_of_totals, turns
from tlstax.findings.core.stopping import decide
from tlstax.plan.order import cases
from tlstax.records.slices import Slices
from tlstax.records.trial import Trial, TrialRecord
from tlstax.study import Case, Study

BURSTS: Done = [(100, 1.0), (102, 1.0), (98, 1.0), (100, 5.0), (101, 1.0)]
STUDY = Study(name="s", title="", question="", factors={"tls": ("off", "1.3")}, baseline={"tls": "off"})


def record(slices: Slices | None, *, block: int = 0, position: int = 0, **levels: str) -> TrialRecord:
    case = Case(levels={"workload": "point-select", "tls": "off", **levels}, role="treatment")
    return in_turns(Trial(block=block, position=position, case=case), slices)


def ratio(own: Slices | None, other: Slices | None, name: str = "ops_per_s") -> float:
    found = log_ratio_between(record(own), record(other), name)
    assert found is not None
    return exp(found)


def test_absolute_figures_are_those_of_the_median_slice() -> None:
    """By hand: of the rates of five slices 100 operations in 5 ms are in the middle; one costs five fold."""
    found = outcomes(record(slices_of(BURSTS)))
    assert found["ops_per_s"] == pytest.approx(100 / SLICE_S)
    assert found["server_cpu_us_per_op"] == pytest.approx(SERVER_US)
    assert found["client_cpu_us_per_op"] == pytest.approx(CLIENT_US)
    assert found["latency_mean_us"] == pytest.approx(LATENCY_S * 1e6)
    assert found["server_cpu_share"] == pytest.approx(100 * SERVER_US / (SLICE_S * 1e6))
    assert "path_cpu_us_per_op" not in found


def test_what_slices_do_not_have_is_that_of_the_whole_trial() -> None:
    alone, sliced = record(None), record(slices_of(BURSTS, server=False))
    for name in ("bytes_per_op", "client_cpu_user_us_per_op", "server_cpu_us_per_op", "latency_p50_us"):
        assert outcome(sliced, name) == outcome(alone, name)
    assert "latency_mean_us" not in outcomes(alone)
    assert turns(alone) is None


def test_the_whole_is_added_up_slice_by_slice_where_paths_are_compared() -> None:
    found = outcomes(record(slices_of(BURSTS), path="none"))
    assert found["all_cpu_us_per_op"] == pytest.approx(SERVER_US + CLIENT_US)
    assert "path_cpu_us_per_op" not in found


def test_a_ratio_is_the_median_of_neighbours() -> None:
    """By hand: neighbours differ by 1.10, 1.20, 1.30; the middle slices of each alone by 110 / 200."""
    own, other = (
        slices_of([(110, 1.0), (240, 1.0), (52, 1.0)] * 2),
        slices_of([(100, 1.0), (200, 1.0), (40, 1.0)] * 2),
    )
    assert ratio(own, other) == pytest.approx(1.2)
    assert ratio(own, other, "server_cpu_us_per_op") == pytest.approx(1.0)


def test_bursts_that_hit_one_of_the_two_leave_no_trace() -> None:
    quiet: Done = [(50, 1.0)] * 5
    for name in ("ops_per_s", "server_cpu_us_per_op", "client_cpu_us_per_op", "latency_mean_us"):
        wanted = 2.0 if name == "ops_per_s" else 1.0
        assert ratio(slices_of(BURSTS), slices_of(quiet), name) == pytest.approx(wanted)
    totals = log_ratio_of_totals(
        "ops_per_s", (turns(record(slices_of(BURSTS))), turns(record(slices_of(quiet))))
    )
    assert totals is not None
    assert exp(totals) == pytest.approx(501 / 9 / 50)


def test_only_slices_of_the_same_round_are_neighbours() -> None:
    own = slices_of([(100, 1.0)] * 6, rounds=[0, 2, 3, 5, 6, 8])
    other = slices_of(
        [(1, 1.0), (50, 1.0), (50, 1.0), (50, 1.0), (50, 1.0), (50, 1.0)], rounds=[1, 2, 3, 5, 6, 8]
    )
    assert ratio(own, other) == pytest.approx(2.0)


@pytest.mark.parametrize("other", [None, slices_of([(50, 1.0)] * 5, sitting=1), slices_of([(50, 1.0)] * 4)])
def test_who_did_not_take_turns_is_compared_by_values(other: Slices | None) -> None:
    """Alone, in another sitting, or in too few rounds."""
    value, against = record(slices_of(BURSTS)), record(other)
    values = outcome(value, "ops_per_s"), outcome(against, "ops_per_s")
    assert values[0]
    assert values[1]
    assert ratio(value.slices, other) == pytest.approx(values[0] / values[1])
    elsewhere = record(slices_of([(50, 1.0)] * 5), block=1)
    assert log_ratio_of_totals("ops_per_s", (turns(value), turns(elsewhere))) is None


def test_a_slice_without_an_operation_is_the_worst_of_all() -> None:
    """By hand: 0, 0, 2, 2, 2 to 1: the middle ratio is 2; were the empty ones left out it would be 2 as well,
    but of 0, 0, 1, 2, 3 to 1 it is 1, and not 2."""
    one = slices_of([(1, 1.0)] * 5)
    assert ratio(slices_of([(0, 1.0), (0, 1.0), (2, 1.0), (2, 1.0), (2, 1.0)]), one) == pytest.approx(2)
    assert ratio(slices_of([(0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]), one) == pytest.approx(1)
    assert ratio(one, slices_of([(0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)])) == pytest.approx(1)


def test_where_the_middle_slice_is_empty_totals_are_compared() -> None:
    rare, one = slices_of([(0, 1.0), (0, 1.0), (0, 1.0), (4, 1.0), (6, 1.0)]), slices_of([(1, 1.0)] * 5)
    assert ratio(rare, one) == pytest.approx(2.0)
    assert ratio(rare, rare) == pytest.approx(1.0)
    assert outcome(record(rare), "ops_per_s") == pytest.approx(10 / 5 / SLICE_S)
    nothing = slices_of([(0, 1.0)] * 5)
    assert outcome(record(nothing), "ops_per_s") == outcome(record(None), "ops_per_s")


def sitting(block: int) -> list[TrialRecord]:
    """A block: everything is twice as dear to the treatment and one slice of five is disturbed; the values of
    whole trials would be alike."""
    found = []
    for position, case in enumerate(cases(STUDY)):
        done: Done = [(50 if case.role == "treatment" else 100, factor) for _, factor in BURSTS]
        if case.role != "treatment":
            done = [(count, 1.0) for count, _ in done]
        found.append(in_turns(Trial(block=block, position=position, case=case), slices_of(done)))
    return found


def test_all_ways_to_a_ratio_take_the_neighbours() -> None:
    records = [record for block in range(5) for record in sitting(block)]
    estimate = next(
        e
        for e in estimates(STUDY, records)
        if e.outcome == "ops_per_s" and e.comparison.case.role == "treatment"
    )
    assert estimate.ratio is not None
    assert estimate.ratio.point == pytest.approx(0.5)
    assert estimate.ratio_of_totals == pytest.approx(0.5 * 5 / 9)
    known = decide(STUDY, records, 1.0).progress.known
    assert [one.ratio.point for one in known if one.case.role == "treatment"] == pytest.approx([0.5])
    measured = series(STUDY, records, valid_values(STUDY, records))
    treatment = next(case for case in measured.cases.values() if case.role == "treatment")
    logs = measured.log_ratios(treatment.levels, measured.own_baseline(treatment.levels), "ops_per_s")
    assert logs == pytest.approx(dict.fromkeys(range(5), log(0.5)))
    assert measured.control_logs(measured.own_baseline(treatment.levels), "ops_per_s") == pytest.approx(
        dict.fromkeys(range(5), 0.0)
    )
