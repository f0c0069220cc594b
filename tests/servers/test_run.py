"""`tlstax run` as a user meets it: to its end, interrupted, killed, on a full disk, with a dying server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import WITHIN_S, Home, all_gone, long_run, wait_until

from processes import family
from small_disk import small_disk

ROWS = ("--rows", "2000")
SHORT = (*ROWS, "--budget", "8s")
QUICK = ("--server", "mariadb-11.8", *ROWS)
"""The server that starts in the shortest time, where it does not matter which one is measured."""
LONG = (*QUICK, "--budget", "10m", "--precision", "0.1%")


@pytest.fixture
def home(tmp_path: Path, mariadb_build: object) -> Home:
    assert mariadb_build
    return Home(tmp_path / "data")


@pytest.fixture
def running(home: Home) -> Iterator[subprocess.Popen[str]]:
    with long_run(home, *LONG) as process:
        yield process


def server_of(process: subprocess.Popen[str]) -> psutil.Process:
    return family(process.pid, word="mysqld")[0]


def session_of(process: subprocess.Popen[str]) -> Path:
    """The session directory that the run's server has its data in."""
    data = next(part for part in server_of(process).cmdline() if part.startswith("--datadir="))
    return Path(data.removeprefix("--datadir=")).parents[1]


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory, mysql_build: object
) -> tuple[Home, dict[str, Any], list[dict[str, Any]]]:
    """One short run of everything, as JSON, and its trials."""
    assert mysql_build
    home = Home(tmp_path_factory.mktemp("measured"))
    result = home.run("run", *SHORT, "--seed", "5", "--json")
    assert result.returncode == 0, result.stderr
    export = home.run("runs", "export", "last")
    return home, json.loads(result.stdout), json.loads(export.stdout)["trials"]


def test_every_level_of_both_workloads_has_a_finding_that_names_what_was_negotiated(
    measured: tuple[Home, dict[str, Any], list[dict[str, Any]]],
) -> None:
    _, document, _ = measured
    assert (document["schema"], document["study"], document["seed"]) == (3, "tax", 5)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0
    rates = [finding for finding in document["findings"] if finding["outcome"] == "ops_per_s"]
    assert len(rates) == 9
    specimens = {specimen["kind"]: specimen for specimen in document["specimens"]}
    assert specimens["server"]["name"] == "mysql-9.7"
    assert all(len(specimens[kind]["sha256"]) == 64 for kind in ("server", "client"))
    for finding in rates:
        case = finding["case"]
        version = {"off": "plaintext", "1.2": "TLSv1.2 ECDHE-RSA-", "1.3": "TLSv1.3 TLS_"}[case["tls"]]
        assert finding["negotiated"].startswith(version)
        assert ("resumed" in finding["negotiated"]) == (case["resumption"] == "on")
        ratio = finding["ratio"]
        assert ratio["blocks"] >= 1
        if ratio["blocks"] > 1:
            assert ratio["low"] <= ratio["point"] <= ratio["high"]
    reconnect = {
        (finding["case"]["tls"], finding["case"]["resumption"]): finding["ratio"]["point"]
        for finding in document["findings"]
        if finding["outcome"] == "server_cpu_us_per_op"
        if finding["case"]["workload"] == "reconnect" and finding["role"] == "treatment"
    }
    # Whatever the machine does beside: in CPU time a full handshake costs the server more than a resumed one,
    # and either costs much.
    assert reconnect["1.3", "off"] > reconnect["1.3", "on"] > 1.1


def test_every_trial_is_proved_by_both_sides(
    measured: tuple[Home, dict[str, Any], list[dict[str, Any]]],
) -> None:
    _, _, trials = measured
    for trial in trials:
        assert trial["verdict"] == "valid", trial["reasons"]
        text = json.dumps(trial)
        assert "libssl" in text
        assert "password" not in text or '"password": ""' in text


