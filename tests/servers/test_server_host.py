"""`--server-host`: the CPU time of a server that is not ours, read where it runs, as it is read here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from second_host import PORT, sshd_at
from test_guest_run import PASSWORD, SMALL, as_owner, lent, url_of

from processes import name_of
from tlstax.network.distance.opening import Span, open_span
from tlstax.network.paths.opening import obtain_path
from tlstax.observers.process import CpuClock
from tlstax.records.trial import StoredRun
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.outcomes import outcome
from tlstax.store import Store


def of_second_machine(test: Callable[..., None]) -> Callable[..., None]:
    """A test that needs an sshd of its own, which only root can start."""
    return pytest.mark.long(pytest.mark.skipif(os.geteuid() != 0, reason="sshd needs root")(test))


WITHIN_S = 180.0
RUN = ("--workload", "reconnect", "--tls", "1.3", "--connections", "2", "--rows", "500", "--allow-plaintext")


@dataclass(frozen=True)
class Far:
    """A server on the second machine, the command that reaches it from the first, and the ssh to its host."""

    server: PrivateServer
    span: Span
    ssh: str
    temporary: Path

    @property
    def url(self) -> str:
        return f"mysql://ann@{self.span.far_address}:{self.server.endpoint().port}/lent"

    @property
    def host(self) -> str:
        return f"ssh://root@{self.span.far_address}:{PORT}"

    def command(self, data: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
        program = [*self.span.enter_near(), sys.executable, "-P", "-m", "tlstax"]
        environment = {
            **os.environ,
            "TLSTAX_DATA": str(data),
            "TLSTAX_PASSWORD": PASSWORD,
            "TLSTAX_SSH": self.ssh,
        }
        return [*program, *arguments], environment

    def run(self, data: Path, *arguments: str, ssh: str | None = None) -> subprocess.CompletedProcess[str]:
        command, environment = self.command(data, *arguments)
        if ssh is not None:
            environment["TLSTAX_SSH"] = ssh
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )


@pytest.fixture(scope="module")
def far(
    session: Session, mysql_build: ServerBuild, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Far]:
    kept = obtain_path("ssh-aes128-gcm", lambda _: None)
    with open_span(session, lambda _: None) as span:
        settings = ServerSettings(buffer_pool_bytes=SMALL, entering=span.enter_far())
        with PrivateServer.start(mysql_build, session, settings) as server:
            as_owner(
                server,
                "CREATE DATABASE lent",
                f"CREATE USER ann@'%' IDENTIFIED BY '{PASSWORD}'",
                "GRANT ALL ON lent.* TO ann@'%'",
            )
            folder = tmp_path_factory.mktemp("sshd")
            with sshd_at(span, Path(str(kept.path)), folder) as ssh:
                yield Far(server, span, ssh, folder / "tmp")


def only_run(data: Path) -> StoredRun:
    with Store.open(data / "store.sqlite") as store:
        (summary,) = store.runs()
        return store.load(summary.run)


@pytest.mark.long
def test_a_run_has_the_servers_cpu_time_in_slices(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    """What stands for ssh hands its command to a shell of this machine, where the server is."""
    here = "sh -c 'for last; do :; done; exec sh -c \"$last\"' ssh"
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        clock = CpuClock(server.pid)
        program = [sys.executable, "-P", "-m", "tlstax", "run", "--server", url_of(server)]
        before_us = clock.read_us()
        done = subprocess.run(
            [*program, "--server-host", "ssh://db.example", *RUN, "--budget", "4s"],
            env={
                **os.environ,
                "TLSTAX_DATA": str(tmp_path),
                "TLSTAX_PASSWORD": PASSWORD,
                "TLSTAX_SSH": here,
            },
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        used_us = clock.read_us() - before_us
    assert done.returncode == 0, done.stderr
    assert_costs(only_run(tmp_path), used_us)


def assert_costs(stored: StoredRun, used_us: float) -> None:
    """Slices have much of what the server used meanwhile and no more, and TLS costs it more."""
    slices = [record.slices for record in stored.measured if record.slices is not None]
    read_us = sum(sum(own.server_cpu_us) for own in slices)
    assert slices
    assert 0.3 * used_us < read_us <= used_us
    costs = {
        record.trial.case.levels.tls: outcome(record, "server_cpu_us_per_op") for record in stored.measured
    }
    assert costs["off"] is not None
    assert costs["1.3"] is not None
    assert costs["1.3"] > costs["off"]
    for record in stored.measured:
        assert (outcome(record, "server_rss_bytes") or 0) > SMALL
        assert (outcome(record, "server_context_switches_per_op") or 0) > 0


@of_second_machine
def test_the_servers_cpu_time_is_what_its_own_clock_says(far: Far, tmp_path: Path) -> None:
    clock = CpuClock(far.server.pid)
    before_us = clock.read_us()
    done = far.run(tmp_path, "run", "--server", far.url, "--server-host", far.host, *RUN, "--budget", "6s")
    used_us = clock.read_us() - before_us
    assert done.returncode == 0, done.stderr
    assert_costs(only_run(tmp_path), used_us)
    assert PASSWORD not in done.stdout + done.stderr


@of_second_machine
def test_a_host_without_the_server_is_one_sentence(far: Far, tmp_path: Path) -> None:
    """Here, outside the second machine, nobody has the server's end of the connection."""
    here = "sh -c 'for last; do :; done; exec sh -c \"$last\"' ssh"
    done = far.run(tmp_path, "run", "--server", far.url, "--server-host", far.host, *RUN, ssh=here)
    assert done.returncode == 3
    lines = [line for line in done.stderr.splitlines() if line.startswith("tlstax: ")]
    assert len(lines) == 1
    assert "has no connection from" in lines[0]
    assert things(far) == set()


