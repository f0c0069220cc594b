"""The page's server: for this machine alone and who knows the token, read only; no run waits for it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kept_runs import RUN, keep
from live_runs import begun
from tlstax.records.trial import StoredRun
from tlstax.report.page.live import LIVE_PARTS
from tlstax.results.live import LiveRun
from tlstax.run.live_notes import noting
from tlstax.run.live_page import MOST_CONNECTIONS, STRANGER_S, Audience, LivePage, address, listening, served
from tlstax.run.pipeline import Watcher
from tlstax.store import Store, open_store
from tlstax.support.here import LOOPBACK

PARTS = dict.fromkeys(LIVE_PARTS, "") | {"status": "first"}
TOKEN = "TOKEN"
PATIENCE_S = 240.0
WATCH = (sys.executable, "-P", "-m", "tlstax", "runs", "watch")


class Nobody:
    """Hears nothing."""

    def step(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def trial(self, step: object) -> None: ...

    def noted(self, live: LiveRun) -> None: ...

    def close(self) -> None: ...


NOBODY: Watcher = Nobody()


@pytest.fixture
def audience() -> Audience:
    return Audience(PARTS)


@pytest.fixture
def port(audience: Audience) -> Iterator[int]:
    with listening() as listener, served(listener, TOKEN, audience, lambda: "<p>the report</p>"):
        yield int(listener.getsockname()[1])


def answer(port: int, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection(LOOPBACK, port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def test_only_loopback_is_listened_to() -> None:
    with listening() as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert address(listener, TOKEN) == f"http://127.0.0.1:{listener.getsockname()[1]}/TOKEN/"


def test_the_page_lets_nothing_else_in(port: int) -> None:
    response, page = answer(port, f"/{TOKEN}/")
    assert response.status == 200
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["Set-Cookie"] is None
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert "first" in page
    again = answer(port, f"/{TOKEN}/")[0].headers["Content-Security-Policy"]
    assert again != policy


@pytest.mark.parametrize("path", ["/", "/TOKEN", "/TOKEN/x", "/token/", "/TOKEN/../", "/TOKEN/events/x"])
def test_who_does_not_know_the_token_sees_nothing(port: int, path: str) -> None:
    response, said = answer(port, path)
    assert (response.status, said) == (404, "Not Found\n")


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_name_that_is_made_to_point_here_is_refused(port: int, host: str) -> None:
    response, said = answer(port, f"/{TOKEN}/", Host=host)
    assert response.status == 421
    assert "first" not in said


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_it_only_reads(port: int, method: str) -> None:
    assert answer(port, f"/{TOKEN}/", method)[0].status == 501


def test_the_report_is_there_once_the_run_has_ended(port: int, audience: Audience) -> None:
    assert answer(port, f"/{TOKEN}/report")[0].status == 404
    audience.show(PARTS, is_last=True)
    assert answer(port, f"/{TOKEN}/report")[1] == "<p>the report</p>"


def test_what_is_new_comes_once_and_only_what_has_changed(port: int, audience: Audience) -> None:
    connection = HTTPConnection(LOOPBACK, port, timeout=PATIENCE_S)
    connection.request("GET", f"/{TOKEN}/events?after=0")
    response = connection.getresponse()
    assert response.headers["Content-Type"].startswith("text/event-stream")

    def event() -> object:
        line = response.readline().decode()
        assert response.readline() == b"\n"
        return json.loads(line.removeprefix("data: "))

    assert event() == {"parts": PARTS, "last": False}
    audience.show({**PARTS, "facts": "new"})
    assert event() == {"parts": {"facts": "new"}, "last": False}
    audience.show({**PARTS, "status": "over", "facts": "new"}, is_last=True)
    assert event() == {"parts": {"status": "over"}, "last": True}
    assert response.read() == b""
    connection.close()


@pytest.mark.parametrize("after", ["", "-1", "x", "9" * 30, "%00", "¼"])
def test_odd_versions_count_as_none(port: int, after: str) -> None:
    connection = HTTPConnection(LOOPBACK, port, timeout=PATIENCE_S)
    connection.putrequest(
        "GET", f"/{TOKEN}/events?after={after.encode().hex() if not after.isascii() else after}"
    )
    connection.endheaders()
    assert b'"first"' in connection.getresponse().readline()
    connection.close()


def silent(port: int, sent: bytes = b"") -> socket.socket:
    """A browser that is stuck: it reads nothing, however much there is."""
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    stuck.connect((LOOPBACK, port))
    stuck.sendall(sent)
    return stuck


def test_stuck_browsers_keep_nobody_waiting(port: int, audience: Audience) -> None:
    asked = f"GET /{TOKEN}/events?after=0 HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\n\r\n".encode()
    stuck = [silent(port, asked) for _ in range(4)] + [silent(port), silent(port, b"GET / HT")]
    for number in range(40):
        audience.show({**PARTS, "status": f"{number} " + "x" * 200_000})
    assert "39 xxx" in answer(port, f"/{TOKEN}/")[1]
    for one in stuck:
        one.close()


def test_who_does_not_know_the_address_keeps_nobody_out_who_does(port: int) -> None:
    """Another user of this machine may connect as often as they like, and say nothing, or something else."""
    said = (b"", b"GET / HT", f"GET /wrong/ HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\n".encode())
    stuck = [silent(port, said[place % 3]) for place in range(4 * MOST_CONNECTIONS)]
    assert _is_answered(port), "at once, and not when they have been given up"
    slow = silent(port, b"GET /")
    ended_at = time.monotonic() + 20 * STRANGER_S
    while _is_open(slow):
        assert time.monotonic() < ended_at, "a byte now and then does not keep its place either"
        time.sleep(0.1)
    for one in (*stuck, slow):
        one.close()


def _is_open(stranger: socket.socket) -> bool:
    try:
        stranger.sendall(b"x")
        return stranger.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_beyond_so_many_connections_it_turns_away_and_has_room_again(port: int) -> None:
    asked = f"GET /{TOKEN}/events?after=0 HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\n\r\n".encode()
    stuck = []
    for _ in range(MOST_CONNECTIONS):
        stuck.append(silent(port, asked))
        assert stuck[-1].recv(1), "it is served"
    assert answer(port, f"/{TOKEN}/")[0].status == 503
    for one in stuck:
        one.close()
    wait_until(lambda: _is_answered(port))


def _is_answered(port: int) -> bool:
    try:
        return answer(port, f"/{TOKEN}/")[0].status == 200
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache and a store of its own, with a run that is under way in this process."""
    with TemporaryDirectory(prefix="tlx", dir="/tmp") as folder:
        path = Path(folder)
        monkeypatch.setenv("TLSTAX_CACHE", str(path / "c"))
        monkeypatch.setenv("TLSTAX_DATA", str(path / "d"))
        with Store.open(path / "d" / "store.sqlite") as store:
            keep(store, RUN)
        yield path


