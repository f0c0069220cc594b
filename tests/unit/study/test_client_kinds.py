"""Every load client that a study may name is known by its kind, and can be obtained."""

from __future__ import annotations

import pytest

from tlstax.clients import choice
from tlstax.contract import ClosedLoop
from tlstax.study import Level, load_study, override
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import KINDS, PROGRAMS, Wanted, client_words, kind_of
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.factors import FACTORS, CaseLevels
from tlstax.study.needs import has_one_thread, only_tls_version, server_choices
from tlstax.study.product import ProductName
from tlstax.support.errors import UserMistake


def test_each_client_is_a_level_and_has_a_way_to_be_obtained() -> None:
    assert FACTORS["client"].levels == tuple(KINDS)
    assert set(choice.PROGRAMS) == {kind.name for kind in PROGRAMS}
    assert set(KINDS) - set(choice.PROGRAMS) == set(DRIVERS)
    assert all(kind.is_driver == (name in DRIVERS) for name, kind in KINDS.items())


def test_a_client_of_a_record_from_elsewhere_is_a_driver() -> None:
    kind = kind_of("driver-of-theirs-3")
    assert kind.is_driver
    assert kind.words == client_words("driver-of-theirs-3") == "driver-of-theirs-3"


def test_a_driver_speaks_the_protocol_of_its_line() -> None:
    for name, driver in DRIVERS.items():
        of_postgresql = driver.speaks == "postgresql"
        assert (kind_of(name).speaks == {"postgresql"}) is of_postgresql
        assert (kind_of(name).logged_at == {"postgresql"}) is of_postgresql


@pytest.mark.parametrize(
    ("client", "product", "tls", "why"),
    [
        ("psycopg-3", "mysql", "off", "psycopg-3 does not speak MySQL's protocol"),
        ("pymysql-1.1", "postgresql", "off", "pymysql-1.1 does not speak PostgreSQL's protocol"),
        ("pg8000-1", "postgresql", "1.3-direct", "pg8000-1 asks for TLS before it begins it"),
        ("psycopg-3", "postgresql", "1.3-direct", ""),
    ],
)
def test_what_a_driver_cannot_do_at_a_product(client: str, product: ProductName, tls: str, why: str) -> None:
    case = CaseLevels.of({"client": client, "workload": "point-select", "tls": tls})
    wanted = Wanted(case, CaseWorkload.of(case, {}, product), ClosedLoop(), product=product)
    assert kind_of(client).why_not(wanted) == why


def test_clients_in_words() -> None:
    assert [client_words(name) for name in ("engine", "sysbench", "mysqlslap-8.0.33", "connector-j-9.7")] == [
        "the engine",
        "sysbench",
        "mysqlslap 8.0.33",
        "Connector/J 9.7.0",
    ]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"workload": "insert"}, "one short statement again and again"),
        ({"queries": 100}, "does no number of queries"),
        ({"tls": "1.3", "resumption": "on", "workload": "reconnect"}, "resumes no session"),
        ({"compression": "zlib"}, "compresses nothing"),
        ({"tls": "1.2"}, "a server that accepts 1.3 alone"),
    ],
)
def test_what_the_floor_cannot_do_is_said(levels: dict[str, Level], words: str) -> None:
    def why_not(client: str) -> str:
        case = CaseLevels.of({"workload": "point-select", **levels, "client": client})
        return kind_of(client).why_not(Wanted(case, CaseWorkload.of(case, {}), ClosedLoop()))

    assert words in why_not("floor")
    assert why_not("engine") == ""


def test_the_floor_does_what_the_self_bench_asks_of_it() -> None:
    cells = {
        (case.workload, case.tls) for case in load_study("self-bench").included() if case.client == "floor"
    }
    assert cells == {(w, tls) for w in ("point-select", "reconnect") for tls in ("off", "1.3")}


def test_a_server_accepts_the_one_version_of_a_client_that_asks_nothing() -> None:
    study = load_study("self-bench")
    (choice,) = server_choices(study)
    assert only_tls_version(study, choice) == "1.3"
    assert only_tls_version(override(study, "tls", ["off"]), choice) is None, "there is nothing to prove"
    assert only_tls_version(override(study, "client", ["engine", "sysbench"]), choice) is None
    with pytest.raises(UserMistake, match=r"floor is proved by a server that accepts TLS 1\.3 alone"):
        only_tls_version(override(study, "tls", ["1.2", "1.3"]), choice)


@pytest.mark.parametrize(
    ("server", "clients"),
    [("mysql-9.7", {"engine", "floor", "sysbench"}), ("postgresql-18", {"engine", "floor", "pgbench"})],
)
def test_the_self_bench_asks_who_speaks_the_servers_protocol(server: str, clients: set[str]) -> None:
    study = override(load_study("self-bench"), "server", [server])
    assert {case.client for case in study.included()} == clients


def test_postgresqls_log_proves_the_floor_in_place_of_the_one_version() -> None:
    study = override(load_study("self-bench"), "server", ["postgresql-18"])
    study = override(study, "tls", ["off", "1.2", "1.3", "1.3-direct"])
    (choice,) = server_choices(study)
    assert only_tls_version(study, choice) is None
    floor = {case.tls for case in study.included() if case.client == "floor"}
    assert floor == {"off", "1.2", "1.3", "1.3-direct"}


def test_nobody_has_more_processors_than_a_client_of_one_thread() -> None:
    study = load_study("self-bench")
    assert has_one_thread(study)
    assert not has_one_thread(override(study, "client", ["engine", "sysbench"]))
