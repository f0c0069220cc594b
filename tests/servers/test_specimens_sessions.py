"""Nothing survives: a killed laboratory takes its servers with it, and the next one clears up."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from laboratories import laboratory, wait_until

from tlstax.specimens import processes, sessions
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.support import directories

RUN_A_SERVER = """
import sys, time
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
with sessions.open_session() as session:
    build = resolve.named_server(sys.argv[1], lambda text: None)
    with PrivateServer.start(build, session) as server:
        print(server.pid, session.path, flush=True)
        time.sleep(600)
"""

PAUSE_A_SERVER = RUN_A_SERVER.replace("print(", "server.pause()\n        print(")

KILLED_WHILE_STARTING = """
import os, signal, sys
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
session = sessions.open_session()
def die(pid):
    print(pid, session.path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
build = resolve.named_server(sys.argv[1], lambda text: None)
PrivateServer.start(build, session, ServerSettings(before_exec=die))
"""


@pytest.fixture
def apart(request: pytest.FixtureRequest, mariadb_build: ServerBuild) -> str:
    """The server's name, where no other laboratory clears away what this test leaves to be found."""
    specimens = directories.specimens_dir()
    cache: Path = request.getfixturevalue("cache")
    cache.mkdir()
    (cache / "specimens").symlink_to(specimens)
    return mariadb_build.specimen.name


@pytest.mark.parametrize(
    ("number", "script"),
    [
        pytest.param(signal.SIGKILL, RUN_A_SERVER, id="killed running"),
        pytest.param(signal.SIGTERM, PAUSE_A_SERVER, id="ended paused"),
        pytest.param(signal.SIGKILL, PAUSE_A_SERVER, id="killed paused", marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, RUN_A_SERVER, id="ended running", marks=pytest.mark.long),
    ],
)
def test_a_killed_laboratory_leaves_no_server_and_no_files(
    apart: str, number: signal.Signals, script: str
) -> None:
    with laboratory(script, apart) as (process, pid, path):
        with sessions.open_session():
            assert psutil.pid_exists(pid), "a running laboratory's server was cleared away"
            assert path.is_dir()
        process.send_signal(number)
        process.wait()
        assert wait_until(lambda: not psutil.pid_exists(pid)), "the server outlived its laboratory"
        assert path.is_dir()
        sessions.open_session().close()
        assert not path.exists()


def test_an_interrupted_laboratory_ends_its_paused_server(mariadb_build: ServerBuild) -> None:
    with laboratory(PAUSE_A_SERVER, mariadb_build.specimen.name) as (process, pid, path):
        # A thread that runs when the signal comes stops when the kernel looks next.
        assert wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert not psutil.pid_exists(pid)
        assert not path.exists()


def test_a_laboratory_killed_before_its_servers_exec_leaves_nothing(mariadb_build: ServerBuild) -> None:
    with laboratory(KILLED_WHILE_STARTING, mariadb_build.specimen.name) as (process, pid, path):
        process.wait()
        assert wait_until(lambda: not psutil.pid_exists(pid))
        sessions.open_session().close()
        assert not path.exists()


@pytest.fixture
def survivor() -> Iterator[subprocess.Popen[bytes]]:
    """A process that nothing ends by itself."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def abandon(session: Session) -> None:
    """Let go of the lock as the kernel does for a killed process."""
    session._lock.close()


def test_the_next_session_kills_what_is_recorded(cache: Path, survivor: subprocess.Popen[bytes]) -> None:
    stale = sessions.open_session()
    stale.record(survivor.pid)
    abandon(stale)
    with sessions.open_session() as fresh:
        assert survivor.wait(timeout=20) == -signal.SIGKILL
        assert list(directories.sessions_dir().glob("[0-9a-f]*")) == [fresh.path]
    assert only_the_lock_remains(cache)


def test_a_process_that_only_has_the_number_of_a_recorded_one_is_spared(
    cache: Path, survivor: subprocess.Popen[bytes]
) -> None:
    stale = sessions.open_session()
    stale.record(survivor.pid)
    record = stale.path / "processes" / str(survivor.pid)
    identity = processes.identity_of(survivor.pid)
    assert identity is not None
    later = record.read_text(encoding="ascii").replace(str(identity.start_ticks), "1")
    record.write_text(later, encoding="ascii")
    abandon(stale)
    sessions.open_session().close()
    assert survivor.poll() is None
    assert not stale.path.exists()
    assert only_the_lock_remains(cache)


def test_a_session_killed_while_it_was_made_is_removed(cache: Path) -> None:
    unfinished = directories.sessions_dir() / "0badc0de"
    unfinished.mkdir()
    sessions.open_session().close()
    assert not unfinished.exists()
    assert only_the_lock_remains(cache)


def test_sessions_opened_at_once_do_not_clear_each_other(cache: Path) -> None:
    opened: list[Session] = []
    threads = [threading.Thread(target=lambda: opened.append(sessions.open_session())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({session.path for session in opened}) == 8
    assert all(session.path.is_dir() for session in opened)
    for session in opened:
        session.close()
    assert not any(session.path.exists() for session in opened)
    assert only_the_lock_remains(cache)


def only_the_lock_remains(cache: Path) -> bool:
    return [path.name for path in (cache / "sessions").iterdir()] == [".lock"]
