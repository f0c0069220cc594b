"""`tlstax run` on private PostgreSQL servers as a user meets it: proved, interrupted, killed, refused."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import WITHIN_S, Home, all_gone, long_run, wait_until

from processes import command_of, family
from tlstax.records.trial import TrialRecord

QUICK = ("--rows", "500", "--connections", "2", "--over-budget")
LONG = ("--server", "postgresql-18", "--rows", "500", "--budget", "10m", "--precision", "0.1%")
VERSIONS = ("postgresql-17", "postgresql-18")
SEGMENTS = Path("/proc/sysvipc/shm")


@pytest.fixture
def home(tmp_path: Path, postgresql_build: object) -> Home:
    assert postgresql_build
    return Home(tmp_path / "data")


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Home, dict[str, Any], tuple[TrialRecord, ...]]:
    """One short run at two versions, captured, its document and its trials."""
    home = Home(tmp_path_factory.mktemp("measured"))
    levels = ("--tls", "off,1.3,1.3-direct", "--workload", "reconnect")
    servers = ("--server", ",".join(VERSIONS))
    result = home.run("run", *servers, *levels, *QUICK, "--budget", "2s", "--capture", "--json")
    assert result.returncode == 0, result.stderr
    with home.store() as store:
        return home, json.loads(result.stdout), store.load("last").trials


def test_every_trial_at_two_versions_is_proved(
    measured: tuple[Home, dict[str, Any], tuple[TrialRecord, ...]],
) -> None:
    _, document, trials = measured
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in trials} == {("valid", ())}
    tried = {(trial.trial.case.levels.server, trial.trial.case.levels.tls) for trial in trials}
    assert tried == {(server, tls) for server in VERSIONS for tls in ("off", "1.3", "1.3-direct")}
    for finding in document["findings"]:
        version = "plaintext" if finding["case"]["tls"] == "off" else "TLSv1.3 TLS_"
        assert finding["negotiated"].startswith(version)
    names = {specimen["name"] for specimen in document["specimens"] if specimen["kind"] == "server"}
    assert names == set(VERSIONS)


def test_what_the_server_says_of_a_session_is_what_the_client_negotiated(
    measured: tuple[Home, dict[str, Any], tuple[TrialRecord, ...]],
) -> None:
    for trial in measured[2]:
        assert trial.ready is not None
        (both,) = trial.ready.negotiated
        said = [(view.version, view.cipher) for view in (both.client, both.server) if view is not None]
        if trial.trial.case.levels.is_encrypted:
            assert said[0] == said[1]
            assert said[0][0] == "TLSv1.3"
        else:
            assert said == []


@pytest.mark.parametrize("server", VERSIONS)
def test_direct_tls_saves_the_round_trip_of_the_question(
    measured: tuple[Home, dict[str, Any], tuple[TrialRecord, ...]], server: str
) -> None:
    trips = {
        row["case"]["tls"]: row["value"]
        for row in measured[1]["topics"]["round_trips"]["rows"]
        if row["outcome"] == "connect: round trips" and row["case"]["server"] == server
    }
    assert trips["1.3"] - trips["1.3-direct"] == pytest.approx(1)


def test_a_capture_shows_what_crossed_the_wire(
    measured: tuple[Home, dict[str, Any], tuple[TrialRecord, ...]],
) -> None:
    captured = [trial for trial in measured[2] if trial.trial.captured]
    assert {trial.trial.case.levels.tls for trial in captured} == {"off", "1.3", "1.3-direct"}
    assert all(trial.capture is not None and trial.capture.connections for trial in captured)


def test_the_report_says_it_in_words(measured: tuple[Home, dict[str, Any], tuple[TrialRecord, ...]]) -> None:
    home, document, _ = measured
    shown = home.run("report", document["run"])
    assert shown.returncode == 0
    for words in ("TLS 1.3 direct", *VERSIONS, "negotiated: TLSv1.3", "trials valid"):
        assert words in shown.stdout


def test_every_way_of_proving_an_account_is_proved(home: Home) -> None:
    accounts = ("--set", "connections=2", "--blocks", "1")
    result = home.run("study", "run", "postgres-connect", *accounts, "--json")
    assert result.returncode == 0, result.stderr
    with home.store() as store:
        trials = store.load("last").trials
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in trials} == {("valid", ())}
    tried = {(trial.trial.case.levels.auth, trial.trial.case.levels.tls) for trial in trials}
    assert {auth for auth, _ in tried} == {
        "trust",
        "md5",
        "scram-sha-256",
        "scram-sha-256-plus",
        "default",
        "cert",
    }
    assert {auth for auth, tls in tried if tls == "off"} == {"trust", "md5", "scram-sha-256", "default"}
    names = {
        (trial.trial.case.levels.auth, seen.server.client_name, seen.server.cipher_bits)
        for trial in trials
        if trial.ready is not None
        for seen in trial.ready.negotiated
        if seen.server is not None
    }
    shown = {name for auth, name, _ in names if auth == "cert"}
    assert shown == {"/CN=tlstax private client"}
    assert {name for auth, name, _ in names if auth != "cert"} == {None}
    assert {bits for _, _, bits in names} <= {128, 256}


@pytest.mark.long
def test_pgbench_is_measured_beside_the_engine(home: Home) -> None:
    clients = ("--client", "engine,pgbench", "--workload", "reconnect", "--tls", "off,1.3")
    result = home.run("run", "--server", "postgresql-18", *clients, *QUICK, "--budget", "4s", "--json")
    assert result.returncode == 0, result.stderr
    with home.store() as store:
        trials = store.load("last").trials
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in trials} == {("valid", ())}
    assert {trial.trial.case.levels.client for trial in trials} == {"engine", "pgbench"}


@pytest.mark.long
def test_a_query_on_a_kept_connection_takes_no_lock_and_a_login_does(home: Home) -> None:
    counting = ("--count", "locks", "--tls", "off,1.3", "--budget", "4s", "--json")
    result = home.run("run", "--server", "postgresql-18", *counting, *QUICK)
    assert result.returncode == 0, result.stderr
    with home.store() as store:
        counted = store.load("last").counted
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in counted} == {("valid", ())}
    for trial in counted:
        assert trial.locks is not None
        assert trial.locks.accepted
        assert bool(trial.locks.sites) == (trial.trial.case.levels.workload == "reconnect")


@pytest.mark.long
@pytest.mark.parametrize("server", ["postgresql-10", "postgresql-12"])
def test_old_servers_take_old_tls(home: Home, server: str) -> None:
    levels = ("--tls", "off,1.0,1.1,1.3", "--workload", "reconnect")
    result = home.run("run", "--server", server, *levels, *QUICK, "--budget", "2s", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0
    found = {finding["negotiated"].partition(" ")[0] for finding in document["findings"]}
    assert found == {"plaintext", "TLSv1", "TLSv1.1", "TLSv1.3"}


@pytest.mark.long
def test_a_storm_is_searched_without_what_postgresql_has_not(home: Home) -> None:
    few = ("--most", "32", "--within", "5s", "--budget", "60s", "--json")
    result = home.run("storm", "--server", "postgresql-18", *few)
    assert result.returncode == 0, result.stderr
    limits = [row for row in json.loads(result.stdout)["told"]["rows"] if row["role"] == "limit"]
    kinds = [(row["case"]["tls"], row["case"]["resumption"]) for row in limits]
    assert kinds == [("off", "off"), ("1.3", "off"), ("1.2", "off"), ("1.3-direct", "off")]


def segments() -> Counter[str]:
    """The segments of System V's shared memory that there are, by who made them."""
    return Counter(line.split()[4] for line in SEGMENTS.read_text("ascii").splitlines()[1:])


