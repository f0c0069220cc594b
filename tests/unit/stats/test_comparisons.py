"""Which trials make pairs, which are lost, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import pytest

from fake_slices import in_turns, slices_of
from fake_trials import Truth, crashed, fake_record, untrue
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.stats.estimates import Comparison, compare, counts_of
from tlstax.stats.series import series, valid_values
from tlstax.study import Case, load_study, override

STUDY = override(override(load_study("tax"), "tls", ["1.3"]), "workload", ["point-select", "reconnect"])


def records(
    blocks: int = 3, keep: Callable[[int, Case], bool] = lambda _block, _case: True
) -> list[TrialRecord]:
    return [
        fake_record(Trial(block=block, position=position, case=case), Truth(1000, {}, 1, 1))
        for block in range(blocks)
        for position, case in enumerate(cases(STUDY))
        if keep(block, case)
    ]


def of_role(found: tuple[Comparison, ...], role: str, workload: str = "reconnect") -> Comparison:
    return next(each for each in found if each.case.role == role and each.case.levels["workload"] == workload)


def test_every_case_stands_beside_the_baseline_of_its_group() -> None:
    found = compare(STUDY, records())
    assert [each.case for each in found] == list(cases(STUDY))
    for each in found:
        assert each.baseline.role == "baseline"
        assert each.baseline.levels["workload"] == each.case.levels["workload"]
        assert [(pair.block, pair.record.trial.case, pair.baseline.trial.case) for pair in each.pairs] == [
            (block, each.case, each.baseline) for block in range(3)
        ]
        assert [(pair.record.trial.block, pair.baseline.trial.block) for pair in each.pairs] == [
            (0, 0),
            (1, 1),
            (2, 2),
        ]
        assert (each.lost, each.tried_blocks, each.lost_blocks) == ((), 3, 0)


def test_a_trial_that_is_not_valid_costs_its_blocks_pair() -> None:
    spoiled = [
        untrue(r, "not encrypted") if (r.trial.block, r.trial.case.role) == (1, "treatment") else r
        for r in records()
    ]
    found = of_role(compare(STUDY, spoiled), "treatment")
    assert [pair.block for pair in found.pairs] == [0, 2]
    assert [(r.trial.block, r.trial.case.role) for r in found.lost] == [(1, "treatment")]
    assert (found.tried_blocks, found.lost_blocks) == (3, 1)
    assert of_role(compare(STUDY, spoiled), "control").lost == ()


def test_the_baselines_trial_is_lost_to_every_case_and_to_itself_once() -> None:
    spoiled = [
        crashed(r.trial) if (r.trial.block, r.trial.case.role) == (1, "baseline") else r for r in records()
    ]
    found = compare(STUDY, spoiled)
    for role in ("baseline", "control", "treatment"):
        each = of_role(found, role)
        assert [pair.block for pair in each.pairs] == [0, 2]
        assert [r.trial.case.role for r in each.lost] == ["baseline"]


def test_both_may_be_lost_in_one_block_which_is_one_block_still() -> None:
    spoiled = [untrue(r, "no") if r.trial.block == 1 else r for r in records()]
    found = of_role(compare(STUDY, spoiled), "treatment")
    assert [r.trial.case.role for r in found.lost] == ["treatment", "baseline"]
    assert (found.tried_blocks, found.lost_blocks) == (3, 1)


def test_a_block_that_one_of_the_two_was_not_run_in_is_neither() -> None:
    found = of_role(compare(STUDY, records(keep=lambda b, c: (b, c.role) != (2, "treatment"))), "treatment")
    assert ([pair.block for pair in found.pairs], found.lost, found.tried_blocks) == ([0, 1], (), 2)
    nothing = of_role(compare(STUDY, []), "treatment")
    assert (nothing.pairs, nothing.lost, nothing.tried_blocks) == ((), (), 0)


def test_blocks_are_in_their_order_whatever_that_of_the_records() -> None:
    found = of_role(compare(STUDY, list(reversed(records()))), "treatment")
    assert [pair.block for pair in found.pairs] == [0, 1, 2]


def test_trials_are_counted_by_how_they_came_out() -> None:
    (first, second, third, fourth, *_) = records()
    unknown = [
        record.model_copy(update={"verdict": record.verdict.model_copy(update={"value": "unknown"})})
        for record in (first, second)
    ]
    counts = counts_of([*unknown, untrue(third, "not encrypted"), *records()[3:9], fourth])
    assert (counts.valid, counts.invalid, counts.unknown) == (7, 1, 2)


def test_a_case_stands_beside_the_baselines_trial_that_it_took_turns_with() -> None:
    """Two sittings of one block, each with a trial of the baseline; the second has the control."""
    baseline, control, treatment = (
        case for case in cases(STUDY) if case.levels["workload"] == "point-select"
    )
    sat = [(baseline, 0, 0), (treatment, 1, 0), (control, 2, 2), (baseline, 6, 2)]
    measured = [
        in_turns(Trial(block=0, position=position, case=case), slices_of([(20, 1.0)] * 5, sitting=sitting))
        for case, position, sitting in sat
    ]
    found = compare(STUDY, measured)
    positions = {
        each.case.role: (each.pairs[0].record.trial.position, each.pairs[0].baseline.trial.position)
        for each in found
        if each.pairs
    }
    assert positions == {"baseline": (0, 0), "control": (2, 6), "treatment": (1, 0)}


def test_ratios_are_of_those_that_took_turns_with_each_other_wherever_they_sat() -> None:
    """By hand: in the first sitting twice, in the second three times the operations of its own baseline."""
    baseline, control, treatment = (
        case for case in cases(STUDY) if case.levels["workload"] == "point-select"
    )
    sat = [(baseline, 0, 0, 20), (treatment, 1, 0, 40), (control, 2, 2, 300), (baseline, 6, 2, 100)]
    measured = [
        in_turns(Trial(block=0, position=position, case=case), slices_of([(count, 1.0)] * 5, sitting=sitting))
        for case, position, sitting, count in sat
    ]
    found = series(STUDY, measured, valid_values(STUDY, measured))
    ratio = found.log_ratios(treatment.levels, baseline.levels, "ops_per_s")
    assert exp(ratio[0]) == pytest.approx(2)
    assert exp(found.control_logs(baseline.levels, "ops_per_s")[0]) == pytest.approx(3)
