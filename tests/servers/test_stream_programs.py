"""Programs that copy a whole server: each of their trials is proved, and one that cannot get in says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Home

from tlstax.clients.choice import obtain_client
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Job, PostgreSqlServer, StreamTerms, TlsOff
from tlstax.records.trial import TrialRecord
from tlstax.specimens.private_server import PrivateServer
from tlstax.study.workloads import statements

ROWS = 2000
STUDY = """
name = "few-streams"
title = "Streams of a few rows"
question = "What does TLS cost a stream?"
treatments = [{treatments}]
baseline = {{ tls = "off" }}
deciding_outcome = "server_cpu_us_per_op"
precision = 0.02
confidence = 0.95
budget_s = 10
minimum_blocks = 2
rows = {rows}

[factors]
workload = ["stream"]
connections = [1]
tls = ["off", "1.3"]
compression = [{compressions}]
queries = [{copies}]
"""


def measured(
    folder: Path, server: str, *clients: str, copies: int = 1, compressions: tuple[str, ...] = ("off",)
) -> tuple[dict[str, Any], tuple[TrialRecord, ...]]:
    """One block of these clients at a server of their own: what the run shows, and its trials."""
    bundled = ", ".join(f'{{ server = "{server}", client = "{client}" }}' for client in clients)
    file = folder / "streams.toml"
    levels = ", ".join(f'"{level}"' for level in compressions)
    text = STUDY.format(treatments=bundled, rows=ROWS, copies=copies, compressions=levels)
    file.write_text(text, encoding="utf-8")
    home = Home(folder / "data")
    result = home.run("study", "run", str(file), "--blocks", "1", "--json")
    assert result.returncode == 0, result.stderr
    with home.store() as store:
        return json.loads(result.stdout), store.load("last").trials


def check(document: dict[str, Any], trials: tuple[TrialRecord, ...], holds: dict[str, set[str]]) -> None:
    """All of it was proved; `holds` names what each client's copies have."""
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in trials} == {("valid", ())}
    assert {trial.trial.case.levels.client for trial in trials} == set(holds)
    for trial in trials:
        assert trial.done is not None
        assert trial.job is not None
        streamed = trial.done.streamed
        assert streamed is not None
        assert streamed.holds == (trial.job.stream.holds if trial.job.stream else {})
        assert set(streamed.holds) == holds[trial.trial.case.levels.client] or "/" in next(
            iter(streamed.holds)
        )
        assert trial.done.operations == trial.trial.case.levels.queries
        assert len(streamed.written) == 1 + trial.done.operations
        assert streamed.copy_bytes > ROWS * 100
        packed = trial.trial.case.levels.compression != "off"
        assert streamed.received_bytes is not None
        assert (streamed.received_bytes < 0.8 * streamed.copy_bytes) is packed
    outcomes = {row["outcome"] for row in document["topics"]["streams"]["rows"]}
    assert {"MiB a second", "time to the last byte", "server CPU of a MiB"} <= outcomes


def test_a_postgresql_is_dumped_and_its_log_received(tmp_path: Path) -> None:
    clients = ("pg-dump", "pg-receivewal", "pg-recvlogical")
    document, trials = measured(tmp_path, "postgresql-18", *clients, copies=2)
    check(document, trials, dict(zip(clients, ({"rows"}, {"bytes"}, {"rows"}), strict=True)))
    check_log(trials)


@pytest.mark.long
def test_a_postgresql_is_backed_up(tmp_path: Path) -> None:
    document, trials = measured(tmp_path, "postgresql-18", "pg-basebackup", compressions=("off", "zlib"))
    check(document, trials, {"pg-basebackup": set()})
    check_log(trials)


@pytest.mark.long
def test_a_backup_comes_compressed_by_zstd(tmp_path: Path) -> None:
    document, trials = measured(tmp_path, "postgresql-18", "pg-basebackup", compressions=("zstd",))
    check(document, trials, {"pg-basebackup": set()})


def check_log(trials: tuple[TrialRecord, ...]) -> None:
    """The server's log names each connection, encrypted as the case has it."""
    for trial in trials:
        assert trial.server is not None
        versions = {group.version for group in trial.server.logged or ()}
        assert versions == ({None} if trial.trial.case.levels.tls == "off" else {"TLSv1.3"})


def test_a_mysql_is_dumped_and_its_log_read(tmp_path: Path) -> None:
    document, trials = measured(
        tmp_path, "mysql-9.7", "mysqldump", "mysqlbinlog", compressions=("off", "zstd")
    )
    check(document, trials, {"mysqldump": {"rows"}, "mysqlbinlog": {"bytes"}})


@pytest.mark.long
def test_a_mariadb_is_dumped_and_its_log_read(tmp_path: Path) -> None:
    document, trials = measured(
        tmp_path,
        "mariadb-11.8",
        "mariadb-dump",
        "mariadb-binlog",
        copies=2,
        compressions=("off", "zlib"),
    )
    check(document, trials, {"mariadb-dump": {"rows"}, "mariadb-binlog": {"bytes"}})


def test_who_is_not_let_in_is_told_so(postgresql: PrivateServer) -> None:
    program = obtain_client("pg-dump", lambda _: None)
    account = postgresql.load_account.model_copy(update={"password": "another"})
    job = Job(
        endpoint=postgresql.endpoint(),
        server=PostgreSqlServer(),
        account=account,
        tls=TlsOff(),
        workload=statements.stream("sbtest1", ROWS),
        connections=1,
        duration_s=30,
        timeout_s=30,
        seed=1,
        stream=StreamTerms(names=("sbtest1",), holds={"rows": ROWS}),
    )
    with (
        LoadClient(program.command, job) as client,
        pytest.raises(ClientFailure, match="authentication") as told,
    ):
        client.wait_ready(60)
    assert told.value.errors[-1].kind == "access_denied"
    assert "another" not in str(told.value)
