"""A private PostgreSQL: started, logged in to, paused, and gone with all its processes and memory."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

import pg8000.dbapi
import psutil
import pytest
from laboratories import laboratory, wait_until

from conftest import fetched
from processes import lives
from tlstax.observers.tree import TreeClock
from tlstax.specimens import process_tree, resolve, server_process, sessions
from tlstax.specimens.postgres_setup import PostgreSql
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_process import ServerProcess
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql import answering
from tlstax.sql.credentials import Credentials, new_credentials
from tlstax.support.errors import MachineFault, UserMistake

DEBIAN, NPM = "postgresql-15", "postgresql-18-openssl1.1"
LONG = [
    pytest.param(f"postgresql-{major}", marks=pytest.mark.long) for major in (10, 11, 12, 13, 14, 16, 17, 18)
]

LASTING = "SELECT pid FROM pg_stat_activity WHERE usename = 'tlstax_load' OR backend_type = 'checkpointer'"
"""Processes that do not end meanwhile: those of connections that are kept, and one that serves none."""


def log_in(user: str, password: str, **way: object) -> pg8000.dbapi.Connection:
    """A connection with autocommit."""
    connection = pg8000.dbapi.connect(user, password=password, database="tlstax", **way)
    connection.autocommit = True
    return connection


def administrator(server: ServerProcess, credentials: Credentials) -> pg8000.dbapi.Connection:
    way = {"unix_sock": str(server.socket_path), "ssl_context": False}
    return log_in("tlstax_admin", credentials.admin_password, **way)


def over_tcp(server: ServerProcess, credentials: Credentials, *, tls: bool) -> pg8000.dbapi.Connection:
    """The load account's connection, over TLS with the server's certificate verified, or in plaintext."""
    context = ssl.create_default_context(cafile=str(server.certificates.ca_file)) if tls else False
    way = {"host": "127.0.0.1", "port": server.port, "ssl_context": context, "timeout": 30}
    return log_in("tlstax_load", credentials.load_password, **way)


def answer(connection: pg8000.dbapi.Connection, statement: str) -> list[object]:
    cursor = connection.cursor()
    cursor.execute(statement)
    return list(cursor.fetchone())


def start(
    build: ServerBuild, session: Session, settings: ServerSettings | None = None
) -> tuple[ServerProcess, Credentials]:
    """A server that answers; it is stopped where it does not."""
    server, credentials = ServerProcess(build, session, settings or ServerSettings()), new_credentials()

    def answers() -> bool:
        with contextlib.suppress(pg8000.dbapi.Error):
            administrator(server, credentials).close()
            return True
        return False

    try:
        server.launch(credentials, answers)
    except BaseException:
        server.stop()
        raise
    return server, credentials


@contextlib.contextmanager
def running(
    build: ServerBuild, session: Session, settings: ServerSettings | None = None
) -> Iterator[tuple[ServerProcess, Credentials]]:
    server, credentials = start(build, session, settings)
    try:
        yield server, credentials
    finally:
        server.stop()


def segments_of(pid: int) -> list[tuple[str, str, str]]:
    """The segments of System V's shared memory that this process has made."""
    return [segment for segment in sessions._segments() if segment[2] == str(pid)]


def tree_of(pid: int) -> list[int]:
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


@pytest.mark.parametrize("name", [DEBIAN, NPM, *LONG])
def test_it_starts_takes_logins_and_leaves_nothing(session: Session, name: str) -> None:
    build = fetched(name)
    with running(build, session) as (server, credentials):
        pid = server.pid
        assert pid is not None
        admin = administrator(server, credentials)
        (version,) = answer(admin, "SHOW server_version")
        assert str(version).split()[0] == build.specimen.version
        encrypted = over_tcp(server, credentials, tls=True)
        ask = "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert answer(encrypted, ask) == [True, "TLSv1.3"]
        plaintext = over_tcp(server, credentials, tls=False)
        assert answer(plaintext, ask)[0] is False
        assert answer(admin, "SELECT count(*) FROM pg_stat_ssl WHERE ssl") == [1]
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            assert answer(admin, f"SHOW {setting}") == ["on"]
        cursor = admin.cursor()
        cursor.execute("SET ROLE NONE")  # Who is no superuser is told of its own processes alone.
        cursor.execute(LASTING)
        lasting = [pid, *(process for (process,) in cursor.fetchall())]
        assert len(lasting) == 4
        for process in lasting:
            maps = Path(f"/proc/{process}/maps").read_text("utf-8")
            assert "PostgreSQL." not in maps, "shared memory outlives a kill"
            if os.geteuid() == 0:
                assert psutil.Process(process).uids().real == pwd.getpwnam("nobody").pw_uid
            assert process_tree.first_of(process) == pid
            assert answering.program_of(process) == str(build.executable.resolve())
        assert len(segments_of(pid)) == 1
        processes = tree_of(pid)
        assert set(lasting) < set(processes)
        folder = server.directory
    assert not any(map(lives, processes))
    assert segments_of(pid) == []
    assert not folder.exists()