def session_of(process: subprocess.Popen[str]) -> Path:
    """The session directory that the run's server has its data in."""
    commands = map(command_of, family(process.pid, word="postgres"))
    command = next(words for words in commands if "-D" in words)
    return Path(command[command.index("-D") + 1]).parents[1]


@pytest.fixture
def running(home: Home) -> Iterator[subprocess.Popen[str]]:
    with long_run(home, *LONG) as process:
        yield process


@pytest.mark.long
def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing(
    home: Home, running: subprocess.Popen[str]
) -> None:
    children = family(running.pid)
    makers = {str(child.pid) for child in children}
    assert makers & segments().keys()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=WITHIN_S)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in out
    assert all_gone(children)
    assert not makers & segments().keys()
    with home.store() as store:
        stored = store.load("last")
    assert stored.status == "interrupted"
    assert len(stored.trials) >= 3


@pytest.mark.long
def test_what_a_killed_run_left_is_gone_after_the_next_start(
    home: Home, running: subprocess.Popen[str]
) -> None:
    children, own = family(running.pid), session_of(running)
    makers = {str(child.pid) for child in children}
    before = home.trials()
    running.kill()
    running.communicate(timeout=WITHIN_S)
    wait_until(lambda: all_gone(children))
    assert home.trials() >= before
    levels = ("--tls", "off", "--workload", "point-select")
    assert home.run("run", "--server", "postgresql-18", *levels, *QUICK, "--budget", "1s").returncode == 0
    assert not own.exists()
    assert not makers & segments().keys()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--server", "postgresql-9"), r"there is no server named 'postgresql-9' \(did you mean"),
        (("--server", "mysql-9.7", "--tls", "off,1.3-direct"), "MySQL begins in the clear"),
        (("--server", "postgresql-16", "--tls", "off,1.3-direct"), "cannot begin TLS at once"),
        (("--server", "postgresql-18", "--tls", "off,1.3-resumed"), "PostgreSQL resumes no TLS session"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(home: Home, arguments: tuple[str, ...], words: str) -> None:
    result = home.run("run", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert re.search(words, result.stderr)
    assert result.stderr.count("\n") == 1
    assert home.trials() == 0
