"""A pilot runs the cases that cost the client most, and the one that needs most decides."""

from __future__ import annotations

import pytest

from fake_trials import fake_header, whole_tax
from tlstax.plan.cpu_shares import MOST_CASES, Core, pilot_cases, shared_by
from tlstax.records.beforehand import Pilot, PilotLoad
from tlstax.records.trial import Machine
from tlstax.study import Study, built_in_studies, load_study, override

TAX = whole_tax()
CORES: list[Core] = [(cpu,) for cpu in range(8)]
MACHINE: Machine = fake_header().machine.model_copy(
    update={"cores": 8, "server_cpus": tuple(range(6)), "client_cpus": (6, 7), "notes": ("it is fast",)}
)


def changed(study: Study = TAX, **levels: str) -> Study:
    for factor, texts in levels.items():
        study = override(study, factor, texts.split(","))
    return study


def load(tls: str, client: float, server: float) -> PilotLoad:
    return PilotLoad(
        case={"workload": "reconnect", "tls": tls, "resumption": "off", "connections": 8},
        client_busy_cpus=client,
        server_busy_cpus=server,
    )


def pilot(*loads: PilotLoad) -> Pilot:
    return Pilot(server_cpus=MACHINE.server_cpus, client_cpus=MACHINE.client_cpus, loads=loads)


def test_each_workload_and_each_kind_of_tls_is_tried_once_and_no_control() -> None:
    found = [(case.levels.workload, case.levels.tls, case.levels.resumption) for case in pilot_cases(TAX)]
    assert sorted(found) == sorted(
        (workload, *tls)
        for workload in ("point-select", "reconnect")
        for tls in (("off", "off"), ("1.3", "off"), ("1.3", "on"), ("1.2", "off"))
    )
    assert all(case.role != "control" for case in pilot_cases(TAX))


def test_the_busiest_cases_are_those_with_the_most_connections_of_one_server() -> None:
    many = pilot_cases(changed(connections="1,64,8", server="mysql-9.7,mariadb-11.8"))
    assert {case.levels.connections for case in many} == {64}
    assert {case.levels.server for case in many} == {"mysql-9.7"}
    assert len(many) == len(pilot_cases(TAX))


def test_of_too_many_cases_those_that_cost_the_client_most_stay() -> None:
    study = changed(
        workload="oltp-read-only,select-range,point-select", tls="off,1.2,1.3,default,1.3-resumed"
    )
    found = [case.levels.workload for case in pilot_cases(study)]
    assert len(found) == MOST_CASES
    assert found.count("point-select") == 5


@pytest.mark.parametrize(
    "levels",
    [
        {"workload": "insert"},
        {"workload": "storm"},
        {"workload": "select-range", "queries": "100"},
        {"workload": "point-select", "rtt_ms": "45"},
        {"workload": "point-select", "client": "libmariadb-3.4"},
    ],
)
def test_a_client_that_does_not_work_all_the_time_tells_nothing(levels: dict[str, str]) -> None:
    assert pilot_cases(changed(**levels)) == ()


def test_what_stands_between_or_is_planted_is_left_out_where_there_are_others() -> None:
    assert {case.levels.path for case in pilot_cases(changed(path="direct,stunnel"))} == {"direct"}
    assert {case.levels.rtt_ms for case in pilot_cases(changed(rtt_ms="0,45"))} == {0}
    assert pilot_cases(changed(path="stunnel", tls="off")) == ()


@pytest.mark.parametrize("name", built_in_studies())
def test_every_study_has_a_pilot_of_one_server_or_none(name: str) -> None:
    found = pilot_cases(load_study(name))
    assert len(found) <= MOST_CASES
    assert len({case.levels.server_choice for case in found}) <= 1


def test_the_case_that_needs_most_decides_and_what_was_seen_is_kept() -> None:
    seen = pilot(load("off", 0.5, 2.0), load("1.3", 1.9, 2.4), load("1.2", 1.9, 2.6))
    shared = shared_by(seen, MACHINE, CORES)
    assert seen.decisive == load("1.3", 1.9, 2.4)
    # 0.79 CPUs of the client's for each of the server's: five for three are 48 % busy, four for four 79 %.
    assert (shared.server_cpus, shared.client_cpus) == ((0, 1, 2), (3, 4, 5, 6, 7))
    assert shared.pilot == seen
    assert shared.notes == MACHINE.notes


def test_a_client_that_remains_the_limit_is_noted() -> None:
    shared = shared_by(pilot(load("1.3", 1.9, 0.2)), MACHINE, CORES)
    assert (shared.server_cpus, shared.client_cpus) == ((0,), (1, 2, 3, 4, 5, 6, 7))
    assert shared.notes[-1].startswith("the client needs more CPUs than there are")
    within = shared_by(pilot(load("1.3", 7.0, 1.0)), MACHINE, CORES)
    assert within.notes == MACHINE.notes


def test_a_pilot_that_saw_nothing_changes_nothing_and_says_so() -> None:
    shared = shared_by(pilot(), MACHINE, CORES)
    assert (shared.server_cpus, shared.client_cpus) == (MACHINE.server_cpus, MACHINE.client_cpus)
    assert shared.pilot == pilot()
    assert shared.notes[-1].startswith("the pilot that was to balance the CPUs could not measure anything")
