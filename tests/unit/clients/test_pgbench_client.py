"""What pgbench is told of a job, what it is not asked for, and what its words mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tlstax.clients.adapter import Refusal
from tlstax.clients.companions import counting
from tlstax.clients.pgbench import demand
from tlstax.clients.pgbench.child import failure_in, report_in
from tlstax.contract import (
    Account,
    Job,
    OpenLoop,
    TcpEndpoint,
    TlsOff,
    TlsOn,
    TlsUnset,
    UnixEndpoint,
    Workload,
)
from tlstax.contract.job import MySqlServer, PostgreSqlServer
from tlstax.study.workloads import statements

TABLE, ROWS = "sbtest1", 1000
PASSWORD = "a:b\\c"


def job(workload: Workload | None = None, **changes: Any) -> Job:
    asked = {
        "endpoint": TcpEndpoint(host="192.0.2.7", port=5433),
        "server": PostgreSqlServer(),
        "account": Account(user="load", password=PASSWORD, database="shop"),
        "tls": TlsOff(),
        "workload": workload or statements.point_select(TABLE, ROWS),
        "connections": 8,
        "duration_s": 1.0,
        "seed": 7,
    }
    return Job(**{**asked, **changes})


def test_a_point_select_is_a_number_drawn_and_a_statement() -> None:
    assert demand.script(job()) == "\\set id random(1, 1000)\nSELECT c FROM sbtest1 WHERE id=:id;\n"


def test_an_offset_is_set_after_the_number_that_it_is_of() -> None:
    lines = demand.script(job(statements.select_range(TABLE, ROWS))).splitlines()
    assert lines[:2] == [r"\set id random(1, 1000)", r"\set last :id + 99"]


def test_statements_of_a_transaction_stand_between_its_brackets_as_often_as_they_are_run() -> None:
    lines = demand.script(job(statements.read_only(TABLE, ROWS))).splitlines()
    assert (lines[0], lines[-1]) == ("BEGIN;", "COMMIT;")
    assert lines.count("SELECT c FROM sbtest1 WHERE id=:id;") == statements.POINT_SELECTS


def test_the_options_name_neither_the_account_nor_the_server() -> None:
    assert demand.arguments(job(), 500) == [
        "--no-vacuum",
        "--client=8",
        "--jobs=1",
        "--transactions=500",
        "--protocol=prepared",
        "--random-seed=7",
    ]
    reconnects = demand.arguments(job(statements.reconnect(TABLE, ROWS)), 5)
    assert {"--connect", "--protocol=simple"} <= set(reconnects)


@pytest.mark.parametrize(
    ("connections", "threads", "firsts"), [(8, 1, [0]), (8, 2, [0, 4]), (5, 2, [0, 3]), (2, 4, [0, 1])]
)
def test_the_first_client_of_each_thread_stands_at_the_gate(
    connections: int, threads: int, firsts: list[int]
) -> None:
    assert demand.first_of_threads(connections, threads) == firsts


def test_a_password_file_has_colons_and_backslashes_escaped() -> None:
    assert demand.password_file(job()) == "*:*:*:*:a\\:b\\\\c\n"


def test_a_password_of_two_lines_is_refused_rather_than_cut() -> None:
    account = Account(user="load", password="a\nb", database="shop")
    with pytest.raises(Refusal, match="several lines"):
        demand.password_file(job(account=account))


def test_the_environment_holds_where_and_how_and_no_password() -> None:
    tls = TlsOn(min_version="1.3", max_version="1.3", verify="identity", ca_file="/ca.pem")
    direct = PostgreSqlServer(ssl_negotiation="direct", require_auth=("scram-sha-256",))
    environment = demand.environment(job(tls=tls, server=direct))
    assert (
        environment.items()
        >= {
            "PGHOST": "192.0.2.7",
            "PGPORT": "5433",
            "PGSSLMODE": "verify-full",
            "PGSSLROOTCERT": "/ca.pem",
            "PGSSLMINPROTOCOLVERSION": "TLSv1.3",
            "PGSSLMAXPROTOCOLVERSION": "TLSv1.3",
            "PGSSLNEGOTIATION": "direct",
            "PGREQUIREAUTH": "scram-sha-256",
        }.items()
    )
    assert not any(PASSWORD in value for value in environment.values())


def test_nothing_of_the_users_home_changes_what_is_measured() -> None:
    environment = demand.environment(job(tls=TlsOn()))
    assert (environment["PGSSLMODE"], environment["PGSSLROOTCERT"]) == ("require", demand.NOWHERE)
    assert demand.environment(job())["PGSSLMODE"] == "disable"


def test_what_counts_locks_is_loaded_before_all_others_and_brings_an_unwinder() -> None:
    command = ["python", "loader", "--library-path", "/libraries", "pgbench"]
    counted = counting(command, Path("/count.so"))
    assert counted == ["python", "loader", "--preload", "/count.so:libgcc_s.so.1", *command[2:]]


def test_a_unix_socket_is_its_folder_and_its_port() -> None:
    environment = demand.environment(job(endpoint=UnixEndpoint(path="/run/here/.s.PGSQL.5444")))
    assert (environment["PGHOST"], environment["PGPORT"]) == ("/run/here", "5444")


def test_scram_alone_bound_to_the_channel_is_demanded_as_such() -> None:
    bound = PostgreSqlServer(require_auth=("scram-sha-256-plus",))
    environment = demand.environment(job(tls=TlsOn(), server=bound))
    assert environment["PGCHANNELBINDING"] == "require"
    assert "PGREQUIREAUTH" not in environment


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"server": MySqlServer()}, "PostgreSQL alone"),
        ({"tls": TlsUnset()}, "told whether to encrypt"),
        ({"tls": TlsOn(groups="X25519")}, "tls.groups"),
        ({"tls": TlsOn(resumption=True)}, "tls.resumption"),
        ({"tls": TlsOn(verify="ca")}, "names none"),
        ({"schedule": OpenLoop(rate_per_s=10.0)}, "no rate"),
        ({"rounds": 2}, "one round"),
        ({"workload": statements.insert(TABLE, ROWS)}, "draws numbers alone"),
        ({"workload": statements.delete(TABLE, ROWS)}, "draws numbers alone"),
        ({"workload": statements.storm(TABLE, ROWS)}, "no storm"),
        ({"workload": statements.words_insert(TABLE, ROWS)}, "before its first operation"),
        ({"account": Account(user="load", password="", database=None)}, "needs a database"),
    ],
)
def test_what_it_cannot_do_is_refused_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        demand.check(job(**changes))


def test_what_it_can_do_is_not_refused() -> None:
    for workload in (statements.point_select, statements.reconnect, statements.read_only, statements.update):
        demand.check(job(workload(TABLE, ROWS), tls=TlsOn(verify="identity", ca_file="/ca.pem")))


def test_its_report_has_what_it_did_and_who_did_it() -> None:
    printed = "number of clients: 8\nnumber of transactions actually processed: 800/800\n"
    report = report_in(printed)
    assert report is not None
    assert (report.clients, report.operations) == (8, 800)
    assert report_in("number of clients: 8\n") is None


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ('connection to server at "h" failed: FATAL:  password authentication failed', "access_denied"),
        ('connection to server at "h" failed: SSL error: certificate verify failed', "certificate"),
        ("connection failed: server does not support SSL, but SSL was required", "no_tls"),
        ('client 0 aborted: ERROR:  relation "t" does not exist', "server_error"),
        ("something that nobody knows", "internal"),
    ],
)
def test_the_words_of_its_errors_say_where_to_look(log: str, kind: str) -> None:
    event = failure_in(f"pgbench: error: {log}\n")
    assert event is not None
    assert event.kind == kind


def test_a_warning_is_no_error() -> None:
    assert failure_in("pgbench: warning: scale option ignored\n") is None
