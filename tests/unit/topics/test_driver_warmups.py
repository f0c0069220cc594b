"""How drivers warmed up, in figures worked out by hand from a few trials' slices."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sampled_trials import INVALID, measured
from tlstax.contract import WarmupSlice
from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.rows import Row
from tlstax.study import Case, load_study
from tlstax.topics.drivers.topic import SLICE, WARM_UP, restless, warmups

STUDY = load_study("driver-defaults")
BASE, CONTROL, NEWER, NEWEST = cases(STUDY)[:4]


def trial(case: Case, block: int, *us: float, steady: bool = True, every_s: float = 1.0) -> TrialRecord:
    """A trial whose warm-up took so long an operation in each slice of ten; a 0 is a slice without any."""
    slices = tuple(
        WarmupSlice(elapsed_s=every_s * place, operations=10 if each else 0, cpu_us=10 * each)
        for place, each in enumerate(us, start=1)
    )
    record = measured(case, block)
    assert record.ready is not None
    return record.model_copy(
        update={"ready": record.ready.model_copy(update={"warmup": slices, "steady": steady})}
    )


def told(records: Sequence[TrialRecord]) -> list[Row]:
    """The rows of warm-ups; their slices apart."""
    return [row for row in warmups(STUDY, records) if row.role == WARM_UP]


def only(records: Sequence[TrialRecord]) -> Row:
    (row,) = told(records)
    return row


def slices(records: Sequence[TrialRecord]) -> list[tuple[object, float | None, object]]:
    own = [row for row in warmups(STUDY, records) if row.role == SLICE]
    assert {(row.case == BASE.levels, row.outcome, row.unit) for row in own} == {
        (True, "client_cpu_us_per_op", "us")
    }
    return [(row.more["elapsed_s"], row.value, row.more["trials"]) for row in own]


def test_each_case_that_reported_its_warm_up_is_told_in_the_plans_order() -> None:
    records = [
        trial(CONTROL, 0, 9.0),
        trial(NEWEST, 0, 8.0),
        trial(NEWER, 0, 7.0),
        trial(BASE, 0),
        trial(BASE, 1, 6.0).model_copy(update={"verdict": INVALID}),
        trial(BASE, 2, 6.0).model_copy(update={"ready": None}),
        trial(BASE, 3, 0.0),
        trial(NEWEST, 1, 4.0),
    ]
    assert [(row.label, row.more["trials"], row.value) for row in told(records)] == [
        ("Connector/J 5.1.49", 1, 7.0),
        ("Connector/J 8.0.16", 2, 6.0),
    ]
    assert [row.case for row in told(records)] == [NEWER.levels, NEWEST.levels]


def test_cold_is_the_first_slice_and_warm_the_middle_of_the_last_five() -> None:
    found = only([trial(BASE, 0, 99, 50, 4, 1, 2, 5, 3)])
    assert (found.outcome, found.unit) == ("cold_us_per_op", "us")
    assert (found.value, found.baseline_value, found.more["cold_times_slower"]) == (99, 3, 33)
    assert only([trial(BASE, 0, 9, 90, 80, 3, 1, 2)]).baseline_value == 3, "of 90, 80, 3, 1 and 2"


def test_of_several_trials_the_medians_are_told() -> None:
    found = only(
        [
            trial(BASE, 0, 100, 10, 10),
            trial(BASE, 1, 30, 5, 5, every_s=2.0),
            trial(BASE, 2, 40, 1, 1, 1, steady=False, every_s=9.0),
            trial(BASE, 3, 60, 20, 20, every_s=3.0),
        ]
    )
    assert (found.value, found.baseline_value) == (50.0, 7.5)
    assert found.more == {
        "trials": 4,
        "steady_trials": 3,
        "steady_after_s": 6.0,
        "cold_times_slower": 8.0,  # the middle of 10, 6, 40 and 3
    }


def test_none_that_was_steady_has_no_time() -> None:
    found = only([trial(BASE, 0, 5, 4, steady=False)])
    assert (found.more["steady_trials"], found.more["steady_after_s"]) == (0, None)


def test_slices_go_on_as_long_as_half_of_the_trials() -> None:
    found = slices(
        [
            trial(BASE, 0, 9, 5, 3, 1),
            trial(BASE, 1, 7, 0, 1, every_s=2.0),
            trial(BASE, 2, 8, every_s=4.0),
            trial(BASE, 3, 6, 4, 5, every_s=3.0),
        ]
    )
    assert found == [(2.5, 7.5, 4), (6.0, 4.0, 3), (6.0, 4.0, 2)]
    assert [trials for *_, trials in slices([trial(BASE, 0, 2, 1), trial(BASE, 1, 2, 1, 1, 1)])] == [
        2,
        2,
        1,
        1,
    ]


def test_what_less_than_half_of_the_trials_go_on_with_is_not_told() -> None:
    found = slices([trial(BASE, 0, 2, 1), trial(BASE, 1, 2, 1), trial(BASE, 2, 2, 1, 1)])
    assert [trials for *_, trials in found] == [3, 3]


@pytest.mark.parametrize(("operations", "cpu_us"), [(0, 5.0), (5, 0.0)])
def test_a_slice_that_tells_nothing_is_left_out(operations: int, cpu_us: float) -> None:
    record = trial(BASE, 0, 9, 7)
    assert record.ready is not None
    empty = WarmupSlice(elapsed_s=0.5, operations=operations, cpu_us=cpu_us)
    every = (empty, *record.ready.warmup, WarmupSlice(elapsed_s=3.0, operations=1, cpu_us=0.5))
    warmed = record.model_copy(update={"ready": record.ready.model_copy(update={"warmup": every})})
    assert [us for _, us, _ in slices([warmed])] == [9, 7, 0.5]
    assert only([warmed]).more["steady_after_s"] == 3.0


def test_a_driver_that_was_not_steady_is_told() -> None:
    shown = warmups(
        STUDY,
        [
            trial(BASE, 0, 2, 1),
            trial(NEWER, 0, 2, 1, steady=False),
            trial(NEWER, 1, 2, 1),
            trial(NEWEST, 0, 2, 1, steady=False),
        ],
    )
    setting = (
        "TLS as the driver has it, inserts of a word in one transaction, 1 connection, "
        "characterEncoding=UTF-8"
    )
    after = (
        "the driver was measured before it was steady: its CPU per operation was still falling when the time "
        "for warming up was over"
    )
    assert list(restless(STUDY, shown)) == [
        f"Connector/J 5.1.49, {setting}: in 1 of 2 trials {after}",
        f"Connector/J 8.0.16, {setting}: in 1 of 1 trial {after}",
    ]
