"""A study of several servers as a user meets it: paused ones, proof of each, cut off and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from command_line import WITHIN_S, Home, all_gone, wait_until

from processes import command_of, family
from tlstax.observers.process import read_cpu
from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord

STUDY = """
name = "pairs"
title = "Two servers over two libraries"
question = "Does it work?"
baseline = { tls = "off" }
budget_s = 60
precision = 0.95
minimum_blocks = 3
rows = 500

[factors]
server = ["mysql-9.7", "mariadb-11.8"]
tls_library = ["openssl-3.5-debian", "openssl-3.6-debian"]
tls = ["off", "1.3"]
workload = ["reconnect"]
connections = [2]
"""
"""It ends when it has three blocks or so: as a budget would end it, but on a slow machine no sooner."""

SERVERS = 4


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, mysql_build: object, mariadb_build: object) -> Home:
    assert mysql_build
    assert mariadb_build
    return Home(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def study(home: Home) -> str:
    home.data.mkdir(exist_ok=True)
    path = home.data / "pairs.toml"
    path.write_text(STUDY, encoding="utf-8")
    return str(path)


def servers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    names = ("/usr/sbin/mysqld", "/usr/sbin/mariadbd")
    return [child for child in family(process.pid) if any(part.endswith(names) for part in command_of(child))]


def goes_on(home: Home, process: subprocess.Popen[str], trials: int) -> None:
    """Wait until the run has N trials on disk."""
    wait_until(lambda: home.trials() >= trials or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def is_stopped(server: psutil.Process) -> bool:
    """Whether all its threads have stopped: on a busy machine some learn of the signal later than others."""
    try:
        stats = [(task / "stat").read_text() for task in Path(f"/proc/{server.pid}/task").iterdir()]
    except OSError:  # a thread has ended meanwhile, as none does that is stopped
        return False
    return {stat.rpartition(")")[2].split()[0] for stat in stats} == {"T"}


def assert_paused_ones_rest(servers: list[psutil.Process]) -> None:
    """One at a time runs, and the CPU clock of one that was paused all the while stands still.

    While one is paused and the next resumed two may be seen: on a busy machine a thread stops in its turn.
    """
    rested, rounds, alone = 0, 0, 0
    deadline = time.monotonic() + WITHIN_S
    while rested <= 60:
        assert time.monotonic() < deadline, "they are never seen at rest"
        before = [(is_stopped(server), read_cpu(server.pid), time.monotonic()) for server in servers]
        time.sleep(0.01)
        after = [(is_stopped(server), read_cpu(server.pid), time.monotonic()) for server in servers]
        awake = 0
        for (was, clock, at), (now, clock_now, at_now) in zip(before, after, strict=True):
            if was and now and at_now - at < 0.1:
                assert clock == clock_now
                rested += 1
            awake += not was and not now
        rounds += 1
        alone += awake <= 1
    assert alone > 0.75 * rounds


def assert_proved(record: TrialRecord) -> None:
    """The server that answered, and the library mapped into it, are those of the case."""
    assert record.verdict.value == "valid", record.verdict.reasons
    levels, claim, seen = record.trial.case.levels, record.claim, record.server
    assert claim is not None
    assert seen is not None
    assert (claim.name, claim.pid) == (levels["server"], seen.answering_pid)
    assert claim.tls_library is not None
    assert claim.tls_library.name == levels["tls_library"]
    wanted = {"openssl-3.5-debian": "OpenSSL 3.5.", "openssl-3.6-debian": "OpenSSL 3.6."}
    assert str(seen.tls_library_version).startswith(wanted[str(levels["tls_library"])])
    mapped = {library.sha256 for library in seen.mapped_tls_libraries}
    assert mapped == {claim.tls_library.libssl_sha256, claim.tls_library.libcrypto_sha256}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_study_of_four_servers_is_killed_and_interrupted_and_resumed_to_its_end(
    home: Home, study: str
) -> None:
    killed = home.start("study", "run", study, "--seed", "3")
    goes_on(home, killed, 3)
    children, servers = family(killed.pid), servers_of(killed)
    assert len(servers) == SERVERS
    assert_paused_ones_rest(servers)
    kept = home.trials()
    killed.kill()
    killed.communicate(timeout=WITHIN_S)
    wait_until(lambda: all_gone(children))

    interrupted = home.start("study", "run", study, "--resume")
    goes_on(home, interrupted, kept + 3)
    children = family(interrupted.pid)
    interrupted.send_signal(signal.SIGINT)
    out, err = interrupted.communicate(timeout=WITHIN_S)
    assert interrupted.returncode == 130, err
    assert "interrupted" in out
    assert all_gone(children)

    ended = home.run("study", "run", study, "--resume", "--json")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document["seed"] == 3
    assert any("resumed 2 times" in caveat for caveat in document["caveats"])
    with home.store() as store:
        assert len(store.runs()) == 1
        stored = store.load("last")
    per_block = len(cases(stored.header.study))
    assert per_block == SERVERS * 3
    places = Counter((record.trial.block, record.trial.position) for record in stored.trials)
    blocks = max(block for block, _ in places) + 1
    assert places == Counter((block, place) for block in range(blocks) for place in range(per_block))
    for record in stored.trials:
        assert_proved(record)
    jobs = [record.job.seed for record in stored.trials if record.job is not None]
    assert len(set(jobs)) == len(jobs)

    again = home.run("study", "run", study, "--resume")
    assert again.returncode == 2
    assert "nothing is left to do" in again.stderr


@pytest.mark.long
def test_a_run_is_not_resumed_as_something_else(home: Home, study: str, tmp_path: Path) -> None:
    process = home.start("study", "run", study, "--set", "server=mariadb-11.8")
    before = home.trials()
    wait_until(lambda: process.poll() is not None or home.trials() not in {0, before})
    process.kill()
    process.communicate(timeout=WITHIN_S)
    other = home.run("study", "run", study, "--resume", "--set", "connections=4")
    assert other.returncode == 2
    assert "the study is not what run" in other.stderr
    assert "factors changed since" in other.stderr
    edited = tmp_path / "pairs.toml"
    edited.write_text(STUDY.replace("rows = 500", "rows = 600"), encoding="utf-8")
    changed = home.run("study", "run", str(edited), "--resume")
    assert changed.returncode == 2
    assert "rows changed since" in changed.stderr


def test_a_version_that_a_server_has_not_is_said_before_the_first_trial(home: Home) -> None:
    before = home.trials()
    asked = home.run("run", "--server", "mariadb-11.8", "--tls", "1.1", "--rows", "100", "--budget", "3s")
    assert asked.returncode == 2
    assert "mariadb-11.8 has no TLS 1.1 (it has TLS 1.3, TLS 1.2)" in asked.stderr
    assert home.trials() == before
