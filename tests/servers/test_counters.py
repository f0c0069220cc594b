"""Counting real processes: what happens between two readings, in all threads, whenever they were started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from load_jobs import ROWS, WITHIN_S, job, measured

from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.contract import Done
from tlstax.mysql import status
from tlstax.observers import process
from tlstax.observers.countable import usable_events
from tlstax.observers.counters import SOFTWARE_EVENTS, TASK_CLOCK, Counters, Event, counted
from tlstax.observers.machine import describe_machine
from tlstax.observers.window import Side, Watch, Watched
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Window
from tlstax.run.bench import Bench, Equipment
from tlstax.run.trial import run_trial
from tlstax.specimens import processes
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.study import Case
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification

# Software events go by the same way as hardware counters, and almost every machine has them.
PAGE_FAULTS, SWITCHES, _ = SOFTWARE_EVENTS

TOUCHER = """
import mmap, sys, threading
def touch(pages):
    memory = mmap.mmap(-1, 4096 * max(1, pages))
    for page in range(pages):
        memory[page * 4096] = 1
for line in sys.stdin:
    for pages in (0, int(line)):
        thread = threading.Thread(target=touch, args=(pages,))
        thread.start()
        thread.join()
    print("done", flush=True)
"""


@pytest.fixture(autouse=True)
def _may_count() -> None:
    if not set(SOFTWARE_EVENTS) <= set(usable_events().events):
        pytest.skip("the kernel does not let this user count")


@dataclass
class Toucher:
    """A process that touches N new pages when it is told to, in a thread of its own."""

    process: subprocess.Popen[str]

    def touch(self, pages: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{pages}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def toucher() -> Iterator[Toucher]:
    with subprocess.Popen(
        [sys.executable, "-c", TOUCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        yield Toucher(child)
        child.kill()


def touched(toucher: Toucher, counters: Counters, pages: int) -> int:
    before = counters.read()
    toucher.touch(pages)
    return counted(before, counters.read())[PAGE_FAULTS.name]


def test_what_happens_in_between_is_counted_and_nothing_else(toucher: Toucher) -> None:
    with Counters([PAGE_FAULTS]) as counters:
        counters.open_before_exec(toucher.process.pid)
        toucher.touch(5_000)
        # A new thread touches some pages of its own.
        assert 2_000 <= touched(toucher, counters, 2_000) < 2_300
        assert touched(toucher, counters, 0) < 300


def test_a_process_that_runs_already_is_counted_from_then_on(toucher: Toucher) -> None:
    toucher.touch(500)
    with Counters([PAGE_FAULTS]) as counters:
        counters.attach(toucher.process.pid)
        assert 2_000 <= touched(toucher, counters, 2_000) < 2_300


def test_a_process_that_is_not_there_is_not_counted(toucher: Toucher) -> None:
    toucher.process.kill()
    toucher.process.wait()
    for counters in (Counters(SOFTWARE_EVENTS), Counters(SOFTWARE_EVENTS)):
        with counters:
            counters.open_before_exec(toucher.process.pid)
            assert counters.read() == {}
            counters.attach(toucher.process.pid)
            assert counters.read() == {}


def open_descriptors() -> set[str]:
    return {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}


def test_descriptors_are_closed_at_the_end_and_by_exec(toucher: Toucher) -> None:
    with Counters(SOFTWARE_EVENTS) as counters:
        counters.open_before_exec(toucher.process.pid)
        assert "anon_inode:[perf_event]" in open_descriptors()
        heirs = subprocess.run(
            ["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, check=True, close_fds=False
        )
        assert "perf_event" not in heirs.stdout
    assert "anon_inode:[perf_event]" not in open_descriptors()


def test_what_is_executed_behind_the_gate_is_counted(tmp_path: Path) -> None:
    launch = processes.Launch(
        [sys.executable, "-c", "sum(range(10**7))"], tmp_path / "log", {"PATH": os.defpath}
    )
    with Counters([TASK_CLOCK]) as counters:
        child = processes.start(launch, counters.open_before_exec)
        child.wait()
        assert counters.read()[TASK_CLOCK.name].times > 20_000_000


@dataclass
class Counted:
    """A server whose counters were opened before it was executed."""

    server: PrivateServer
    counters: Counters


@pytest.fixture(scope="module")
def mysql_counted(session: Session, mysql_build: ServerBuild) -> Iterator[Counted]:
    with Counters([*SOFTWARE_EVENTS, TASK_CLOCK]) as counters:
        settings = ServerSettings(before_exec=counters.open_before_exec)
        with PrivateServer.start(mysql_build, session, settings) as server:
            server.prepare_table(TableContent(rows=ROWS, seed=1))
            yield Counted(server, counters)


def watched(mysql: Counted, workload: str, connections: int) -> tuple[Done, Window]:
    """A window of this work, and what was seen of it."""
    admin, todo = mysql.server.admin(), job(mysql.server, workload, connections=connections)
    kept = 0 if workload == "reconnect" else connections
    expected = status.read_status(admin)["Threads_connected"] + kept
    with (
        Counters(SOFTWARE_EVENTS) as counters,
        LoadClient(engine_command(), todo, counters.open_before_exec) as client,
    ):
        client.wait_ready(WITHIN_S)
        sides = Side(client.pid, counters), Side(mysql.server.pid, mysql.counters)
        everything = Watched(*sides, lambda: status.read_settled_status(admin, expected), machine=True)
        with Watch(everything) as watch:
            watch.begin()
            client.go()
            done = client.wait_done(WITHIN_S)
            window = watch.end()
    admin.close()
    return done, window


def test_threads_that_a_server_started_after_its_exec_are_counted(mysql_counted: Counted) -> None:
    done, window = watched(mysql_counted, "point-select", 8)
    assert window.server is not None
    assert window.client is not None
    # Each of the eight connections has a thread, which waits for its next query again and again.
    assert window.server.counters[SWITCHES.name] > done.operations / 10
    assert window.client.counters[SWITCHES.name] > 0


def test_perf_and_the_cpu_clock_agree_on_a_server_at_work(mysql_counted: Counted) -> None:
    """One long calculation: switching threads is work that the clock has, and the counter has not.

    The clock is read before and after each reading of the counters: others may run between any two readings.
    Time that the host took away is booked by a tick of the clock when it has passed, and taken off one of the
    two alone until then.
    """
    server, admin = mysql_counted.server, mysql_counted.server.admin()
    assert server.pid is not None
    before, counts, begun = (
        process.read_cpu(server.pid),
        mysql_counted.counters.read(),
        process.read_cpu(server.pid),
    )
    admin.rows("SELECT BENCHMARK(6000000, SHA2('tlstax', 512))")
    time.sleep(0.1)
    ended = process.read_cpu(server.pid)
    by_perf_us = counted(counts, mysql_counted.counters.read())[TASK_CLOCK.name] / 1e3
    least, most = process.cpu_between(begun, ended), process.cpu_between(before, process.read_cpu(server.pid))
    admin.close()
    assert least is not None
    assert most is not None
    assert least.total_us > 100_000
    tick_us = 1e6 / os.sysconf("SC_CLK_TCK")
    assert 0.97 * least.total_us - tick_us <= by_perf_us <= 1.03 * most.total_us + tick_us


@pytest.mark.parametrize("workload", ["point-select", "reconnect"])
def test_a_windows_status_is_exactly_what_was_done(mysql_counted: Counted, workload: str) -> None:
    done, window = watched(mysql_counted, workload, 4)
    assert done.errors == ()
    assert window.status_delta["Com_select"] == done.operations
    assert window.status_delta.get("Connections", 0) == (done.operations if workload == "reconnect" else 0)
    assert window.wire is not None
    assert window.wire.tcp_segments_sent >= done.operations


def test_a_client_that_was_never_let_through_its_gate_is_not_left_behind(mysql_counted: Counted) -> None:
    waiting: list[int] = []

    def interrupted(pid: int) -> None:
        waiting.append(pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LoadClient(engine_command(), job(mysql_counted.server), interrupted)
    assert not Path(f"/proc/{waiting[0]}").exists()


def test_a_server_that_is_started_again_has_new_counters(session: Session, mysql_build: ServerBuild) -> None:
    with Counters([SWITCHES]) as counters:
        settings = ServerSettings(before_exec=counters.open_before_exec)
        with PrivateServer.start(mysql_build, session, settings) as server:
            assert server.pid is not None
            os.kill(server.pid, 9)
            while server.is_alive():
                pass
            dead = counters.read()[SWITCHES.name].times
            assert counters.read()[SWITCHES.name].times == dead
            server.restart()
            server.prepare_table(TableContent(rows=ROWS, seed=1))
            before = counters.read()
            measured(job(server))
            assert counted(before, counters.read())[SWITCHES.name] > 0


def trial(mysql: Counted, observers: str, events: tuple[Event, ...]) -> TrialRecord:
    """A trial of the study of observers, as a run would have it."""
    server = mysql.server
    terms = JobTerms(
        endpoint=server.endpoint(),
        account=server.load_account,
        tables=dict(server.tables),
        rows=ROWS,
        verification=Verification(verify="none"),
        client_cpus=(),
        duration_s=0.2,
        seed=1,
    )
    bench = Bench(
        server=server,
        terms=terms,
        machine=describe_machine(),
        admin=server.admin(),
        equipment=Equipment(counted_events=events),
        counters=mysql.counters,
    )
    levels = {"tls": "off", "workload": "reconnect", "connections": 4, "observers": observers}
    todo = job_for(CaseLevels.of(levels), terms, sequence=0)
    found = run_trial(Trial(block=0, position=0, case=Case(levels=levels, role="baseline")), todo, bench)
    bench.admin.close()
    return found


def test_a_trial_has_its_window_and_one_without_observers_only_what_results_need(
    mysql_counted: Counted,
) -> None:
    full = trial(mysql_counted, "all", SOFTWARE_EVENTS)
    assert full.verdict.value == "valid", full.verdict.reasons
    assert full.window is not None
    assert full.window.server is not None
    assert full.window.client is not None
    for use in (full.window.server, full.window.client):
        assert use.counters.keys() >= {event.name for event in SOFTWARE_EVENTS}
        assert use.counters["context_switches"] > 0
    assert full.window.cpus
    assert full.window.wire is not None
    assert full.done is not None
    assert full.window.status_delta["Com_select"] == full.done.operations
    bare = trial(mysql_counted, "none", SOFTWARE_EVENTS)
    assert bare.verdict.value == "valid", bare.verdict.reasons
    assert bare.window is not None
    assert (bare.window.cpus, bare.window.wire, bare.window.status_delta) == ((), None, {})
    for use in (bare.window.server, bare.window.client):
        assert use is not None
        assert use.counters == {}
        assert use.cpu_total_us is not None
    assert bare.server is not None
    assert bare.server.cpu is not None
    assert bare.server.rss_bytes
