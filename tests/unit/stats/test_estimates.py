"""Every outcome against its baseline: pairs, intervals and floors from values by hand."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

from fake_trials import Truth, fake_record
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.results.interval import Interval
from tlstax.stats.estimates import Estimate, estimates
from tlstax.stats.series import Values
from tlstax.study import load_study, override

STUDY = override(override(load_study("tax"), "tls", ["1.3"]), "workload", ["reconnect"])
ROLES = [case.role for case in cases(STUDY)]
WIGGLE = (-0.01, 0.0, 0.01)
HALF = 6.20535 * 0.0057735
"""Half an interval of three blocks that wiggle so: t(2) at 97.5 % times their standard error."""

RECORDS = [
    fake_record(Trial(block=block, position=position, case=case), Truth(1000, {}, 1, 1))
    for block in range(3)
    for position, case in enumerate(cases(STUDY))
]


def values_of(outcome: str, **by_role: tuple[float, float, float]) -> Values:
    """The outcome of each role's trials in the three blocks; a role that is not named has none."""
    return {
        (record.trial.block, record.trial.position): {
            outcome: by_role[record.trial.case.role][record.trial.block]
        }
        if record.trial.case.role in by_role
        else {}
        for record in RECORDS
    }


def of_role(found: list[Estimate], role: str) -> Estimate:
    return next(each for each in found if each.comparison.case.role == role)


STEADY = (1000.0, 1000.0, 1000.0)
SLOWER = (500 * exp(-0.01), 500.0, 500 * exp(0.01))
CONTROL = (1030.0, 1030.0, 1030.0)


def test_a_ratio_is_of_pairs_block_by_block() -> None:
    values = values_of("ops_per_s", baseline=STEADY, control=CONTROL, treatment=SLOWER)
    found = of_role(estimates(STUDY, RECORDS, values), "treatment")
    assert found.outcome == "ops_per_s"
    assert found.pairs == ((SLOWER[0], 1000.0), (500.0, 1000.0), (SLOWER[2], 1000.0))
    assert found.alone == ()
    assert found.ratio is not None
    assert found.ratio.point == pytest.approx(0.5)
    ends = (found.ratio.low, found.ratio.high)
    assert ends == pytest.approx((0.5 * exp(-HALF), 0.5 * exp(HALF)), rel=1e-5)


@pytest.mark.parametrize("role", ["baseline", "treatment"])
def test_a_block_in_which_one_of_both_has_no_value_is_left_out(role: str) -> None:
    values = values_of("ops_per_s", baseline=STEADY, treatment=SLOWER)
    lacking = next(r.trial for r in RECORDS if (r.trial.block, r.trial.case.role) == (1, role))
    found = of_role(estimates(STUDY, RECORDS, {**values, lacking.place: {}}), "treatment")
    assert found.pairs == ((SLOWER[0], 1000.0), (SLOWER[2], 1000.0))


def test_the_floor_is_the_controls() -> None:
    values = values_of("ops_per_s", baseline=STEADY, control=CONTROL, treatment=SLOWER)
    found = estimates(STUDY, RECORDS, values)
    assert {each.comparison.case.role: each.noise_floor for each in found} == pytest.approx(
        dict.fromkeys(ROLES, 0.03)
    )
    assert of_role(found, "treatment").control is of_role(found, "control").ratio


def test_without_a_control_there_is_no_floor() -> None:
    values = values_of("ops_per_s", baseline=STEADY, treatment=SLOWER)
    found = estimates(STUDY, RECORDS, values)
    assert [each.comparison.case.role for each in found] == ["baseline", "treatment"]
    assert [(each.control, each.noise_floor) for each in found] == [(None, None)] * 2


def test_each_outcome_has_a_floor_of_its_own() -> None:
    both: Values = {}
    for name, control in (("ops_per_s", CONTROL), ("server_cpu_us_per_op", (1010.0, 1010.0, 1010.0))):
        for place, one in values_of(name, baseline=STEADY, control=control, treatment=SLOWER).items():
            both[place] = {**both.get(place, {}), **one}
    found = [each for each in estimates(STUDY, RECORDS, both) if each.comparison.case.role == "treatment"]
    assert {each.outcome: each.noise_floor for each in found} == pytest.approx(
        {"ops_per_s": 0.03, "server_cpu_us_per_op": 0.01}
    )


def test_blocks_in_which_one_of_the_two_is_nothing_make_no_pair() -> None:
    values = values_of("ops_per_s", baseline=(1000.0, 0.0, 1000.0), treatment=(500.0, 500.0, 0.0))
    found = of_role(estimates(STUDY, RECORDS, values), "treatment")
    assert found.pairs == ((500.0, 1000.0),)
    assert found.alone == ()


def test_a_share_that_is_often_nothing_has_no_ratio() -> None:
    values = values_of("machine_idle_percent", baseline=(10.0, 0.0, 10.0), treatment=(5.0, 5.0, 5.0))
    assert [each.comparison.case.role for each in estimates(STUDY, RECORDS, values)] == []
    whole = values_of("machine_idle_percent", baseline=(10.0, 20.0, 10.0), treatment=(5.0, 5.0, 5.0))
    assert of_role(estimates(STUDY, RECORDS, whole), "treatment").pairs == (
        (5.0, 10.0),
        (5.0, 20.0),
        (5.0, 10.0),
    )


