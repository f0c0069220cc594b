"""Several servers in one run, on paper: what each is promised, who sits together, what two sides have."""

from __future__ import annotations

import pytest

from tlstax.plan.admission import admit, without_room
from tlstax.plan.cpu_shares import pilot_cases
from tlstax.plan.elsewhere import Elsewhere, ExternalLimits, Room
from tlstax.plan.order import blocks, cases, plan
from tlstax.plan.sittings import Sitting, sittings
from tlstax.plan.timing import SERVER_RESTART_S, block_s
from tlstax.records.beforehand import ExternalServer
from tlstax.run.external import check_external
from tlstax.study import Study, load_study, override
from tlstax.study.changes import at_external_servers
from tlstax.study.factors import CaseLevels
from tlstax.study.two_sides import side_of, two_sided
from tlstax.support.errors import UserMistake

OLD, NEW, OURS = "old.example:3306", "new.example:3306", "mariadb-11.8"
THEIRS = (OLD, NEW)
SHORT_S, LONG_S = 0.0001, 0.012


def three(workload: str = "point-select") -> Study:
    study = override(load_study("tax"), "server", [OLD, OURS, NEW], external=THEIRS)
    return override(study, "workload", workload.split(","))


def sides(*, b: str = f"server={NEW}", **common: tuple[str, ...]) -> Study:
    a = side_of([f"server={OLD}"], "--a", THEIRS)
    return two_sided(a, side_of([b], "--b", THEIRS), common, precision=0.01, external=THEIRS)


def seated(study: Study, limits: ExternalLimits) -> tuple[Sitting, ...]:
    return sittings(study, next(blocks(study, seed=1)), 0.3, limits)


def servers(sitting: Sitting) -> set[str | None]:
    return {trial.case.levels.server for trial in sitting.trials}


def test_an_address_is_a_level_of_the_factor_only_where_it_was_named_as_one() -> None:
    assert three().levels_of()["server"] == (OLD, OURS, NEW)
    with pytest.raises(UserMistake, match="is the name of no server"):
        override(load_study("tax"), "server", [OLD])
    with pytest.raises(UserMistake, match="is the name of no server"):
        side_of([f"server={OLD}"], "--a")


def test_each_server_is_promised_what_its_own_cases_need() -> None:
    rooms = {OLD: Room(151, 1, server=OLD), NEW: Room(401, 1, server=NEW)}
    study, admitted = admit(three(), rooms, fewer=True)
    assert study == three()
    assert [(own.server, own.promise.total, own.room.at_most) for own in admitted] == [
        (OLD, 35, 37),
        (NEW, 35, 100),
    ]
    assert [own.record(SHORT_S, "", "").server for own in admitted] == [OLD, NEW]


def test_where_one_has_less_room_cases_have_fewer_connections_at_all_servers() -> None:
    rooms = {OLD: Room(151, 1, server=OLD), NEW: Room(101, 1, server=NEW)}
    study, admitted = admit(three(), rooms, fewer=True)
    assert study.levels_of()["connections"] == (5,)
    assert {own.promise.total for own in admitted} == {23}
    said = list(without_room(study, [own.record(SHORT_S, "", "") for own in admitted]))
    assert said == [
        "5 of 8 connections for each case, so that all that are compared take turns within 25 of "
        f"{NEW}'s connections (--max-connections allows more)"
    ]
    with pytest.raises(UserMistake, match=f"{NEW} has 9 free"):
        admit(
            override(three("reconnect"), "connections", ["8"]),
            {**rooms, NEW: Room(9, 0, server=NEW)},
            fewer=False,
        )


def test_each_servers_cases_sit_together_by_that_servers_room_and_distance() -> None:
    limits = ExternalLimits({OLD: Elsewhere(35, LONG_S), NEW: Elsewhere(27, SHORT_S)})
    found = seated(three(), limits)
    assert all(len(servers(sitting)) == 1 for sitting in found)
    slices = {name: sitting.slice_s for sitting in found for name in servers(sitting)}
    assert slices == pytest.approx({OLD: 5 * LONG_S, OURS: 0.02, NEW: 0.02})
    parts = [len(sitting.trials) for sitting in found if servers(sitting) == {NEW}]
    assert sorted(parts) == [2, 3], "it has no room for all four at once"
    named = [said for said in without_room(three(), admitted_to(limits)) if NEW in said]
    assert len(named) == 1
    assert f"{NEW} was promised at most 27 (--max-connections 35 lets all of them take turns)" in named[0]


