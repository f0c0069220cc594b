"""What a load client cannot do is left out of a study, with the reason."""

from __future__ import annotations

import pytest

from fake_trials import whole_tax
from left_out import why_left_out
from tlstax.contract import ClosedLoop, OpenLoop
from tlstax.plan.order import plan
from tlstax.study import load_study, override
from tlstax.study.client_kinds import KINDS, kind_of_driver
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.workloads.user_defined import UserWorkload
from tlstax.support.errors import UserMistake

SLAP = "mysqlslap-8.0.33"
CLOSED = ClosedLoop()


def mine(**changes: object) -> UserWorkload:
    statement = {"sql": "SELECT {id}", "parameters": {"id": {"kind": "uniform_int"}}}
    return UserWorkload.model_validate(
        {"name": "mine", "transactions": [{"statements": [{**statement, **changes}]}]}
    )


OWN = {
    "mine": mine(),
    "mine-prepared": mine(protocol="prepared"),
    "mine-once": mine(parameters={"id": {"kind": "sequence"}}),
}


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        ({"client": SLAP, "workload": "point-select"}, "only as text"),
        ({"client": SLAP, "workload": "people-select", "protocol": "prepared"}, "only as text"),
        ({"client": SLAP, "workload": "reconnect"}, "cannot prove"),
        ({"client": SLAP, "workload": "people-delete", "connections": 2}, "the same statements"),
        ({"client": SLAP, "workload": "people-select", "tls": "1.1"}, "TLS 1.2 and 1.3"),
        ({"client": SLAP, "workload": "people-select", "tls": "1.3", "resumption": "on"}, "resumes no"),
        ({"client": SLAP, "workload": "people-select", "group": "X25519"}, "group"),
        ({"client": SLAP, "workload": "people-select", "client_tls_library": "openssl-3.5.5"}, "TLS library"),
        ({"client": SLAP, "workload": "people-select", "server": "mysql-5.6.14"}, "has neither"),
        (
            {"client": "mysqlslap-9.7", "workload": "people-select", "server": "mariadb-11.8"},
            "mysql_native_password",
        ),
        ({"client": SLAP, "workload": "mine-prepared"}, "only as text"),
        ({"client": SLAP, "workload": "mine-once", "connections": 8}, "the same statements"),
        ({"client": "sysbench", "workload": "people-select"}, "no such workload"),
        ({"client": "sysbench", "workload": "words-insert"}, "no such workload"),
        ({"client": "sysbench", "workload": "mine"}, "no such workload"),
        ({"client": "sysbench", "workload": "point-select", "resumption": "on"}, "resumes no"),
    ],
)
def test_what_a_client_cannot_do_has_a_reason(levels: dict[str, str | int], word: str) -> None:
    why = why_left_out(levels, OWN, CLOSED)
    assert why.startswith(str(levels["client"]))
    assert word in why
    assert why_left_out({**levels, "client": "engine"}, OWN, CLOSED) == ""


@pytest.mark.parametrize(
    "levels",
    [
        {"client": SLAP, "workload": "people-select", "connections": 64, "tls": "default"},
        {"client": SLAP, "workload": "point-select", "protocol": "text"},
        {"client": SLAP, "workload": "people-select", "server": "mariadb-11.8"},
        {"client": SLAP, "workload": "people-delete", "connections": 1},
        {"client": SLAP, "workload": "mine-prepared", "protocol": "text"},
        {"client": SLAP, "workload": "mine", "connections": 8},
        {"client": "sysbench", "workload": "reconnect", "tls": "1.3"},
        {"workload": "reconnect", "resumption": "on"},
    ],
)
def test_what_a_client_can_do_is_left_in(levels: dict[str, str | int]) -> None:
    assert why_left_out(levels, OWN, CLOSED) == ""


def test_a_rate_is_the_engines_alone() -> None:
    assert "rate" in why_left_out(
        {"client": "sysbench", "workload": "point-select"}, {}, OpenLoop(rate_per_s=10)
    )


