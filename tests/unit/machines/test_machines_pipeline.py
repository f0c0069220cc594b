"""A run over many machines: every block once and whole on one of them, whatever becomes of the machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

from fake_cluster import FakeCluster, FakeMachine
from fake_trials import fake_header
from tlstax.machines.cluster import Failed
from tlstax.machines.pipeline import run_on
from tlstax.plan.order import trials_per_block
from tlstax.records.trial import StoredRun
from tlstax.results.live import LiveRun
from tlstax.run.preparing import Request
from tlstax.run.progress import Step
from tlstax.run.resume import unfinished
from tlstax.store import Store
from tlstax.study import load_study, override
from tlstax.support.errors import Interrupted, MachineFault, UserMistake

SMALL = override(override(load_study("tax"), "tls", ["off", "1.3"]), "workload", ["point-select"])
STUDY = SMALL.model_copy(update={"minimum_blocks": 6, "budget_s": 3600.0, "precision": 0.05})
PER_BLOCK = trials_per_block(STUDY)


@dataclass
class Heard:
    """A watcher that keeps what it is told."""

    steps: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    noted_blocks: list[int] = field(default_factory=list)

    def step(self, text: str) -> None:
        self.steps.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def trial(self, step: Step) -> None:
        self.labels.append(step.label)

    def noted(self, live: LiveRun) -> None:
        self.noted_blocks.append(live.blocks)

    def close(self) -> None:
        pass


def measured(
    store: Store, cluster: FakeCluster, *, resumed: StoredRun | None = None
) -> tuple[StoredRun, Heard]:
    watcher = Heard()
    request = Request(study=STUDY, seed=3, resumed=resumed)
    return run_on(cluster, request, store, watcher), watcher


def whole_blocks(run: StoredRun) -> Counter[int]:
    """How many valid trials each block has that has any."""
    return Counter(record.trial.block for record in run.trials if record.verdict.value == "valid")


def machine_of_blocks(run: StoredRun) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for record in run.trials:
        found.setdefault(record.trial.block, set()).add(record.machine)
    return found


def test_each_block_is_measured_whole_on_one_machine_and_once(store: Store) -> None:
    cluster = FakeCluster(FakeMachine("a"), FakeMachine("b"), FakeMachine("c"))
    run, watcher = measured(store, cluster)
    assert run.status == "complete"
    assert set(whole_blocks(run).values()) == {PER_BLOCK}
    assert sorted(whole_blocks(run)) == list(range(len(whole_blocks(run))))
    assert all(len(machines) == 1 for machines in machine_of_blocks(run).values())
    assert {name for machines in machine_of_blocks(run).values() for name in machines} == {"a", "b", "c"}
    assert set(run.header.machines) == {"a", "b", "c"}
    assert len(cluster.blocks_given()) == len(set(cluster.blocks_given()))
    assert watcher.steps[0].startswith("making ready: a, b and c (")
    assert {"a: starting a server", "b: starting a server"} <= set(watcher.steps)
    assert any(label.endswith(", on b") for label in watcher.labels)
    assert watcher.noted_blocks == sorted(set(watcher.noted_blocks))
    assert watcher.noted_blocks[0] == 1


def test_nobody_is_left_at_work_when_the_run_has_ended(store: Store) -> None:
    cluster = FakeCluster(FakeMachine("a"), FakeMachine("b"))
    measured(store, cluster)
    assert {id(worker) for worker in cluster.ended} == {id(worker) for worker in cluster.started}


@pytest.mark.parametrize("reports", range(9))
@pytest.mark.parametrize("node_dies", [True, False])
def test_a_machine_that_dies_at_any_moment_costs_no_block(
    store: Store, reports: int, node_dies: bool
) -> None:
    cluster = FakeCluster(FakeMachine("a", reports, node_dies), FakeMachine("b"))
    run, watcher = measured(store, cluster)
    assert run.status == "complete"
    assert set(whole_blocks(run).values()) == {PER_BLOCK}
    assert len(whole_blocks(run)) >= STUDY.minimum_blocks
    assert "stopped working" in watcher.warnings[0] or "is gone" in watcher.warnings[0]
    broken = [record for record in run.trials if record.verdict.value == "invalid"]
    assert all("its block was broken off: a " in record.verdict.reasons[0] for record in broken)
    assert {record.machine for record in broken} <= {"a"}
    # What was measured before it died is kept, and does not count.
    assert bool(broken) == (reports % 5 in {2, 3, 4})


def test_a_machine_that_comes_back_is_used_again(store: Store) -> None:
    cluster = FakeCluster(FakeMachine("a", 7), FakeMachine("b"))
    run, _ = measured(store, cluster)
    lives = [worker.node.identity for worker in cluster.started if worker.node.name == "a"]
    assert lives == ["a/0", "a/1"]
    assert set(whole_blocks(run).values()) == {PER_BLOCK}


def test_a_machine_that_joins_later_is_used(store: Store) -> None:
    cluster = FakeCluster(FakeMachine("a"), FakeMachine("late", absent_for=6))
    run, _ = measured(store, cluster)
    assert "late" in run.header.machines
    assert {"late"} in machine_of_blocks(run).values()


def test_a_machine_that_keeps_dying_is_used_no_more(store: Store) -> None:
    cluster = FakeCluster(FakeMachine("a", 1, keeps_dying=True), FakeMachine("b"))
    run, _ = measured(store, cluster)
    assert run.status == "complete"
    assert len([worker for worker in cluster.started if worker.node.name == "a"]) == 3


def test_with_no_machine_left_the_run_fails_and_can_be_resumed(store: Store) -> None:
    only = FakeMachine("a", 12)
    cluster = FakeCluster(only)
    cluster.nodes = lambda: [] if only.lives else FakeCluster.nodes(cluster)  # type: ignore[method-assign]
    with pytest.raises(MachineFault, match="a is gone"):
        measured(store, cluster)
    left = unfinished(store, "tax", "last")
    assert left.status == "failed"
    before = whole_blocks(left)
    again, _ = measured(store, FakeCluster(FakeMachine("b")), resumed=left)
    assert again.status == "complete"
    assert set(whole_blocks(again).values()) == {PER_BLOCK}
    assert before.items() <= whole_blocks(again).items()


def test_a_run_is_not_resumed_with_another_server(store: Store) -> None:
    cluster = FakeCluster(FakeMachine("a"), interrupt_at=8, error=Interrupted())
    measured(store, cluster)
    server, *others = fake_header().specimens
    other = (server.model_copy(update={"sha256": "cd" * 32}), *others)
    left = unfinished(store, "tax", "last")
    with pytest.raises(UserMistake, match=r"mysql-9\.7 is not the one"):
        measured(store, FakeCluster(FakeMachine("a", specimens=other)), resumed=left)
    assert unfinished(store, "tax", "last").status == "interrupted"


@pytest.mark.parametrize("moment", range(3, 16))
def test_an_interrupted_run_keeps_what_was_measured_and_goes_on_with_it(store: Store, moment: int) -> None:
    cluster = FakeCluster(FakeMachine("a"), FakeMachine("b"), interrupt_at=moment, error=Interrupted())
    run, _ = measured(store, cluster)
    assert run.status == "interrupted"
    assert {id(worker) for worker in cluster.ended} == {id(worker) for worker in cluster.started}
    left = unfinished(store, "tax", "last")
    again, _ = measured(store, FakeCluster(FakeMachine("a"), FakeMachine("b")), resumed=left)
    assert again.status == "complete"
    assert set(whole_blocks(again).values()) == {PER_BLOCK}
    assert all(len(machines) == 1 for machines in machine_of_blocks(again).values())
    assert {record.trial.place for record in run.trials} <= {record.trial.place for record in again.trials}


def test_a_machine_that_cannot_be_made_ready_is_left_out_and_said_why(store: Store) -> None:
    cluster = FakeCluster(
        FakeMachine("a", failure=Failed(message="its disk is full", remedy="make room")), FakeMachine("b")
    )
    run, watcher = measured(store, cluster)
    assert "a is left out: a: its disk is full; make room" in watcher.warnings
    assert set(run.header.machines) == {"b"}


def test_a_machine_that_cannot_be_started_is_left_out(store: Store) -> None:
    refusal = MachineFault("it is an aarch64 machine, and this is an x86_64 one")
    run, watcher = measured(store, FakeCluster(FakeMachine("a", refusal=refusal), FakeMachine("b")))
    assert "a is left out: it is an aarch64 machine, and this is an x86_64 one" in watcher.warnings
    assert set(run.header.machines) == {"b"}


def test_a_machine_with_another_server_is_left_out(store: Store) -> None:
    server, *others = fake_header().specimens
    other = (server.model_copy(update={"sha256": "cd" * 32}), *others)
    run, watcher = measured(store, FakeCluster(FakeMachine("a"), FakeMachine("b", specimens=other)))
    assert watcher.warnings == ["b is left out: its mysql-9.7 (9.7.4-1) is not the one of the other machines"]
    assert set(run.header.machines) == {"a"}


def test_where_no_machine_can_be_made_ready_the_first_reason_is_given(store: Store) -> None:
    failure = Failed(message="its disk is full", remedy="make room")
    with pytest.raises(MachineFault, match="a: its disk is full"):
        measured(store, FakeCluster(FakeMachine("a", failure=failure), FakeMachine("b", failure=failure)))
    assert store.runs() == []


def test_what_the_user_got_wrong_ends_the_run(store: Store) -> None:
    failure = Failed(message="mysql-9.7 has no TLS 1.1", is_mistake=True)
    with pytest.raises(UserMistake, match=r"no TLS 1\.1"):
        measured(store, FakeCluster(FakeMachine("a"), FakeMachine("b", failure=failure)))


def test_an_empty_cluster_is_said_to_be_one(store: Store) -> None:
    with pytest.raises(MachineFault, match="no machine of the cluster is left"):
        measured(store, FakeCluster())
