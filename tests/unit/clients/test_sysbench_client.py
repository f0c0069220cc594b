"""sysbench as a load client, without sysbench: what it is told, what it tells, what went wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from left_out import why_left_out
from tlstax.clients.adapter import Refusal
from tlstax.clients.sysbench import demand, messages
from tlstax.clients.sysbench.messages import MESSAGE, Reported
from tlstax.contract import (
    Account,
    CpuTime,
    Job,
    OpenLoop,
    Statement,
    TcpEndpoint,
    TlsOff,
    TlsOn,
    UniformInt,
    UnixEndpoint,
    Workload,
)
from tlstax.study import workloads

SECRET = "open sesame"


def job(name: str = "point-select", **changes: object) -> Job:
    plain = Job(
        endpoint=TcpEndpoint(host="db.example", port=3306),
        account=Account(user="load", password=SECRET, database="tlstax"),
        tls=TlsOff(),
        workload=workloads.built_in(name, "sbtest1", 1000),
        connections=4,
        duration_s=0.35,
        seed=7,
    )
    return plain.model_copy(update=changes)


def as_text(name: str, table: str = "sbtest1") -> Workload:
    return workloads.built_in(name, table, 1000).model_copy(update={"protocol": "text"})


def tls(**changes: object) -> TlsOn:
    return TlsOn(ca_file="/ca.pem").model_copy(update=changes)


def told_to_sysbench(job: Job) -> list[str]:
    return demand.arguments(job, demand.demand_of(job), address="192.0.2.1")


def test_a_point_select_is_sysbenchs_own() -> None:
    wanted = demand.demand_of(job())
    assert (wanted.script.ours, wanted.script.stock) == ("point_select", "oltp_point_select")
    assert (wanted.table, wanted.rows) == ("sbtest1", 1000)
    options = told_to_sysbench(job())
    assert {"--mysql-host=192.0.2.1", "--mysql-port=3306", "--mysql-user=load"} <= set(options)
    assert {"--threads=4", "--table_size=1000", "--rand-type=uniform", "--mysql-ssl=off"} <= set(options)
    assert "--db-ps-mode=auto" in options
    assert "--tlstax_duration_us=350000" in options
    # What people run: nothing that bears on the event is set that has a default.
    assert not [option for option in options if option.startswith(("--percentile", "--mysql-ignore"))]


STOCK = {
    "point-select": "oltp_point_select",
    "reconnect": "",
    "select-range": "oltp_read_only",
    "insert": "oltp_insert",
    "update": "oltp_update_index",
    "oltp-read-only": "oltp_read_only",
    "oltp-read-write": "oltp_read_write",
}


@pytest.mark.parametrize("name", STOCK)
def test_every_workload_of_sysbenchs_has_its_script(name: str) -> None:
    asked = job(workload=as_text(name))
    wanted = demand.demand_of(asked)
    assert (wanted.script.stock, wanted.table, wanted.rows) == (STOCK[name], "sbtest1", 1000)
    options = told_to_sysbench(asked)
    assert {"--db-ps-mode=disable", "--table_size=1000", "--events=0"} <= set(options)
    assert ("--skip_trx=on" in options) == (name == "select-range")


@pytest.mark.parametrize("name", workloads.NAMES)
def test_a_workload_that_writes_shows_no_rows(name: str) -> None:
    if name in STOCK:
        options = told_to_sysbench(job(workload=as_text(name), row_samples=3))
        assert (f"--tlstax_samples={0 if workloads.changes_data(name) else 3}") in options


@pytest.mark.parametrize("protocol", ["default", "text", "prepared"])
@pytest.mark.parametrize("name", workloads.NAMES)
def test_a_plan_leaves_out_exactly_what_sysbench_refuses(name: str, protocol: str) -> None:
    levels = {"client": "sysbench", "workload": name, "protocol": protocol}
    table = workloads.TABLES[workloads.table_of(name)]
    asked = workloads.built_in(name, table, 1000)
    if protocol != "default":
        asked = asked.model_copy(update={"protocol": protocol})
    if why_left_out(levels):
        with pytest.raises(Refusal):
            demand.demand_of(job(workload=asked))
    else:
        demand.demand_of(job(workload=asked))


def test_it_cannot_be_kept_from_asking_for_a_servers_key() -> None:
    with pytest.raises(Refusal, match="public key"):
        demand.demand_of(job(tls=TlsOff(get_server_public_key=False)))


def test_deletes_are_sysbenchs_only_where_ids_are_drawn() -> None:
    with pytest.raises(Refusal, match="at random"):
        demand.demand_of(job("delete"))
    drawn = Workload(
        protocol="prepared",
        statements=(
            Statement(
                sql="DELETE FROM sbtest1 WHERE id={id}", parameters={"id": UniformInt(low=1, high=1000)}
            ),
        ),
    )
    assert demand.demand_of(job(workload=drawn)).script.stock == "oltp_delete"


def test_a_number_of_operations_and_what_connections_begin_with_are_told() -> None:
    greeted = as_text("update").model_copy(update={"on_connect": ("SET @a = 1", "SET @b = ','")})
    options = told_to_sysbench(job(workload=greeted, operations=500, rounds=5))
    assert "--events=500" in options
    assert "--tlstax_on_connect=SET @a = 1\x1fSET @b = ','" in options


def test_the_other_places() -> None:
    options = told_to_sysbench(job(endpoint=UnixEndpoint(path="/run/db.sock"), tls=tls()))
    assert {"--mysql-socket=/run/db.sock", "--mysql-ssl=on"} <= set(options)
    assert not [option for option in options if option.startswith(("--mysql-host", "--mysql-port"))]


def test_the_password_is_in_no_option() -> None:
    assert SECRET not in " ".join(told_to_sysbench(job()))


def test_the_seed_is_never_the_time_of_day() -> None:
    for seed in (0, 2**31 - 1, 2**63):
        (option,) = [o for o in told_to_sysbench(job(seed=seed)) if o.startswith("--rand-seed=")]
        assert 0 < int(option.partition("=")[2]) < 2**31


BY_ID = Statement(sql="SELECT c FROM t WHERE id={id}", parameters={"id": UniformInt(low=1, high=9)})


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"schedule": OpenLoop(rate_per_s=10.0)}, "open"),
        ({"workload": Workload(statements=(BY_ID, BY_ID))}, "in none"),
        ({"workload": Workload(storm=True)}, "no storm"),
        ({"workload": workloads.built_in("insert", "sbtest1", 9)}, "text query"),
        ({"workload": workloads.built_in("people-select", "people", 9)}, "in none"),
        ({"workload": as_text("oltp-read-only", "orders")}, "a table sbtest1"),
        ({"workload": Workload(statements=(BY_ID,), reconnect=True, protocol="prepared")}, "text query"),
        ({"workload": Workload(statements=(Statement(sql="SELECT 1"),))}, "in none"),
        (
            {
                "workload": Workload(
                    statements=(BY_ID.model_copy(update={"parameters": {"id": UniformInt(low=2, high=9)}}),)
                )
            },
            "in none",
        ),
        ({"reset": ("TRUNCATE sbtest1",), "operations": 9, "rounds": 3}, "in one go"),
        ({"endpoint": UnixEndpoint(path="/a,b")}, "comma"),
        ({"tls": tls(resumption=True)}, "tls.resumption"),
        ({"tls": tls(weak_dh=True)}, "tls.weak_dh"),
        ({"tls": tls(library="/usr/lib/libssl.so.3")}, "tls.library"),
        ({"tls": tls(groups="X25519")}, "tls.groups"),
        ({"tls": tls(ca_file=None)}, "ca_file"),
        ({"tls": tls(key_file="/key.pem")}, "together"),
    ],
)
def test_what_sysbench_cannot_do_is_refused_in_a_sentence(changes: dict[str, object], word: str) -> None:
    with pytest.raises(Refusal, match=word) as refused:
        demand.demand_of(job(**changes))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("password", "value"),
    [
        (SECRET, "'open sesame'"),
        ("", "''"),
        ("a#b,c=d", "'a#b,c=d'"),
        ("it's", '"it\'s"'),
        ("""it's"it""", """it's"it"""),
    ],
)
def test_a_password_is_quoted_as_sysbench_reads_it(password: str, value: str) -> None:
    assert demand.password_line(password) == f"mysql-password={value}\n"


