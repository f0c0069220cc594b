"""Drivers behind the contract against a real server: each does as told, and refuses what it cannot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import wait_until
from driver_jobs import BY_ID, command, connections_of, failed, job, measured, obtainable
from load_jobs import ROWS, WITHIN_S

from processes import family, lives, runs
from tlstax.clients.process import LoadClient
from tlstax.contract import (
    Account,
    Digits,
    DriverTerms,
    OneOf,
    OpenLoop,
    Statement,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    Transaction,
    UniformInt,
    Workload,
)
from tlstax.mysql.status import read_status
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.stats.histograms import decode
from tlstax.study.driver_catalogue import DRIVERS, FOLDER

NEWEST_TLS = {
    "connector-j-9.7": "1.3",
    "connector-j-8.0.16": "1.2",
    "pymysql-1.1": "1.3",
    "go-sql-driver-1.9": "1.3",
    "go-mysql-1.13": "1.3",
    "mysql2-3": "1.3",
    "libmariadb-3.3": "1.3",
    "mysqli-8.2": "1.3",
    "pdo-mysql-8.2": "1.3",
    "dbd-mysql-4.050": "1.3",
    "dbd-mariadb-1.22": "1.3",
    "ruby-mysql2-0.5.5": "1.3",
    "rmariadb-1.3": "1.3",
}
"""A driver of each folder, of Go each adapter, and the newest TLS that it speaks to MySQL 9.7."""

MIXED = Statement(
    sql="SELECT {id} + {id}, {word}, {digits} FROM sbtest1 WHERE id={id}",
    parameters={
        "id": UniformInt(low=1, high=ROWS),
        "word": OneOf(values=("it's", "two", 'a "quote"')),
        "digits": Digits(template="###-##"),
    },
)


SLOW_TO_START = {"connector-j-9.7", "connector-j-8.0.16", "mysql2-3", "go-mysql-1.13"}
"""Each test starts a driver's runtime, Java's in a second or two; of Go one adapter is tried every time."""

FETCHED = {name for name in NEWEST_TLS if DRIVERS[name].folder in {"php", "perl", "ruby", "r"}}
"""Those whose language comes from Debian with them; what is built of them is tried by hand."""


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.long) if name in SLOW_TO_START | FETCHED else name
        for name in NEWEST_TLS
    ]
)
def name(request: pytest.FixtureRequest) -> str:
    return obtainable(str(request.param))


@pytest.fixture
def filled(mysql: PrivateServer) -> PrivateServer:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    return mysql


@pytest.fixture(scope="module")
def without_tls(session: Session, mysql_build: ServerBuild) -> Iterator[PrivateServer]:
    """A server that has no TLS to offer."""
    settings = ServerSettings(options=("--tls-version=",), buffer_pool_bytes=64 << 20)
    with PrivateServer.start(mysql_build, session, settings) as server:
        server.prepare_table(TableContent(rows=ROWS, seed=1))
        yield server


@pytest.mark.parametrize("reconnect", [False, True])
def test_a_driver_that_takes_turns_answers_each_with_what_it_did(
    name: str, filled: PrivateServer, reconnect: bool
) -> None:
    """Between two turns it does nothing: the server counts no statement."""
    with filled.admin() as admin, LoadClient(command(name), job(name, filled, reconnect=reconnect)) as client:
        client.wait_ready(WITHIN_S)
        slices = [client.slice(0.05, WITHIN_S) for _ in range(3)]
        resting = read_status(admin)
        time.sleep(0.1)
        assert changed_counters(resting, read_status(admin)).get("Com_select", 0) == 0
        slices.append(client.slice(0.05, WITHIN_S))
        done = client.finish(WITHIN_S)
    assert done.operations == sum(one.operations for one in slices) > 0
    assert done.elapsed_s == pytest.approx(sum(one.elapsed_s for one in slices), rel=1e-6)
    assert done.cpu.total_us == pytest.approx(sum(one.cpu_us for one in slices), rel=0.01, abs=2.0)
    opened = sum(one.counts.connections for one in slices)
    assert opened == done.window.connections
    assert (opened > 0) == reconnect
    assert all(one.latency_sum_s > 0 for one in slices if one.operations)


@pytest.mark.parametrize("protocol", ["text", "prepared"])
@pytest.mark.parametrize("mode", ["off", "on"])
def test_the_server_counts_what_a_driver_tells(
    name: str, filled: PrivateServer, protocol: str, mode: str
) -> None:
    version: Any = NEWEST_TLS[name]
    on = TlsOn(min_version=version, max_version=version, verify="identity", ca_file=filled.ca_file)
    asked = job(name, filled, tls=on if mode == "on" else TlsOff())
    asked = asked.model_copy(update={"workload": asked.workload.model_copy(update={"protocol": protocol})})
    with filled.admin() as admin:
        before = read_status(admin)
        with LoadClient(command(name), asked) as client:
            ready = client.wait_ready(WITHIN_S)
            at_ready = read_status(admin)
            client.go()
            done = client.wait_done(WITHIN_S)
            window = changed_counters(at_ready, read_status(admin))
        lifetime = changed_counters(before, read_status(admin))
    assert done.operations > 0
    assert done.errors == ()
    assert window.get("Com_select", 0) + window.get("Com_stmt_execute", 0) >= done.operations
    assert lifetime["Connections"] == done.lifetime.connections == connections_of(name)
    assert lifetime.get("Ssl_finished_accepts", 0) == (connections_of(name) if mode == "on" else 0)
    assert sum(seen.connections for seen in ready.negotiated) == connections_of(name)
    versions = {seen.server and seen.server.version for seen in ready.negotiated}
    assert versions == {f"TLSv{version}" if mode == "on" else None}
    told = {seen.client and seen.client.version for seen in ready.negotiated if seen.client_tells}
    assert told <= versions
    assert decode(done.histograms_ns["operation"]).count == done.operations
    assert done.cpu.total_us > 0
    assert ready.client == name


def test_a_reconnecting_driver_counts_its_connections(name: str, filled: PrivateServer) -> None:
    with filled.admin() as admin:
        before = read_status(admin)
        _, done = measured(name, job(name, filled, reconnect=True, operations=20))
        lifetime = changed_counters(before, read_status(admin))
    assert done.operations == done.window.connections == 20
    assert lifetime["Connections"] == done.lifetime.connections
    for phase in ("connect", "first_query", "close", "operation"):
        assert decode(done.histograms_ns[phase]).count == 20


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_values_reach_the_server_as_they_are(name: str, filled: PrivateServer, protocol: str) -> None:
    workload = Workload(protocol=protocol, statements=(MIXED,))  # type: ignore[arg-type]
    _, done = measured(name, job(name, filled, workload=workload, operations=50))
    assert done.operations == 50
    assert done.errors == ()
    assert done.row_samples
    with filled.admin() as admin:
        for sample in done.row_samples:
            seen = tuple(tuple(None if v is None else str(v) for v in row) for row in admin.rows(sample.sql))
            assert sample.rows == seen


def test_left_to_the_driver_every_connection_is_what_the_server_says(
    name: str, filled: PrivateServer
) -> None:
    with filled.admin() as admin:
        before = read_status(admin)
        ready, done = measured(name, job(name, filled, tls=TlsUnset(trusted_ca_file=filled.ca_file)))
        lifetime = changed_counters(before, read_status(admin))
    encrypted = {seen.server is not None for seen in ready.negotiated}
    assert len(encrypted) == 1
    expected = done.lifetime.connections if True in encrypted else 0
    assert lifetime.get("Ssl_finished_accepts", 0) == expected


def test_tls_is_required_and_nothing_else_is_said(name: str, filled: PrivateServer) -> None:
    with filled.admin() as admin:
        before = read_status(admin)
        ready, done = measured(name, job(name, filled, tls=TlsRequired(trusted_ca_file=filled.ca_file)))
        lifetime = changed_counters(before, read_status(admin))
    assert [seen.server is not None for seen in ready.negotiated] == [True] * len(ready.negotiated)
    assert lifetime.get("Ssl_finished_accepts", 0) == done.lifetime.connections


def test_tls_that_is_required_is_not_done_without(name: str, without_tls: PrivateServer) -> None:
    assert failed(name, job(name, without_tls, tls=TlsRequired()))[0] == "no_tls"


def test_a_driver_is_warm_when_it_says_so(name: str, filled: PrivateServer) -> None:
    ready, _ = measured(name, job(name, filled, driver=DriverTerms(steady_within_s=3.0)))
    assert ready.steady is not None
    assert len(ready.warmup) >= 10
    assert all(slice_.operations > 0 for slice_ in ready.warmup[-5:])
    ends = [slice_.elapsed_s for slice_ in ready.warmup]
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    "changes",
    [
        {"workload": Workload(mix=(Transaction(statements=(BY_ID,)),))},
        {"workload": Workload(storm=True)},
        {"schedule": OpenLoop(rate_per_s=10.0)},
        {"rounds": 2, "reset": ("DELETE FROM sbtest1",)},
        {"tls": TlsOn(groups="X25519")},
        {"tls": TlsOn(ciphersuites="TLS_AES_128_GCM_SHA256")},
        {"tls": TlsOn(resumption=True)},
        {"tls": TlsOn(library="/usr/lib/libssl.so.3")},
    ],
    ids=["mix", "storm", "rate", "rounds", "groups", "suites", "resumption", "library"],
)
def test_what_a_driver_cannot_do_it_refuses(
    name: str, filled: PrivateServer, changes: dict[str, Any]
) -> None:
    assert failed(name, job(name, filled, **changes))[0] == "bad_job"


def test_a_wrong_password_is_told_without_it(name: str, filled: PrivateServer) -> None:
    account = filled.load_account
    wrong = Account(user=account.user, password="wrong-horse", database=account.database)
    kind, message = failed(name, job(name, filled, account=wrong))
    assert kind == "access_denied"
    assert "says: " in message


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


def test_a_driver_keeps_its_connections_until_it_is_told_to_go(name: str, filled: PrivateServer) -> None:
    with filled.admin() as admin, LoadClient(command(name), job(name, filled)) as client:
        client.wait_ready(WITHIN_S)
        client.go()
        client.wait_done(WITHIN_S)
        assert read_status(admin)["Threads_connected"] >= 1 + connections_of(name)
        client.hang_up()
        wait_until(lambda: not lives(client.pid))


def test_the_folders_of_all_drivers_are_there() -> None:
    for driver in DRIVERS.values():
        assert driver.place.is_dir()
        assert (driver.place / "build").is_file()
        assert (driver.place / "README.md").is_file()
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == {
        driver.folder for driver in DRIVERS.values() if driver.place.is_relative_to(FOLDER)
    }
    assert Path(FOLDER, "README.md").is_file()
