"""Sampling real servers: what is found where, what is left behind, and what is said where it cannot be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import WITHIN_S, Home, all_gone, wait_until

from processes import family
from small_disk import small_disk
from tlstax.observers import profiler
from tlstax.observers.machine import describe_machine
from tlstax.observers.profiler import Profiler, Sampling, probe
from tlstax.records.profiles.stacks import frames
from tlstax.study import load_study, study_toml
from tlstax.support import directories

ONE_LEVEL = ("--rows", "2000", "--tls", "1.3", "--workload", "reconnect", "--connections", "8")
SPINS = "echo ready; read go; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read end"
CLOCK = Sampling("cpu-clock", kernel=False, processors=False)


@pytest.fixture
def home(tmp_path: Path, mysql_build: object) -> Home:
    assert mysql_build
    return Home(tmp_path / "data")


@pytest.fixture
def spinner() -> Iterator[subprocess.Popen[str]]:
    """A process that computes for a while when it is told to."""
    with subprocess.Popen(
        ["/bin/sh", "-c", SPINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def spin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def fake_perf(folder: Path, script: str) -> str:
    """A program that stands in for perf."""
    path = folder / "perf"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    path.chmod(0o755)
    return str(path)


def functions(profile: dict[str, Any], side: str) -> Counter[str]:
    """In how many samples of a side each function is."""
    found = Counter[str]()
    for stack, times in profile[side]["stacks"].items():
        for name in {frame.function for frame in frames(stack)}:
            found[name] += times
    return found


@pytest.mark.long
def test_signatures_are_on_the_servers_side_of_full_handshakes_alone(home: Home) -> None:
    result = home.run("run", *ONE_LEVEL, "--profile", "--budget", "8s", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    trials = json.loads(home.run("runs", "export", "last").stdout)["trials"]
    profiled = [trial for trial in trials if trial["profiled"]]
    assert document["trials"]["valid"] == len(trials) - len(profiled) == len(profiled)
    sampled, *others = document["topics"]["profiling"]["rows"]
    assert sampled["more"]["trials_valid"] == len(profiled)
    signed = {"off": 0, "1.3": 0}
    for trial in profiled:
        assert (trial["verdict"], trial["why_no_profile"]) == ("valid", "")
        server, client = (functions(trial["profile"], side) for side in ("server", "client"))
        assert server["acl_authenticate"] > 0
        assert client["tlstax_load::worker::Worker::work"] > 0
        assert not [name for name in client if name.startswith("EVP_DigestSign")]
        signed[trial["case"]["tls"]] += server["EVP_DigestSignFinal"]
    assert signed["off"] == 0
    assert signed["1.3"] > 0
    assert {row["outcome"] for row in others if "role" not in row} == {
        "ops_per_s",
        "server_cpu_us_per_op",
        "client_cpu_us_per_op",
    }


def test_progress_and_plan_say_profiled(home: Home) -> None:
    result = home.run("study", "plan", "tax", "--profile")
    assert "of them profiled" in " ".join(result.stdout.split())
    planned = json.loads(home.run("study", "plan", "tax", "--profile", "--json").stdout)
    assert planned["profiled"] * 2 == planned["trials"]


@pytest.mark.long
def test_a_profiled_study_that_is_cut_off_is_profiled_again_when_resumed(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(study_toml(load_study("tax").model_copy(update={"rows": 1000})), encoding="utf-8")
    study = (
        "study",
        "run",
        str(file),
        "--set",
        "tls=1.3",
        "--set",
        "workload=reconnect",
        "--set",
        "connections=8",
    )
    process = home.start(*study, "--profile", "--budget", "10m", "--precision", "0.1%")
    try:
        wait_until(lambda: home.trials() >= 3 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WITHIN_S)
    finally:
        process.kill()
    with home.store() as store:
        cut = store.load("last")
        assert cut.header.changes.profile
        store.finish(cut.header.run, "interrupted", "")
    again = home.start("study", "run", str(file), "--resume")
    try:
        wait_until(lambda: home.trials() >= 7 or again.poll() is not None)
        again.send_signal(signal.SIGINT)
        _, err = again.communicate(timeout=WITHIN_S)
        assert again.returncode == 130, err
    finally:
        again.kill()
    with home.store() as store:
        resumed = store.load("last")
    assert resumed.header.run == cut.header.run
    assert len(resumed.profiled) >= 2
    places_taken = [(record.trial.block, record.trial.position) for record in resumed.trials]
    assert len(set(places_taken)) == len(places_taken)
    full = [r.profile for r in resumed.profiled if r.trial.case.levels["tls"] == "1.3" and r.profile]
    signing = [
        stack
        for profile in full
        if profile.server
        for stack in profile.server.stacks
        if "EVP_DigestSign" in stack
    ]
    assert signing
    assert any("sslaccept [mysqld]" in stack for stack in signing)


@pytest.mark.usefixtures("mariadb_build")
@pytest.mark.parametrize("ending", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_a_run_that_is_ended_leaves_no_perf_and_no_file(home: Home, ending: signal.Signals) -> None:
    before = set(directories.sessions_dir().iterdir())
    endless = ("--server", "mariadb-11.8", "--budget", "10m", "--precision", "0.1%")
    process = home.start("run", *ONE_LEVEL, "--profile", *endless)

    def sampling() -> bool:
        return bool(family(process.pid, name="perf", word="record"))

    try:
        wait_until(lambda: (home.trials() >= 1 and sampling()) or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        children = family(process.pid)
        process.send_signal(ending)
        _, err = process.communicate(timeout=WITHIN_S)
    finally:
        process.kill()
    assert "Traceback" not in err
    wait_until(lambda: all_gone(children))
    left = [path for path in set(directories.sessions_dir().iterdir()) - before if path.is_file()]
    assert not left
    with home.store() as store:
        assert store.load("last").status == "interrupted"


def test_what_is_sampled_is_what_ran_between_start_and_stop(spinner: subprocess.Popen[str]) -> None:
    sampling = probe()
    with Profiler(None, spinner.pid, sampling, describe_machine()) as sampler:
        sampler.start()
        spin(spinner)
        sampled = sampler.stop()
    assert sampled.why_none == ""
    assert sampled.profile is not None
    assert sampled.profile.server is None
    assert sampled.profile.client is not None
    assert sampled.profile.client.samples > 0
    with Profiler(os.getpid(), spinner.pid, sampling, describe_machine()) as sampler:
        sampler.start()
        idle = sampler.stop().profile
    assert idle is not None
    assert idle.client is not None
    assert idle.client.samples == 0


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 1", "perf ended early: no message"),
        ("echo 'Error: No permission to enable cpu-clock event.' >&2; exit 255", "not permitted"),
        ("kill -9 $$", "perf ended early"),
        ("exec sleep 60", "perf did not answer"),
    ],
)
def test_a_perf_that_fails_costs_the_profile_and_is_told(
    script: str, words: str, tmp_path: Path, spinner: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiler, "PATIENCE_S", 0.5)
    perf = fake_perf(tmp_path, script)
    with Profiler(None, spinner.pid, CLOCK, describe_machine(), perf=perf) as sampler:
        sampler.start()
        spin(spinner)
        sampled = sampler.stop()
    assert sampled.profile is None
    assert words in sampled.why_none
    assert "\n" not in sampled.why_none


def test_a_perf_that_is_killed_while_it_samples(spinner: subprocess.Popen[str]) -> None:
    with Profiler(None, spinner.pid, probe(), describe_machine()) as sampler:
        sampler.start()
        (perf,) = family(name="perf")
        perf.kill()
        spin(spinner)
        sampled = sampler.stop()
    assert sampled.profile is None
    assert "perf ended early" in sampled.why_none


def test_a_full_disk_costs_the_profile_and_is_told(tmp_path: Path, spinner: subprocess.Popen[str]) -> None:
    with (
        small_disk(tmp_path / "small", 64) as small,
        Profiler(None, spinner.pid, probe(), describe_machine(), folder=small) as sampler,
    ):
        sampler.start()
        spin(spinner)
        sampled = sampler.stop()
    assert sampled.profile is None
    assert sampled.why_none


@pytest.fixture
def without_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that has no perf, only what starts processes."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("setpriv", "taskset", "sh"):
        path = shutil.which(name)
        assert path is not None
        (programs / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(programs))
    return programs


@pytest.mark.parametrize(
    ("script", "words", "remedy"),
    [
        ("exit 1", "perf cannot sample here: no message", "leave out --profile"),
        ("echo 'Access to performance monitoring is limited.' >&2; exit 255", "not permitted", "doctor"),
        (None, "perf is not installed", "apt-get install linux-perf"),
    ],
)
def test_where_nothing_can_be_sampled_the_run_ends_before_it_begins(
    script: str | None, words: str, remedy: str, without_perf: Path, home: Home
) -> None:
    if script is not None:
        fake_perf(without_perf, script)
    result = home.run("run", *ONE_LEVEL, "--profile")
    assert result.returncode == 3, result.stderr
    (sentence,) = result.stderr.strip().splitlines()
    assert words in sentence
    assert remedy in sentence
    assert home.trials() == 0