@pytest.mark.parametrize("password", ["""a' b\"""", """'a"b""", "two\nlines", "x" * 300])
def test_a_password_that_cannot_be_said_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(Refusal) as refused:
        demand.password_line(password)
    assert password not in str(refused.value)


def test_openssls_configuration_says_the_versions_and_hides_the_stand_in() -> None:
    text = demand.openssl_conf(tls(min_version="1.2", max_version="1.3"))
    assert "MinProtocol = TLSv1.2\n" in text
    assert "MaxProtocol = TLSv1.3\n" in text
    assert "ClientSignatureAlgorithms" in text
    own = demand.openssl_conf(tls(certificate_file="/cert.pem", key_file="/key.pem"))
    assert "ClientSignatureAlgorithms" not in own
    assert "Protocol" not in own


def test_a_version_out_of_bounds_is_seen() -> None:
    assert demand.version_is_asked_for(tls(min_version="1.3"), "TLSv1.3")
    assert demand.version_is_asked_for(tls(), "TLSv1.2")
    assert not demand.version_is_asked_for(tls(min_version="1.3"), "TLSv1.2")
    assert not demand.version_is_asked_for(tls(max_version="1.2"), "TLSv1.3")
    assert not demand.version_is_asked_for(tls(), "SSLv3")


def told(*said: dict[str, Any]) -> Reported:
    all_of_it = Reported()
    for message in said:
        all_of_it.add(MESSAGE.validate_json(json.dumps(message)))
    return all_of_it


