"""Programs between client and server: each carries, proves itself, and is missed when it dies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import psutil
import pytest
from path_trials import assert_valid, tried

from processes import lives
from tlstax.network.paths.design import Ends
from tlstax.network.paths.opening import obtain_path, open_path
from tlstax.observers.machine import describe_machine
from tlstax.run.bench import Bench, Equipment, Needs, PrivateBench, Wanted, private_bench
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.stats.outcomes import outcomes
from tlstax.study.level_names import DIRECT, PATHS, PGBOUNCERS, UNIX_SOCKET
from tlstax.study.tls_levels import PROTECTION

NEEDS = Needs(rows=500, connections=2, seed=1, duration_s=0.1)
OF_MYSQL = tuple(path for path in PATHS if path not in PGBOUNCERS)
PROGRAMS = tuple(path for path in OF_MYSQL if path not in (DIRECT, UNIX_SOCKET))


def ends_of(bench: PrivateBench, session: Session) -> Ends:
    return Ends(session, bench.server.endpoint().port, bench.server.certificates)


@pytest.fixture(scope="module")
def bench(session: Session, mysql_build: ServerBuild) -> Iterator[PrivateBench]:
    """MySQL 9.7 behind every path."""
    wanted = Wanted(build=mysql_build)
    with (
        private_bench(session, wanted, Equipment(), describe_machine(), NEEDS, lambda _: None) as bench,
        ExitStack() as stack,
    ):
        running = {}
        for path in PROGRAMS:
            obtain_path(path, lambda _: None)
            running[path, False] = stack.enter_context(open_path(path, ends_of(bench, session)))
        yield replace(bench, paths=running)


@pytest.mark.parametrize("path", OF_MYSQL)
def test_a_path_carries_and_proves_that_it_was_in_the_way(bench: Bench, path: str) -> None:
    record = tried(bench, path)
    assert_valid(record)
    if path in (DIRECT, UNIX_SOCKET):
        assert record.path is None
        assert "path_cpu_us_per_op" not in outcomes(record)
        return
    seen, done = record.path, record.done
    assert seen is not None
    assert done is not None
    assert seen.connections == done.lifetime.connections > 0
    assert all(part.alive for part in seen.parts)
    assert (seen.protection or "").startswith(PROTECTION.get(path, ""))
    told = outcomes(record)
    sides = told["client_cpu_us_per_op"] + told["server_cpu_us_per_op"]
    assert told["path_cpu_us_per_op"] > 0
    assert told["all_cpu_us_per_op"] == pytest.approx(sides + told["path_cpu_us_per_op"])


@pytest.mark.parametrize("path", ["ssh-aes256-ctr", "stunnel", "haproxy", "router-passthrough"])
@pytest.mark.parametrize("connections", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_a_path_carries_many_connections_at_once(bench: Bench, path: str, connections: int) -> None:
    assert_valid(tried(bench, path, workload="point-select", connections=connections, duration_s=0.5))


@pytest.mark.parametrize("path", ["router-passthrough", "router-reencrypt"])
def test_a_router_carries_clients_that_speak_tls(bench: Bench, path: str) -> None:
    for workload in ("point-select", "reconnect"):
        assert_valid(tried(bench, path, tls="1.3", workload=workload))


@pytest.mark.parametrize(
    ("path", "part", "program"),
    [
        ("ssh-aes256-cbc", 0, "sshd of the path ssh-aes256-cbc, near the server"),
        pytest.param(
            "ssh-aes256-cbc", 1, "ssh of the path ssh-aes256-cbc, near the client", marks=pytest.mark.long
        ),
        pytest.param("stunnel", 0, "stunnel4 of the path stunnel, near the server", marks=pytest.mark.long),
        ("stunnel", 1, "stunnel4 of the path stunnel, near the client"),
        pytest.param("haproxy", 0, "haproxy of the path haproxy, near the client", marks=pytest.mark.long),
        ("haproxy-tls", 0, "haproxy of the path haproxy-tls, near the server"),
        ("router-terminate", 0, "mysqlrouter of the path router-terminate, near the server"),
    ],
)
def test_a_program_that_is_killed_in_mid_trial_makes_it_invalid_and_is_started_again(
    bench: Bench, path: str, part: int, program: str
) -> None:
    assert_valid(tried(bench, path))
    running = bench.paths[path, False]
    victim = running.observe().parts[part].pid
    killer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
    killer.start()
    record = tried(bench, path, duration_s=1.5, workload="point-select")
    killer.join()
    assert record.verdict.value == "invalid"
    expected = re.escape(f"{program}, ended mid-trial (ended by SIGKILL); ") + ".+"
    assert re.fullmatch(expected, record.verdict.reasons[0]), record.verdict.reasons
    assert not running.is_alive()
    said: list[str] = []
    assert bench.revived(record.failure, said.append).path_deaths == 1
    assert said == [f"the path {path} died in a trial, which is not counted; starting it again"]
    assert_valid(tried(bench, path))


@pytest.mark.long
def test_what_serves_one_ssh_connection_is_missed_too(bench: Bench) -> None:
    """sshd itself lives on when the process dies that carries the tunnel."""
    path = "ssh-aes128-gcm"
    running = bench.paths[path, False]
    daemon = psutil.Process(running.observe().parts[0].pid)
    (serving, *_) = daemon.children()
    killer = threading.Timer(0.7, serving.kill)
    killer.start()
    record = tried(bench, path, duration_s=1.5, workload="point-select")
    killer.join()
    assert record.verdict.reasons[0].startswith(
        "sshd of the path ssh-aes128-gcm, near the server, ended mid-trial"
    )
    assert bench.revived(record.failure, lambda _: None).path_deaths == 1
    assert_valid(tried(bench, path))


KILLED = """
import os, signal
from contextlib import ExitStack
from tlstax.run.bench import Equipment, Needs, Wanted, private_bench
from tlstax.observers.machine import describe_machine
from tlstax.network.paths.design import Ends
from tlstax.network.paths.opening import open_path
from tlstax.specimens.resolve import named_server
from tlstax.study.factors import CaseLevels
from tlstax.specimens.sessions import open_session

needs = Needs(rows=10, connections=2, seed=1, duration_s=0.1)
wanted = Wanted(build=named_server("mysql-9.7", lambda _: None))
with ExitStack() as stack:
    session = stack.enter_context(open_session())
    opening = private_bench(session, wanted, Equipment(), describe_machine(), needs, lambda _: None)
    bench = stack.enter_context(opening)
    server = bench.server
    ends = Ends(session, server.endpoint().port, server.certificates)
    for name in ("ssh-aes256-ctr", "stunnel", "haproxy-tls", "router-encrypt"):
        path = stack.enter_context(open_path(name, ends))
        print(*path.pids, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.usefixtures("bench")
def test_no_program_outlives_a_laboratory_that_is_killed() -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    pids = [int(pid) for pid in killed.stdout.split()]
    assert len(pids) >= 8
    deadline = time.monotonic() + 10
    while any(map(lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if lives(pid)] == []


def test_keys_are_for_this_user_alone_and_go_with_the_path(bench: PrivateBench, session: Session) -> None:
    before = set(session.path.iterdir())
    with open_path("ssh-aes256-ctr", ends_of(bench, session)):
        (directory,) = (path for path in set(session.path.iterdir()) - before if path.is_dir())
        assert [(directory / name).stat().st_mode & 0o777 for name in ("user", "host")] == [0o600, 0o600]
    assert not directory.exists()
