"""The study `self-bench` as a user meets it, and with real clients of which some do not do as told."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Home, all_gone, wait_until
from load_jobs import ROWS, job
from test_sitting import Watching

from processes import family
from tlstax.clients import choice
from tlstax.clients.choice import floor_command, floor_specimen
from tlstax.clients.engine import engine_command, engine_specimen
from tlstax.clients.process import LoadClient
from tlstax.contract import PostgreSqlServer, TlsOff, TlsOn
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent
from tlstax.store import Store
from tlstax.study import load_study, override

WITHIN_S = 120.0
CLIENTS = ("engine", "floor", "sysbench")
SELF_BENCH = ("study", "run", "self-bench", "--beside-others")
SMALL = (*SELF_BENCH, "--set", "workload=point-select", "--set", "tls=off", "--set", "connections=2")

LIAR = """
import json, subprocess, sys
client = subprocess.Popen(sys.argv[2:], stdin=0, stdout=subprocess.PIPE, text=True)
for line in client.stdout:
    event = json.loads(line)
    if event["event"] in sys.argv[1].split(","):
        event["operations"] *= 2
    print(json.dumps(event), flush=True)
"""
"""A client that claims twice the work that it did, in some of its events."""


@pytest.mark.parametrize("command", [engine_command, floor_command])
def test_clients_work_on_the_processor_of_their_job(
    mysql: PrivateServer, command: Callable[[], list[str]]
) -> None:
    """One that may work beside the server is spared the wake-ups that the others pay for."""
    chosen = max(os.sched_getaffinity(0))
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    with LoadClient(command(), job(mysql, cpus=(chosen,))) as client:
        pid = client.wait_ready(WITHIN_S).pid
        allowed = [os.sched_getaffinity(int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()]
    assert {chosen} in allowed


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, mysql_build: object) -> tuple[Home, dict[str, Any]]:
    """One block of everything on two connections, as JSON."""
    assert mysql_build
    home = Home(tmp_path_factory.mktemp("measured"))
    kept = home.data / "kept.json"
    few = ("--set", "connections=2", "--set", "tls=off,1.3,1.3-resumed", "--over-budget", "--budget", "1s")
    result = home.run(*SELF_BENCH, *few, "--seed", "7", "--json", "--report", str(kept))
    assert result.returncode == 0, result.stderr
    assert kept.read_text(encoding="utf-8") == result.stdout
    return home, json.loads(result.stdout)


@pytest.mark.long
def test_all_three_clients_are_valid_and_set_beside_each_other(measured: tuple[Home, dict[str, Any]]) -> None:
    home, document = measured
    assert (document["study"], document["seed"], document["status"]) == ("self-bench", 7, "complete")
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    with home.store() as store:
        stored = store.load("last")
    assert {record.trial.case.levels["client"] for record in stored.trials} == set(CLIENTS)
    rows = document["topics"]["self_bench"]["rows"]
    ratios = {
        (row["case"]["workload"], row["case"]["tls"], row["baseline"]["client"]): row["interval"]["point"]
        for row in rows
        if row["role"] == "engine beside" and row["outcome"] == "client_cpu_us_per_op"
    }
    assert len(ratios) == 2 * 2 * 2
    assert all(ratio > 0 for ratio in ratios.values())
    resumed = [row for row in rows if row["case"]["resumption"] == "on"]
    assert {row["role"] for row in resumed} == {"engine alone"}


@pytest.mark.long
def test_the_floor_is_proved_by_the_server_alone(measured: tuple[Home, dict[str, Any]]) -> None:
    home, _ = measured
    with home.store() as store:
        floors = of_client(store.load("last"), "floor")
    for record in floors:
        assert record.ready is not None
        assert record.server is not None
        assert record.together is not None
        assert record.window is not None
        assert (record.ready.negotiated, record.server.tls_versions) == ((), "TLSv1.3")
        least, most = record.together.claims["selects"]
        assert least == most == record.together.status_delta["Com_select"] > 0
        assert record.window.status_delta["Com_select"] == record.watched_operations > 0
    encrypted = [record for record in floors if record.trial.case.levels["tls"] == "1.3"]
    for record in encrypted:
        assert record.server is not None
        assert record.server.status_delta["Ssl_finished_accepts"] >= 2


@pytest.mark.long
def test_its_run_is_shown_listed_and_packed_like_any_other(
    measured: tuple[Home, dict[str, Any]], tmp_path: Path
) -> None:
    home, document = measured
    shown = home.run("report", "last")
    assert "At 2 connections the engine spends" in shown.stdout
    assert "CPU to" in shown.stdout
    assert document["run"] in home.run("runs", "list").stdout
    pack = tmp_path / "self-bench.tlstax"
    assert home.run("runs", "pack", "last", "-o", str(pack)).returncode == 0
    other = Home(tmp_path / "other")
    assert other.run("runs", "open", str(pack)).returncode == 0
    assert "the engine spends" in other.run("report", "last").stdout


@pytest.mark.long
def test_ctrl_c_shows_what_there_is_and_the_run_goes_on_where_it_was_cut_off(
    tmp_path: Path, mysql_build: object
) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    process = home.start(*SMALL, "--budget", "4s", "--over-budget")
    try:
        wait_until(lambda: home.trials() >= 1 or process.poll() is not None)
        children = family(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WITHIN_S)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in out
    wait_until(lambda: all_gone(children))
    before = home.trials()
    again = home.run(*SELF_BENCH, "--resume", "last")
    assert again.returncode == 0, again.stderr
    assert home.trials() > before
    with home.store() as store:
        resumed = store.load("last")
    assert {record.verdict.value for record in resumed.trials} == {"valid"}
    assert {record.trial.case.levels["client"] for record in resumed.trials} == set(CLIENTS)


@pytest.mark.parametrize("version", [None, "1.2", "1.3"])
@pytest.mark.parametrize("protocol", ["text", "prepared"])
@pytest.mark.parametrize("name", ["point-select", "reconnect"])
def test_the_floor_makes_as_many_connections_as_postgresqls_log_names(
    postgresql: PrivateServer, name: str, protocol: str, version: str | None
) -> None:
    postgresql.prepare_table(TableContent(rows=ROWS, seed=1))
    tls = TlsOn(verify="identity", ca_file=postgresql.ca_file, min_version=version, max_version=version)
    plain = job(postgresql, name, tls=tls if version else TlsOff(), source_addresses=())
    workload = plain.workload.model_copy(update={"protocol": protocol})
    asked = plain.model_copy(update={"server": PostgreSqlServer(), "workload": workload})
    with postgresql.admin() as admin, postgresql.logins(admin, asked) as logged:
        assert logged is not None
        with LoadClient(floor_command(), asked) as client:
            client.wait_ready(WITHIN_S)
            operations = client.slice(0.2, WITHIN_S).operations
            client.wind_up()
            done = client.finish(WITHIN_S)
        (seen,) = logged()
    assert done.operations == operations > 0
    assert (seen.connections, seen.version) == (done.lifetime.connections, version and f"TLSv{version}")
    assert (done.lifetime.connections > asked.connections) == (name == "reconnect")


@pytest.mark.long
def test_at_postgresql_pgbench_and_the_floor_stand_beside_the_engine(
    tmp_path: Path, postgresql_build: object
) -> None:
    assert postgresql_build
    home = Home(tmp_path / "data")
    levels = ("server=postgresql-18", "connections=2", "protocol=text,prepared", "tls=1.3")
    few = [word for level in levels for word in ("--set", level)]
    result = home.run(*SELF_BENCH, *few, "--over-budget", "--budget", "1s", "--seed", "7", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    rows = document["topics"]["self_bench"]["rows"]
    beside = [
        row for row in rows if (row["role"], row["outcome"]) == ("engine beside", "client_cpu_us_per_op")
    ]
    assert len(beside) == 2 * 2 * 2, "workloads, protocols, pgbench and the floor"
    with home.store() as store:
        floors = of_client(store.load("last"), "floor")
    for record in floors:
        assert record.server is not None
        assert record.server.logged is not None
        assert {seen.version for seen in record.server.logged} == {"TLSv1.3"}
        assert record.together is not None
        least, most = record.together.claims["transactions"]
        assert most is None
        assert record.together.status_delta["pg_stat_database.xact_commit"] >= least > 0


def of_client(stored: StoredRun, client: str) -> list[TrialRecord]:
    return [record for record in stored.trials if record.trial.case.levels["client"] == client]


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
@pytest.mark.parametrize(
    ("who", "events", "server"),
    [
        ("sysbench", "done", None),
        ("floor", "slice,done", None),
        ("floor", "done", None),
        ("floor", "slice,done", "postgresql-18"),
    ],
)
def test_a_liar_is_found_out(
    who: str, events: str, server: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a whole window, of slices and of the result of slices; who did as told is believed beside it."""
    script = tmp_path / "liar.py"
    script.write_text(LIAR)
    program, specimen = (
        (floor_command(), floor_specimen()) if who == "floor" else (engine_command(), engine_specimen())
    )
    lying = (specimen, [sys.executable, "-P", str(script), events, *program])
    monkeypatch.setitem(choice.PROGRAMS, who, lambda _, __: lying)  # type: ignore[attr-defined]
    study = load_study("self-bench").model_copy(update={"rows": 2_000, "budget_s": 0.1})
    for factor, level in (("workload", "point-select"), ("tls", "off"), ("connections", "2")):
        study = override(study, factor, [level])
    if server is not None:
        study = override(study, "server", [server])
    with Store.open(tmp_path / "store.sqlite") as store:
        stored = run(Request(study=override(study, "client", ["engine", who])), store, Watching())
    liars = of_client(stored, who)
    assert liars
    said = "SELECT statements" if who == "sysbench" or "slice" in events else "and its slices have"
    said = said if server is None else "committed transactions"
    for record in liars:
        assert record.verdict.value == "invalid"
        assert any(said in reason for reason in record.verdict.reasons), record.verdict
    alone = [record for record in of_client(stored, "engine") if record.together is None]
    assert {record.verdict.value for record in alone} <= {"valid"}