def proof(thread: int, server_version: str = "9.7.4", **changes: object) -> dict[str, Any]:
    plain = {
        "say": "proof",
        "thread": thread,
        "client": {"version": "TLSv1.3", "cipher": "TLS_AES_128_GCM_SHA256"},
        "server": {"version": "TLSv1.3", "cipher": "TLS_AES_128_GCM_SHA256", "sessions_reused": "0"},
        "server_version": server_version,
        "client_library": "3.3.20",
        "tls_library": "OpenSSL 3.0.22 25 Aug 2026",
    }
    return {**plain, **changes}


PLAIN = {
    "client": {"version": None, "cipher": None},
    "server": {"version": "", "cipher": "", "sessions_reused": "0"},
}
WINDOW = [
    {"say": "started", "at_ns": 1_000_000_000},
    *({"say": "ready", "thread": n, "warmup_events": 10 + n} for n in range(2)),
    {"say": "finished", "thread": 0, "at_ns": 2_000_000_000, "events": 300, "errors": 0, "restarts": {}},
    {
        "say": "finished",
        "thread": 1,
        "at_ns": 2_500_000_000,
        "events": 200,
        "errors": 3,
        "restarts": {"1213": 2},
    },
]
CPU = CpuTime(total_us=3.0, user_us=1.0, system_us=2.0)


def test_ready_groups_what_both_sides_proved() -> None:
    ready = messages.ready_event(
        told(proof(0), proof(1)), pid=5, version="1.0.20", library_paths=("/libssl.so.3", "/libcrypto.so.3")
    )
    (seen,) = ready.negotiated
    assert seen.connections == 2
    assert seen.client is not None
    assert seen.server is not None
    assert (seen.client.version, seen.client.resumed) == ("TLSv1.3", None)
    assert (seen.server.cipher, seen.server.resumed) == ("TLS_AES_128_GCM_SHA256", False)
    assert ready.tls_library is not None
    assert ready.tls_library.version.startswith("OpenSSL 3.0.22")
    assert "1.0.20" in ready.client_version
    assert "3.3.20" in ready.client_version


def test_mariadbs_count_of_resumed_sessions_tells_nothing() -> None:
    _, server = told(proof(0, "11.8.6-MariaDB")).proofs[0].negotiated()
    assert server is not None
    assert server.resumed is None


