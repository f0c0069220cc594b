"""`tlstax run --server`: somebody else's server measured, and every way in which that can go wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from ready_command import ready_run

from tlstax.records.trial import StoredRun
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.store import RunSummary, Store
from tlstax.support.directories import cache_dir

WITHIN_S = 120.0
PASSWORD = "Sesame, open!"
SMALL = 64 * 1024 * 1024
RUN = ("--rows", "500", "--budget", "2s", "--workload", "reconnect", "--tls", "1.3", "--connections", "2")


def as_owner(server: PrivateServer, *statements: str) -> tuple[tuple[object, ...], ...]:
    with server.admin() as database:
        return tuple([database.rows(statement) for statement in statements][-1])


@contextmanager
def lent(build: ServerBuild, session: Session, settings: ServerSettings) -> Iterator[PrivateServer]:
    """A server with an account `ann` that may use the schema `lent` and nothing else."""
    with PrivateServer.start(build, session, settings) as server:
        as_owner(
            server,
            "CREATE DATABASE lent",
            f"CREATE USER ann@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            "GRANT ALL ON lent.* TO ann@'127.0.0.1'",
        )
        yield server


@pytest.fixture(scope="module", params=["mysql_build", pytest.param("mariadb_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    with lent(
        request.getfixturevalue(request.param), session, ServerSettings(buffer_pool_bytes=SMALL)
    ) as server:
        yield server


def tlstax_run(
    data: Path,
    url: str,
    *arguments: str,
    password: str = PASSWORD,
    command: tuple[str, ...] = ("run", "--server"),
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "TLSTAX_DATA": str(data),
        "TLSTAX_CACHE": str(cache_dir()),
        "TLSTAX_PASSWORD": password,
    }
    done = ready_run((*command, url, *arguments), environment, WITHIN_S)
    assert "Traceback" not in done.stderr
    assert password not in done.stdout + done.stderr
    return done


def url_of(server: PrivateServer, schema: str = "lent") -> str:
    return f"mysql://ann@127.0.0.1:{server.endpoint().port}/{schema}"


def last_run(data: Path) -> StoredRun:
    """The only run that is stored there."""
    with Store.open(data / "store.sqlite") as store:
        (summary,) = store.runs()
        return store.load(summary.run)


def sentence(done: subprocess.CompletedProcess[str], status: int) -> str:
    assert done.returncode == status, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("tlstax: ")
    return last


@pytest.mark.long
def test_beside_a_guest_only_the_client_is_sampled_and_that_is_said(
    house: PrivateServer, tmp_path: Path
) -> None:
    done = tlstax_run(tmp_path, url_of(house), *RUN, "--over-budget", "--profile", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    sampled, *others = document["topics"]["profiling"]["rows"]
    assert sampled["more"]["profiles"] == document["trials"]["valid"] > 0
    assert [row["more"]["side"] for row in others if row.get("role") == "coverage"] == ["client"]
    assert any("only the client was sampled" in caveat for caveat in document["caveats"])


def test_a_guest_is_measured_and_left_as_it_was(house: PrivateServer, tmp_path: Path) -> None:
    done = tlstax_run(tmp_path, url_of(house), *RUN, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    outcomes = {finding["outcome"] for finding in document["findings"]}
    assert "ops_per_s" in outcomes
    assert "client_cpu_us_per_op" in outcomes
    assert "profiling" not in document["topics"]
    # It is on this machine, where root alone is shown whose process it is.
    assert ("server_cpu_us_per_op" in outcomes) == (os.geteuid() == 0)
    assert document["trials"]["valid"] > 0
    assert document["specimens"][0]["version"] == house.version
    assert all(trial.slices is not None for trial in last_run(tmp_path).trials), (
        "nothing is kept between turns"
    )
    assert as_owner(house, "SHOW TABLES FROM lent") == ()
    assert PASSWORD.encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )


@pytest.mark.long
def test_answers_of_the_sizes_asked_for_are_there_and_gone_afterwards(
    house: PrivateServer, tmp_path: Path
) -> None:
    asked = ("--workload", "session-2x3000,answer-70000", "--tls", "off,1.3", "--connections", "2")
    done = tlstax_run(tmp_path, url_of(house), *asked, "--budget", "8s", "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert trials["valid"] > 0
    assert trials["invalid"] == trials["unknown"] == 0
    assert as_owner(house, "SHOW TABLES FROM lent") == ()


@pytest.mark.long
def test_cases_take_turns_in_parts_where_not_all_have_room(house: PrivateServer, tmp_path: Path) -> None:
    as_owner(house, "FLUSH STATUS")
    kept = ("--rows", "500", "--budget", "4s", "--workload", "point-select,insert", "--tls", "1.3")
    options = ("--connections", "2,8", "--max-connections", "20", "--over-budget", "--json")
    done = tlstax_run(tmp_path, url_of(house), *kept, *options)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == 0
    said = [text for text in document["caveats"] if "each with the baseline" in text]
    assert len(said) == 2, "of 8 connections, selects and inserts"
    for text in said:
        assert "in 2 parts, each with the baseline, since all 3 cases in turns take 27 connections" in text
        assert "(--max-connections 27 lets all of them take turns)" in text
    run = last_run(tmp_path)
    (external,) = run.header.external
    assert external.promised == 19
    trials = run.trials
    assert {trial.verdict.value for trial in trials} == {"valid"}
    assert all(trial.slices is not None for trial in trials)
    ((_, most),) = as_owner(house, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
    assert int(str(most)) <= 19 + 1, "those that were promised, and this one"


def test_its_certificate_can_be_verified(house: PrivateServer, tmp_path: Path) -> None:
    options = ("--ssl-mode", "VERIFY_IDENTITY", "--ssl-ca", str(house.ca_file), "--allow-plaintext")
    assert tlstax_run(tmp_path, url_of(house), *RUN, *options).returncode == 0


def test_a_wrong_password(house: PrivateServer, tmp_path: Path) -> None:
    said = sentence(tlstax_run(tmp_path, url_of(house), *RUN, password="open peas"), 2)
    assert "ann" in said
    assert "password" in said


def test_a_schema_that_the_account_may_not_use(house: PrivateServer, tmp_path: Path) -> None:
    assert "mysql" in sentence(tlstax_run(tmp_path, url_of(house, "mysql"), *RUN), 2)


def test_more_connections_than_the_server_allows(house: PrivateServer, tmp_path: Path) -> None:
    done = tlstax_run(tmp_path, url_of(house), *RUN[:-1], "100000", "--over-budget")
    assert "100" in sentence(done, 2)


REFUSED = {
    "TLS alone": ("require_secure_transport", "ON", "require_secure_transport=OFF"),
    "nothing can be prepared": ("max_prepared_stmt_count", 0, "error 1461"),
    "answers are cut": ("sql_select_limit", 1, "sql_select_limit"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "answers are cut" else pytest.mark.long) for name in REFUSED],
)
def test_a_setting_that_leaves_nothing_to_compare_is_the_users_to_change(
    house: PrivateServer, tmp_path: Path, name: str
) -> None:
    variable, value, words = REFUSED[name]
    ((before,),) = as_owner(house, f"SELECT @@GLOBAL.{variable}")
    as_owner(house, f"SET GLOBAL {variable} = {value}")
    try:
        done = tlstax_run(
            tmp_path,
            url_of(house),
            *RUN[:2],
            "--budget",
            "10m",
            "--workload",
            "point-select",
            "--tls",
            "off,1.3",
        )
    finally:
        as_owner(house, f"SET GLOBAL {variable} = {before}")
    assert words in sentence(done, 2)
    assert as_owner(house, "SHOW TABLES FROM lent") == ()


def test_an_account_that_may_not_drop_makes_nothing(house: PrivateServer, tmp_path: Path) -> None:
    as_owner(house, "REVOKE DROP ON lent.* FROM ann@'127.0.0.1'")
    try:
        said = sentence(tlstax_run(tmp_path, url_of(house), *RUN), 2)
        assert as_owner(house, "SHOW TABLES FROM lent") == ()
    finally:
        as_owner(house, "GRANT ALL ON lent.* TO ann@'127.0.0.1'")
    assert "may not drop" in said


@contextmanager
def over_tls_alone(house: PrivateServer, how: str) -> Iterator[None]:
    """The server, or the account, takes encrypted connections alone meanwhile."""
    by_account = how == "the account"
    as_owner(
        house,
        "ALTER USER ann@'127.0.0.1' REQUIRE SSL"
        if by_account
        else "SET GLOBAL require_secure_transport = ON",
    )
    try:
        yield
    finally:
        as_owner(
            house,
            "ALTER USER ann@'127.0.0.1' REQUIRE NONE"
            if by_account
            else "SET GLOBAL require_secure_transport = OFF",
        )


def test_an_account_for_tls_alone_is_named_to_who_asks_for_plaintext(
    house: PrivateServer, tmp_path: Path
) -> None:
    with over_tls_alone(house, "the account"):
        asked = (*RUN, "--tls", "off,1.3")
        assert "REQUIRE SSL" in sentence(tlstax_run(tmp_path, url_of(house), *asked), 2)


@pytest.mark.parametrize(
    "how", ["the account", *(pytest.param(how, marks=pytest.mark.long) for how in ("the server", "the user"))]
)
def test_without_plaintext_the_first_tls_level_is_compared_with(
    house: PrivateServer, tmp_path: Path, how: str
) -> None:
    """Kept connections are compared with those that are made anew as well."""
    options = ("--rows", "500", "--budget", "6s", "--connections", "2", "--over-budget", "--json")
    if how == "the user":
        done = tlstax_run(tmp_path, url_of(house), *options, "--ssl-mode", "REQUIRED", "--tls", "1.2,1.3")
    else:
        with over_tls_alone(house, how):
            done = tlstax_run(tmp_path, url_of(house), *options, "--tls", "1.2,1.3")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0
    assert {finding["baseline"]["tls"] for finding in document["findings"]} == {"1.2"}
    assert {
        row["more"]["factor"] for row in document["topics"]["contrasts"]["rows"] if row["role"] == "contrast"
    } == {"workload"}
    because = {
        "the account": "may log in over TLS only (REQUIRE SSL)",
        "the server": "accepts encrypted connections only (require_secure_transport is ON)",
        "the user": "--ssl-mode=REQUIRED demands TLS",
    }
    (said,) = (text for text in document["caveats"] if because[how] in text)
    assert "plaintext" in said


def test_a_closed_port(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert str(port) in sentence(tlstax_run(tmp_path, f"mysql://ann@127.0.0.1:{port}/lent", *RUN), 2)


def test_a_port_that_is_not_mysql(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def serve() -> None:
            while True:
                try:
                    connection, _ = other.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"220 mail.example ESMTP\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = other.getsockname()[1]
        said = sentence(tlstax_run(tmp_path, f"mysql://ann@127.0.0.1:{port}/lent", *RUN), 2)
        other.shutdown(socket.SHUT_RDWR)
        thread.join(WITHIN_S)
    assert "MySQL" in said
    assert str(port) in said


def test_a_server_with_tls_off(mysql_build: ServerBuild, session: Session, tmp_path: Path) -> None:
    settings = ServerSettings(buffer_pool_bytes=SMALL, options=("--tls-version=",))
    with lent(mysql_build, session, settings) as server:
        said = sentence(tlstax_run(tmp_path, url_of(server), *RUN), 2)
    assert "TLS" in said


@pytest.mark.long
def test_an_expired_certificate(mysql_build: ServerBuild, session: Session, tmp_path: Path) -> None:
    expired = CertificateRequest(valid_for=timedelta(days=-2))
    settings = ServerSettings(buffer_pool_bytes=SMALL, certificate=expired)
    with lent(mysql_build, session, settings) as server:
        options = ("--ssl-mode", "VERIFY_CA", "--ssl-ca", str(server.ca_file), "--allow-plaintext")
        said = sentence(tlstax_run(tmp_path, url_of(server), *RUN, *options), 3)
        assert "expired" in said
        # Who does not verify does not see it.
        assert tlstax_run(tmp_path, url_of(server), *RUN).returncode == 0


@pytest.mark.long
def test_a_server_that_is_gone_in_the_middle(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        watcher = threading.Thread(target=kill_after_some_trials, args=(tmp_path, server.pid))
        watcher.start()
        done = tlstax_run(tmp_path, url_of(server), *RUN[:2], "--budget", "10m", "--precision", "0.1%")
        watcher.join()
    assert str(server.endpoint().port) in sentence(done, 3)
    (run,) = runs(tmp_path)
    assert run.status == "failed"
    assert run.valid >= 3


def kill_after_some_trials(data: Path, pid: int) -> None:
    deadline = time.monotonic() + WITHIN_S / 2
    while time.monotonic() < deadline and sum(run.valid for run in runs(data)) < 3:
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)


def runs(data: Path) -> list[RunSummary]:
    with Store.open(data / "store.sqlite") as store:
        return store.runs()
