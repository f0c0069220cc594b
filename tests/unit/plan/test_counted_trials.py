"""Which trials count locks: every case twice before all others, each on a server of its own."""

from __future__ import annotations

import pytest

from tlstax.cli.measuring import bounded
from tlstax.plan.order import COUNTED_BLOCKS, blocks, cases, counts, plan
from tlstax.run.progress import Outlook
from tlstax.study import Study, load_study
from tlstax.study.changes import override
from tlstax.study.needs import faults, server_choices
from tlstax.support.errors import UserMistake

TAX = load_study("tax")


def asked(study: Study, count: str | None) -> Study:
    return bounded(study, {"count": count})


LOCKS = asked(TAX, "locks")


def test_each_case_is_counted_twice_and_no_control() -> None:
    first, second = counts(LOCKS)
    treated = [case for case in cases(LOCKS) if case.role != "control"]
    assert len(first) == len(second) == len(treated)
    assert [{**trial.case.levels} for trial in first] == [
        {**case.levels, "fault": "count-locks"} for case in treated
    ]
    assert [trial.case for trial in first] == [trial.case for trial in second]
    assert {trial.block for trial in (*first, *second)} == set(COUNTED_BLOCKS)


def test_what_is_counted_is_compared_with_nothing() -> None:
    for trial in (trial for block in counts(LOCKS) for trial in block):
        assert trial.goes_before
        assert not trial.is_measured
    before, again, measured, *_ = (block for block, _ in zip(blocks(LOCKS, 1), range(3), strict=False))
    assert (before, again) == counts(LOCKS)
    assert measured[0].block == 0
    assert all(trial.is_measured for trial in measured)


def test_a_resumed_run_counts_what_is_left() -> None:
    first, second = counts(LOCKS)
    done = {trial.place for trial in (*first, *second[:-1])}
    assert next(blocks(LOCKS, 1, done)) == second[-1:]


def test_servers_whose_locks_are_counted_are_started_beside_the_others() -> None:
    plain, counting = server_choices(TAX), server_choices(LOCKS)
    assert counting[: len(plain)] == plain
    assert [choice.fault for choice in counting[len(plain) :]] == ["count-locks"] * len(plain)
    assert faults(LOCKS) == ("count-locks",)
    assert plan(LOCKS).counted == 2 * len(counts(LOCKS)[0])
    assert plan(LOCKS).blocks == plan(TAX).blocks


def test_a_server_with_something_else_in_it_is_left_out() -> None:
    planted = asked(override(TAX, "fault", ["none", "rand-per-byte"]), "locks")
    assert {trial.case.levels.fault for trial in counts(planted)[0]} == {"count-locks"}
    assert len(counts(planted)[0]) == len(counts(LOCKS)[0])


def test_nothing_is_counted_where_nobody_asks() -> None:
    assert counts(TAX) == ()
    assert plan(TAX).counted == 0
    assert asked(TAX, None) == TAX


def test_what_cannot_be_counted_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match=r"--count lock: there is nothing of that name to count.*'locks'"):
        asked(TAX, "lock")


def test_progress_says_what_is_done() -> None:
    first, _ = counts(LOCKS)
    outlook = Outlook(LOCKS, 0.2, 0.0, 0.0)
    step = outlook.step(first[0], 1.0)
    assert step.label == "counting the locks of plaintext, point selects on kept connections, 8 connections"
    assert (step.place, step.of, step.left_s) == (1, len(first), LOCKS.budget_s)
    assert outlook.spent_s(1.0) == 1.0