def admitted_to(limits: ExternalLimits) -> list[ExternalServer]:
    return [
        ExternalServer(
            server=name,
            max_connections=151,
            in_use=0,
            at_most=own.at_most,
            promised=own.at_most,
            round_trip_s=own.round_trip_s,
        )
        for name, own in limits.servers.items()
    ]


def test_two_sides_that_are_external_servers_take_turns_with_each_other() -> None:
    study = sides(workload=("point-select",))
    near = ExternalLimits({OLD: Elsewhere(35, LONG_S), NEW: Elsewhere(35, SHORT_S)})
    (sitting,) = seated(study, near)
    assert servers(sitting) == {OLD, NEW}
    assert sitting.slice_s == pytest.approx(5 * LONG_S), "the farther one decides for both"
    tight = ExternalLimits({OLD: Elsewhere(35, SHORT_S), NEW: Elsewhere(10, SHORT_S)})
    assert [servers(one) for one in seated(study, tight) if one.takes_turns] == [{OLD}]
    afar = ExternalLimits({OLD: Elsewhere(35, SHORT_S, reads_afar=True), NEW: Elsewhere(35, SHORT_S)})
    assert [one.full_load for one in seated(study, afar)] == [False]
    assert [one.full_load for one in seated(study, near)] == [True]


def test_sides_with_an_external_server_have_no_twins_and_are_decided_by_the_rate() -> None:
    study = sides()
    assert "instance" not in study.levels_of()
    assert study.baseline == {"server": OLD}
    assert (study.deciding_outcome, study.precision, study.new_processes) == ("ops_per_s", 0.01, False)
    beside_ours = sides(b=f"server={OURS}")
    assert "instance" not in beside_ours.levels_of()
    assert beside_ours.new_processes, "our own has a new process in every block"
    beside_s, alone_s = (
        block_s(one, cases(beside_ours), 0.2)
        for one in (beside_ours, beside_ours.model_copy(update={"new_processes": False}))
    )
    assert beside_s - alone_s == pytest.approx(SERVER_RESTART_S), "nobody starts theirs again"
    twins = two_sided({"server": "mysql-9.7"}, {"server": OURS}, {}, precision=0.01)
    assert twins.levels_of()["instance"] == (1, 2, 3, 4)
    with pytest.raises(UserMistake, match="both sides are the same external server"):
        sides(b=f"server={OLD}")


def test_what_an_external_server_keeps_is_refused_for_it_alone() -> None:
    check_external(three(), THEIRS)
    check_external(sides(b=f"server={OURS}"), THEIRS)
    with pytest.raises(UserMistake, match="keeps what it has: tls_library cannot be chosen there"):
        check_external(override(three(), "tls_library", ["openssl-3.5.5"]), THEIRS)
    own_certificate = two_sided(
        {"server": OLD}, {"server": OURS, "certificate": "ec-p256"}, {}, precision=0.01, external=THEIRS
    )
    check_external(own_certificate, THEIRS)
    new_each_time = load_study("memory")
    check_external(new_each_time, THEIRS)
    with pytest.raises(UserMistake, match="each trial of the study memory has a new process of the server"):
        check_external(new_each_time)


def test_clients_of_other_makers_reconnect_at_private_servers_alone() -> None:
    study = override(three("point-select,reconnect"), "client", ["engine", "sysbench"])
    left = {
        (case.server, case.workload)
        for case in map(CaseLevels.of, at_external_servers(study, THEIRS).included())
        if case.client == "sysbench"
    }
    assert left == {
        (OLD, "point-select"),
        (NEW, "point-select"),
        (OURS, "point-select"),
        (OURS, "reconnect"),
    }


def test_nobody_starts_fetches_or_tries_an_external_server() -> None:
    planned = plan(three(), THEIRS)
    assert (planned.servers, planned.specimens) == ((OURS,), (OURS,))
    assert {case.levels.server for case in pilot_cases(three(), THEIRS)} == {OURS}
