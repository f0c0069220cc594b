"""Drivers of PostgreSQL behind the contract against a real server, which says whether each does as told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import Home
from driver_jobs import command, connections_of, failed, job, measured, obtainable
from load_jobs import ROWS, WITHIN_S

from processes import family, runs
from tlstax.checks.server_errors import sqlstate_number
from tlstax.clients.process import LoadClient
from tlstax.contract import (
    Account,
    Digits,
    DriverTerms,
    OneOf,
    OpenLoop,
    PostgreSqlServer,
    Statement,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    UniformInt,
    Workload,
)
from tlstax.records.trial import ConnectionsSeen
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.stats.histograms import decode
from tlstax.study.driver_catalogue import DRIVERS, speaking

QUICK = {"psycopg-3", "asyncpg-0.32"}
"""Those that are tried every time: one around libpq, and one with a protocol of its own."""

DEAF_TO_NO = {"postgres-js-3"}
"""Those that begin TLS all the same when the server answers that it has none, and are hung up on."""

WITHOUT_VERSIONS = {"sqlx-postgres-0.8"}
"""Those that cannot be told which versions of TLS to speak."""

ID = UniformInt(low=1, high=ROWS)
MIXED = Statement(
    sql="SELECT {id}::int + {id}::int, {word}::text, {digits}::text FROM sbtest1 WHERE id={id}",
    parameters={"id": ID, "word": OneOf(values=("it's", "two", 'a "quote"', "100 %", "back\\slash")),
        "digits": Digits(template="###-##")},
)  # fmt: skip
ADD_ONE = Statement(sql="UPDATE sbtest1 SET k=k+1 WHERE id={id}", parameters={"id": ID})


@pytest.fixture(
    params=[
        name if name in QUICK else pytest.param(name, marks=pytest.mark.long)
        for name in speaking("postgresql")
    ]
)
def name(request: pytest.FixtureRequest) -> str:
    return obtainable(str(request.param))


@pytest.fixture
def filled(postgresql: PrivateServer) -> PrivateServer:
    postgresql.prepare_table(TableContent(rows=ROWS, seed=1))
    return postgresql


@pytest.fixture(scope="module")
def without_tls(session: Session, postgresql_build: ServerBuild) -> Iterator[PrivateServer]:
    """A server that has no TLS to offer."""
    with PrivateServer.start(postgresql_build, session, ServerSettings(options=("--ssl=off",))) as server:
        server.prepare_table(TableContent(rows=ROWS, seed=1))
        yield server


def logged(server: PrivateServer, name: str, asked: Any) -> tuple[Any, Any, tuple[ConnectionsSeen, ...], Any]:
    """What the driver says of a job, whom the server's log names meanwhile, and what the server counted."""
    status = server.product.status
    with server.admin() as admin, server.logins(admin, asked) as seen:
        assert seen is not None
        before = status.read_status(admin)
        ready, done = measured(name, asked)
        after = server.settled_status(admin, status.connected(before))
        return ready, done, seen(), changed_counters(before, after)


@pytest.mark.parametrize("protocol", ["text", "prepared"])
@pytest.mark.parametrize("version", [None, "1.2", "1.3"])
def test_the_server_counts_what_a_driver_tells(
    name: str, filled: PrivateServer, protocol: Any, version: Any
) -> None:
    on = TlsOn(min_version=version, max_version=version, verify="identity", ca_file=filled.ca_file)
    if version and name in WITHOUT_VERSIONS:
        assert failed(name, job(name, filled, tls=on))[0] == "bad_job"
        if version == "1.2":
            return
        on = TlsOn(verify="identity", ca_file=filled.ca_file)
    asked = job(name, filled, tls=on if version else TlsOff())
    asked = asked.model_copy(update={"workload": asked.workload.model_copy(update={"protocol": protocol})})
    ready, done, seen, counted = logged(filled, name, asked)
    assert done.operations > 0
    assert done.errors == ()
    # Each login is a transaction of its own.
    assert counted["pg_stat_database.xact_commit"] >= done.operations + done.lifetime.connections
    assert counted["pg_stat_database.sessions"] == done.lifetime.connections == connections_of(name)
    spoken = f"TLSv{version}" if version else None
    assert [(group.version, group.connections) for group in seen] == [(spoken, connections_of(name))]
    assert {side.server and side.server.version for side in ready.negotiated} == {spoken}
    assert {side.client and side.client.version for side in ready.negotiated if side.client_tells} <= {spoken}
    assert decode(done.histograms_ns["operation"]).count == done.operations
    assert done.cpu.total_us > 0
    assert (ready.client, ready.server_version[:2]) == (name, "18")
    assert any(character.isdigit() for character in ready.client_version)


