"""Costly random numbers planted in real servers: they reach the login, are proved, and cost something."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Home

from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.plan.jobs import job_for
from tlstax.records.trial import ServerClaim, Trial, TrialRecord
from tlstax.run.bench import Needs, Wanted, open_private_bench
from tlstax.run.trial import run_trial
from tlstax.specimens import loading
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_fault, named_tls_library
from tlstax.specimens.server_build import Fault, ServerBuild
from tlstax.specimens.sources import compiled
from tlstax.stats.outcomes import outcome
from tlstax.study import Case, Level
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake

NAME = "rand-per-byte"
NEEDS = Needs(rows=1000, connections=8, seed=1, duration_s=0.2)


@pytest.fixture(scope="module")
def fault() -> Fault:
    return named_fault(NAME, lambda _: None)


def trial_of(build: ServerBuild, planted: Fault | None, *, case_of: str) -> TrialRecord:
    """A short trial of a case with this fault, on a server in which something is planted or not."""
    levels: dict[str, Level] = {"tls": "1.3", "workload": "reconnect", "connections": 8, "fault": case_of}
    case = Case(levels=levels, role="treatment")
    with open_private_bench(NEEDS, lambda _: None, Wanted(build=build, fault=planted)) as bench:
        return run_trial(
            Trial(block=0, position=0, case=case),
            job_for(CaseLevels.of(levels), bench.terms, sequence=0),
            bench,
        )


@pytest.mark.parametrize("server", ["mysql_build", "mariadb_build"])
def test_a_planted_fault_is_proved(server: str, fault: Fault, request: pytest.FixtureRequest) -> None:
    build: ServerBuild = request.getfixturevalue(server)
    assert any("d" in caller and "lib" not in caller for caller in loading.reached(build, None, fault))
    record = trial_of(build, fault, case_of=NAME)
    assert record.verdict.value == "valid", record.verdict
    assert record.claim is not None
    assert record.server is not None
    assert record.claim.planted == fault.claim()
    assert [file.path for file in record.server.mapped_faults or ()] == [str(fault.library)]
    assert record.done is not None
    assert record.done.lifetime.connections > 0


def reads(pid: int | None) -> int:
    """How many read system calls a process has made (proc(5), /proc/PID/io); sockets' are not among them."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["syscr"])


def test_each_byte_of_a_login_is_drawn_by_itself(mysql_build: ServerBuild, fault: Fault) -> None:
    """MySQL asks for its scramble of 20 characters and one more byte in one call."""
    levels: dict[str, Level] = {"tls": "off", "workload": "reconnect", "connections": 8}
    with open_private_bench(NEEDS, lambda _: None, Wanted(build=mysql_build, fault=fault)) as bench:
        with LoadClient(engine_command(), job_for(CaseLevels.of(levels), bench.terms, sequence=0)) as client:
            client.wait_ready(60)
            before = reads(bench.server.pid)
            client.go()
            done = client.wait_done(60)
        drawn = (reads(bench.server.pid) - before) / done.window.connections
    assert 20.5 < drawn < 22, drawn


