"""A study on several machines stops by the intervals over them, and predicts none that would not help."""

from __future__ import annotations

import pytest

from machine_runs import machine_run, machine_study
from tlstax.records.trial import StoredRun
from tlstax.stats.estimates import estimates
from tlstax.stats.stopping import Continue, Progress, Stop, decide

ALIKE = {"node-a": 1.0, "node-b": 1.0, "node-c": 1.0}
APART = {"node-a": 1.0, "node-b": 1.1, "node-c": 1.2}


def decided(run: StoredRun, elapsed_s: float, budget_s: float = 1000.0) -> Stop | Continue:
    return decide(run.header.study.model_copy(update={"budget_s": budget_s}), run.measured, elapsed_s)


def going_on(run: StoredRun, elapsed_s: float) -> Progress:
    decision = decided(run, elapsed_s)
    assert isinstance(decision, Continue)
    return decision.progress


def test_it_stops_when_the_interval_over_machines_is_narrow_enough() -> None:
    run = machine_run(ALIKE, blocks=30, noise=0.005)
    decision = decided(run, 300.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "precision"
    known = decision.progress.known[1].now
    (treatment,) = (
        e.ratio
        for e in estimates(run.header.study, run.measured)
        if (e.comparison.case.role, e.outcome) == ("treatment", "ops_per_s")
    )
    assert known == treatment


def test_machines_that_differ_by_more_than_is_wanted_go_on_until_the_budget_ends_it() -> None:
    """No number of blocks makes them alike: what is left is what the budget has room for, and no more."""
    progress = going_on(machine_run(APART, blocks=30, noise=0.001), 300.0)
    assert (progress.left_blocks, progress.left_s) == (70, pytest.approx(700.0))
    assert going_on(machine_run(APART, blocks=30, noise=0.001), 905.0).left_blocks == 3
    decision = decided(machine_run(APART, blocks=30, noise=0.001), 999.0)
    assert isinstance(decision, Stop)
    assert decision.reason == "budget"
    assert decision.progress.left_blocks == 1
    assert decision.progress.left_s <= 1.0


def test_what_is_left_is_predicted_where_machines_are_alike() -> None:
    """Of two machines, with the scatter of a block as large as what is wanted."""
    for blocks in (12, 20, 40):
        progress = going_on(machine_run({"node-a": 1.0, "node-b": 1.0}, blocks=blocks, noise=0.04), 10.0)
        assert 0 < progress.left_blocks <= 4 * 1000
        assert progress.left_s == pytest.approx(progress.left_blocks * 10.0 / blocks)


def test_what_is_left_is_never_more_than_there_is_time_for() -> None:
    progress = going_on(machine_run({"node-a": 1.0, "node-b": 1.0}, blocks=4, noise=0.3), 100.0)
    assert (progress.left_blocks, progress.left_s) == (36, pytest.approx(900.0))


def test_a_block_takes_as_many_times_as_long_as_there_are_machines() -> None:
    """30 blocks in 300 s on three machines at a time: each took 30 s, and needs as much."""
    run = machine_run(APART, blocks=30, noise=0.001)
    assert isinstance(decided(run, 300.0, budget_s=330.0), Continue)
    assert isinstance(decided(run, 300.0, budget_s=329.0), Stop)
    alone = machine_run({"": 1.0}, blocks=30, noise=0.3)
    assert isinstance(decided(alone, 300.0, budget_s=310.0), Continue)
    assert isinstance(decided(alone, 300.0, budget_s=309.0), Stop)


def test_single_blocks_of_two_machines_wait_for_the_minimum() -> None:
    run = machine_run({"node-a": 1.0, "node-b": 1.0}, blocks=2)
    assert going_on(run, 10.0).left_blocks == machine_study().minimum_blocks - 2
    spent = decided(run, 990.0)
    assert isinstance(spent, Stop)
    assert spent.why == "the budget of 1000 s is spent before every ratio had two blocks on one machine"


def test_without_time_gone_by_there_is_a_block_left() -> None:
    assert going_on(machine_run(APART, blocks=6), 0.0).left_blocks == 1