def test_a_driver_works_in_slices_and_reconnects_in_each(name: str, filled: PrivateServer) -> None:
    asked = job(name, filled, reconnect=True)
    with LoadClient(command(name), asked) as client:
        client.wait_ready(WITHIN_S)
        slices = [client.slice(0.05, WITHIN_S) for _ in range(3)]
        done = client.finish(WITHIN_S)
    assert done.operations == sum(one.operations for one in slices) > 0
    assert sum(one.counts.connections for one in slices) == done.window.connections == done.operations
    for phase in ("connect", "first_query", "close", "operation"):
        assert decode(done.histograms_ns[phase]).count == done.operations


def test_the_log_names_every_connection_of_one_that_reconnects(name: str, filled: PrivateServer) -> None:
    on = TlsOn(verify="none")
    _, done, seen, counted = logged(filled, name, job(name, filled, reconnect=True, operations=20, tls=on))
    assert done.errors == ()
    (group,) = seen
    assert (group.version, group.connections) == ("TLSv1.3", done.lifetime.connections)
    assert counted["pg_stat_database.sessions"] == done.lifetime.connections


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_values_reach_the_server_as_they_are(name: str, filled: PrivateServer, protocol: Any) -> None:
    workload = Workload(protocol=protocol, statements=(MIXED,))
    _, done = measured(name, job(name, filled, workload=workload, operations=50))
    assert done.operations == 50
    assert done.errors == ()
    assert done.row_samples
    with filled.admin() as admin:
        for sample in done.row_samples:
            seen = tuple(tuple(None if v is None else str(v) for v in row) for row in admin.rows(sample.sql))
            assert sample.rows == seen


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_what_a_driver_writes_is_committed(name: str, filled: PrivateServer, protocol: Any) -> None:
    workload = Workload(protocol=protocol, statements=(ADD_ONE,))
    _, done, _, counted = logged(
        filled, name, job(name, filled, workload=workload, operations=10, warmup_s=0.0)
    )
    assert done.errors == ()
    assert counted["pg_stat_database.tup_updated"] == done.operations == 10
    assert counted.get("pg_stat_database.xact_rollback", 0) == 0


