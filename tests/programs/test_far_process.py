"""A process on another machine: what is sent there runs, reads the right clock, and leaves nothing.

The other machine is this one: what stands for ssh hands its command to a shell here.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from processes import family, runs
from tlstax.clients.engine import built_beside
from tlstax.observers import far_process
from tlstax.observers.counters import HARDWARE_EVENTS
from tlstax.observers.far_process import ConnectionEnds, FarClock, FarProcess, SshHost, parsed
from tlstax.observers.process import CpuClock, cpu_between, threads_between
from tlstax.observers.window import FarSide, Side
from tlstax.support.errors import MachineFault, UserMistake

WITHIN_S = 20.0
HOST = SshHost("db.example")


@pytest.fixture
def no_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files "there"; what stands for ssh writes down how it was called."""
    there = tmp_path / "there"
    there.mkdir()
    program = tmp_path / "ssh"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\nfor last; do :; done\n'
        f'TMPDIR={there} exec sh -c "$last"\n'
    )
    program.chmod(0o700)
    monkeypatch.setenv("TLSTAX_SSH", str(program))
    return there


@contextmanager
def connection() -> Iterator[ConnectionEnds]:
    """A connection to a server that is this process itself."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = int(listener.getsockname()[1])
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        server, _ = listener.accept()
        stack.enter_context(server)
        yield ConnectionEnds(f"127.0.0.1:{client.getsockname()[1]}", port)


def watched(ends: ConnectionEnds, host: SshHost = HOST) -> FarProcess:
    return FarProcess(host, built_beside("tlstax-watch"), ends)


def programs() -> list[psutil.Process]:
    return [child for child in family() if runs(child)]


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_it_finds_the_process_and_reads_its_clock_as_it_is_read_here(no_ssh: Path) -> None:
    here = CpuClock(os.getpid())
    with connection() as ends, watched(ends) as process:
        assert process.pid == os.getpid()
        assert process.processors >= 1
        clock = FarClock(process)
        before_us, far_us, after_us = here.read_us(), clock.read_us(), here.read_us()
        assert before_us <= far_us <= after_us
        assert clock.read_settled(comes_and_goes=False)[0] >= far_us
        assert abs(process.rss_bytes() - psutil.Process().memory_info().rss) < 64 * 1024 * 1024
        assert list(no_ssh.iterdir()) == [], "the program has no name there, even while it runs"
    assert programs() == []


@pytest.mark.usefixtures("no_ssh")
def test_what_it_has_used_is_what_is_read_here() -> None:
    here = Side(os.getpid())
    with connection() as ends, watched(ends) as process:
        there = FarSide(None, far=process)
        before, far_before = here.read_cpu(), there.read_cpu()
        threads, far_threads = here.read_threads(), there.read_threads()
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
        far_use, used = cpu_between(far_before, there.read_cpu()), cpu_between(before, here.read_cpu())
        far_counts = threads_between(far_threads, there.read_threads())
        counts = threads_between(threads, here.read_threads())
        assert far_use is not None
        assert used is not None
        # Read within what is read here, so it is less; both have the work between.
        assert 50_000 <= far_use.total_us <= used.total_us
        assert 0 < far_counts["context_switches"] <= counts["context_switches"]
        assert 0 <= far_counts["page_faults"] <= counts["page_faults"]
        assert there.read_rss_bytes() is not None
        assert set(there.read_counters()) <= {event.name for event in HARDWARE_EVENTS}


def test_an_answer_of_another_form_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    size = built_beside("tlstax-watch").stat().st_size
    talk = f"echo watching 7 2 mysqld; head -c {size} >/dev/null; read line; echo clock=1; cat >/dev/null"
    monkeypatch.setenv("TLSTAX_SSH", f"sh -c '{talk}'")
    with (
        watched(ConnectionEnds("127.0.0.1:1", 1)) as process,
        pytest.raises(MachineFault, match="where what the server used was asked for"),
    ):
        process.use()


@pytest.mark.parametrize("number", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "-1", ""], ids=ascii)
def test_an_answer_that_is_no_number_is_one_sentence(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    size = built_beside("tlstax-watch").stat().st_size
    talk = f"echo watching 7 2 mysqld; head -c {size} >/dev/null; read line; echo {number}; cat >/dev/null"
    monkeypatch.setenv("TLSTAX_SSH", f"sh -c '{talk}'")
    with (
        watched(ConnectionEnds("127.0.0.1:1", 1)) as process,
        pytest.raises(MachineFault, match="where a number was asked for") as raised,
    ):
        FarClock(process).read_us()
    assert len(raised.value.sentence()) < 200


@pytest.mark.parametrize("pid", ["\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_an_introduction_without_numbers_is_not_ours(monkeypatch: pytest.MonkeyPatch, pid: str) -> None:
    monkeypatch.setenv("TLSTAX_SSH", f"sh -c 'echo watching {pid} 2 mysqld; cat >/dev/null'")
    with pytest.raises(MachineFault, match="is not tlstax's own program"):
        watched(ConnectionEnds("127.0.0.1:1", 1))


def test_an_answer_without_an_end_is_not_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_process, "LONGEST_ANSWER_BYTES", 1 << 16)
    size = built_beside("tlstax-watch").stat().st_size
    monkeypatch.setenv("TLSTAX_SSH", f"sh -c 'head -c {size} >/dev/null; exec cat /dev/zero'")
    with pytest.raises(MachineFault, match="and more without an end"):
        watched(ConnectionEnds("127.0.0.1:1", 1))


def test_the_port_goes_to_ssh(no_ssh: Path) -> None:
    with connection() as ends, watched(ends, SshHost("ann@db.example", 2222)):
        called = (no_ssh.parent / "called").read_text().splitlines()
    assert called[:4] == ["-T", "-p", "2222", "ann@db.example"]
    assert not any("tlstax" in word for word in called[4:] if "mktemp" not in word)


def test_where_the_connection_is_not_there_it_says_so_and_leaves_nothing(no_ssh: Path) -> None:
    with pytest.raises(MachineFault, match=r"no connection from 127\.0\.0\.1:1 to its port 1"):
        watched(ConnectionEnds("127.0.0.1:1", 1))
    assert list(no_ssh.iterdir()) == []
    assert programs() == []


def test_ssh_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_SSH", "false")
    with pytest.raises(MachineFault, match=r"connection to ssh://db\.example was lost"):
        watched(ConnectionEnds("127.0.0.1:1", 1))
    monkeypatch.setenv("TLSTAX_SSH", "/nowhere/ssh")
    with pytest.raises(MachineFault, match="/nowhere/ssh cannot be started"):
        watched(ConnectionEnds("127.0.0.1:1", 1))
    monkeypatch.setenv("TLSTAX_SSH", "sh -c 'echo hello; cat > /dev/null'")
    with pytest.raises(MachineFault, match="not tlstax's own program"):
        watched(ConnectionEnds("127.0.0.1:1", 1))


def test_who_reads_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_process, "START_TIMEOUT_S", 0.5)
    monkeypatch.setattr(far_process, "ANSWER_TIMEOUT_S", 0.5)
    monkeypatch.setenv("TLSTAX_SSH", "sh -c 'exec sleep 60'")
    with pytest.raises(MachineFault, match=r"took nothing for 0\.5 s"):
        watched(ConnectionEnds("127.0.0.1:1", 1))
    assert programs() == []


@pytest.mark.usefixtures("no_ssh")
def test_kill_9_there_is_noticed() -> None:
    with connection() as ends, watched(ends) as process:
        (program,) = programs()
        program.send_signal(signal.SIGKILL)
        wait_for(lambda: not program.is_running() or program.status() == psutil.STATUS_ZOMBIE)
        with pytest.raises(MachineFault, match="was lost"):
            process.cpu_us()


@pytest.mark.usefixtures("no_ssh")
def test_kill_9_here_ends_the_program_there() -> None:
    reading, writing = os.pipe()
    with connection() as ends:
        child = os.fork()
        if child == 0:
            watched(ends)
            os.write(writing, b"ready")
            signal.pause()
        assert os.read(reading, 5) == b"ready"
        before = psutil.Process(child).children(recursive=True)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        wait_for(lambda: not any(program.is_running() for program in before))
        assert before
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("ssh://db.example", SshHost("db.example")),
        ("ssh://ann@db.example:22/", SshHost("ann@db.example", 22)),
        ("ssh://10.0.0.1", SshHost("10.0.0.1")),
    ],
)
def test_a_host_is_named_as_ssh_takes_it(text: str, host: SshHost) -> None:
    assert parsed(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "db.example",
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://a@-b",
        "ssh://a:0",
        "ssh://a:70000",
        "ssh://a b",
    ],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="--server-host"):
        parsed(text)
