"""A run over machines that Ray joins, on real servers: every trial is proved and in the store once."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lost_machines import PER_BLOCK, STUDY, ray_command
from ray_nodes import PORT, RayNode, ray_nodes

from tlstax.store import Store

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes machines of network namespaces"),
]
LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Sequence[RayNode]]:
    with ray_nodes(2, ray_command()) as made:
        yield made


def tlstax(node: RayNode, data: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_DATA_HOME": data, "TLSTAX_TURN": "head"}
    environment.pop("TLSTAX_DATA", None)
    return subprocess.run(
        [*node.entering(), str(LAUNCHER), *words, "--ray", f"{node.address}:{PORT}"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


def test_each_machine_says_what_it_is(nodes: Sequence[RayNode]) -> None:
    done = tlstax(nodes[0], tempfile.gettempdir(), "machines", "--json")
    assert done.returncode == 0, done.stderr
    listing = json.loads(done.stdout)
    assert [machine["name"] for machine in listing["machines"]] == ["node1", "node2"]
    assert all(machine["checks"] and not machine["why_not"] for machine in listing["machines"]), listing
    # Ray's workers are nice by default, and would have all that they start wait for others.
    priorities = [
        check for machine in listing["machines"] for check in machine["checks"] if check["name"] == "priority"
    ]
    assert [check["found"] for check in priorities] == ["nice 0"] * 2
    assert {(trip["source"], trip["target"]) for trip in listing["round_trips"]} == {
        ("node1", "node2"),
        ("node2", "node1"),
    }


def test_blocks_are_spread_and_each_trial_is_proved_and_stored_once(
    nodes: Sequence[RayNode], tmp_path: Path
) -> None:
    done = tlstax(nodes[0], str(tmp_path), *STUDY, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    with Store.open(tmp_path / "tlstax" / "store.sqlite") as store:
        run = store.load("last")
    assert document["run"] == run.header.run
    assert {record.machine for record in run.trials} == {"node1", "node2"} == set(run.header.machines)
    assert {record.verdict.value for record in run.trials} == {"valid"}
    assert set(Counter(record.trial.block for record in run.trials).values()) == {PER_BLOCK}
    assert all(record.job is not None and not record.job.account.password for record in run.trials)
    assert not [process for node in nodes for process in node.ours()]


def test_a_server_on_one_machine_gets_its_load_from_another(nodes: Sequence[RayNode], tmp_path: Path) -> None:
    parts = ("--server-on", "node2", "--clients-on", "node1")
    refused = tlstax(nodes[0], str(tmp_path), *STUDY, *parts)
    assert refused.returncode == 2
    assert "--trust-network" in refused.stderr
    done = tlstax(nodes[0], str(tmp_path), *STUDY, *parts, "--trust-network", "--json")
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "tlstax" / "store.sqlite") as store:
        run = store.load("last")
    assert {record.machine for record in run.trials} == {"node2"}
    assert run.header.load is not None
    assert list(run.header.load.machines) == ["node1"]
    assert {record.verdict.value for record in run.trials} == {"valid"}
    assert all(record.load is not None for record in run.trials)
    assert {record.load.server_address for record in run.trials if record.load} == {nodes[1].address}
    assert not [process for node in nodes for process in node.ours()]


def test_an_address_where_no_cluster_is_gets_a_sentence(nodes: Sequence[RayNode], tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        [*nodes[0].entering(), str(LAUNCHER), "machines", "--ray", "127.0.0.1:1"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=100,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("tlstax: nothing answers at 127.0.0.1:1 ")
