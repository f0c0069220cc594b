"""mysqlslap as a load client, without mysqlslap: what it is told, what it prints, what went wrong."""

from __future__ import annotations

import pytest

from tlstax.clients.adapter import Failed, Refusal, death
from tlstax.clients.mysqlslap import child, demand
from tlstax.clients.mysqlslap.child import Measured, Report, done_event
from tlstax.clients.mysqlslap.demand import MOST_LINES, QueryFile, UsedUp, Written, query_file
from tlstax.contract import (
    Account,
    CpuTime,
    Digits,
    Job,
    Offset,
    OneOf,
    OpenLoop,
    Sequence,
    Statement,
    TcpEndpoint,
    TlsOff,
    TlsOn,
    Transaction,
    UniformInt,
    UnixEndpoint,
    Workload,
)
from tlstax.mysql import connection_log
from tlstax.sql import recorded_connections
from tlstax.study import workloads

SECRET = "open \"sesame\" or 'not' \\ #1"
PRINTED_8_0_33 = """Benchmark
\tAverage number of seconds to run all queries: 0.450 seconds
\tMinimum number of seconds to run all queries: 0.401 seconds
\tMaximum number of seconds to run all queries: 0.499 seconds
\tNumber of clients running queries: 4
\tAverage number of queries per client: 251

"""
"""As 8.0.33 and 9.7.4 print it alike."""


def by_id(number: int) -> str:
    return BY_ID.sql.replace("{id}", str(number))


BY_ID = Statement(sql="SELECT c FROM t WHERE id={id}", parameters={"id": UniformInt(low=1, high=9)})
DELETE = Statement(sql="DELETE FROM t WHERE id={id}", parameters={"id": Sequence(first=1, last=5)})


def job(**changes: object) -> Job:
    plain = Job(
        endpoint=TcpEndpoint(host="localhost", port=3306),
        account=Account(user="load", password=SECRET, database="tlstax"),
        tls=TlsOff(),
        workload=Workload(statements=(BY_ID,)),
        connections=4,
        duration_s=0.35,
        seed=7,
    )
    return plain.model_copy(update=changes)


def told(**changes: object) -> list[str]:
    return demand.arguments(job(**changes), queries=251, rounds=5)


def written(*statements: Statement, seed: int = 7) -> Written:
    return Written(Workload(statements=statements), seed)


def mixed(**transaction: object) -> Written:
    return Written(Workload(mix=(Transaction.model_validate(transaction),)), 7)


def test_the_options_are_those_that_people_type() -> None:
    assert told() == [
        "--protocol=tcp",
        "--host=localhost",
        "--port=3306",
        "--create-schema=tlstax",
        "--no-drop",
        "--concurrency=4",
        "--iterations=5",
        "--number-of-queries=1004",
        "--ssl-mode=DISABLED",
    ]
    assert told(endpoint=UnixEndpoint(path="/run/db.sock"))[:2] == [
        "--protocol=socket",
        "--socket=/run/db.sock",
    ]


@pytest.mark.parametrize(
    ("tls", "options"),
    [
        (TlsOn(), ["--ssl-mode=REQUIRED"]),
        (TlsOn(verify="ca", ca_file="/ca.pem"), ["--ssl-mode=VERIFY_CA", "--ssl-ca=/ca.pem"]),
        (
            TlsOn(verify="identity", ca_file="/ca.pem", min_version="1.3", max_version="1.3"),
            ["--ssl-mode=VERIFY_IDENTITY", "--ssl-ca=/ca.pem", "--tls-version=TLSv1.3"],
        ),
        (TlsOn(min_version="1.2"), ["--ssl-mode=REQUIRED", "--tls-version=TLSv1.2,TLSv1.3"]),
    ],
)
def test_tls_is_asked_for_as_the_job_has_it(tls: TlsOn, options: list[str]) -> None:
    assert told(tls=tls)[-len(options) :] == options


