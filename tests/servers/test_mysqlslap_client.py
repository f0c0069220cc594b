"""mysqlslap behind the contract against a real server: it does what it says, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import load_jobs
import psutil
import pytest
from load_jobs import ROWS, WITHIN_S

from tlstax.clients.choice import ClientProgram, obtain_client
from tlstax.clients.companions import adapter_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import (
    Account,
    Done,
    Job,
    Ready,
    Sequence,
    Statement,
    TcpEndpoint,
    TlsOff,
    TlsOn,
    Workload,
)
from tlstax.mysql import connection_log
from tlstax.mysql.status import read_status
from tlstax.observers.machine import describe_machine
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.bench import Bench, Equipment
from tlstax.run.trial import run_trial
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql import recorded_connections
from tlstax.sql.database import Database
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.study import Case, workloads
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification

NAME = "mysqlslap-9.7"


@pytest.fixture(scope="module")
def program() -> ClientProgram:
    return obtain_client(NAME, lambda _: None)


@pytest.fixture
def filled(mysql: PrivateServer) -> PrivateServer:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    return mysql


@pytest.fixture
def admin(filled: PrivateServer) -> Iterator[Database]:
    with filled.admin() as database:
        connection_log.create(database)
        yield database
        database.rows(f"DROP TABLE {recorded_connections.TABLE}")


def job(server: PrivateServer, **changes: object) -> Job:
    asked = load_jobs.job(server, **changes)
    return asked.model_copy(update={"workload": asked.workload.model_copy(update={"protocol": "text"})})


def tls(server: PrivateServer, **changes: object) -> TlsOn:
    return TlsOn(verify="identity", ca_file=server.ca_file).model_copy(update=changes)


def measured(program: ClientProgram, job: Job) -> tuple[Ready, Done]:
    with LoadClient(program.command, job) as client:
        ready = client.wait_ready(WITHIN_S)
        client.go()
        return ready, client.wait_done(WITHIN_S)


def failed(program: ClientProgram, job: Job) -> ClientFailure:
    with pytest.raises(ClientFailure) as failure:
        measured(program, job)
    return failure.value


def kind_of(failure: ClientFailure) -> tuple[str, str]:
    assert len(failure.errors) == 1, failure
    return failure.errors[0].kind, failure.errors[0].fault


@pytest.mark.parametrize("encrypted", [False, True], ids=["plaintext", "tls"])
@pytest.mark.parametrize("rounds", [pytest.param(1, marks=pytest.mark.long), 3])
def test_the_server_counted_what_mysqlslap_says(
    filled: PrivateServer, admin: Database, program: ClientProgram, encrypted: bool, rounds: int
) -> None:
    asked = job(filled, tls=tls(filled) if encrypted else TlsOff(), operations=1200, rounds=rounds)
    asked = recorded_connections.recording(asked, connection_log.statement(filled.version))
    before = read_status(admin)
    with LoadClient(program.command, asked) as client:
        client.wait_ready(WITHIN_S)
        at_ready = read_status(admin)
        client.go()
        done = client.wait_done(WITHIN_S)
    after = read_status(admin)
    window, lifetime = changed_counters(at_ready, after), changed_counters(before, after)
    assert done.operations == window["Com_select"] == 1200
    assert window["Connections"] == done.window.connections == 4 * rounds
    assert lifetime["Connections"] == done.lifetime.connections
    for counts, delta in ((done.window, window), (done.lifetime, lifetime)):
        assert delta.get("Ssl_finished_accepts", 0) == (counts.connections if encrypted else 0)
    (seen,) = recorded_connections.read(admin)
    assert (seen.connections, seen.version is not None) == (4 * rounds, encrypted)
    reported = done.reported_s
    assert reported["minimum"] <= reported["average"] <= reported["maximum"]
    assert 0 < done.cpu.total_us <= 2 * done.elapsed_s * 1e6 * (os.cpu_count() or 1)


@pytest.mark.long
def test_more_is_done_in_a_window_that_is_to_be_longer(filled: PrivateServer, program: ClientProgram) -> None:
    """It is given a number of operations, from how long a few took: on a busy machine a rough guess."""
    _, short = measured(program, job(filled, duration_s=0.1))
    _, long = measured(program, job(filled, duration_s=4.0))
    assert long.operations > short.operations


def test_all_rounds_are_one_slice_and_another_is_a_bad_job(
    filled: PrivateServer, program: ClientProgram
) -> None:
    asked = job(filled, operations=1200, rounds=3)
    with LoadClient(program.command, asked) as client:
        client.wait_ready(WITHIN_S)
        piece = client.slice(0.001, WITHIN_S)
        done = client.finish(WITHIN_S)
    assert (piece.operations, piece.elapsed_s) == (1200, done.elapsed_s)
    assert (piece.cpu_us, piece.counts) == (done.cpu.total_us, done.window)
    with LoadClient(program.command, asked) as client:
        client.wait_ready(WITHIN_S)
        client.slice(1.0, WITHIN_S)
        with pytest.raises(ClientFailure, match="one slice") as failure:
            client.slice(1.0, WITHIN_S)
    assert kind_of(failure.value) == ("bad_job", "job")


def test_it_stands_still_before_go(filled: PrivateServer, admin: Database, program: ClientProgram) -> None:
    with LoadClient(program.command, job(filled)) as client:
        ready = client.wait_ready(WITHIN_S)
        at_ready = read_status(admin)
        cpu = psutil.Process(ready.pid).cpu_times()
        time.sleep(0.3)
        assert changed_counters(at_ready, read_status(admin)).get("Com_select", 0) == 0
        assert psutil.Process(ready.pid).cpu_times()[:2] == cpu[:2]
        client.go()
        assert client.wait_done(WITHIN_S).operations > 0


def test_rounds_begin_with_the_data_put_back(
    filled: PrivateServer, admin: Database, program: ClientProgram
) -> None:
    admin.rows("CREATE TABLE kept AS SELECT id FROM sbtest1 WHERE id <= 50")
    admin.rows("CREATE TABLE shrinking (id INT) AS SELECT id FROM kept")
    delete = Statement(
        sql="DELETE FROM shrinking WHERE id={id}", parameters={"id": Sequence(first=1, last=50)}
    )
    asked = job(
        filled,
        workload=Workload(statements=(delete,)),
        connections=1,
        operations=150,
        rounds=3,
        reset=("DELETE FROM shrinking", "INSERT INTO shrinking SELECT id FROM kept"),
    )
    before = read_status(admin)
    _, done = measured(program, asked)
    handled = changed_counters(before, read_status(admin))
    admin.rows("DROP TABLE kept, shrinking")
    assert done.operations == 150
    assert handled["Com_delete"] == 150 + 3
    # Every delete hit a row, and the first reset the 50 that were there.
    assert handled["Handler_delete"] == 150 + 50


def trial(
    server: PrivateServer, admin: Database, program: ClientProgram, version: str
) -> tuple[TrialRecord, Bench]:
    terms = JobTerms(
        endpoint=server.endpoint(),
        account=server.load_account,
        tables=dict(server.tables),
        rows=ROWS,
        verification=Verification(verify="identity", ca_file=server.ca_file),
        client_cpus=(),
        duration_s=0.3,
        seed=1,
    )
    levels = {
        "tls": version,
        "workload": "point-select",
        "protocol": "text",
        "connections": 3,
        "resumption": "off",
        "client": NAME,
    }
    bench = Bench(
        server=server,
        terms=terms,
        machine=describe_machine(),
        admin=admin,
        equipment=Equipment(clients={NAME: program}),
    )
    asked = recorded_connections.recording(
        job_for(CaseLevels.of(levels), terms, sequence=0), connection_log.statement(server.version)
    )
    case = Trial(block=0, position=0, case=Case(levels=levels, role="treatment"))
    return run_trial(case, asked, bench), bench


@pytest.mark.parametrize("version", ["off", pytest.param("1.2", marks=pytest.mark.long), "1.3", "default"])
def test_a_trial_of_it_is_valid(
    filled: PrivateServer, admin: Database, program: ClientProgram, version: str
) -> None:
    record, _ = trial(filled, admin, program, version)
    assert (record.verdict.value, record.verdict.reasons) == ("valid", ())
    assert record.server is not None
    assert record.server.connections is not None
    (seen,) = record.server.connections
    assert seen.connections == 3
    assert (seen.version is None) == (version == "off")
    assert record.window is not None
    assert record.window.client is not None


def disobedient(program: ClientProgram, directory: Path) -> ClientProgram:
    """A mysqlslap that is not told --ssl-mode, and so encrypts wherever the server can."""
    start = program.command.index("tlstax.clients.mysqlslap") + 3
    real = [f"'{word}'" for word in program.command[start:]]
    script = directory / "mysqlslap"
    script.write_text(
        "#!/bin/bash\nkept=()\n"
        'for word in "$@"; do [[ "$word" == --ssl-mode=* ]] || kept+=("$word"); done\n'
        f'exec {" ".join(real)} "${{kept[@]}}"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return ClientProgram(program.specimen, adapter_command(program.specimen.name, "9.7.4", [str(script)]))


def test_a_client_that_encrypts_in_spite_of_its_option_is_found_out(
    filled: PrivateServer, admin: Database, program: ClientProgram, tmp_path: Path
) -> None:
    record, _ = trial(filled, admin, disobedient(program, tmp_path), "off")
    assert record.verdict.value == "invalid"
    assert re.fullmatch(
        r"mysqlslap 9\.7\.4 was given --ssl-mode=DISABLED, and yet all 3 connections that did the measured "
        r"work were encrypted \(TLSv1\.3, TLS_\w+\), as the server says on each of them",
        record.verdict.reasons[0],
    )


def test_the_password_is_on_no_command_line_and_in_no_file(
    filled: PrivateServer, program: ClientProgram
) -> None:
    asked = job(filled)
    secret = asked.account.password.encode()
    with LoadClient(program.command, asked) as client:
        client.wait_ready(WITHIN_S)
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    assert secret not in (process / name).read_bytes(), f"{process}/{name}"
                except OSError:
                    continue
        client.go()
        client.wait_done(WITHIN_S)
        assert secret.decode() not in client.log()


def test_failures_say_what_they_are(filled: PrivateServer, program: ClientProgram) -> None:
    user = filled.load_account.user
    wrong = Account(user=user, password="not it", database="tlstax")
    refused = failed(program, job(filled, account=wrong, tls=tls(filled)))
    assert kind_of(refused) == ("access_denied", "server")
    assert "not it" not in str(refused)
    missing = workloads.built_in("point-select", "no_such_table", ROWS)
    unknown = failed(program, job(filled, workload=missing))
    assert kind_of(unknown) == ("server_error", "server")
    assert "no_such_table" in str(unknown)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = TcpEndpoint(host="127.0.0.1", port=silent.getsockname()[1])
        assert kind_of(failed(program, job(filled, endpoint=endpoint, timeout_s=0.5)))[0] == "timeout"
    assert kind_of(failed(program, job(filled, endpoint=endpoint))) == ("connect", "network")
    nowhere = failed(program, job(filled, tls=tls(filled, ca_file="/nowhere/ca.pem")))
    assert kind_of(nowhere) == ("certificate", "job")
    assert "/nowhere/ca.pem" in str(nowhere)
    assert kind_of(failed(program, job(filled, tls=tls(filled, resumption=True)))) == ("bad_job", "job")


def test_a_certificate_of_another_authority_is_refused(
    filled: PrivateServer, mariadb: PrivateServer, program: ClientProgram
) -> None:
    refused = failed(program, job(filled, tls=tls(filled, ca_file=mariadb.ca_file)))
    assert kind_of(refused) == ("certificate", "server")


def test_a_server_that_stalls_is_given_up(filled: PrivateServer, program: ClientProgram) -> None:
    # The client has to be ready within that time, too.
    with LoadClient(program.command, job(filled, timeout_s=3.0)) as client:
        client.wait_ready(WITHIN_S)
        filled.pause()
        try:
            client.go()
            with pytest.raises(ClientFailure) as failure:
                client.wait_done(WITHIN_S)
        finally:
            filled.resume()
    assert kind_of(failure.value)[0] == "timeout"


@pytest.mark.long
def test_a_server_that_dies_in_the_window_ends_the_job(
    mysql_build: ServerBuild, session: Session, program: ClientProgram
) -> None:
    small = ServerSettings(buffer_pool_bytes=64 * 1024 * 1024)
    with PrivateServer.start(mysql_build, session, small) as server:
        server.prepare_table(TableContent(rows=ROWS, seed=1))
        with LoadClient(program.command, job(server, duration_s=20.0)) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            time.sleep(0.3)
            os.kill(server.pid or 0, signal.SIGKILL)
            with pytest.raises(ClientFailure) as failure:
                client.wait_done(WITHIN_S)
    assert kind_of(failure.value)[0] in {"server_closed", "connect"}


def test_a_killed_mysqlslap_is_a_failure_that_says_so(filled: PrivateServer, program: ClientProgram) -> None:
    with LoadClient(program.command, job(filled, duration_s=20.0)) as client:
        ready = client.wait_ready(WITHIN_S)
        client.go()
        os.kill(ready.pid, signal.SIGKILL)
        with pytest.raises(ClientFailure, match="killed by signal 9"):
            client.wait_done(WITHIN_S)


@pytest.mark.parametrize(
    ("how", "moment"),
    [
        ("killed", "before go"),
        ("told to end", "in the window"),
        pytest.param("killed", "in the window", marks=pytest.mark.long),
        pytest.param("told to end", "before go", marks=pytest.mark.long),
    ],
)
def test_nothing_is_left(filled: PrivateServer, program: ClientProgram, moment: str, how: str) -> None:
    with LoadClient(program.command, job(filled, duration_s=20.0)) as client:
        ready = client.wait_ready(WITHIN_S)
        if moment == "in the window":
            client.go()
        family = [psutil.Process(ready.pid), *psutil.Process(ready.pid).children(recursive=True)]
        if how == "killed":
            os.kill(client.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=WITHIN_S)
    assert alive == []