def test_a_plant_that_is_missing_is_found_out(
    mariadb_build: ServerBuild, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = PrivateServer.claim

    def claims_more(server: PrivateServer) -> ServerClaim:
        return real(server).model_copy(update={"planted": fault.claim()})

    monkeypatch.setattr(PrivateServer, "claim", claims_more)
    verdict = trial_of(mariadb_build, None, case_of=NAME).verdict
    assert verdict.value == "invalid"
    assert verdict.reasons == ("rand-per-byte is not loaded into mariadb-11.8, where it is meant to be",)


def test_a_plant_in_a_sound_case_is_found_out(mariadb_build: ServerBuild, fault: Fault) -> None:
    verdict = trial_of(mariadb_build, fault, case_of="none").verdict
    assert verdict.value == "invalid"
    assert "the case asks for none, and mariadb-11.8 was started with rand-per-byte" in verdict.reasons


def test_a_program_that_would_pass_over_it_is_refused(fault: Fault) -> None:
    sleep = ServerBuild(
        fault.specimen.model_copy(update={"name": "mysql-5.6.14", "kind": "server"}),
        "mysql",
        Path("/bin/sleep"),
    )
    with pytest.raises(UserMistake) as caught:
        loading.check_planted(sleep, None, fault)
    assert caught.value.sentence() == (
        "rand-per-byte cannot be planted in mysql-5.6.14, which calls no RAND_bytes of a library: what it "
        "calls is linked into it; plant it in a server that loads its TLS library"
    )


STUDY = """
name = "planted"
title = "t"
question = "q"
baseline = { fault = "none" }
budget_s = 60
precision = 0.9
minimum_blocks = 2
deciding_outcome = "server_cpu_us_per_op"
rows = 1000
[factors]
server = ["mysql-9.7"]
fault = ["none", "rand-per-byte"]
workload = ["reconnect"]
connections = [32]
[[contrasts]]
factor = "fault"
baseline = "none"
"""


@pytest.mark.long
def test_what_a_plant_costs_is_a_contrast_of_the_study(tmp_path: Path, mysql_build: ServerBuild) -> None:
    """Whether so small a cost is told from noise depends on what else the machine does: that is measured."""
    assert mysql_build
    file = tmp_path / "planted.toml"
    file.write_text(STUDY, encoding="utf-8")
    done = Home(tmp_path / "home").run("study", "run", str(file), "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["trials"]["invalid"] == found["trials"]["unknown"] == 0
    assert NAME in [specimen["name"] for specimen in found["specimens"] if specimen["kind"] == "fault"]
    costs = {
        row["outcome"]: row["interval"]
        for row in found["topics"]["contrasts"]["rows"]
        if row["role"] == "contrast" and row["more"]["factor"] == "fault"
    }
    ratio = costs["server_cpu_us_per_op"]
    assert ratio["low"] < ratio["point"] < ratio["high"]


BURNING = """
#include <time.h>
int RAND_bytes(unsigned char *bytes, int wanted) {
    struct timespec now;
    long ns, begun = -1;
    for (int place = 0; place < wanted; place++) bytes[place] = 1 + (place * 37) % 100;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        ns = now.tv_sec * 1000000000L + now.tv_nsec;
        if (begun < 0) begun = ns;
    } while (ns - begun < 10000000L);
    return 1;
}
"""
"""Ten milliseconds of the thread's own CPU time a call: many times what a login takes on any machine."""


def test_a_planted_cost_is_found(tmp_path: Path, mysql_build: ServerBuild, fault: Fault) -> None:
    """A cost that no noise hides, in CPU time, which the server is not charged for the work of others."""
    source, library = tmp_path / "burning.c", tmp_path / fault.library.name
    source.write_text(BURNING, encoding="utf-8")
    command = [compiled.COMPILER, *compiled.FAULT_FLAGS, "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=60)
    costs_us = []
    for planted in (None, replace(fault, library=library)):
        record = trial_of(mysql_build, planted, case_of=NAME if planted else "none")
        assert record.verdict.value == "valid", record.verdict
        costs_us.append(outcome(record, "server_cpu_us_per_op"))
    sound, burning = costs_us
    assert sound is not None
    assert burning is not None
    assert burning - sound > 0.8 * 10_000


@pytest.mark.parametrize(
    ("library", "offered", "agreed"),
    [
        (None, "default", ("x25519", "X25519MLKEM768")),
        pytest.param(None, "X25519", ("x25519",), marks=pytest.mark.long),
        pytest.param(None, "P-256-first", ("secp256r1",), marks=pytest.mark.long),
        pytest.param(
            "openssl-3.5.5",
            "X25519MLKEM768",
            ("X25519MLKEM768",),
            marks=[pytest.mark.long, pytest.mark.builds("openssl-3.5.5")],
        ),
    ],
)
def test_with_its_groups_lifted_the_server_takes_what_the_client_sends(
    mysql_build: ServerBuild, library: str | None, offered: str, agreed: tuple[str, ...]
) -> None:
    """By default an OpenSSL from 3.5 on sends a key share for X25519MLKEM768, an older one for X25519."""
    lifted = named_fault("groups-lifted", lambda _: None)
    under = named_tls_library(library, lambda _: None) if library else None
    levels: dict[str, Level] = {"tls": "1.3", "workload": "reconnect", "connections": 8}
    levels |= {"fault": "groups-lifted", "group": offered}
    if library:
        levels |= {"tls_library": library, "client_tls_library": library}
    case = Case(levels=levels, role="treatment")
    wanted = Wanted(build=mysql_build, fault=lifted, tls_library=under)
    with open_private_bench(NEEDS, lambda _: None, wanted) as bench:
        files = {library: str(under.libssl)} if under is not None else {}
        terms = bench.terms.model_copy(update={"client_libraries": files})
        record = run_trial(
            Trial(block=0, position=0, case=case),
            job_for(CaseLevels.of(levels), terms, sequence=0),
            replace(bench, terms=terms),
        )
    assert record.verdict.value == "valid", record.verdict
    assert record.done is not None
    seen = record.done.lifetime.handshakes
    assert all(handshakes.group in agreed and handshakes.hello_retry is False for handshakes in seen), seen


@pytest.mark.long
def test_as_it_comes_the_server_asks_again_unless_p256_is_first(
    mysql_build: ServerBuild,
) -> None:
    for offered, retried in (("default", True), ("P-256-first", False)):
        levels: dict[str, Level] = {"tls": "1.3", "workload": "reconnect", "connections": 8, "group": offered}
        case = Case(levels=levels, role="treatment")
        with open_private_bench(NEEDS, lambda _: None, Wanted(build=mysql_build)) as bench:
            record = run_trial(
                Trial(block=0, position=0, case=case),
                job_for(CaseLevels.of(levels), bench.terms, sequence=0),
                bench,
            )
        assert record.verdict.value == "valid", record.verdict
        assert record.done is not None
        assert {seen.hello_retry for seen in record.done.lifetime.handshakes} == {retried}


def test_a_server_without_such_a_call_ends_the_study_before_its_first_trial(
    fault: Fault, mysql_build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "reached", lambda *_: ())
    with (
        pytest.raises(UserMistake, match=r"cannot be planted in mysql-9\.7"),
        open_private_bench(NEEDS, lambda _: None, Wanted(build=mysql_build, fault=fault)),
    ):
        pytest.fail("it was started all the same")