@contextmanager
def watching(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`tlstax runs watch`, and the address that it prints; gone when the block is left."""
    process = subprocess.Popen(
        [*WATCH, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def shown_at(where: str) -> str:
    port, path = where.removeprefix(f"http://{LOOPBACK}:").split("/", 1)
    return answer(int(port), f"/{path}")[1].replace("\N{NO-BREAK SPACE}", " ")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


@pytest.mark.usefixtures("home")
def test_no_run_under_way_is_one_sentence() -> None:
    done = subprocess.run(
        WATCH,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "tlstax: no run is under way here; `tlstax runs watch last` shows how the last one ended\n"
    )


def following(acting: Callable[[Watcher, str], None]) -> tuple[LiveRun, str, str]:
    """The end of a run that another thread acts, which is given the page's address; page and report then."""
    page = LivePage(_stored, lambda stored: f"<!doctype html>{stored.header.run}")
    with ExitStack() as run, listening() as listener, page.served(listener, TOKEN):
        watcher, directory = run.enter_context(noting(NOBODY))
        assert directory is not None

        def act() -> None:
            with run.pop_all():
                acting(watcher, address(listener, TOKEN))

        with ThreadPoolExecutor(1) as pool:
            acted = pool.submit(act)
            last = page.follow(directory)
            acted.result()
        assert (directory.exists(), last.is_over) == (False, True)
        where = address(listener, TOKEN)
        return last, shown_at(where), shown_at(f"{where}report")


def _stored(run_name: str) -> StoredRun:
    with open_store() as store:
        return store.load(run_name)


@pytest.mark.usefixtures("home")
def test_a_run_is_followed_from_its_first_block_to_its_end() -> None:
    def act(watcher: Watcher, where: str) -> None:
        watcher.step("starting mysql-9.7")
        wait_until(lambda: "being made ready: starting mysql-9.7" in shown_at(where))
        for blocks in (1, 2):
            watcher.noted(begun(blocks).model_copy(update={"run": RUN.header.run}))
            wait_until(lambda: f"{blocks} block" in shown_at(where))  # noqa: B023
        with open_store() as store:
            store.finish(RUN.header.run, "complete", "every ratio is known to ±2 %")

    last, page, report = following(act)
    assert last.run == RUN.header.run
    assert "The run is complete: every ratio is known to ±2 %." in page
    assert 'href="report"' in page
    assert report == f"<!doctype html>{RUN.header.run}"


@pytest.mark.usefixtures("home")
def test_a_run_that_ends_before_it_measured_says_so() -> None:
    last, page, report = following(lambda watcher, _: watcher.step("starting mysql-9.7"))
    assert last.run == ""
    assert "ended before anything was measured" in page
    assert 'href="report"' not in page
    assert report == "there is no report: nothing was measured\n"


def test_a_run_that_has_ended_is_shown_with_its_report(home: Path) -> None:
    with Store.open(home / "d" / "store.sqlite") as store:
        store.finish(RUN.header.run, "failed", "the server died")
    with watching("last") as (process, where):
        assert "The run failed: the server died" in shown_at(where)
        assert RUN.header.run in shown_at(f"{where}report")
        assert ended(process)[0] == 130


def test_a_watcher_that_is_killed_leaves_nothing_and_the_run_goes_on(home: Path) -> None:
    with noting(NOBODY) as (watcher, directory):
        assert directory is not None
        watcher.noted(begun(1))
        with watching() as (_, where):
            assert where.startswith("http://127.0.0.1:")
        watcher.noted(begun(2))
        assert sorted(path.name for path in directory.iterdir()) == ["live.json", "lock", "processes"]
    assert [path.name for path in (home / "c" / "sessions").iterdir()] == [".lock"]
