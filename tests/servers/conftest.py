"""Real servers for the tests: fetched once into the cache, started once in a session, never skipped."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import Home
from guest_house import house, lending_server

from tlstax.clients.choice import obtain_client
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support.errors import TlstaxError

__all__ = ["house", "lending_server"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Has the drivers of long tests, and libraries by the marker `builds`, before the first test begins.

    To build one may take minutes, which are none of the test's own. The first process builds them before it
    says that it has collected, for which the others wait. What cannot be had the test itself says.
    """
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0" or session.config.option.collectonly:
        return
    drivers = {
        value
        for item in session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.get_closest_marker("long")
        for value in item.callspec.params.values()
        if isinstance(value, str) and value in DRIVERS
    }
    libraries = {mark.args[0] for item in session.items for mark in item.iter_markers("builds")}
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        for name in sorted(drivers | libraries):
            obtain = obtain_client if name in drivers else resolve.named_tls_library
            with suppress(TlstaxError):
                obtain(name, lambda line: print(line, file=sys.stderr))  # noqa: T201


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with sessions.open_session() as opened:
        yield opened


def fetched(name: str) -> ServerBuild:
    """The server, or a failure that says what to do; a machine without it cannot pass these tests."""
    try:
        return resolve.named_server(name, progress=lambda _: None)
    except TlstaxError as error:
        pytest.fail(f"these tests need the real {name}: {error.sentence()}", pytrace=False)


@pytest.fixture(scope="session")
def mysql_build() -> ServerBuild:
    return fetched("mysql-9.7")


@pytest.fixture(scope="session")
def mariadb_build() -> ServerBuild:
    return fetched("mariadb-11.8")


@pytest.fixture(scope="session")
def mysql(session: Session, mysql_build: ServerBuild) -> Iterator[PrivateServer]:
    """A private MySQL 9.7 for the whole test session: leave it as it was found."""
    with PrivateServer.start(mysql_build, session) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb(session: Session, mariadb_build: ServerBuild) -> Iterator[PrivateServer]:
    """A private MariaDB 11.8 for the whole test session: leave it as it was found."""
    with PrivateServer.start(mariadb_build, session) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_build() -> ServerBuild:
    return fetched("postgresql-18")


@pytest.fixture(scope="session")
def postgresql(session: Session, postgresql_build: ServerBuild) -> Iterator[PrivateServer]:
    """A private PostgreSQL 18 for the whole test session: leave it as it was found."""
    with PrivateServer.start(postgresql_build, session) as server:
        yield server


@pytest.fixture(params=["mysql", "mariadb"])
def private(request: pytest.FixtureRequest) -> PrivateServer:
    """Each of the private servers in turn."""
    server: PrivateServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture(params=["mysql", pytest.param("mariadb", marks=pytest.mark.long)])
def mainly_mysql(request: pytest.FixtureRequest) -> PrivateServer:
    """Each of the private servers, for tests of a client to which the server makes little difference."""
    server: PrivateServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="module")
def own_drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the tests' own drivers, which the last process that needs them takes off the shelf."""
    folder = Path(__file__).parent / "drivers"
    lock = tmp_path_factory.getbasetemp().parent / "own-drivers.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        yield folder
        with suppress(BlockingIOError), pytest.MonkeyPatch.context() as patch:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            patch.setenv("TLSTAX_DRIVERS", str(folder))
            for name in ("plain-driver", "single-driver"):
                Home(tmp_path_factory.mktemp("last")).run("specimens", "remove", name)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own with a short path, removed at the end."""
    path = Path("/tmp") / f"tlstax-{os.getpid()}-{tmp_path.name[-6:]}"  # noqa: S108
    monkeypatch.setenv("TLSTAX_CACHE", str(path))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_password_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)
    assert "TLSTAX_PASSWORD" not in os.environ
