"""An external server gets no more connections at once than it was promised, by its Max_used_connections."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from test_guest_run import PASSWORD, SMALL, as_owner, last_run, lent, sentence, tlstax_run, url_of

from tlstax.plan.elsewhere import Promise
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.database import SqlError
from tlstax.support.errors import TlstaxError

COMMON = ("--rows", "500", "--budget", "3s", "--over-budget", "--max-connections", "36")
RECONNECTING = ("--workload", "reconnect", "--tls", "off,1.3", "--connections", "8")
RUNS = {
    "reconnecting": RECONNECTING,
    "kept": ("--workload", "point-select,insert", "--tls", "off,1.3", "--connections", "4"),
    "kept and reconnecting, resumed": ("--workload", "point-select,reconnect", "--connections", "4"),
    "one": ("--workload", "reconnect", "--connections", "1"),
    "several numbers": ("--workload", "reconnect", "--tls", "1.3", "--connections", "2,11"),
    "kept, of which not all have room": ("--connections", "8", "--workload", "point-select"),
    "a storm": ("--workload", "storm", "--tls", "1.3", "--connections", "30"),
    "through paths of ours": (*RECONNECTING, "--path", "haproxy,router-passthrough,router-reencrypt"),
}


@pytest.fixture(scope="module", params=["mysql_build", pytest.param("mariadb_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    settings = ServerSettings(buffer_pool_bytes=SMALL)
    with lent(request.getfixturevalue(request.param), session, settings) as server:
        yield server


@contextmanager
def busy_machine() -> Iterator[None]:
    """Another process wants a processor, so that the server's threads are kept from their last steps."""
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        burner.kill()
        burner.wait()


def forget_most_used(server: PrivateServer) -> None:
    # MariaDB's FLUSH STATUS is the session's alone from 11.5 on (its manual, "FLUSH").
    as_owner(server, "FLUSH GLOBAL STATUS" if "MariaDB" in server.version else "FLUSH STATUS")


def most_used(server: PrivateServer) -> int:
    """Of the command alone: the owner's connection, by which this is asked, is there before and after it."""
    ((_, most),) = as_owner(server, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
    return int(str(most))


def promised(said: str) -> int:
    found = re.search(r"gets at most (\d+) connections at once", said)
    assert found is not None, said
    return int(found[1])


@pytest.mark.long
@pytest.mark.parametrize("kind", RUNS)
def test_a_run_has_no_more_than_it_said_beforehand(house: PrivateServer, tmp_path: Path, kind: str) -> None:
    forget_most_used(house)
    with busy_machine():
        done = tlstax_run(tmp_path, url_of(house), *COMMON, *RUNS[kind])
    assert done.returncode == 0, done.stderr
    assert 1 < most_used(house) <= promised(done.stderr)
    assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}


@pytest.mark.long
def test_an_inspection_has_no_more_than_it_said_beforehand(house: PrivateServer, tmp_path: Path) -> None:
    forget_most_used(house)
    with busy_machine():
        done = tlstax_run(tmp_path, url_of(house), command=("inspect",))
    assert done.returncode == 0, done.stderr
    said = re.search(r"no more than (\d+) at once", done.stderr)
    assert said is not None, done.stderr
    assert 1 <= most_used(house) <= int(said[1])


@pytest.mark.long
@pytest.mark.parametrize("kind", ["a storm", "a rate"])
def test_a_search_for_storms_has_no_more_than_it_said_beforehand(
    house: PrivateServer, tmp_path: Path, kind: str
) -> None:
    forget_most_used(house)
    rate = ("--steady", "--lasting", "500ms") if kind == "a rate" else ()
    arguments = ("--within", "200ms", "--most", "16", "--budget", "24s", "--max-connections", "36", *rate)
    with busy_machine():
        done = tlstax_run(tmp_path, url_of(house), *arguments, command=("storm", "--server"))
    assert done.returncode == 0, done.stderr
    assert 16 < most_used(house) <= promised(done.stderr)
    assert re.search("TLS 1.3 +16|TLS 1.3: its limit is", done.stdout), done.stdout
    assert as_owner(house, "SHOW TABLES FROM lent") == ()


