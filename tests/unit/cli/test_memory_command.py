"""`memory` and `self-bench --hold`: what is typed becomes a study, and what cannot be is one sentence."""

from __future__ import annotations

import pytest

from tlstax.cli import memory_command as module
from tlstax.cli.benches_app import MemoryOptions, SelfBenchOptions
from tlstax.cli.memory_command import hold_study, memory_command, memory_study
from tlstax.plan.budget import check_budget
from tlstax.plan.order import cases
from tlstax.study import configuration
from tlstax.support.errors import UserMistake

THERE = "mysql://ann@127.0.0.1:9"


def test_options_become_levels_of_the_study() -> None:
    study = memory_study(
        MemoryOptions(
            server="mysql-9.7,mariadb-11.8",
            tls_library="openssl-3.0,openssl-3.6",
            certificate="rsa-4096",
            connections="500, 100,500",
            rounds=7,
        )
    )
    assert study.levels_of()["server"] == ("mysql-9.7", "mariadb-11.8")
    assert study.levels_of()["tls_library"] == ("openssl-3.0", "openssl-3.6")
    assert study.levels_of()["connections"] == (100, 500)
    assert (study.minimum_blocks, study.maximum_blocks) == (7, 7)
    check_budget(study)
    controls = [case.levels.connections for case in cases(study) if case.role == "control"]
    assert controls == [100] * 4, "the fewest, of each server and library"


def test_the_number_of_rounds_is_kept_whatever_they_take() -> None:
    for rounds in (1, 1000):
        study = memory_study(MemoryOptions(rounds=rounds))
        assert study.maximum_blocks == rounds
        check_budget(study)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (MemoryOptions(certificate="rsa-2048,rsa-12"), "--certificate"),
        (MemoryOptions(server=","), "--server"),
        (MemoryOptions(server="mysql-9.7,mysql-nine"), "no server named 'mysql-nine'"),
        (MemoryOptions(tls_library="openssl-9"), "no TLS library named 'openssl-9'"),
        (MemoryOptions(connections="100"), "--connections: what each further one costs takes two numbers"),
        (MemoryOptions(connections="100,100"), "--connections: what each further one costs takes two"),
        (MemoryOptions(connections="0,5"), "--connections"),
        (MemoryOptions(connections="many,5"), "--connections"),
        (MemoryOptions(max_connections=9), "--max-connections needs the address of an external server"),
        (MemoryOptions(server=THERE, connections="9,20"), "--connections needs private servers"),
        (MemoryOptions(server=THERE, certificate="ec-p256"), "--certificate needs private servers"),
        (MemoryOptions(server=THERE, tls_library="openssl-3.0"), "--tls-library needs private servers"),
        (MemoryOptions(connections="100,1000000000"), "1000000000 connections at once needs a server that"),
    ],
)
def test_bad_options_are_one_sentence_each(options: MemoryOptions, words: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        memory_command(options)
    assert words in mistake.value.message


def test_held_connections_are_a_tenth_and_all_of_them_at_a_rate() -> None:
    study = hold_study(2000, SelfBenchOptions())
    assert study.levels_of()["connections"] == (200, 2000)
    assert study.schedule.mode == "open"
    assert (study.schedule.rate_per_s, study.maximum_blocks) == (2000.0, 1)
    assert study.levels_of()["configuration"] == (configuration.THREAD_POOL,)
    slow = hold_study(2, SelfBenchOptions(rate=0.5))
    assert slow.levels_of()["connections"] == (1, 2)
    assert slow.schedule.mode == "open"
    assert slow.schedule.rate_per_s == 0.5


def test_each_server_has_its_thread_pool_where_it_has_one() -> None:
    study = hold_study(50, SelfBenchOptions(server="mysql-9.7,mariadb-11.8"))
    chosen = {(case.levels.server, case.levels.configuration) for case in cases(study)}
    assert chosen == {
        ("mysql-9.7", configuration.AS_IT_COMES),
        ("mariadb-11.8", configuration.THREAD_POOL),
    }
    alone = hold_study(50, SelfBenchOptions(server="mysql-9.7"))
    assert {case.levels.configuration for case in cases(alone)} == {configuration.AS_IT_COMES}


def test_all_servers_are_those_that_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    class Listing:
        specimens: tuple[object, ...] = ()

    monkeypatch.setattr(module, "listing", Listing)
    with pytest.raises(UserMistake, match="there is no server here yet"):
        hold_study(50, SelfBenchOptions(server=" all "))
    with pytest.raises(UserMistake, match="mysql-nine"):
        hold_study(50, SelfBenchOptions(server="mariadb-11.8,mysql-nine"))
