"""Studies of kept connections: what options change of them, and what cannot be is one sentence."""

from __future__ import annotations

import pytest

from tlstax.cli.study_command import changed
from tlstax.plan.budget import check_budget
from tlstax.plan.order import cases
from tlstax.records.trial import Changes
from tlstax.study import Study, configuration, load_study
from tlstax.support.errors import UserMistake
from typed import status_of

THERE = "server=mysql://ann@127.0.0.1:9"


def study(name: str, *settings: str, blocks: int | None = None) -> Study:
    return changed(load_study(name), Changes(set=settings, blocks=blocks))


def test_numbers_of_connections_are_a_ladder_whose_fewest_have_a_control() -> None:
    known = study("memory", "server=mysql-9.7,mariadb-11.8", "connections=500,100,500", blocks=7)
    assert known.levels_of()["connections"] == (100, 500)
    assert (known.minimum_blocks, known.maximum_blocks) == (7, 7)
    check_budget(known)
    controls = [case.levels.connections for case in cases(known) if case.role == "control"]
    assert controls == [100] * 2, "the fewest, of each server"


@pytest.mark.parametrize("blocks", [None, 1, 1000])
def test_the_number_of_blocks_is_kept_whatever_they_take(blocks: int | None) -> None:
    known = study("memory", "server=mysql-9.7,mariadb-11.8", "tls_library=openssl-3.0", blocks=blocks)
    assert known.maximum_blocks == (blocks or 3)
    check_budget(known)
    asked = changed(load_study("memory"), Changes(budget="20m"))
    assert asked.budget_s == 1200


def test_each_server_has_its_thread_pool_where_it_has_one() -> None:
    known = study("hold", "server=mysql-9.7,mariadb-11.8")
    assert {(case.levels.server, case.levels.configuration) for case in cases(known)} == {
        ("mysql-9.7", configuration.AS_IT_COMES),
        ("mariadb-11.8", configuration.THREAD_POOL),
    }
    for names, own in (
        ("mysql-9.7", configuration.AS_IT_COMES),
        ("mariadb-11.8", configuration.THREAD_POOL),
    ):
        assert {case.levels.configuration for case in cases(study("hold", f"server={names}"))} == {own}


def test_a_client_that_keeps_its_library_is_beside_those_that_load_another() -> None:
    known = study("self-bench", "client_tls_library=openssl-3.4", "tls=1.3")
    libraries = {case["client"]: case["client_tls_library"] for case in known.included()}
    assert libraries == {"engine": "openssl-3.4", "floor": "openssl-3.4", "sysbench": "own"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--set certificate=rsa-2048,rsa-12", "--set certificate"),
        ("--set server=mysql-9.7,mysql-nine", "no server named 'mysql-nine'"),
        ("--set tls_library=openssl-9", "no TLS library named 'openssl-9'"),
        ("--set connections=100,100", "--set connections: what each further one costs takes two numbers"),
        ("--set connections=0,5", "--set connections"),
        ("--max-connections 9", "--max-connections needs the address of an external server"),
        (f"--set {THERE} --set connections=9,20", "--set connections needs private servers"),
        (f"--set {THERE} --set tls_library=openssl-3.0", "--set tls_library needs private servers"),
        (f"--set {THERE},mysql-9.7", "the memory of an external server is measured by itself"),
        (f"--set {THERE} --budget 5m", "--budget needs private servers"),
        (f"--set {THERE} --report a.html", "--report needs private servers"),
        ("--set connections=100,1000000000", "1000000000 connections at once needs a server that"),
        ("--blocks 2 --budget 5m", "--blocks ends a run with a number of blocks"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    words: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, "study", "run", "memory", *words.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_one_number_of_connections_shows_no_cost_of_a_further_one() -> None:
    with pytest.raises(UserMistake, match="takes two numbers at the least"):
        study("memory", "connections=100")