def test_what_the_baseline_never_has_stands_alone() -> None:
    values = values_of("tls_handshake_p50_us", treatment=(7.0, 0.0, 9.0))
    (found,) = estimates(STUDY, RECORDS, values)
    assert (found.alone, found.pairs, found.ratio) == ((7.0, 9.0), (), None)
    assert found.comparison.case.role == "treatment"


def test_small_values_are_values() -> None:
    values = values_of("server_cpu_us_per_op", baseline=(0.5, 0.5, 0.5), treatment=(0.25, 0.25, 0.25))
    assert of_role(estimates(STUDY, RECORDS, values), "treatment").pairs == ((0.25, 0.5),) * 3
    alone = values_of("server_cpu_us_per_op", treatment=(0.25, 0.5, 0.0))
    assert of_role(estimates(STUDY, RECORDS, alone), "treatment").alone == (0.25, 0.5)


def test_a_share_that_the_baseline_never_has_stands_alone_too() -> None:
    values = values_of("machine_idle_percent", baseline=(0.0, 0.0, 0.0), treatment=(5.0, 6.0, 7.0))
    found = of_role(estimates(STUDY, RECORDS, values), "treatment")
    assert (found.alone, found.pairs, found.ratio) == ((5.0, 6.0, 7.0), (), None)


def test_values_are_worked_out_where_the_caller_has_none() -> None:
    found = of_role(estimates(STUDY, iter(RECORDS)), "treatment")  # type: ignore[arg-type]
    assert found.outcome == "ops_per_s"
    assert found.pairs == ((1000.0, 1000.0),) * 3


def test_a_noise_floor_is_borrowed_from_the_nearest_group_of_the_same_workload() -> None:
    """A control runs in the group of 8 connections alone; 64 have its floor."""
    study = override(STUDY, "connections", ["8", "64"]).model_copy(
        update={"control_within": {"connections": 8}}
    )
    records: list[TrialRecord] = []
    values: Values = {}
    for position, case in enumerate(cases(study)):
        for block in range(3):
            records.append(
                fake_record(Trial(block=block, position=position, case=case), Truth(1000, {}, 1, 1))
            )
            values[block, position] = {"ops_per_s": 1040.0 if case.role == "control" else 1000.0}
    found = estimates(study, records, values)
    assert [each.comparison.case.role for each in found].count("control") == 1
    assert {each.comparison.case.levels["connections"] for each in found} == {8, 64}
    assert [each.noise_floor for each in found] == pytest.approx([0.04] * len(found))


BETWEEN = Interval(point=1.0, low=0.9, high=1.1, confidence=0.95, blocks=3)
NEITHER = Interval(point=1.0, low=None, high=None, confidence=0.95, blocks=1)


@pytest.mark.parametrize(
    ("ratio", "totals", "is_disturbed"),
    [
        (BETWEEN, (0.299, 0.300, 0.301), True),
        (BETWEEN, (-0.299, -0.300, -0.301), True),
        (BETWEEN, (0.049, 0.050, 0.051), False),  # clear, and within the interval
        (BETWEEN, (0.0, 0.9, 0.0), False),  # outside it, by one block alone
        (BETWEEN, (0.3,), False),  # one block has no scatter
        (BETWEEN, (), False),
        (NEITHER, (0.299, 0.300, 0.301), False),
        (None, (0.299, 0.300, 0.301), False),
    ],
)
def test_disturbed_is_what_all_slices_tell_otherwise_in_block_after_block(
    ratio: Interval | None, totals: tuple[float, ...], *, is_disturbed: bool
) -> None:
    """Neighbours tell of no difference in any block."""
    (estimate, *_) = estimates(STUDY, RECORDS)
    found = replace(estimate, ratio=ratio, totals={n: (total, 0.0) for n, total in enumerate(totals)})
    assert found.is_disturbed is is_disturbed


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_an_interval_belong_to_it(end: str) -> None:
    (estimate, *_) = estimates(STUDY, RECORDS)
    outside = replace(estimate, ratio=BETWEEN, totals={0: (0.299, 0.0), 1: (0.300, 0.0), 2: (0.301, 0.0)})
    assert outside.is_disturbed
    assert outside.ratio_of_totals is not None
    reaching = BETWEEN.model_copy(update={"low": 1.0, "high": 2.0, end: outside.ratio_of_totals})
    assert not replace(outside, ratio=reaching).is_disturbed


def test_what_is_apart_is_what_lies_between_both() -> None:
    """Where neighbours tell of as much, nothing was disturbed, however far both are from the interval."""
    (estimate, *_) = estimates(STUDY, RECORDS)
    both = {0: (0.3, 0.31), 1: (0.3, 0.30), 2: (0.3, 0.29)}
    assert not replace(estimate, ratio=BETWEEN, totals=both).is_disturbed