@pytest.mark.long
def test_a_stored_run_is_shown_again_in_every_format(
    measured: tuple[Home, dict[str, Any], list[dict[str, Any]]],
) -> None:
    home, document, _ = measured
    again = home.run("report", document["run"], "--format", "json")
    assert json.loads(again.stdout) == document
    for name, expected in (
        ("terminal", "plaintext again"),
        ("md", "| plaintext again"),
        ("csv", "ops_per_s,"),
        ("html", "<!doctype html>"),
    ):
        shown = home.run("report", "last", "--format", name)
        assert shown.returncode == 0
        assert expected.lower() in shown.stdout.lower()
    listed = json.loads(home.run("runs", "list", "--json").stdout)
    assert [run["run"] for run in listed["runs"]] == [document["run"]]


def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing_behind(
    home: Home, running: subprocess.Popen[str]
) -> None:
    children = family(running.pid)
    assert server_of(running) in children
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=WITHIN_S)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in out
    assert all_gone(children)
    with home.store() as store:
        stored = store.load("last")
    assert stored.status == "interrupted"
    assert len(stored.trials) >= 3


def test_kill_9_leaves_no_process_and_loses_no_trial(home: Home, running: subprocess.Popen[str]) -> None:
    children = family(running.pid)
    own = session_of(running)
    before = home.trials()
    running.kill()
    running.communicate(timeout=WITHIN_S)
    wait_until(lambda: all_gone(children))
    with home.store() as store:
        stored = store.load("last")
    assert stored.status == "interrupted"
    assert len(stored.trials) >= before
    shown = home.run("report", "last")
    assert shown.returncode == 0
    # The next start removes what the killed one left, whoever's it is: another test's may have come first.
    assert home.run("run", *QUICK, "--budget", "1s", "--over-budget").returncode == 0
    assert not own.exists()


@pytest.mark.long
def test_a_server_that_dies_costs_those_who_took_turns_at_it_and_is_started_again(
    home: Home, running: subprocess.Popen[str]
) -> None:
    first = server_of(running).pid
    before = home.trials()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: home.trials() >= before + 6 or running.poll() is not None)
    assert running.poll() is None, running.communicate()
    assert server_of(running).pid != first
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=WITHIN_S)
    assert "starting it again" in err
    with home.store() as store:
        trials = store.load("last").trials
    dead = [trial for trial in trials if trial.verdict.value != "valid"]
    assert 1 <= len(dead) <= 5
    assert len({(trial.trial.block, trial.trial.case.levels.workload) for trial in dead}) == 1
    assert trials[-1].verdict.value == "valid"


@pytest.mark.long
def test_a_full_disk_is_said_in_one_sentence_and_loses_nothing(tmp_path: Path, mariadb_build: object) -> None:
    assert mariadb_build
    with small_disk(tmp_path / "small", 400) as small:
        home = Home(small)
        result = home.run("run", *LONG)
        assert result.returncode == 3, result.stderr
        sentence = result.stderr.strip().splitlines()[-1]
        assert sentence.startswith("tlstax: ")
        assert "full" in sentence
        assert home.trials() > 0


@pytest.mark.long
def test_a_second_run_waits_for_its_turn_or_goes_on_and_both_reports_say_so(
    home: Home, running: subprocess.Popen[str], tmp_path: Path
) -> None:
    second = Home(tmp_path / "second")
    with second.start("run", *QUICK, "--json") as waiting:
        assert waiting.stderr is not None
        line = waiting.stderr.readline()
        assert "waiting, because another run measures on the same processors" in line
        assert f"process {running.pid}, since" in line
        assert "(tlstax run --server mariadb-11.8 " in line
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(WITHIN_S) == 130
    assert second.trials() == 0
    beside = second.run("run", *QUICK, "--budget", "6s", "--beside-others", "--json")
    assert beside.returncode == 0, beside.stderr
    assert f"process {running.pid}, since" in beside.stderr
    caveats = json.loads(beside.stdout)["caveats"]
    assert any(text.startswith("another run was measuring on the same processors") for text in caveats)
    # What was under way meanwhile is kept when all who take turns are done.
    before = home.trials()
    wait_until(lambda: home.trials() > before or running.poll() is not None)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=WITHIN_S)
    assert "another run was measuring on the same processors" in " ".join(out.split())