def test_left_to_the_driver_every_connection_is_what_the_server_says(
    name: str, filled: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's variables are not the driver's defaults."""
    for variable, value in (("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "/none"), ("PGUSER", "nobody")):
        monkeypatch.setenv(variable, value)
    asked = job(name, filled, tls=TlsUnset(trusted_ca_file=filled.ca_file))
    ready, _, seen, _ = logged(filled, name, asked)
    encrypted = {side.server is not None for side in ready.negotiated}
    assert len(encrypted) == 1
    assert [group.version is not None for group in seen] == [True in encrypted]


def test_tls_is_required_and_nothing_else_is_said(name: str, filled: PrivateServer) -> None:
    asked = job(name, filled, tls=TlsRequired(trusted_ca_file=filled.ca_file))
    ready, _, seen, _ = logged(filled, name, asked)
    assert all(side.server is not None for side in ready.negotiated)
    assert all(group.version is not None for group in seen)


def test_tls_that_is_required_is_not_done_without(name: str, without_tls: PrivateServer) -> None:
    expected = "server_closed" if name in DEAF_TO_NO else "no_tls"
    assert failed(name, job(name, without_tls, tls=TlsRequired()))[0] == expected


def test_a_certificate_of_another_authority_is_told_of(
    name: str, filled: PrivateServer, without_tls: PrivateServer
) -> None:
    on = TlsOn(verify="ca", ca_file=without_tls.ca_file)
    assert failed(name, job(name, filled, tls=on))[0] == "certificate"


def test_tls_begins_at_once_where_the_driver_can(name: str, filled: PrivateServer) -> None:
    on = TlsOn(verify="identity", ca_file=filled.ca_file)
    asked = job(name, filled, tls=on, server=PostgreSqlServer(ssl_negotiation="direct"))
    if not DRIVERS[name].begins_tls:
        assert failed(name, asked)[0] == "bad_job"
        return
    ready, _, seen, _ = logged(filled, name, asked)
    assert [group.version for group in seen] == ["TLSv1.3"]
    assert all(side.server is not None for side in ready.negotiated)


def test_a_driver_that_says_so_comes_over_a_unix_socket(name: str, filled: PrivateServer) -> None:
    if not DRIVERS[name].unix_socket:
        pytest.skip("it connects only over TCP")
    _, done = measured(name, job(name, filled, endpoint=filled.unix_endpoint(), operations=20))
    assert (done.operations, done.errors) == (20, ())


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": OpenLoop(rate_per_s=10.0)},
        {"tls": TlsOn(groups="X25519")},
        {"server": PostgreSqlServer(require_auth=("scram-sha-256-plus",)), "tls": TlsOn()},
    ],
    ids=["rate", "groups", "bound"],
)
def test_what_a_driver_cannot_do_it_refuses(
    name: str, filled: PrivateServer, changes: dict[str, Any]
) -> None:
    assert failed(name, job(name, filled, **changes))[0] == "bad_job"


def test_an_option_that_nobody_knows_is_refused_by_its_name(name: str, filled: PrivateServer) -> None:
    """By the driver, or by the server, to which many hand over what they do not know themselves."""
    terms = DriverTerms(options={"no_such_option": "1"})
    kind, message = failed(name, job(name, filled, driver=terms))
    assert kind in {"bad_job", "server_error"}
    assert "no_such_option" in message


def test_a_wrong_password_is_told_without_it(name: str, filled: PrivateServer) -> None:
    account = filled.load_account
    wrong = Account(user=account.user, password="wrong-horse", database=account.database)
    kind, message = failed(name, job(name, filled, account=wrong))
    assert kind == "access_denied"
    assert "says: " in message


def test_a_servers_error_is_told_by_its_sqlstate(name: str, filled: PrivateServer) -> None:
    missing = Workload(statements=(Statement(sql="UPDATE no_such_table SET a = 1"),))
    _, done = measured(name, job(name, filled, workload=missing, operations=4, warmup_s=0.0))
    assert [(error.kind, error.code, error.count) for error in done.errors] == [
        ("server_error", sqlstate_number("42P01"), 4)
    ]


def test_the_password_is_on_no_command_line_and_the_end_of_input_ends_a_driver(
    name: str, filled: PrivateServer
) -> None:
    asked = job(name, filled)
    with LoadClient(command(name), asked) as client:
        ready = client.wait_ready(WITHIN_S)
        processes = [psutil.Process(client.pid), *family(client.pid)]
        assert ready.pid in {process.pid for process in processes}
        for process in processes:
            shown = (*process.cmdline(), *process.environ().values())
            assert not [word for word in shown if asked.account.password in word]
        client.hang_up()
        _, alive = psutil.wait_procs(processes, timeout=10)
        assert not [process for process in alive if runs(process)]


@pytest.mark.long
def test_in_turns_the_log_proves_a_driver_while_it_works_alone(tmp_path: Path) -> None:
    """What is logged is its connections of that time, and the engine's are in trials of its own alone."""
    home = Home(tmp_path / "data")
    words = "--client engine,psycopg-3 --workload reconnect --tls off,1.3 --connections 2 --rows 1000"
    ran = home.run("run", "--server", "postgresql-18", *words.split(), "--budget", "25s")
    assert ran.returncode == 0, ran.stderr
    trials = json.loads(home.run("runs", "export", "last").stdout)["trials"]
    assert {trial["verdict"] for trial in trials} == {"valid"}
    for trial in trials:
        case, proof = trial["case"], trial["proof"]
        logged = proof["server"].get("logged")
        assert trial["slices"] is not None
        assert [group["version"] for group in logged] == ["TLSv1.3" if case["tls"] == "1.3" else None]
        assert 0 < logged[0]["connections"] < proof["lifetime"]["connections"]
