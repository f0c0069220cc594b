"""What a run takes of an external server's connections, and what it does where they are too few."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tlstax.plan.admission import (
    Admission,
    Leeway,
    admit,
    most_that_fits,
    turns_apart,
    without_room,
    words_of,
)
from tlstax.plan.elsewhere import Promise, Room
from tlstax.plan.order import blocks
from tlstax.plan.sittings import companies
from tlstax.study import Study, load_study, override
from tlstax.support.errors import UserMistake

SERVER = "db.example:3306"


def tax(connections: str | None = None, workload: str | None = None) -> Study:
    study = load_study("tax")
    study = study if workload is None else override(study, "workload", workload.split(","))
    return study if connections is None else override(study, "connections", connections.split(","))


@dataclass(frozen=True)
class Admitted:
    """What a study takes of a server that is alone."""

    study: Study
    admission: Admission

    @property
    def promise(self) -> Promise:
        return self.admission.promise

    def otherwise(self, round_trip_s: float = 0.0001) -> list[str]:
        return list(without_room(self.study, (self.admission.record(round_trip_s, "", ""),)))


def alone(study: Study, room: Room, *, fewer: bool) -> Admitted:
    found, (admission,) = admit(study, {None: replace(room, server=SERVER)}, fewer=fewer)
    return Admitted(found, admission)


def test_by_default_all_cases_take_turns_at_a_server_as_it_comes() -> None:
    found = alone(tax(), Room(151, 1), fewer=True)
    assert found.study == tax()
    assert found.admission.words() == (
        "at most 35 connections at once (of 151 connections, 1 of them in use): 32 for 4 cases in turns, "
        "3 of tlstax's own; --max-connections takes fewer"
    )
    assert found.otherwise() == []


def test_where_that_is_too_many_each_case_has_fewer_connections_unless_they_were_named() -> None:
    """Of 100 free 25 are taken: four cases of five are 23; reconnecting, five take 5 + 3 + 5 + 3."""
    found = alone(tax(), Room(101, 1), fewer=True)
    assert found.study.levels_of()["connections"] == (5,)
    assert (found.promise.total, found.admission.fewer_than) == (23, 8)
    (said,) = found.otherwise()
    assert said.startswith("5 of 8 connections for each case, so that all that are compared take turns")

    named = alone(tax("8"), Room(101, 1), fewer=False)
    assert named.study == tax("8")
    assert (named.promise.total, named.admission.fewer_than) == (23, None)
    (said,) = named.otherwise()
    assert said == (
        "point selects on kept connections, 8 connections: in 3 parts, each with the baseline, since all 4 "
        "cases in turns take 35 connections at once, and the server was promised at most 25 "
        "(--max-connections 35 lets all of them take turns)"
    )


def test_with_room_for_one_case_at_a_time_each_is_measured_by_itself() -> None:
    found = alone(tax("8", "point-select"), Room(60, 1), fewer=False)
    assert found.promise.total == 11
    (said,) = found.otherwise()
    assert "each by itself, since all 4 cases in turns take 35 connections at once" in said


def test_one_connection_each_is_the_least() -> None:
    found = alone(tax(workload="point-select"), Room(12, 0), fewer=True)
    assert found.study.levels_of()["connections"] == (1,)
    assert found.promise.total == 6, "three cases sit together, and one beside the baseline after them"


def test_what_a_case_needs_by_itself_is_allowed_or_refused_with_what_helps() -> None:
    with pytest.raises(UserMistake) as refused:
        alone(tax("8", "reconnect"), Room(61, 1), fewer=False)
    assert refused.value.message == (
        "at most 23 connections at once are needed: 8 for a case, 12 winding up, 3 of tlstax's own; "
        "db.example:3306 has 60 free (61 connections, 1 of them in use), and a run takes one in 4 of those "
        "unless it is told more"
    )
    assert refused.value.remedy == (
        "allow it with --max-connections 23, or ask for fewer with --connections 4"
    )
    assert alone(tax("8", "reconnect"), Room(61, 1, asked=23), fewer=False).promise.total == 23
    assert alone(tax("4", "reconnect"), Room(61, 1), fewer=False).promise.total == 13


def test_more_than_there_are_is_refused_whoever_allows_it() -> None:
    with pytest.raises(UserMistake) as refused:
        alone(tax("8", "reconnect"), Room(151, 1, of_account=20), fewer=False)
    assert "db.example:3306 has 20 free (20 for this account, 0 of them in use)" in refused.value.message
    assert refused.value.remedy == (
        "raise the account's MAX_USER_CONNECTIONS, or ask for fewer with --connections 6 --max-connections 18"
    )
    with pytest.raises(UserMistake) as refused:
        alone(tax("8", "reconnect"), Room(151, 1, of_account=20, limit_of_account="its limit"), fewer=False)
    assert refused.value.remedy.startswith("raise its limit, or ask")
    with pytest.raises(UserMistake) as refused:
        alone(tax(), Room(151, 131, asked=21), fewer=True)
    assert refused.value.message == (
        "--max-connections 21 is more than db.example:3306 has free (151 connections, 131 of them in use)"
    )
    assert refused.value.remedy == "give at most 20"


def test_by_default_a_study_gives_way_to_nothing() -> None:
    assert Leeway() == Leeway(at_most=None, fewer_connections=False, no_plaintext=False, tls_demanded_by={})


def test_why_nobody_took_turns_in_an_older_run_is_told_alike() -> None:
    study = tax("8", "point-select")
    (company,) = companies(study, next(blocks(study, seed=0)))
    assert turns_apart(company, study, 11, parts=0) == (
        "point selects on kept connections, 8 connections: each by itself, since all 4 cases in turns take "
        "35 connections at once, and the server was promised at most 11 "
        "(--max-connections 35 lets all of them take turns)"
    )


def test_a_server_that_is_too_far_away_for_turns_is_told_as_such() -> None:
    found = alone(tax(), Room(151, 1), fewer=True)
    (said,) = found.otherwise(0.0042)
    assert said.startswith(
        "reconnecting for every point select, 8 connections: each by itself, since the server"
    )
    assert "answers after 4.2 ms" in said


def storm(connections: int) -> Promise:
    return Promise(made=connections, closes=True, used_by="a storm")


@pytest.mark.parametrize(
    ("room", "most", "fitting"),
    [
        (Room(151, 3), 2000, 31),  # 37 of 148 that are free, less three that wind up and three of our own
        (Room(151, 3), 20, 20),
        (Room(151, 3, asked=22), 2000, 16),
        (Room(1001, 1, of_account=100), 2000, 19),
    ],
)
def test_what_is_no_study_has_as_many_as_fit(room: Room, most: int, fitting: int) -> None:
    assert most_that_fits(storm, room, least=16, most=most) == fitting
    assert storm(fitting).total <= room.at_most
    assert fitting == most or storm(fitting + 1).total > room.at_most


def test_what_is_no_study_is_promised_in_its_own_words() -> None:
    assert words_of(storm(31), Room(151, 3)) == (
        "at most 37 connections at once (of 151 connections, 3 of them in use): 31 for a storm, 3 winding "
        "up, 3 of tlstax's own; --max-connections takes fewer"
    )


@pytest.mark.parametrize(
    ("room", "words", "remedy"),
    [
        (Room(60, 1), "and a run takes one in 4 of those", "allow it with --max-connections 22"),
        (
            Room(60, 1, asked=21),
            "and --max-connections 21 allows fewer",
            "allow it with --max-connections 22",
        ),
        (Room(20, 1), "has 19 free (20 connections, 1 of them in use)", "raise max_connections"),
        (Room(20, 1, asked=20), "--max-connections 20 is more than", "give at most 19"),
    ],
)
def test_where_the_least_has_no_room_it_is_refused(room: Room, words: str, remedy: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        most_that_fits(storm, room, least=16, most=2000)
    assert words in mistake.value.message
    assert mistake.value.remedy == remedy