@pytest.fixture(scope="module")
def debian() -> ServerBuild:
    return fetched(DEBIAN)


@pytest.fixture(scope="module")
def started(session: Session, debian: ServerBuild) -> Iterator[tuple[ServerProcess, Credentials]]:
    with running(debian, session) as server:
        yield server


def test_nobody_comes_in_without_the_password(started: tuple[ServerProcess, Credentials]) -> None:
    server, credentials = started
    socket = {"unix_sock": str(server.socket_path)}
    tcp = {"host": "127.0.0.1", "port": server.port}
    for user, password, way in (
        ("tlstax_admin", "wrong", socket),
        ("tlstax_load", "wrong", tcp),
        ("tlstax_admin", credentials.admin_password, tcp),
        ("postgres", credentials.root_password, socket),
        ("tlstax_by_trust", "", tcp),
    ):
        with pytest.raises(pg8000.dbapi.Error):
            log_in(user, password, **way)
    for secret in (credentials.admin_password, credentials.load_password):
        held = [file for file in server.directory.glob("*") if file.is_file()]
        assert not any(
            secret.encode() in file.read_bytes() for file in (*held, *server.data_directory.glob("*.*"))
        )


def test_the_load_account_works_in_its_own_database_alone(started: tuple[ServerProcess, Credentials]) -> None:
    load = over_tcp(*started, tls=True)
    load.cursor().execute("CREATE TABLE mine (id int)")
    load.cursor().execute("DROP TABLE mine")
    with pytest.raises(pg8000.dbapi.Error, match=r"permission denied|must be superuser"):
        load.cursor().execute("COPY (SELECT 1) TO PROGRAM 'true'")
    with pytest.raises(pg8000.dbapi.Error):
        load.cursor().execute("ALTER SYSTEM SET work_mem = '8MB'")


@pytest.mark.parametrize(
    "with_group", [True, pytest.param(False, marks=pytest.mark.long)], ids=["control group", "signals"]
)
def test_all_of_its_processes_pause_go_on_and_end(
    session: Session, debian: ServerBuild, *, with_group: bool
) -> None:
    tree = ProcessTree(with_group=with_group)
    settings = ServerSettings(tree=tree, before_exec=tree.take)
    with running(debian, session, settings) as (server, credentials):
        load = over_tcp(server, credentials, tls=True)
        assert server.pid is not None
        processes = tree_of(server.pid)
        assert set(tree.members()) == set(processes)
        server.pause()
        with pytest.raises((pg8000.dbapi.Error, TimeoutError)):
            log_in(
                "tlstax_load",
                credentials.load_password,
                host="127.0.0.1",
                port=server.port,
                timeout=1,
            )
        server.resume()
        assert answer(load, "SELECT 1") == [1]
        server.pause()
    assert not any(map(lives, processes))


def test_the_cpu_time_of_a_backend_is_read_whoever_it_runs_as(session: Session, debian: ServerBuild) -> None:
    with TreeClock(ProcessTree()) as clock:
        settings = ServerSettings(tree=clock.tree, before_exec=clock.take)
        with running(debian, session, settings) as (server, credentials):
            before_us = clock.read_us()
            connection = over_tcp(server, credentials, tls=True)
            answer(connection, "SELECT count(*) FROM generate_series(1, 2000000)")
            process = next(
                p
                for p in map(psutil.Process, tree_of(server.pid or 0))
                if "tlstax_load" in " ".join(p.cmdline())
            )
            used = process.cpu_times()
            assert clock.read_us() - before_us >= (used.user + used.system) * 0.9e6


