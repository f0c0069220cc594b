"""Load clients of other makers at an external server: proved there, and no command line has the password."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from test_guest_run import PASSWORD, SMALL, last_run, lent, tlstax_run, url_of
from test_promised_connections import forget_most_used, most_used, promised

from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from typed import sentence_for

KEPT = (
    "--rows",
    "500",
    "--budget",
    "3s",
    "--over-budget",
    "--connections",
    "2",
    "--workload",
    "point-select",
)


@pytest.fixture(scope="module", params=["mariadb_build", pytest.param("mysql_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    with lent(
        request.getfixturevalue(request.param), session, ServerSettings(buffer_pool_bytes=SMALL)
    ) as server:
        yield server


@contextmanager
def command_lines() -> Iterator[set[bytes]]:
    """Those of all processes that are started from here while the block runs."""
    seen: set[bytes] = set()
    ended, own = threading.Event(), psutil.Process()

    def look() -> None:
        while not ended.wait(0.02):
            for child in own.children(recursive=True):
                with suppress(OSError):
                    seen.add(Path(f"/proc/{child.pid}/cmdline").read_bytes())

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join()


@pytest.mark.parametrize(
    "client",
    [
        "pymysql-1.2",
        pytest.param("sysbench", marks=pytest.mark.long),
        pytest.param("mysql-connector-python-9", marks=pytest.mark.long),
        pytest.param("go-sql-driver-1.9", marks=pytest.mark.long),
    ],
)
def test_another_client_is_proved_within_the_promise(
    house: PrivateServer, tmp_path: Path, client: str
) -> None:
    """Each refused its job there, for fields that are the engine's alone."""
    forget_most_used(house)
    authority = ("--ssl-ca", str(house.ca_file), "--allow-plaintext") if client == "sysbench" else ()
    with command_lines() as seen:
        done = tlstax_run(tmp_path, url_of(house), *KEPT, "--tls", "1.3", "--client", client, *authority)
    assert done.returncode == 0, done.stderr
    assert 2 < most_used(house) <= promised(done.stderr)
    trials = last_run(tmp_path).trials
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in trials} == {("valid", ())}
    assert {str(trial.trial.case.levels["client"]) for trial in trials} == {client}
    assert any(client.partition("-")[0].encode() in line for line in seen), "the client was seen"
    assert not [line for line in seen if PASSWORD.encode() in line]


@pytest.mark.parametrize(
    ("url", "client", "arguments", "words"),
    [
        ("mysql://ann@127.0.0.1:9/lent", "sysbench", (), "name the server's with --ssl-ca"),
        ("mysql://ann@192.0.2.1/lent", "pymysql-1.2", (), "gives the password to whoever answers"),
        ("mysql://ann@127.0.0.1:9/lent", "mysqlslap-9.7", ("--workload", "ping"), "does not tell what its"),
        ("mysql://ann@127.0.0.1:9/lent", "sysbench", ("--workload", "reconnect"), "could not be promised"),
    ],
)
def test_what_stays_refused_says_why_before_anybody_logs_in(  # noqa: PLR0913, PLR0917 (two fixtures)
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    client: str,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setenv("TLSTAX_PASSWORD", PASSWORD)
    typed = ("run", "--server", url, *KEPT, "--client", client, *arguments)
    assert words in sentence_for(monkeypatch, capsys, *typed)