@of_second_machine
def test_nothing_is_left_there_whatever_is_killed(far: Far, tmp_path: Path) -> None:
    before = processes(far)
    command, environment = far.command(
        tmp_path, "run", "--server", far.url, "--server-host", far.host, *RUN, "--budget", "60s"
    )
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as child:
        wait_for_watcher(far, before, child)
        child.send_signal(signal.SIGKILL)
    until = time.monotonic() + WITHIN_S
    while left := processes(far) - before:
        assert time.monotonic() < until, [name_of(pid) for pid in left]
        time.sleep(0.1)
    assert not list(far.temporary.iterdir())
    assert things(far), "it was killed before it had made anything"
    again = far.run(tmp_path, "run", "--server", far.url, *RUN, "--budget", "1s", "--over-budget")
    assert again.returncode == 0, again.stderr
    assert things(far) == set()


@of_second_machine
def test_a_watcher_that_is_killed_ends_the_run_in_order(far: Far, tmp_path: Path) -> None:
    before = processes(far)
    command, environment = far.command(
        tmp_path, "run", "--server", far.url, "--server-host", far.host, *RUN, "--budget", "60s"
    )
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as child:
        watcher = wait_for_watcher(far, before, child)
        os.kill(watcher, signal.SIGKILL)
        _, said = child.communicate(timeout=WITHIN_S)
    assert child.returncode == 3
    assert "was lost" in said
    assert "Traceback" not in said
    assert things(far) == set()


def things(far: Far) -> set[str]:
    rows = as_owner(
        far.server, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'lent'"
    )
    return {str(name) for (name,) in rows}


def processes(far: Far) -> set[int]:
    """Programs of ours on the two machines, and what ssh started."""
    names = {"ssh", "4", "sshd-session", "tlstax-watch"}
    asked = [*far.span.enter_near(), "readlink", "/proc/self/ns/net"]
    near = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    places = {near, network_of(far.server.pid)}
    named = (own.pid for own in psutil.process_iter(["name"]) if own.info["name"] in names)
    return {pid for pid in named if network_of(pid) in places}


def network_of(pid: int | None) -> str:
    """The network namespace that a process is in; empty once it has ended."""
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    return ""


def wait_for_watcher(far: Far, before: set[int], run: subprocess.Popen[Any]) -> int:
    until = time.monotonic() + WITHIN_S
    while True:
        assert run.poll() is None, run.communicate()
        for pid in processes(far) - before:
            if name_of(pid) not in {"", "ssh", "sshd-session"}:
                return pid
        assert time.monotonic() < until
        time.sleep(0.05)
