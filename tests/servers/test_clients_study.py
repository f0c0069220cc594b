"""The study `clients` as a user starts it: all trials are valid, and what the clients agree on is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Home

pytestmark = pytest.mark.long

CLIENTS = ("engine", "sysbench", "mysqlslap-9.7")


@pytest.mark.parametrize("workload", ["point-select", "insert"])
def test_clients_of_three_makers_are_set_beside_each_other(
    tmp_path: Path, mysql_build: object, workload: str
) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    few = [
        part
        for level in (f"workload={workload}", "connections=1", "queries=300")
        for part in ("--set", level)
    ]
    result = home.run("study", "run", "clients", *few, "--budget", "20s", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["trials"]["valid"] > 0
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    agreement = document["topics"]["agreement"]
    compared = [row for row in agreement["rows"] if row["role"] != "client clue"]
    assert {(row["role"], row["outcome"]) for row in compared} == {
        ("client cost", "server_cpu_us_per_op"),
        ("client tax", "server_cpu_us_per_op"),
        ("client cost", "outside_client_us_per_op"),
    }
    assert {row["baseline"]["client"] for row in compared} == {CLIENTS[0]}
    assert [row["case"]["client"] for row in compared[:2]] == list(CLIENTS[1:])
    assert all(said.count(";") <= len(CLIENTS) for said in agreement["sentences"])
    (loads,) = ({s["name"] for s in document["specimens"] if s["kind"] == "client"},)
    assert {"sysbench-1.0.20", "tlstax-engine"} <= loads
    shown = home.run("report")
    assert "Whether the load clients agree" in shown.stdout