def test_the_password_is_in_no_option_and_survives_the_option_file() -> None:
    assert not [option for option in told() if "sesame" in option]
    assert demand.option_file(job()) == (
        '[client]\nuser="load"\npassword="open \\"sesame\\" or \\\'not\\\' \\\\ #1"\n'
    )
    with pytest.raises(Refusal, match="password"):
        demand.option_file(job(account=Account(user="load", password="a\nb", database="tlstax")))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"schedule": OpenLoop(rate_per_s=10.0)}, "rate"),
        ({"workload": Workload(statements=(BY_ID,), protocol="prepared")}, "only as text"),
        (
            {"workload": Workload(statements=(BY_ID.model_copy(update={"protocol": "prepared"}),))},
            "only as text",
        ),
        ({"workload": Workload(storm=True)}, "no storm"),
        ({"workload": workloads.built_in("reconnect", "sbtest1", 1000)}, "cannot prove"),
        ({"workload": Workload(statements=(DELETE,))}, "the same statements"),
        ({"workload": Workload(statements=(DELETE,)), "connections": 1, "rounds": 2}, "puts the data back"),
        ({"account": Account(user="load", password="", database=None)}, "schema"),
        ({"tls": TlsOn(resumption=True)}, "tls.resumption"),
        ({"tls": TlsOn(weak_dh=True)}, "tls.weak_dh"),
        ({"tls": TlsOn(library="/usr/lib/libssl.so.3")}, "tls.library"),
        ({"tls": TlsOn(groups="X25519")}, "tls.groups"),
        ({"tls": TlsOn(min_version="1.1", max_version="1.1")}, "TLS 1.2 and 1.3"),
        ({"tls": TlsOn(verify="ca")}, "authority"),
    ],
)
def test_what_mysqlslap_cannot_do_is_refused_in_a_sentence(changes: dict[str, object], word: str) -> None:
    with pytest.raises(Refusal, match=word) as refused:
        demand.check(job(**changes))
    assert "\n" not in str(refused.value)


def test_rows_may_be_added_again_in_every_round() -> None:
    insert = Statement(sql="INSERT INTO t VALUES ({id})", parameters=DELETE.parameters)
    demand.check(job(workload=Workload(statements=(insert,)), connections=1, rounds=2))


def test_what_puts_the_data_back_is_said_in_the_schema_and_only_between_rounds() -> None:
    reset = ("DELETE FROM t", "INSERT INTO t SELECT * FROM kept")
    assert demand.reset_statements(job(reset=reset)) == ()
    assert demand.reset_statements(job(reset=reset, rounds=2)) == ("USE `tlstax`", *reset)


def test_statements_are_drawn_by_the_seed() -> None:
    same, again, other = ([written(BY_ID, seed=seed).operation() for _ in range(3)] for seed in (7, 7, 8))
    assert same == again
    drawn = written(BY_ID).operations(50)
    assert {text for (text,) in drawn} == {by_id(number) for number in range(1, 10)}
    assert drawn != written(BY_ID, seed=8).operations(50)
    assert other


def test_every_kind_of_value_is_written_as_the_server_reads_it() -> None:
    statement = Statement(
        sql="SELECT {id}, {to}, {word}, {pad}, '{{'",
        parameters={
            "to": Offset(of="id", by=99),
            "id": UniformInt(low=5, high=5),
            "word": OneOf(values=("it's \\ \n",)),
            "pad": Digits(template="##-x"),
        },
    )
    ((text,),) = written(statement).operations(1)
    start, pad = text[: text.index("', '") + 1], text[text.index("', '") + 1 :]
    assert start == "SELECT 5, 104, 'it\\'s \\\\ \\n'"
    assert pad[3:5].isdigit()
    assert pad == f", '{pad[3:5]}-x', '{{'"