def test_a_plan_shows_what_is_left_out_and_which_clients_must_be_had() -> None:
    study = override(whole_tax(), "client", ["engine", "sysbench"])
    planned = plan(study)
    assert [excluded.why for excluded in planned.excluded] == ["sysbench resumes no session"] * 2
    assert {case.levels["client"] for case in planned.cases} == {"engine", "sysbench"}
    assert planned.specimens == ("sysbench",)


def test_a_study_of_which_nothing_is_left_says_why() -> None:
    with pytest.raises(UserMistake, match="nothing is left to measure: mysqlslap"):
        override(load_study("tax"), "client", ["mysqlslap-9.7"])


@pytest.mark.parametrize("client", ["sysbench", SLAP])
def test_only_the_engine_makes_a_storm(client: str) -> None:
    assert "storm" in why_left_out({"client": client, "workload": "storm"}, {}, CLOSED)
    assert why_left_out({"workload": "storm"}, {}, CLOSED) == ""


@pytest.mark.parametrize("client", ["sysbench", "mysqlslap-9.7"])
def test_a_client_that_cannot_stop_in_the_middle_takes_no_turns(client: str) -> None:
    assert "middle of a run" in why_left_out({"client": client, "slice_ms": 5}, {}, CLOSED)
    assert why_left_out({"client": client, "slice_ms": 0, "protocol": "text"}, {}, CLOSED) == ""
    assert why_left_out({"slice_ms": 5}, {}, CLOSED) == ""


def test_a_storm_has_no_rate_no_queries_and_no_slices_of_a_length() -> None:
    assert "rate" in why_left_out({"workload": "storm"}, {}, OpenLoop(rate_per_s=100))
    assert "queries" in why_left_out({"workload": "storm", "queries": 5}, {}, CLOSED)
    assert "slice_ms" in why_left_out({"workload": "storm", "slice_ms": 5}, {}, CLOSED)
    assert why_left_out({"workload": "storm", "slice_ms": 0}, {}, CLOSED) == ""


DRIVER = "pymysql-1.1"


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        ({"workload": "reconnect", "resumption": "on", "tls": "1.3"}, "resumes no"),
        ({"workload": "reconnect", "group": "X25519", "tls": "1.3"}, "group"),
        ({"workload": "reconnect", "cipher": "AES256-SHA", "tls": "1.2"}, "cipher suite"),
        ({"workload": "point-select", "client_tls_library": "openssl-3.5.5", "tls": "1.3"}, "TLS library"),
        ({"workload": "oltp-read-write"}, "no transactions"),
        ({"workload": "storm"}, "storm"),
        ({"workload": "mine-mixed"}, "no transactions"),
    ],
)
def test_what_no_driver_is_told_has_a_reason(levels: dict[str, str | int], word: str) -> None:
    mixed = mine().model_copy(update={"transactions": mine().transactions * 2})
    why = why_left_out({**levels, "client": DRIVER}, {"mine-mixed": mixed}, CLOSED)
    assert why.startswith(DRIVER)
    assert word in why


def test_a_driver_does_as_much_as_its_line_says(monkeypatch: pytest.MonkeyPatch) -> None:
    line = DRIVERS[DRIVER].model_copy(update={"connections": 1, "protocols": ("text",), "unix_socket": False})
    monkeypatch.setitem(DRIVERS, DRIVER, line)
    monkeypatch.setitem(KINDS, DRIVER, kind_of_driver(DRIVER))
    levels = {"client": DRIVER, "workload": "point-select", "protocol": "text"}
    assert why_left_out({**levels, "tls": "unset", "option.useSSL": "false", "batch": 1}, {}, CLOSED) == ""
    assert "keeps only 1 connection" in why_left_out({**levels, "connections": 2}, {}, CLOSED)
    assert "prepares nothing" in why_left_out({**levels, "protocol": "default"}, {}, CLOSED)
    assert "only over TCP" in why_left_out({**levels, "path": "unix-socket"}, {}, CLOSED)


