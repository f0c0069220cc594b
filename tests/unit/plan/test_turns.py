"""Which cases can take turns, and how short a slice of theirs is."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.contract import OpenLoop
from tlstax.plan.order import cases
from tlstax.plan.turns import (
    DRIVER_S,
    KEPT_S,
    STORM_ROUND_S,
    lead_in,
    slice_s,
    takes_turns,
    tell_full_load,
)
from tlstax.study import Study, load_study
from tlstax.study.factors import CaseLevels

TAX = load_study("tax")
KEPT = CaseLevels.of({"workload": "point-select", "connections": 8, "tls": "1.3"})


def test_most_of_the_default_run_takes_turns() -> None:
    assert all(takes_turns(case.levels, TAX) for case in cases(TAX))


@pytest.mark.parametrize(
    "changed",
    [
        {"client": "sysbench"},
        {"client": "mysqlslap-9.7"},
        {"workload": "storm", "rounds": 5},
        {"workload": "delete"},
        {"workload": "update", "client": "pymysql-1.1"},
        {"workload": "people-select", "queries": 100},
        {"tls_switch": "server"},
        {"durability": "durable"},
        {"rtt_ms": 5},
        {"slice_ms": 0},
    ],
)
def test_what_takes_longer_than_a_slice_to_change_keeps_a_case_from_taking_turns(
    changed: dict[str, Any],
) -> None:
    assert takes_turns(KEPT, TAX)
    assert not takes_turns(KEPT | {**changed}, TAX)


@pytest.mark.parametrize("client", ["engine", "pymysql-1.1", "connector-j-9.7"])
def test_the_engine_and_drivers_take_turns_whatever_carries_their_bytes(client: str) -> None:
    assert takes_turns(KEPT | {"client": client}, TAX)
    for path in ("unix-socket", "ssh-aes256-ctr", "stunnel"):
        assert takes_turns(KEPT | {"path": path}, TAX)


@pytest.mark.parametrize("workload", ["insert", "update", "oltp-read-write", "people-insert"])
def test_what_leaves_nothing_open_and_does_not_run_out_is_written_in_turn(workload: str) -> None:
    assert takes_turns(KEPT | {"workload": workload}, TAX)


@pytest.mark.parametrize(
    "workload", ["delete", "people-update", "people-delete", "words-insert", "words-execute"]
)
def test_what_runs_out_takes_long_or_stays_open_is_written_alone(workload: str) -> None:
    assert not takes_turns(KEPT | {"workload": workload}, TAX)


def test_a_storm_takes_turns_round_by_round_where_all_have_as_many_and_enough() -> None:
    storm = {**KEPT, "workload": "storm", "connections": 100}
    assert takes_turns(CaseLevels.of(storm), TAX)
    assert takes_turns(CaseLevels.of({**storm, "rounds": 6}), TAX)
    assert slice_s([CaseLevels.of(storm), CaseLevels.of(storm)]) == STORM_ROUND_S
    compared = TAX.model_copy(update={"baseline": {**TAX.baseline, "rounds": 10}})
    assert not takes_turns(CaseLevels.of({**storm, "rounds": 10}), compared)


def test_an_open_loop_processes_of_one_trial_and_a_study_of_observers_do_not() -> None:
    late = TAX.model_copy(update={"schedule": OpenLoop(rate_per_s=100.0)})
    assert not takes_turns(KEPT, late)
    alone = TAX.model_copy(update={"new_processes": "trial"})
    assert not takes_turns(KEPT, alone), "each trial has a process to itself"
    assert takes_turns(KEPT, TAX.model_copy(update={"new_processes": True}))
    observers = Study.model_validate(
        {
            "name": "made-up",
            "title": "Made up",
            "question": "What?",
            "factors": {"observers": ("all", "none")},
            "baseline": {"observers": "none"},
        }
    )
    assert not takes_turns(KEPT, observers)


def test_a_slice_is_as_long_as_its_slowest_case_needs() -> None:
    def of(**changed: Any) -> float:
        return slice_s([KEPT, KEPT | {**changed}])

    assert of() == KEPT_S
    assert of(client="pymysql-1.1") == DRIVER_S
    assert of(connections=100) == pytest.approx(0.04)
    assert of(workload="reconnect") == pytest.approx(0.06)
    assert of(workload="reconnect", client="pymysql-1.1") == pytest.approx(0.2)
    assert of(workload="reconnect", client="pymysql-1.1", connections=1) == DRIVER_S
    assert of(workload="session-20x100") == pytest.approx(4 * 0.0001 * 8 * 20)
    assert of(workload="session-1x100") == pytest.approx(0.06)
    assert of(workload="answer-100") == KEPT_S
    assert of(workload="insert") == pytest.approx(20 * (0.0008 + 0.004))
    assert of(workload="oltp-read-write") == pytest.approx(20 * (18 * 0.0008 + 0.004))
    assert of(workload="insert", slice_ms=50) == pytest.approx(0.05)


def test_connections_that_read_many_authorities_need_longer_slices() -> None:
    """Eight connections have four operations each in a slice, and read 0.15 ms for each authority."""

    def of(**changed: Any) -> float:
        return slice_s([KEPT | {"workload": "reconnect", **changed}])

    assert of(trust=145) == pytest.approx(8 * 4 * 0.00015 * 145)
    assert of(trust=12) == of(trust=1) == pytest.approx(8 * 0.0075)
    assert of(trust=145, client="pymysql-1.1") == pytest.approx(8 * 4 * 0.00015 * 145)
    assert slice_s([KEPT | {"trust": 145}]) == KEPT_S, "who keeps connections reads them once"


def test_where_the_ends_of_slices_count_whatever_clients_tell_they_are_whole() -> None:
    reconnect = KEPT | {"workload": "reconnect"}
    assert slice_s([reconnect], whole=True) == pytest.approx(8 * 0.025)
    assert slice_s([KEPT], whole=True) == KEPT_S
    assert tell_full_load([KEPT, reconnect])
    assert not tell_full_load([KEPT, reconnect | {"client": "pymysql-1.1"}])


def test_what_begins_a_slice_is_left_out_where_the_client_can_tell() -> None:
    assert lead_in(KEPT) == 8
    assert lead_in(KEPT | {"workload": "reconnect", "connections": 3}) == 3
    assert lead_in(KEPT | {"workload": "storm"}) is None
    assert lead_in(KEPT | {"client": "pymysql-1.1"}) is None


def test_a_case_may_name_the_length_of_its_slices() -> None:
    assert slice_s([KEPT | {"slice_ms": 50}]) == pytest.approx(0.05)
    assert slice_s([KEPT | {"slice_ms": 7.5, "workload": "reconnect"}]) == pytest.approx(0.0075)
    assert takes_turns(KEPT | {"slice_ms": 5}, TAX)