def test_a_transaction_is_bracketed_and_shares_what_it_draws() -> None:
    statement = {"sql": "SELECT c FROM t WHERE id={id} AND k={k}", "repeat": 3}
    operation = mixed(
        bracketed=True,
        parameters={"id": {"kind": "uniform_int", "low": 1, "high": 10**6}},
        statements=[{**statement, "parameters": {"k": {"kind": "uniform_int", "low": 1, "high": 10**6}}}],
    ).operation()
    assert (operation[0], operation[-1], len(operation)) == ("BEGIN", "COMMIT", 5)
    assert len({text.partition(" AND ")[0] for text in operation[1:-1]}) == 1
    assert len(set(operation[1:-1])) == 3


def test_a_mix_is_drawn_by_weight() -> None:
    light, heavy = (Transaction(weight=w, statements=(Statement(sql=f"SELECT {w}"),)) for w in (1, 9))
    drawn = Written(Workload(mix=(light, heavy)), 7).operations(1000)
    assert 50 < drawn.count(["SELECT 1"]) < 150


def test_a_sequence_goes_on_and_ends() -> None:
    drawing = written(DELETE)
    assert drawing.left() == 5
    assert drawing.operation() == ["DELETE FROM t WHERE id=1"]
    assert drawing.left() == 4
    assert drawing.operations(9) == [[DELETE.sql.replace("{id}", str(number))] for number in range(2, 6)]
    with pytest.raises(UsedUp):
        drawing.operation()
    with pytest.raises(Refusal, match="used up before the window"):
        query_file(drawing, 1, ())


def test_a_query_file_begins_with_what_is_said_on_connecting() -> None:
    file = query_file(written(BY_ID), 250, ("SELECT 0",))
    assert (file.statements[0], len(file.statements)) == ("SELECT 0", 251)
    assert (file.queries, file.operations) == (251, 250)
    short = query_file(written(DELETE), 250, ())
    assert (short.queries, short.operations) == (5, 5)


def test_a_long_window_repeats_its_file() -> None:
    file = query_file(written(Statement(sql="SELECT 1")), 3 * MOST_LINES, ("SELECT 0",))
    assert len(file.statements) == MOST_LINES
    assert (file.queries, file.operations) == (3 * MOST_LINES, 3 * (MOST_LINES - 1))


def test_a_statement_of_two_lines_is_refused() -> None:
    for drawing, on_connect in (
        (written(Statement(sql="SELECT 1,\n2")), ()),
        (written(BY_ID), ("SELECT\n1",)),
    ):
        with pytest.raises(Refusal, match="end of a line"):
            query_file(drawing, 1, on_connect)


def test_a_place_without_a_parameter_is_refused() -> None:
    with pytest.raises(Refusal, match="no parameter 'k'"):
        written(Statement(sql="SELECT {k}")).operation()


def test_what_it_prints_is_its_result() -> None:
    report = child.report_in(PRINTED_8_0_33)
    assert report == Report({"average": 0.45, "minimum": 0.401, "maximum": 0.499}, clients=4, queries=251)
    assert child.report_in(PRINTED_8_0_33.replace("Minimum", "Mimimum")) is None
    assert child.report_in("") is None


def measured(report: Report) -> Measured:
    return Measured(
        report=report,
        gate_to_gate_s=2.5,
        query_file=QueryFile(statements=(), queries=251, operations=250),
        connections_before=6,
        cpu=CpuTime(total_us=1.0, user_us=1.0, system_us=0.0),
    )


def test_the_result_counts_every_connection_and_round() -> None:
    report = child.report_in(PRINTED_8_0_33)
    assert report is not None
    done = done_event(job(rounds=5), measured(report))
    assert (done.operations, done.elapsed_s) == (250 * 4 * 5, pytest.approx(2.25))
    assert (done.window.connections, done.lifetime.connections) == (20, 26)
    assert done.reported_s == {"average": 0.45, "minimum": 0.401, "maximum": 0.499}
    # Its clock knows milliseconds; what is over in less is timed from gate to gate.
    short = Report({"average": 0.0, "minimum": 0.0, "maximum": 0.001}, clients=4, queries=251)
    assert done_event(job(rounds=5), measured(short)).elapsed_s == 2.5