@pytest.mark.parametrize("client", ["engine", "sysbench", SLAP])
def test_what_only_drivers_are_told_leaves_the_others_out(client: str) -> None:
    levels: dict[str, str | int] = {"client": client, "workload": "people-select", "protocol": "text"}
    for told, word in (
        ({"tls": "unset"}, "is not a driver"),
        ({"option.useSSL": "false"}, "has no option useSSL"),
        ({"batch": 10}, "sends no batches"),
    ):
        assert word in why_left_out({**levels, **told}, OWN, CLOSED)
    assert "driver" not in why_left_out({**levels, "option.useSSL": "unset", "batch": 1}, OWN, CLOSED)


@pytest.mark.parametrize(
    ("server", "plugin", "left_out"),
    [
        ("mysql-8.0.33", "mysql_native_password", False),
        ("mysql-8.0.33", "caching_sha2_password", False),
        ("mysql-9.7", "mysql_native_password", True),
        ("mariadb-11.8", "caching_sha2_password", True),
        ("mysql-5.6.24", "caching_sha2_password", True),
        ("mariadb-11.8", "mysql_native_password", False),
    ],
)
def test_accounts_that_a_server_cannot_have_are_left_out(server: str, plugin: str, left_out: bool) -> None:
    why = why_left_out({"workload": "reconnect", "server": server, "auth": plugin}, {}, CLOSED)
    assert bool(why) == left_out
    assert not why or (server in why and plugin in why)


DUMP: dict[str, str | int] = {
    "client": "pg-dump",
    "server": "postgresql-18",
    "workload": "stream",
    "connections": 1,
    "tls": "1.2",
}
LOG: dict[str, str | int] = {**DUMP, "client": "mysqlbinlog", "server": "mysql-9.7", "tls": "1.3"}


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        ({**DUMP, "workload": "point-select"}, "its workload is stream"),
        ({**DUMP, "client": "engine"}, "copies no whole server"),
        ({**DUMP, "client": "pgbench"}, "copies no whole server"),
        ({**DUMP, "server": "mysql-9.7"}, "does not speak MySQL's protocol"),
        ({**LOG, "server": "mariadb-11.8"}, "does not speak"),
        ({**DUMP, "connections": 2}, "one connection at a time"),
        ({**DUMP, "cipher": "TLS_AES_128_GCM_SHA256", "tls": "1.3"}, "which cipher suite"),
        ({**DUMP, "auth": "md5"}, "auth = default"),
        ({**DUMP, "client_certificate": "on"}, "no certificate of its own"),
        ({**DUMP, "client_tls_library": "openssl-3.5.5"}, "the TLS library that it comes with"),
        ({**LOG, "client": "mariadb-binlog", "server": "mariadb-11.8", "compression": "zlib"}, "no option"),
        ({**LOG, "client": "mariadb-dump", "server": "mariadb-11.8", "compression": "zstd"}, "by zstd"),
        ({**DUMP, "compression": "zlib"}, "only a base backup"),
        ({**DUMP, "client": "pg-basebackup", "server": "postgresql-14", "compression": "zlib"}, "compress"),
        ({**DUMP, "client": "pg-recvlogical", "queries": 65}, "queries = 64 at most"),
        ({**LOG, "tls": "1.2"}, "accepts 1.3 alone"),
        ({**LOG, "server": "mysql-8.0.33", "auth": "default", "tls": "1.2"}, "accepts 1.3 alone"),
        ({**LOG, "client": "mysqldump", "server": "mysql-5.6.14", "tls": "off"}, "has neither"),
    ],
)
def test_what_a_program_that_copies_a_server_cannot_do_has_a_reason(
    levels: dict[str, str | int], word: str
) -> None:
    assert word in why_left_out(levels, {}, CLOSED)


@pytest.mark.parametrize(
    "levels",
    [
        DUMP,
        {**DUMP, "client": "pg-basebackup", "tls": "1.3-direct"},
        {**DUMP, "client": "pg-receivewal", "rtt_ms": 45},
        LOG,
        {**LOG, "client": "mysqldump", "tls": "1.2"},
        {**LOG, "client": "mariadb-dump", "server": "mariadb-11.8", "tls": "off"},
    ],
)
def test_a_program_copies_a_server_of_its_product(levels: dict[str, str | int]) -> None:
    assert why_left_out(levels, {}, CLOSED) == ""
