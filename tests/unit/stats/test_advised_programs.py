"""Every driver that we know has its lines, and who is connected gets their own."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from inspected_servers import inspected, program
from tlstax.stats.programs import TOPICS, all_programs, connected
from tlstax.stats.remedies import ADMINISTRATOR
from tlstax.study.driver_catalogue import speaking
from tlstax.study.product import Family
from tlstax.topics.advice.advise import ELSEWHERE, PROGRAMS, Change, steps_for

DOCS = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("family", get_args(Family))
def test_every_driver_has_its_lines_once(family: Family) -> None:
    named = [driver for own in all_programs(family) for driver in own.drivers]
    assert len(named) == len(set(named))
    assert set(named) >= set(speaking(family))


@pytest.mark.parametrize("family", get_args(Family))
def test_the_page_has_them_too(family: Family) -> None:
    text = (DOCS / ELSEWHERE[family].split()[0]).read_text(encoding="utf-8")
    for own in all_programs(family):
        said = {topic: getattr(own, topic) for topic in TOPICS[family]}
        assert all(said.values()), own.name
        assert not [topic for topic, words in said.items() if words not in text], own.name


def test_programs_of_postgresql_are_known_by_their_application_s_name() -> None:
    by_name = program(2).model_copy(update={"client": "", "program": "PostgreSQL JDBC Driver"})
    assert [own.name for own in connected((by_name,), "postgresql")] == ["pgjdbc"]
    unknown = by_name.model_copy(update={"program": "orders"})
    assert connected((unknown,), "postgresql") == ()


def named(client: str) -> list[str]:
    found = inspected(programs=(program(2).model_copy(update={"client": client}),))
    return [own.name for own in connected(found.inside.programs)]


def test_programs_are_known_by_what_they_call_themselves() -> None:
    assert named("libmysql") == ["MySQL's C library and client"]
    assert named("MySQL Connector/J") == ["Connector/J 8.0 and 9"]
    assert named("Go-MySQL-Driver") == ["go-sql-driver/mysql"]
    both = (program(1), program(2).model_copy(update={"client": "Go-MySQL-Driver"}))
    assert {own.name for own in connected(both)} == {"MySQL's C library and client", "go-sql-driver/mysql"}
    assert named("") == []
    assert named("somebody else") == []


@pytest.mark.parametrize("change", ["resumption", "group", "pool"])
def test_who_is_connected_gets_their_own_line(change: Change) -> None:
    pymysql = [own for own in all_programs() if own.name == "PyMySQL"]
    (step,) = [own for own in steps_for(change, "9.7.4", pymysql) if own.where == PROGRAMS]
    assert len(step.lines) == 1
    assert step.lines[0].startswith("PyMySQL: ")
    (general,) = [own for own in steps_for(change, "9.7.4") if own.where == PROGRAMS]
    assert general.lines[-1] == ELSEWHERE["mysql"]


def test_mariadb_has_no_cache_to_turn_on() -> None:
    assert [own.where for own in steps_for("resumption", "11.8.9-MariaDB")] == [PROGRAMS]
    assert [own.where for own in steps_for("resumption", "9.7.4")] == [ADMINISTRATOR, PROGRAMS]