@pytest.mark.parametrize(
    ("free", "arguments", "words"),
    [
        (
            20,
            (),
            "at most 22 connections at once are needed: 16 for a storm, 3 winding up, 3 of tlstax's own",
        ),
        pytest.param(30, (), "allow it with --max-connections 22", marks=pytest.mark.long),
        pytest.param(30, ("--max-connections", "12"), "12 allows fewer", marks=pytest.mark.long),
        pytest.param(30, ("--max-connections", "31"), "31 is more than", marks=pytest.mark.long),
    ],
)
def test_a_storm_without_room_is_refused_before_it_begins(
    house: PrivateServer, tmp_path: Path, free: int, arguments: tuple[str, ...], words: str
) -> None:
    limit(house, free)
    forget_most_used(house)
    try:
        done = tlstax_run(tmp_path, url_of(house), *arguments, command=("storm", "--server"))
        assert words in sentence(done, 2)
        assert most_used(house) <= 3
    finally:
        limit(house, 0)


def limit(server: PrivateServer, connections: int) -> None:
    as_owner(server, f"ALTER USER ann@'127.0.0.1' WITH MAX_USER_CONNECTIONS {connections}")


def test_an_account_with_just_what_is_promised_fails_nothing_and_with_one_fewer_is_refused(
    house: PrivateServer, tmp_path: Path
) -> None:
    needed = Promise(made=8, reconnects=True).total
    try:
        limit(house, needed)
        with busy_machine():
            fits = (*COMMON[:-1], str(needed))
            done = tlstax_run(tmp_path / "fits", url_of(house), *fits, *RECONNECTING)
        assert done.returncode == 0, done.stderr
        assert promised(done.stderr) == needed
        for trial in last_run(tmp_path / "fits").trials:
            assert trial.verdict.value == "valid"
            assert trial.done is not None
            assert trial.done.errors == ()
        limit(house, needed - 1)
        said = sentence(tlstax_run(tmp_path / "one-less", url_of(house), *COMMON[:-2], *RECONNECTING), 2)
        assert f"at most {needed} connections at once are needed" in said
        assert f"has {needed - 1} free ({needed - 1} for this account, 0 of them in use)" in said
        assert "ask for fewer with --connections 7 --max-connections 21" in said
        assert PASSWORD not in said
    finally:
        limit(house, 0)


@pytest.mark.long
def test_beside_others_who_leave_twenty_connections_free_nobody_is_refused(
    house: PrivateServer, tmp_path: Path
) -> None:
    """Others hold all but twenty, and now and then open and close one, which must always succeed."""
    ((limit_of_server,),) = as_owner(house, "SELECT @@max_connections")
    as_owner(house, "SET GLOBAL max_connections = 60")
    try:
        with closing(Others(house, 40)) as others:
            done = tlstax_run(tmp_path, url_of(house), "--rows", "500", "--budget", "20s")
            assert others.refused == 0
            assert others.tried > 10
    finally:
        as_owner(house, f"SET GLOBAL max_connections = {limit_of_server}")
    assert done.returncode == 0, done.stderr
    trials = last_run(tmp_path).trials
    assert {trial.verdict.value for trial in trials} == {"valid"}


class Others:
    """Who uses the server besides: holds some connections, and opens one every tenth of a second."""

    def __init__(self, server: PrivateServer, held: int) -> None:
        self._server, self._ended = server, threading.Event()
        self.tried = self.refused = 0
        # Those of the fixture's owner come and go, one at a time.
        self._held = [server.admin() for _ in range(held)]
        self._thread = threading.Thread(target=self._come_and_go, daemon=True)
        self._thread.start()

    def _come_and_go(self) -> None:
        while not self._ended.wait(0.1):
            self.tried += 1
            try:
                self._server.admin().close()
            except (TlstaxError, SqlError):
                self.refused += 1

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        for connection in self._held:
            connection.close()
