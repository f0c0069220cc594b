"""What this machine has no room for is one sentence, before anything is started."""

from __future__ import annotations

import resource
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from fake_trials import fake_run
from tlstax.cli.progress import ProgressLine
from tlstax.run import preparing
from tlstax.run.preparing import Request, check_room, needs_of, opened
from tlstax.run.trial import CONNECT_S, Gathered
from tlstax.study import configuration, load_study, override
from tlstax.support.errors import UserMistake

PLENTY = {
    "proc/sys/kernel/threads-max": "1000000",
    "proc/sys/kernel/pid_max": "4194304",
    "proc/sys/vm/max_map_count": "1000000",
    "proc/loadavg": "0.10 0.10 0.10 2/500 12345",
    "proc/self/cgroup": "0::/own\n",
    "sys/fs/cgroup/own/pids.max": "max",
    "sys/fs/cgroup/own/pids.current": "40",
    "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
    "proc/sys/net/ipv4/tcp_tw_reuse": "2",
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with room for tens of thousands of connections."""
    for name, text in PLENTY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1_000_000))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=64 << 30))
    return tmp_path


def refusal(root: Path, connections: int) -> str:
    with pytest.raises(UserMistake) as mistake:
        check_room(f"--hold {connections}", connections, 50, root=root)
    return mistake.value.sentence()


def test_where_there_is_room_nothing_is_said(machine: Path) -> None:
    check_room("--hold 50000", 50_000, 50, root=machine)


def test_what_is_not_reported_limits_nothing(machine: Path) -> None:
    check_room("--hold 50000", 50_000, 50, root=machine / "elsewhere")


def test_too_many_files(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    check_room("--hold 3000", 3000, 50, root=machine)
    assert refusal(machine, 10_000) == (
        "--hold 10000 needs a server that accepts 10050 connections, and the limit of open files allows "
        "3286 here; ask for fewer, or raise the limit (ulimit -Hn)"
    )


@pytest.mark.parametrize(
    ("name", "text", "allowed", "words"),
    [
        # 32,768 less the 500 that there are and 200 besides.
        ("proc/sys/kernel/pid_max", "32768", 32068, "kernel.pid_max"),
        ("proc/sys/kernel/threads-max", "10700", 10000, "kernel.threads-max"),
        # Two areas for each, less 200.
        ("proc/sys/vm/max_map_count", "20400", 10000, "vm.max_map_count"),
        # 40 are there, 200 come besides.
        ("sys/fs/cgroup/own/pids.max", "1240", 1000, "pids.max"),
    ],
)
def test_too_many_threads(machine: Path, name: str, text: str, allowed: int, words: str) -> None:
    (machine / name).write_text(text)
    check_room("--hold", allowed - 50, 50, root=machine)
    sentence = refusal(machine, allowed - 49)
    assert words in sentence
    assert f"allows {allowed} here; ask for fewer, or" in sentence
    check_room("--hold", allowed - 49, 50, pooled=True, root=machine)


def test_a_process_has_files_and_memory_areas_of_its_own(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "proc/sys/vm/max_map_count").write_text("20400")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    check_room("--hold", 30_000, 50, product="postgresql", root=machine)
    (machine / "proc/sys/kernel/pid_max").write_text("10700")
    with pytest.raises(UserMistake, match=r"kernel\.pid_max\) allows 10000 here"):
        check_room("--hold", 9_951, 50, product="postgresql", root=machine)


def test_a_process_needs_more_memory_than_a_thread(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=100 << 20))
    check_room("--hold", 1000, 50, root=machine)
    with pytest.raises(UserMistake, match="the memory that is free allows 100 here"):
        check_room("--hold", 1000, 50, product="postgresql", root=machine)


def test_postgresql_has_a_largest_number_of_connections(machine: Path) -> None:
    with pytest.raises(UserMistake, match="PostgreSQL's largest max_connections allows 262143 here"):
        check_room("--hold", 262_100, 50, product="postgresql", root=machine)


def test_a_run_is_refused_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(*_: object, **__: object) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(preparing, "obtain", fetched)
    study = override(load_study("memory"), "connections", ["100", "1000000000"])
    request = Request(study=study, seed=1)
    with (
        pytest.raises(UserMistake, match="1000000000 connections at once needs a server that accepts"),
        opened(request, needs_of(request), ProgressLine(quiet=True)),
    ):
        pass


@pytest.mark.parametrize("written", ["thread_handling=pool-of-threads", "thread-handling=pool-of-threads"])
def test_a_pool_is_known_by_its_option(written: str) -> None:
    assert configuration.has_thread_pool(written)
    assert configuration.has_thread_pool(f"performance_schema=ON {written}")
    for other in ("default", "thread_handling=one-thread-per-connection", "performance_schema=ON"):
        assert not configuration.has_thread_pool(other)


def test_many_connections_are_waited_for_longer() -> None:
    """Two thousand threads of a busy server take longer to begin than eight."""
    record = fake_run(number_of_blocks=1).trials[0]
    assert record.job is not None
    waited_s = []
    for connections in (8, 2008):
        client = SimpleNamespace(
            wait_ready=waited_s.append, mapped_tls_libraries=lambda: (), watched_pid=None
        )
        job = record.job.model_copy(update={"connections": connections})
        Gathered(record.trial, job).wait_ready(client)  # type: ignore[arg-type]
    assert waited_s[1] - waited_s[0] == pytest.approx(2000 * CONNECT_S)


def test_too_few_ports_or_too_little_memory(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=32 << 20))
    assert "the memory that is free allows 1024 here" in refusal(machine, 1000)
    (machine / "proc/sys/net/ipv4/ip_local_port_range").write_text("50000 50099")
    assert "net.ipv4.ip_local_port_range" in refusal(machine, 1000)
    assert "allows 800 here" in refusal(machine, 1000)
