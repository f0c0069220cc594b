"""What an external server is promised, and how slices there follow the way to it."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.plan.elsewhere import Elsewhere, ExternalLimits, Promise, Room
from tlstax.plan.jobs import lingering
from tlstax.plan.order import blocks, trials_per_block
from tlstax.plan.sittings import Sitting, most_connections, sittings
from tlstax.study import Levels, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.workloads.user_defined import UserWorkload

NEAR_S = 0.0001
OWN = UserWorkload.model_validate(
    {"name": "mine", "reconnect": True, "transactions": [{"statements": [{"sql": "SELECT 1"}]}]}
)


def study(workload: str, *connections: int) -> Study:
    """Four cases with the control, of each number of connections."""
    return Study(
        name="made-up",
        title="Made up",
        question="What?",
        factors={"tls": ("off", "1.2", "1.3"), "workload": (workload,), "connections": connections},
        baseline={"tls": "off"},
        control_within={},
        workloads={"mine": OWN},
    )


def seated(of: Study, at_most: int, round_trip_s: float = NEAR_S) -> tuple[Sitting, ...]:
    limits = ExternalLimits({None: Elsewhere(at_most, round_trip_s)})
    return sittings(of, next(blocks(of, seed=1)), 0.3, limits)


def roles(sitting: Sitting) -> list[str]:
    return sorted(trial.case.role for trial in sitting.trials)


def promise(workload: str, connections: int, cases: int = 1) -> Promise:
    levels: Levels = {"tls": "off", "workload": workload, "connections": connections}
    return Promise.of([CaseLevels.of(levels)] * cases, study("mine", 1))


@pytest.mark.parametrize(
    ("workload", "connections", "cases", "total", "parts"),
    [
        ("point-select", 8, 1, 11, "8 for a case, 3 of tlstax's own"),
        ("point-select", 8, 4, 35, "32 for 4 cases in turns, 3 of tlstax's own"),
        ("reconnect", 8, 1, 23, "8 for a case, 12 winding up, 3 of tlstax's own"),
        ("reconnect", 8, 4, 23, "8 for a case, 12 winding up, 3 of tlstax's own"),
        ("mine", 1, 1, 7, "1 for a case, 3 winding up, 3 of tlstax's own"),
        ("storm", 100, 2, 106, "100 for a case, 3 winding up, 3 of tlstax's own"),
    ],
)
def test_a_server_is_told_what_it_will_count(
    workload: str, connections: int, cases: int, total: int, parts: str
) -> None:
    own = promise(workload, connections, cases)
    assert (own.total, own.parts()) == (total, parts)


def test_who_keeps_connections_and_who_makes_them_hold_theirs_at_once() -> None:
    kept: dict[str, Any] = {"tls": "off", "workload": "point-select", "connections": 8}
    both = Promise.of(
        [CaseLevels.of(kept), CaseLevels.of(kept), CaseLevels.of({**kept, "workload": "mine"})],
        study("mine", 8),
    )
    assert (both.kept, both.made, both.winding_up) == (16, 8, 12)
    assert both.parts() == "24 for 3 cases in turns, 12 winding up, 3 of tlstax's own"
    resumed = Promise.of([CaseLevels.of({**kept, "tls": "1.3", "resumption": "on"})], study("mine", 8))
    assert (resumed.kept, resumed.winding_up) == (8, 3)


def test_what_clients_may_leave_to_the_server_is_a_part_of_what_is_promised_as_winding_up() -> None:
    for connections in range(1, 200):
        promised = promise("reconnect", connections).winding_up
        unseen = promised - lingering(connections)
        assert unseen >= max(2, connections // 2)
        assert unseen >= min(connections, 8), "of few connections each may be counted once more"


@pytest.mark.parametrize(
    ("room", "free", "at_most", "words"),
    [
        (Room(151, 3), 148, 37, "151 connections, 3 of them in use"),
        (Room(151, 3, asked=20), 148, 20, "151 connections, 3 of them in use"),
        (Room(151, 3, of_account=40, by_account=2), 38, 9, "40 for this account, 2 of them in use"),
        (Room(151, 131, of_account=40, by_account=2), 20, 8, "151 connections, 131 of them in use"),
        (Room(151, 141), 10, 5, "151 connections, 141 of them in use"),
        (Room(10, 12), 0, 0, "10 connections, 12 of them in use"),
    ],
)
def test_a_run_takes_a_quarter_of_what_is_free_or_what_it_is_allowed(
    room: Room, free: int, at_most: int, words: str
) -> None:
    assert (room.free, room.at_most, room.words()) == (free, at_most, words)


def test_all_who_are_compared_take_turns_where_there_is_room_for_what_they_keep() -> None:
    (sitting,) = seated(study("point-select", 8), at_most=35)
    assert roles(sitting) == ["baseline", "control", "treatment", "treatment"]


def test_where_there_is_room_for_fewer_each_part_has_the_baseline() -> None:
    of = study("point-select", 8)
    two = seated(of, at_most=27)
    assert [roles(sitting) for sitting in two] in (
        [["baseline", "control", "treatment"], ["baseline", "treatment"]],
        [["baseline", "treatment", "treatment"], ["baseline", "control"]],
    )
    three = seated(of, at_most=19)
    assert sorted(map(roles, three)) == [
        ["baseline", "control"],
        ["baseline", "treatment"],
        ["baseline", "treatment"],
    ]
    for found in (two, three):
        positions = [trial.position for sitting in found for trial in sitting.trials]
        assert len(positions) == len(set(positions)), "every trial has a place of its own"
        further = len(found) - 1
        assert sorted(positions) == list(range(trials_per_block(of) + further)), "the baseline's come last"
        assert len({sitting.number for sitting in found}) == len(found)


def test_who_has_no_room_even_beside_the_baseline_alone_is_measured_alone() -> None:
    found = seated(study("point-select", 8), at_most=18)
    assert [len(sitting.trials) for sitting in found] == [1, 1, 1, 1]
    by_connections = {
        sitting.trials[0].case.levels.connections: sitting.takes_turns
        for sitting in seated(study("point-select", 4, 20), at_most=23)
    }
    assert by_connections == {4: True, 20: False}


def test_two_without_room_for_both_are_measured_alone_and_named_slices_need_no_company() -> None:
    of = study("point-select", 8)
    block = next(blocks(of, seed=1))
    two = [next(trial for trial in block if trial.case.role == role) for role in ("baseline", "treatment")]
    for at_most, together in ((19, [2]), (18, [1, 1])):
        limits = ExternalLimits({None: Elsewhere(at_most, NEAR_S)})
        assert [len(sitting.trials) for sitting in sittings(of, two, 0.3, limits)] == together
    named = of.model_copy(update={"factors": {**of.factors, "slice_ms": (50,)}})
    for trial in next(blocks(named, seed=1)):
        (alone,) = sittings(named, [trial], 0.3, ExternalLimits({None: Elsewhere(18, NEAR_S)}))
        assert (alone.takes_turns, alone.slice_s, alone.trials) == (True, 0.05, (trial,))


@pytest.mark.parametrize("workload", ["reconnect", "storm", "mine"])
def test_connections_that_are_made_anew_are_gone_before_the_next_turn(workload: str) -> None:
    (sitting,) = seated(study(workload, 8), at_most=23)
    assert len(sitting.trials) == 4


def test_what_is_held_is_what_is_kept_and_what_one_of_the_others_makes() -> None:
    kept: dict[str, Any] = {"workload": "point-select", "connections": 8}
    cases: list[Levels] = [
        kept,
        kept,
        {"workload": "storm", "connections": 100},
        {**kept, "workload": "mine"},
    ]
    assert Promise.of(map(CaseLevels.of, cases), study("mine", 8)).held == 8 + 8 + 100


def test_the_most_connections_of_a_case_are_known() -> None:
    assert most_connections(study("point-select", 8, 32, 16)) == 32
    unsaid = Study(name="s", title="", question="?", factors={"tls": ("off", "1.3")}, baseline={"tls": "off"})
    assert most_connections(unsaid) == 1


@pytest.mark.parametrize(
    ("workload", "connections", "round_trip_s", "slice_s"),
    [
        ("point-select", 8, 0.0005, 0.02),  # Five round trips are 2.5 ms: what is usual is longer.
        ("point-select", 8, 0.01, 0.05),
        ("point-select", 1, 0.004, 0.08),  # Twenty of the only one.
        ("reconnect", 8, 0.002, 0.08),  # Eight round trips each: five times 16 ms.
        ("storm", 8, 0.1, 1e-6),  # A round takes what it takes.
    ],
)
def test_a_slice_is_as_long_as_the_way_makes_operations(
    workload: str, connections: int, round_trip_s: float, slice_s: float
) -> None:
    (sitting,) = seated(study(workload, connections), at_most=200, round_trip_s=round_trip_s)
    assert sitting.slice_s == pytest.approx(slice_s)


@pytest.mark.parametrize(
    ("workload", "near_s", "far_s"), [("point-select", 0.0199, 0.0201), ("reconnect", 0.00249, 0.00251)]
)
def test_where_a_slice_would_be_longer_than_a_tenth_of_a_second_there_are_no_turns(
    workload: str, near_s: float, far_s: float
) -> None:
    of = study(workload, 8)
    assert [sitting.takes_turns for sitting in seated(of, 200, near_s)] == [True]
    assert [sitting.takes_turns for sitting in seated(of, 200, far_s)] == [False] * 4