@pytest.mark.parametrize(("clients", "queries"), [(3, 251), (4, 250)])
def test_other_work_than_it_was_told_is_a_failure(clients: int, queries: int) -> None:
    report = Report({"average": 0.4, "minimum": 0.4, "maximum": 0.4}, clients=clients, queries=queries)
    with pytest.raises(Failed, match=f"reports {clients} clients with {queries} queries each"):
        done_event(job(), measured(report))


PROGRAM = "/opt/mysql/bin/mysqlslap"


@pytest.mark.parametrize(
    ("line", "kind", "fault", "code"),
    [
        (
            "Error when connecting to server: Access denied for user 'a'@'b' (using password: YES)",
            "access_denied",
            "server",
            None,
        ),
        (
            "Error when connecting to server: Can't connect to MySQL server on '127.0.0.1:1' (111)",
            "connect",
            "network",
            None,
        ),
        (
            "Error when connecting to server: Unknown MySQL server host 'nosuch.invalid' (-2)",
            "resolve",
            "network",
            None,
        ),
        (
            "Error when connecting to server: SSL connection error: error:0A000086:SSL "
            "routines::certificate verify failed",
            "certificate",
            "server",
            None,
        ),
        (
            "Error when connecting to server: SSL connection error: SSL is required but the server doesn't "
            "support it",
            "no_tls",
            "server",
            None,
        ),
        ("Error when connecting to server: 1040 Too many connections", "server_error", "server", 1040),
        (
            "Cannot run query SELECT * FROM nosuch ERROR : Table 'tlstax.nosuch' doesn't exist",
            "server_error",
            "server",
            None,
        ),
        (
            "Cannot run query SELECT 1 ERROR : Lost connection to MySQL server during query",
            "server_closed",
            "server",
            None,
        ),
        (
            "Error when connecting to server: Authentication plugin 'mysql_native_password' cannot be "
            "loaded: /usr/lib/mysql/plugin/mysql_native_password.so: cannot open shared object file",
            "bad_job",
            "client",
            None,
        ),
        ("[ERROR] unknown variable 'ssl-mode=DISABLED'.", "internal", "client", None),
    ],
)
def test_what_went_wrong_is_told_by_its_kind(line: str, kind: str, fault: str, code: int | None) -> None:
    event = child.failure_in(f"{PROGRAM}: {line}")
    assert event is not None
    assert (event.kind, event.fault, event.code, event.fatal) == (kind, fault, code, True)
    assert PROGRAM not in event.message


def test_a_query_that_failed_is_named_and_a_long_one_shortened() -> None:
    event = child.failure_in(f"{PROGRAM}: Cannot run query SELECT {'x' * 200} ERROR : no such column")
    assert event is not None
    assert event.message.startswith("no such column (in SELECT xxx")
    assert len(event.message) < 120
    assert child.failure_in("Warning: Execution of pre_system option returned 256.") is None


@pytest.mark.parametrize(
    ("status", "log", "words"),
    [(-9, "", "mysqlslap was killed by signal 9"), (1, "odd\n", "mysqlslap ended with status 1: odd")],
)
def test_a_death_is_told(status: int, log: str, words: str) -> None:
    assert death("mysqlslap", status, log, child.failure_in(log)).message == words


@pytest.mark.parametrize(
    ("version", "schema"),
    [
        ("9.7.4", "performance_schema"),
        ("5.7.44-log", "performance_schema"),
        ("5.6.14", "information_schema"),
        ("11.8.6-MariaDB-ubu2404", "information_schema"),
    ],
)
def test_a_connection_asks_for_itself_where_its_server_tells(version: str, schema: str) -> None:
    job_told = recorded_connections.recording(job(), connection_log.statement(version))
    (statement,) = job_told.workload.on_connect
    assert f"FROM {schema}.session_status" in statement
    assert "\n" not in statement
    assert job_told.workload.statements == job().workload.statements