def test_a_server_that_died_starts_again_on_its_data(session: Session, debian: ServerBuild) -> None:
    with running(debian, session) as (server, credentials):
        load = over_tcp(server, credentials, tls=True)
        load.cursor().execute("CREATE TABLE kept AS SELECT 7 AS seven")
        first = server.pid or 0
        os.kill(first, signal.SIGKILL)
        assert wait_until(lambda: server.pid is None)

        def answers() -> bool:
            with contextlib.suppress(pg8000.dbapi.Error):
                administrator(server, credentials).close()
                return True
            return False

        server.relaunch(answers)
        assert segments_of(first) == []
        assert answer(over_tcp(server, credentials, tls=True), "SELECT seven FROM kept") == [7]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--ssl_key_file=/nowhere/key.pem", 'could not access private key file "/nowhere/key.pem"'),
        pytest.param(
            "--ssl_min_protocol_version=TLSv9",
            'invalid value for parameter "ssl_min_protocol_version"',
            marks=pytest.mark.long,
        ),
        pytest.param(
            "--no_such_setting=1",
            'unrecognized configuration parameter "no_such_setting"',
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_server_that_does_not_start_says_why_in_a_sentence(
    session: Session, debian: ServerBuild, option: str, said: str
) -> None:
    with pytest.raises(MachineFault) as refused:
        start(debian, session, ServerSettings(options=(option,)))
    assert f"postgresql-15 {debian.specimen.version} did not start: {said}" in refused.value.message
    assert "\n" not in refused.value.message


def test_accounts_that_cannot_be_made_are_a_fault_without_their_passwords(
    session: Session, debian: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "CREATE ROLE twice PASSWORD 'a-secret'"
    monkeypatch.setattr(PostgreSql, "account_statements", lambda *_: [statement, statement])
    with pytest.raises(MachineFault) as refused:
        start(debian, session)
    assert 'could not initialise its data: role "twice" already exists' in refused.value.message
    assert "a-secret" not in refused.value.message


def test_a_port_that_is_taken_meanwhile_is_no_fault(
    session: Session,
    debian: ServerBuild,
    started: tuple[ServerProcess, Credentials],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = server_process.free_ports
    taken = [[started[0].port]]
    monkeypatch.setattr(server_process, "free_ports", lambda *asked: taken.pop() if taken else free(*asked))
    with running(debian, session) as (server, _):
        assert not taken
        assert server.port != started[0].port


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "library_name"), [(NPM, "openssl-1.1.1-debian"), ("postgresql-18", "openssl-3.5-debian")]
)
def test_another_tls_library_is_put_under_it(session: Session, name: str, library_name: str) -> None:
    library = resolve.named_tls_library(library_name, lambda _: None)
    with running(fetched(name), session, ServerSettings(tls_library=library)) as (server, credentials):
        over_tcp(server, credentials, tls=True)
        assert str(library.libssl.resolve()) in Path(f"/proc/{server.pid}/maps").read_text("utf-8")


@pytest.mark.long
def test_a_tls_library_of_another_abi_is_refused(session: Session) -> None:
    library = resolve.named_tls_library("openssl-3.5-debian", lambda _: None)
    with pytest.raises(UserMistake, match="asks for libssl"):
        start(fetched(NPM), session, ServerSettings(tls_library=library))


RUN_A_SERVER = """
import sys, time
from tlstax.mysql import server_facts
from tlstax.sql.credentials import new_credentials
from tlstax.specimens import resolve, sessions
from tlstax.specimens.server_process import ServerProcess
from tlstax.specimens.server_settings import ServerSettings
with sessions.open_session() as session:
    server = ServerProcess(resolve.named_server(sys.argv[1], lambda text: None), session, ServerSettings())
    server.launch(new_credentials(), lambda: "ready to accept" in server.log_file.read_text())
    print(server.pid, session.path, flush=True)
    time.sleep(600)
"""

PAUSE_A_SERVER = RUN_A_SERVER.replace("    print(", "    server.pause()\n    print(")


@pytest.fixture
def apart(cache: Path, debian: ServerBuild) -> str:
    """The server's name, where no other laboratory clears away what this test leaves to be found."""
    assert debian.root is not None
    cache.mkdir()
    (cache / "specimens").symlink_to(debian.root.parents[1])
    return debian.specimen.name


@pytest.mark.parametrize(
    "script", [pytest.param(RUN_A_SERVER, marks=pytest.mark.long), PAUSE_A_SERVER], ids=["running", "paused"]
)
def test_a_killed_laboratory_leaves_neither_processes_nor_memory(apart: str, script: str) -> None:
    with laboratory(script, apart) as (process, pid, path):
        members = tree_of(pid)
        assert segments_of(pid)
        process.kill()
        process.wait()
        assert wait_until(lambda: not any(map(lives, members))), "processes outlived their laboratory"
        # Its memory and its folder are for the next one.
        sessions.open_session().close()
        assert segments_of(pid) == []
        assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests above ran as an ordinary user")
def test_an_ordinary_users_server_runs_as_that_user(debian: ServerBuild, apart: str, cache: Path) -> None:
    """It may read root's files here, where the environment of the tests lies, as any of its own may."""
    user = pwd.getpwnam("games")
    (cache / "specimens").unlink()
    assert debian.root is not None
    shutil.copytree(debian.root.parent, cache / "specimens" / apart, symlinks=True)
    for path in (cache, *cache.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    allowed = "-all,+dac_read_search"
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    become += ["--securebits=+no_setuid_fixup", f"--inh-caps={allowed}", f"--ambient-caps={allowed}"]
    with laboratory(RUN_A_SERVER, apart, become) as (process, pid, path):
        members = tree_of(pid)
        assert {psutil.Process(member).uids().real for member in members} == {user.pw_uid}
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert not any(map(lives, members))
        assert segments_of(pid) == []
        assert not path.exists()
