"""What clients of a private PostgreSQL say that they did is what its log and its counters have of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lying_engine import LIES

from tlstax.clients.engine import BINARY_VARIABLE, engine_command
from tlstax.observers.machine import describe_machine
from tlstax.plan.jobs import job_for
from tlstax.postgres import login_log
from tlstax.records.trial import Trial, TrialRecord
from tlstax.results.live import LiveRun
from tlstax.run.bench import Bench, Equipment, Needs, Wanted, private_bench
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.run.progress import Step
from tlstax.run.trial import run_trial
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.processes import log_bytes, log_lines
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.store import Store
from tlstax.study import Case, Study
from tlstax.study.factors import CaseLevels

NEEDS = Needs(rows=1000, connections=4, seed=1, duration_s=0.2)
LEVELS: dict[str, Any] = {"server": "postgresql-18", "connections": 4, "tls": "1.3"}


@pytest.fixture(scope="module")
def bench(session: Session, postgresql_build: ServerBuild) -> Iterator[Bench]:
    """A PostgreSQL to be measured."""
    wanted, quiet = Wanted(build=postgresql_build), lambda _: None
    with private_bench(session, wanted, Equipment(), describe_machine(), NEEDS, quiet) as begun:
        yield begun


def measured(bench: Bench, **levels: Any) -> TrialRecord:
    """A trial by itself."""
    own = {**LEVELS, **levels}
    todo = Trial(block=0, position=0, case=Case(levels=own, role="treatment"))
    return run_trial(todo, job_for(CaseLevels.of(own), bench.terms, sequence=7), bench)


def test_while_it_is_measured_no_login_is_logged(bench: Bench) -> None:
    """The lines would be part of what a connection costs."""
    assert isinstance(bench.server, PrivateServer)
    offset = log_bytes(bench.server._process.log_file)
    done = measured(bench, workload="reconnect").done
    assert done is not None
    before = done.lifetime.connections - done.window.connections
    logged = list(login_log.connections(log_lines(bench.server._process.log_file, offset)))
    assert 0 < before == len(logged) < done.lifetime.connections


class Quiet:
    """Says nothing of a run."""

    def step(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def noted(self, live: LiveRun) -> None: ...

    def close(self) -> None: ...

    def trial(self, step: Step) -> None: ...


@pytest.fixture
def whole_log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that servers have logged when they are stopped; the log of logins is not ended before."""
    lines: list[str] = []
    stop = PrivateServer.stop

    def keep_and_stop(server: PrivateServer) -> None:
        lines.extend(log_lines(server._process.log_file, 0))
        stop(server)

    monkeypatch.setattr(login_log, "end", lambda _: None)
    monkeypatch.setattr(PrivateServer, "stop", keep_and_stop)
    return lines


WORK = ("reconnect", "point-select", "storm", "insert")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 21))])
def test_a_run_did_what_its_server_logged(tmp_path: Path, whole_log: list[str], seed: int) -> None:
    """Each connection of each of its trials, those of the turns among them, by the name of its trial."""
    of = Study.model_validate(
        {
            "name": "counted",
            "title": "Counted",
            "question": "Who connected?",
            "factors": {
                "tls": ("off", "1.2", "1.3", "1.3-direct"),
                "workload": (WORK[seed % len(WORK)],),
                "connections": (1 + seed % 5,),
                "server": ("postgresql-18" if seed % 2 else "postgresql-17",),
            },
            "baseline": {"tls": "off"},
            "rows": 1000,
            "budget_s": 3.0,
            "minimum_blocks": 2,
        }
    )
    with Store.open(tmp_path / "store.sqlite") as store:
        trials = run(Request(study=of, seed=seed, beside_others=True), store, Quiet()).trials
    assert [trial.verdict.reasons for trial in trials if trial.verdict.value != "valid"] == []
    logged: dict[str | None, Counter[str | None]] = {}
    for login in login_log.connections(whole_log):
        if login.user.startswith("tlstax_load"):
            logged.setdefault(login.application, Counter())[login.version] += 1
    assert len(trials) >= 5
    for trial in trials:
        assert trial.job is not None
        assert trial.done is not None
        assert trial.server is not None
        made, levels = trial.done.lifetime, trial.trial.case.levels
        encrypted = {"off": None, "1.2": "TLSv1.2"}.get(levels.tls, "TLSv1.3")
        assert logged[trial.job.attributes["application_name"]] == {encrypted: made.connections}
        assert trial.server.logged_until_ready
        assert [seen.version for seen in trial.server.logged or ()] == [encrypted]


@pytest.fixture
def engine_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the engine lie so."""

    def lies(lie: str) -> None:
        (engine,) = engine_command()
        script = tmp_path / "engine"
        program = Path(__file__).with_name("lying_engine.py")
        script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I '{program}' '{lie}' '{engine}'\n", "utf-8")
        script.chmod(0o700)
        monkeypatch.setenv(BINARY_VARIABLE, str(script))

    return lies


FOUND_OUT = {
    ("a connection more", "point-select"): "the server's log names 4 connections before its window",
    ("a connection less", "point-select"): "the server's log names 4 connections before its window",
    ("a connection more", "reconnect"): "connections before its window, the client",
    ("twice the work", "point-select"): "fewer than the",
    ("twice the work", "reconnect"): "(pg_stat_database.sessions)",
    ("another name", "reconnect"): "the server's log names 0 connections before its window",
    ("in the clear", "point-select"): "by the server's log 4 connections were not encrypted",
    ("older TLS", "point-select"): "by the server's log 4 connections were encrypted (TLSv1.2",
    ("without binding", "bound"): "by scram-sha-256, where all are to be by scram-sha-256-plus",
    ("asks for TLS", "direct"): "asked for TLS, where it was to begin at once",
    ("other rows", "point-select"): "rows differ from the server's",
}


def test_whoever_tells_the_truth_is_valid(bench: Bench, engine_that: Any) -> None:
    """By the same program between: it is not that which makes a trial invalid."""
    engine_that("none")
    verdict = measured(bench, workload="reconnect").verdict
    assert (verdict.value, verdict.reasons) == ("valid", ())


@pytest.mark.parametrize(("lie", "workload"), FOUND_OUT)
def test_whoever_lies_is_found_out(bench: Bench, engine_that: Any, lie: str, workload: str) -> None:
    assert lie in LIES
    engine_that(lie)
    levels = {"bound": {"auth": "scram-sha-256-plus"}, "direct": {"tls": "1.3-direct"}}.get(workload, {})
    verdict = measured(bench, workload="reconnect" if levels else workload, **levels).verdict
    assert verdict.value == "invalid"
    assert FOUND_OUT[lie, workload] in "; ".join(verdict.reasons)