def test_plaintext_has_no_views() -> None:
    ready = messages.ready_event(told(proof(0, **PLAIN)), pid=5, version="1.0.20", library_paths=None)
    assert [(seen.client, seen.server) for seen in ready.negotiated] == [(None, None)]


def test_kept_connections_are_counted_once() -> None:
    done = messages.done_event(told(proof(0), proof(1), *WINDOW), cpu=CPU, reconnects=False)
    assert done.operations == 500
    assert done.elapsed_s == 1.5
    assert done.scheduled == 503
    assert [(error.kind, error.code, error.count) for error in done.errors] == [
        ("server_error", 1213, 2),
        ("server_error", None, 1),
    ]
    assert (done.window.connections, done.window.handshakes) == (0, ())
    assert done.lifetime.connections == 2
    assert [handshakes.count for handshakes in done.lifetime.handshakes] == [2]
    assert done.histograms_ns == {}
    assert done.wire is None


def test_reconnecting_counts_warm_up_and_window() -> None:
    done = messages.done_event(told(proof(0), proof(1), *WINDOW), cpu=CPU, reconnects=True)
    assert done.window.connections == 500
    assert done.lifetime.connections == 2 + 10 + 11 + 500
    assert [handshakes.count for handshakes in done.lifetime.handshakes] == [523]
    plain = told(proof(0, **PLAIN), proof(1, **PLAIN), *WINDOW)
    assert messages.done_event(plain, cpu=CPU, reconnects=True).lifetime.handshakes == ()


def test_rows_are_samples_with_null_and_nothing_told_apart() -> None:
    said = [
        {"say": "sample", "sql": "SELECT 1"},
        {"say": "row", "value": "1"},
        {"say": "row", "value": "2"},
        {"say": "sample", "sql": "SELECT 2"},
        {"say": "row", "value": None},
        {"say": "sample", "sql": "SELECT 3"},
    ]
    done = messages.done_event(told(proof(0), proof(1), *WINDOW, *said), cpu=CPU, reconnects=False)
    assert [sample.rows for sample in done.row_samples] == [(("1",), ("2",)), ((None,),), ()]


UNABLE = "FATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...\n"
LAST = "FATAL: `thread_init' function failed: oltp_common.lua:349: connection creation failed\n"


@pytest.mark.parametrize(
    ("said", "kind", "code"),
    [
        ("FATAL: error 1045: Access denied for user 'u'@'h' (using password: YES)", "access_denied", 1045),
        ("FATAL: error 2002: Can't connect to server on '127.0.0.1' (115)", "connect", 2002),
        ("FATAL: error 2002: Can't connect to server on '127.0.0.1' (99)", "limits", 2002),
        (
            "FATAL: error 2026: TLS/SSL error: self-signed certificate in certificate chain",
            "certificate",
            2026,
        ),
        ("FATAL: error 2026: TLS/SSL error: tlsv1 alert unknown ca", "tls_handshake", 2026),
        ("FATAL: error 1045: Plugin x could not be loaded: no such file", "internal", 1045),
        ("FATAL: error 1040: Too many connections", "server_error", 1040),
        (
            "FATAL: mysql_stmt_execute() returned error 2013 (Lost connection during query) for query"
            " 'SELECT c FROM sbtest1 WHERE id=?'",
            "server_closed",
            2013,
        ),
        ("FATAL: MySQL error: 1146 \"Table 'tlstax.nowhere' doesn't exist\"", "server_error", 1146),
    ],
)
def test_sysbenchs_words_have_the_contracts_kinds(said: str, kind: str, code: int) -> None:
    event = messages.failure_in("Number of threads: 2\n" + UNABLE + said + "\n" + LAST)
    assert event is not None
    assert (event.kind, event.code, event.fatal) == (kind, code, True)
    assert "\n" not in event.message


def test_a_failure_without_a_number_is_told_by_its_first_line() -> None:
    event = messages.failure_in("FATAL: Cannot find benchmark 'x.lua'\nFATAL: more\n")
    assert event is not None
    assert event.kind == "internal"
    assert event.message == "sysbench gave up: Cannot find benchmark 'x.lua'"
    assert messages.failure_in("all is well\n") is None
