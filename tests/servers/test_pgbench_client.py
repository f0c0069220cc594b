"""pgbench behind the contract against a real server: it does what it says, and nothing is left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tlstax.clients.choice import ClientProgram, obtain_client
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Done, Job, PostgreSqlServer, Tls, TlsOff, TlsOn, UnixEndpoint, Workload
from tlstax.records.trial import ConnectionsSeen
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.database import Database
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.study.workloads import statements

ROWS, WITHIN_S = 1000, 60.0


@pytest.fixture(scope="module")
def program() -> ClientProgram:
    return obtain_client("pgbench", lambda _: None)


@pytest.fixture
def filled(postgresql: PrivateServer) -> PrivateServer:
    postgresql.prepare_table(TableContent(rows=ROWS, seed=1))
    return postgresql


@pytest.fixture
def admin(filled: PrivateServer) -> Iterator[Database]:
    with filled.admin() as database:
        yield database


def tls(server: PrivateServer, **changes: object) -> TlsOn:
    return TlsOn(verify="identity", ca_file=server.ca_file).model_copy(update=changes)


def job(on: PrivateServer, workload: Workload, wanted: Tls, **changes: object) -> Job:
    asked = Job(
        endpoint=on.endpoint(),
        server=PostgreSqlServer(),
        account=on.load_account,
        tls=wanted,
        workload=workload,
        connections=4,
        duration_s=0.5,
        operations=80,
        timeout_s=30,
        seed=7,
    )
    return asked.model_copy(update=changes)


def served(program: ClientProgram, asked: Job) -> Done:
    with LoadClient(program.command, asked, None) as client:
        client.wait_ready(WITHIN_S)
        client.go()
        return client.wait_done(WITHIN_S)


POINT_SELECT = statements.point_select("sbtest1", ROWS)
RECONNECT = statements.reconnect("sbtest1", ROWS)


@pytest.mark.parametrize("workload", [POINT_SELECT, RECONNECT], ids=["kept", "reconnecting"])
@pytest.mark.parametrize("version", [None, "1.2", "1.3"])
def test_the_servers_log_names_every_connection_and_how_it_is_encrypted(
    filled: PrivateServer, admin: Database, program: ClientProgram, workload: Workload, version: str | None
) -> None:
    wanted = tls(filled, min_version=version, max_version=version) if version else TlsOff()
    asked = job(filled, workload, wanted, attributes={"application_name": "tlstax trial 7"})
    with filled.logins(admin, asked) as logged:
        assert logged is not None
        done = served(program, asked)
        filled.settled_status(admin, 0)
        (seen,) = logged()
    assert (seen.connections, seen.version) == (
        done.lifetime.connections,
        f"TLSv{version}" if version else None,
    )


def test_every_operation_is_a_transaction_that_the_server_counts(
    filled: PrivateServer, admin: Database, program: ClientProgram
) -> None:
    status = filled.product.status
    before = status.read_status(admin)
    done = served(program, job(filled, POINT_SELECT, tls(filled)))
    changed = changed_counters(before, filled.settled_status(admin, status.connected(before)))
    # Each login is a transaction of its own, and so is what prepares the statement on each of 4 connections.
    made = done.operations + done.lifetime.connections + 4
    assert (done.operations, changed["pg_stat_database.xact_commit"]) == (80, made)
    assert changed["pg_stat_database.sessions"] == done.lifetime.connections


def test_without_a_number_of_operations_it_works_about_as_long_as_it_is_told(
    filled: PrivateServer, program: ClientProgram
) -> None:
    done = served(program, job(filled, POINT_SELECT, tls(filled), operations=None))
    assert done.operations > 80
    assert done.elapsed_s > 0.1


def test_tls_begins_directly_where_the_job_says_so(
    filled: PrivateServer, admin: Database, program: ClientProgram
) -> None:
    direct = PostgreSqlServer(ssl_negotiation="direct", require_auth=("scram-sha-256",))
    own = {"application_name": "tlstax trial 7"}
    asked = job(filled, POINT_SELECT, tls(filled), server=direct, attributes=own)
    with filled.logins(admin, asked) as logged:
        assert logged is not None
        done = served(program, asked)
        filled.settled_status(admin, 0)
        assert logged() == (
            ConnectionsSeen(
                connections=done.lifetime.connections, version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384"
            ),
        )


def test_it_connects_over_the_unix_socket(filled: PrivateServer, program: ClientProgram) -> None:
    endpoint = filled.unix_endpoint()
    assert isinstance(endpoint, UnixEndpoint)
    assert served(program, job(filled, POINT_SELECT, TlsOff(), endpoint=endpoint)).operations == 80


def test_a_wrong_password_is_access_denied(filled: PrivateServer, program: ClientProgram) -> None:
    account = filled.load_account.model_copy(update={"password": "no such"})
    with pytest.raises(ClientFailure, match="password authentication failed") as failed:
        served(program, job(filled, POINT_SELECT, tls(filled), account=account))
    assert [error.kind for error in failed.value.errors] == ["access_denied"]


def test_an_unknown_authority_is_refused(
    filled: PrivateServer, program: ClientProgram, mysql: PrivateServer
) -> None:
    with pytest.raises(ClientFailure, match="certificate verify failed"):
        served(program, job(filled, POINT_SELECT, tls(filled, ca_file=mysql.ca_file)))


def test_a_statement_that_the_server_refuses_is_the_servers_error(
    filled: PrivateServer, program: ClientProgram
) -> None:
    with pytest.raises(ClientFailure, match='relation "nowhere" does not exist') as failed:
        served(program, job(filled, statements.point_select("nowhere", ROWS), tls(filled)))
    assert [error.kind for error in failed.value.errors] == ["server_error"]


def test_neither_the_command_line_nor_the_environment_has_the_password(
    filled: PrivateServer, program: ClientProgram
) -> None:
    with LoadClient(program.command, job(filled, POINT_SELECT, tls(filled)), None) as client:
        pid = client.wait_ready(WITHIN_S).pid
        of_process = [Path(f"/proc/{pid}/{name}").read_text() for name in ("cmdline", "environ")]
        assert re.search(r"pgbench.*--client=4", of_process[0], re.DOTALL)
        assert not any(filled.load_account.password in text for text in of_process)


def test_at_its_gate_it_ends_with_the_laboratory(filled: PrivateServer, program: ClientProgram) -> None:
    with LoadClient(program.command, job(filled, POINT_SELECT, tls(filled)), None) as client:
        pid = client.wait_ready(WITHIN_S).pid
        of_gate = psutil.Process(pid).children(recursive=True)
        assert of_gate
    _, alive = psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    assert not alive
    assert not psutil.wait_procs(of_gate, timeout=10)[1]
