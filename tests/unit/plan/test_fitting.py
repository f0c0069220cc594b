"""Blocks are fitted to the budget: the last of them ends with it, and none is far from what was planned."""

from __future__ import annotations

import pytest

from fake_trials import whole_tax
from tlstax.plan.budget import Fitting, Took
from tlstax.plan.order import cases
from tlstax.study import override

TAX = whole_tax().model_copy(update={"budget_s": 60.0})
FITTING = Fitting(budget_s=100.0, planned_s=0.2, each_s=10.0)


def planned(block_s: float, blocks: int = 1) -> list[Took]:
    return [Took(shortest_s=0.2, block_s=block_s)] * blocks


def test_trials_measure_as_planned_until_a_block_has_ended() -> None:
    assert FITTING.next_s([], 0.0) == 0.2


@pytest.mark.parametrize(
    ("block_s", "spent_s", "next_s"),
    [
        (5.0, 0.0, 0.2 + (99.5 / 20 - 5.0) / 10),
        (5.0, 62.0, 0.2 + (37.5 / 8 - 5.0) / 10),  # seven and a half blocks are left: eight, and shorter
        (5.0, 63.0, 0.2 + (36.5 / 7 - 5.0) / 10),  # seven, and longer
        (5.0, 94.4, 0.2 + (5.1 - 5.0) / 10),
        (5.0, 93.0, 0.25),  # one, and not as long as would be left
        (5.0, 96.0, 0.15),  # one, and not as short
        (5.0, 120.0, 0.15),
    ],
)
def test_what_is_left_is_shared_out_to_whole_blocks(block_s: float, spent_s: float, next_s: float) -> None:
    assert FITTING.next_s(planned(block_s), spent_s) == pytest.approx(next_s)


def test_what_a_block_would_have_taken_as_planned_is_known_from_all_of_them() -> None:
    """5.0, and 5.2 of which 0.4 were for the longer trials: 4.9 on average."""
    past = [Took(0.2, 5.0), Took(0.24, 5.2)]
    assert FITTING.next_s(past, 50.5) == pytest.approx(0.2 + (49.0 / 10 - 4.9) / 10)


def test_no_trial_is_shorter_than_the_shortest_that_tell_anything() -> None:
    short = Fitting(budget_s=100.0, planned_s=0.1, each_s=10.0)
    assert short.next_s([Took(0.1, 5.0)], 62.0) == 0.1
    assert short.next_s([Took(0.1, 5.0)], 63.0) > 0.1


def test_where_no_trial_has_a_duration_nothing_is_fitted() -> None:
    assert Fitting(budget_s=100.0, planned_s=0.1, each_s=0.0).next_s([Took(0.1, 5.0)], 62.0) == 0.1


def test_the_plan_says_what_a_longer_trial_costs() -> None:
    """Five cases of kept connections, and five that reconnect and last twice as long."""
    found = Fitting.of(TAX, cases(TAX), 0.2)
    assert (found.budget_s, found.planned_s) == (60.0, 0.2)
    assert found.each_s == pytest.approx(15.0)
    many = override(TAX, "connections", ["256"])
    assert Fitting.of(many, cases(many), 0.2).each_s == pytest.approx(5.0), "those that reconnect last longer"
    storms = override(TAX, "workload", ["storm"])
    assert Fitting.of(storms, cases(storms), 0.2).each_s == 0.0


def test_the_blocks_of_a_run_fill_its_budget() -> None:
    """Blocks take 0.3 s longer than was planned, and every other one 0.1 s longer still."""
    fitting = Fitting.of(TAX, cases(TAX), 0.2)
    past, spent_s = list[Took](), 0.0
    while spent_s + (spent_s / len(past) if past else 0.0) <= TAX.budget_s:
        shortest_s = fitting.next_s(past, spent_s)
        took_s = 15 * shortest_s + 1.0 + 0.1 * (len(past) % 2)
        past.append(Took(shortest_s, took_s))
        spent_s += took_s
    assert 59.0 < spent_s <= 60.0
    assert len(past) == 15
