"""Who takes turns at an external server: no more connections than were promised, and not from afar."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.plan.elsewhere import Elsewhere, Promise, most_connections, promise_of
from tlstax.plan.jobs import lingering
from tlstax.plan.order import blocks
from tlstax.plan.sittings import Sitting, sittings
from tlstax.plan.turns import held_at_once
from tlstax.study import Levels, Study
from tlstax.study.workloads.user_defined import UserWorkload

NEAR_S = 0.0001
OWN = UserWorkload.model_validate(
    {"name": "mine", "reconnect": True, "transactions": [{"statements": [{"sql": "SELECT 1"}]}]}
)


def study(workload: str, *connections: int) -> Study:
    return Study(
        name="made-up",
        title="Made up",
        question="What?",
        factors={"tls": ("off", "1.2", "1.3"), "workload": (workload,), "connections": connections},
        baseline={"tls": "off"},
        control_within={},
        workloads={"mine": OWN},
    )


def seated(of: Study, round_trip_s: float = NEAR_S) -> dict[int, bool]:
    """Whether those with so many connections take turns."""
    elsewhere = Elsewhere(most_connections(of), round_trip_s)
    found = sittings(of, next(blocks(of, seed=1)), 0.3, elsewhere)
    return {connections_of(sitting): sitting.takes_turns for sitting in found}


def connections_of(sitting: Sitting) -> int:
    return sitting.trials[0].case.typed.connections


def test_what_a_server_was_promised_is_the_most_that_any_case_has() -> None:
    assert most_connections(study("point-select", 8, 32, 16)) == 32
    unsaid = Study(name="s", title="", question="?", factors={"tls": ("off", "1.3")}, baseline={"tls": "off"})
    assert most_connections(unsaid) == 1


@pytest.mark.parametrize(
    ("workload", "connections", "promised", "words"),
    [
        ("point-select", (8,), 11, "at most 11 connections at once: 8 for a case, 3 of tlstax's own"),
        (
            "reconnect",
            (2, 8),
            23,
            "at most 23 connections at once: 8 for a case, 12 winding up, 3 of tlstax's own",
        ),
        (
            "mine",
            (1,),
            7,
            "at most 7 connections at once: 1 for each case, 3 winding up, 3 of tlstax's own",
        ),
        (
            "storm",
            (100,),
            106,
            "at most 106 connections at once: 100 for a case, 3 winding up, 3 of tlstax's own",
        ),
    ],
)
def test_a_server_is_told_what_it_will_count(
    workload: str, connections: tuple[int, ...], promised: int, words: str
) -> None:
    promise = promise_of(study(workload, *connections))
    assert (promise.total, promise.words()) == (promised, words)
    assert promise.with_most(promised) == promise


def test_where_less_is_allowed_it_is_known_what_fits() -> None:
    promise = Promise(8, reconnects=True)
    fitting = promise.with_most(22)
    assert fitting is not None
    assert (fitting.cases, fitting.total) == (7, 21)
    assert promise.with_most(6) is None
    assert Promise(1, reconnects=True).total == 7


def test_what_clients_may_leave_to_the_server_is_a_part_of_what_is_promised_as_winding_up() -> None:
    for connections in range(1, 200):
        promised = Promise(connections, reconnects=True).winding_up
        unseen = promised - lingering(connections)
        assert unseen >= max(2, connections // 2)
        assert unseen >= min(connections, 8), "of few connections each may be counted once more"


def test_kept_connections_of_all_who_take_turns_are_held_at_once() -> None:
    """Four cases with the control: 4 times 8 is 32."""
    assert seated(study("point-select", 8)) == {8: False}
    assert seated(study("point-select", 8, 32)) == {8: True, 32: False}
    assert seated(study("point-select", 8, 31)) == {8: False, 31: False}


@pytest.mark.parametrize("workload", ["reconnect", "storm", "mine"])
def test_connections_that_are_made_anew_are_gone_before_the_next_turn(workload: str) -> None:
    assert seated(study(workload, 8)) == {8: True}


def test_what_is_held_is_what_is_kept_and_what_one_of_the_others_makes() -> None:
    kept: dict[str, Any] = {"workload": "point-select", "connections": 8}
    cases: list[Levels] = [
        kept,
        kept,
        {"workload": "storm", "connections": 100},
        {**kept, "workload": "mine"},
    ]
    assert held_at_once(cases, study("mine", 8)) == 8 + 8 + 100


def test_a_way_that_is_long_beside_a_slice_leaves_no_turns() -> None:
    """A query is one round trip in 20 ms, a reconnect eight in 240; a storm's round takes what it takes."""
    assert seated(study("point-select", 2, 8), 0.00099) == {2: True, 8: False}
    assert seated(study("point-select", 2, 8), 0.00101) == {2: False, 8: False}
    assert seated(study("reconnect", 32), 0.00149) == {32: True}
    assert seated(study("reconnect", 32), 0.00151) == {32: False}
    assert seated(study("storm", 8), 0.1) == {8: True}


def test_who_is_near_is_not_kept_apart_by_the_time_that_a_question_takes_anyway() -> None:
    assert seated(study("reconnect", 1), 0.0005) == {1: True}
    assert seated(study("reconnect", 1), 0.0006) == {1: False}


def test_it_is_said_what_keeps_cases_apart_and_which_option_does_not() -> None:
    of = study("point-select", 8)
    cases = list(of.included())
    assert Elsewhere(8, NEAR_S).why_not(cases, of, 0.02) == (
        "3 of them in turns would hold 24 connections at once, and the server was promised 8 at the most "
        "(--connections 8,24 promises that many)"
    )
    assert Elsewhere(24, 0.0042).why_not(cases, of, 0.02) == (
        "the server answers after 4.2 ms, so that an operation would not be short beside a turn of 20 ms"
    )
    assert Elsewhere(24, NEAR_S).why_not(cases, of, 0.02) == ""


def test_the_most_connections_of_a_case_and_the_most_round_trips_of_one_decide() -> None:
    """By hand: eight round trips of 1.25 ms are 10 ms, and 20 times that 200 ms; one query's is 25 ms."""
    of = study("point-select", 8)
    few: Levels = {"tls": "off", "workload": "point-select", "connections": 2}
    many: Levels = {**few, "workload": "reconnect", "connections": 8}
    for cases in ([few, many], [many, few]):
        assert "(--connections 8,10 promises that many)" in Elsewhere(9, NEAR_S).why_not(cases, of, 0.02)
        assert "answers after 1.2 ms" in Elsewhere(10, 0.0012495).why_not(cases, of, 0.05)
    assert Elsewhere(8, 0.00125).why_not([many], of, 0.2) == ""


def test_beside_a_storm_nobody_is_kept_apart_by_the_way() -> None:
    of = study("point-select", 8)
    kept: Levels = {"tls": "off", "workload": "point-select", "connections": 8}
    assert Elsewhere(99, 0.1).why_not([kept], of, 0.02)
    assert not Elsewhere(99, 0.1).why_not([kept, {**kept, "workload": "storm"}], of, 0.02)


def test_figures_of_a_long_way_and_a_long_turn_are_told_as_they_are() -> None:
    of = study("point-select", 8)
    cases: list[Levels] = [{"tls": "off", "workload": "point-select", "connections": 8}]
    assert Elsewhere(99, 9.995).why_not(cases, of, 0.9985) == (
        "the server answers after 1e+04 ms, so that an operation would not be short beside a turn of 998 ms"
    )
