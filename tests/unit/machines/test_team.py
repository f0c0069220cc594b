"""A server's machine and its load machines are one machine of a cluster, and go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from tlstax.clients.fleet_messages import Listening, ListenOrder, NotListening
from tlstax.contract import Frozen
from tlstax.machines.cluster import Heard, Node, OpenOrder, Worker, line
from tlstax.machines.team import CLIENT_COMMAND, Team, check_trusted
from tlstax.study import load_study
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

ORDER = OpenOrder(study=load_study("tax"), seed=1, trial_duration_s=0.1)


@dataclass(eq=False)
class Program:
    """A program of ours on a node, and what it was told."""

    node: Node
    arguments: tuple[str, ...]
    told: list[str] = field(default_factory=list)

    def send(self, text: str) -> None:
        self.told.append(text)


class Joined:
    """A cluster of these nodes, on which load machines listen at once or say why not."""

    def __init__(self, *names: str, failing: Mapping[str, TlstaxError | Frozen] | None = None) -> None:
        self.there = [Node(f"{name}-1", name, f"10.0.0.{place}") for place, name in enumerate(names, 1)]
        self.failing = dict(failing or {})
        self.programs: list[Program] = []
        self.ended: list[Worker] = []
        self.to_hear: list[Heard] = []

    def nodes(self) -> Sequence[Node]:
        return self.there

    def start(self, nodes: Sequence[Node], arguments: Sequence[str]) -> Mapping[Node, Worker | TlstaxError]:
        found: dict[Node, Worker | TlstaxError] = {}
        for node in nodes:
            failure = self.failing.get(node.name)
            if isinstance(failure, TlstaxError):
                found[node] = failure
                continue
            found[node] = program = Program(node, tuple(arguments))
            self.programs.append(program)
            if program.arguments == CLIENT_COMMAND:
                said = failure or Listening(port=4000 + len(self.programs), fingerprint=node.name)
                self.to_hear.append(Heard(program, (line(said),)))
        return found

    def hear(self, within_s: float) -> Sequence[Heard]:
        assert within_s > 0
        found, self.to_hear = self.to_hear, []
        return found

    def end(self, workers: Sequence[Worker]) -> None:
        self.ended.extend(workers)

    def program(self, name: str) -> Program:
        return next(one for one in reversed(self.programs) if one.node.name == name)


def team_of(cluster: Joined, clients: Sequence[str] = ("c1", "c2")) -> tuple[Team, list[str]]:
    warned: list[str] = []
    return Team(cluster, "db", clients, warned.append), warned


def started(team: Team) -> Worker:
    (node,) = team.nodes()
    worker = team.start([node], ("node",))[node]
    assert not isinstance(worker, TlstaxError)
    return worker


def test_the_laboratory_is_told_of_the_load_machines_with_its_first_order() -> None:
    cluster = Joined("c2", "db", "c1", "other")
    team, warned = team_of(cluster)
    worker = started(team)
    worker.send(line(ORDER))
    worker.send("a block\n")
    laboratory = cluster.program("db")
    order = OpenOrder.model_validate_json(laboratory.told[0])
    assert [(peer.name, peer.address, peer.fingerprint) for peer in order.peers] == [
        ("c1", "10.0.0.3", "c1"),
        ("c2", "10.0.0.1", "c2"),
    ]
    assert order.address == worker.node.address == "10.0.0.2"
    assert laboratory.told[1] == "a block\n"
    listening = ListenOrder.model_validate_json(cluster.program("c1").told[0])
    assert listening.address == "10.0.0.3"
    assert {peer.token for peer in order.peers} == {listening.token}
    assert [program.node.name for program in cluster.programs] == ["c1", "c2", "db"]
    assert (worker.node.name, warned) == ("db", [])


def test_what_the_laboratory_says_is_the_teams() -> None:
    cluster = Joined("db", "c1", "c2")
    team, _ = team_of(cluster)
    worker = started(team)
    cluster.to_hear = [Heard(cluster.program("db"), ("{}\n",)), Heard(cluster.program("c1"), ("?\n",))]
    assert team.hear(1.0) == [Heard(worker, ("{}\n",))]
    assert not cluster.ended


@pytest.mark.parametrize("who", ["db", "c2"])
def test_all_end_with_one(who: str) -> None:
    cluster = Joined("db", "c1", "c2")
    team, _ = team_of(cluster)
    worker = started(team)
    cluster.to_hear = [Heard(cluster.program(who), ended="was killed by signal 9", node_is_lost=True)]
    (heard,) = team.hear(1.0)
    assert heard.worker is worker
    assert heard.ended == ("" if who == "db" else f"its load machine {who}: ") + "was killed by signal 9"
    # The server's machine is gone; of a load machine the team begins anew without it.
    assert heard.node_is_lost is (who == "db")
    assert {worker.node.name for worker in cluster.ended} == {"db", "c1", "c2"} - {who}
    cluster.to_hear = [Heard(cluster.program("c1"), ended="ended")]
    assert team.hear(1.0) == []


def test_it_is_another_machine_when_one_of_its_machines_is() -> None:
    cluster = Joined("db", "c1", "c2")
    team, _ = team_of(cluster)
    (before,) = team.nodes()
    cluster.there = [node for node in cluster.there if node.name != "c2"]
    (after,) = team.nodes()
    assert (before.name, before.address) == (after.name, after.address)
    assert before.identity != after.identity
    cluster.there = [node for node in cluster.there if node.name != "c1"]
    assert team.nodes() == ()
    cluster.there = [Node("c1-1", "c1", "10.0.0.2")]
    assert team.nodes() == ()


@pytest.mark.parametrize("failure", [MachineFault("no room"), NotListening(why="no room")])
def test_a_load_machine_that_fails_is_left_out(failure: TlstaxError | Frozen) -> None:
    cluster = Joined("db", "c1", "c2", failing={"c1": failure})
    team, warned = team_of(cluster)
    started(team).send(line(ORDER))
    order = OpenOrder.model_validate_json(cluster.program("db").told[0])
    assert [peer.name for peer in order.peers] == ["c2"]
    assert warned == ["no load comes from c1: no room"]


def test_without_a_load_machine_there_is_no_team() -> None:
    cluster = Joined("db", "c1", failing={"c1": MachineFault("no room", remedy="make some")})
    team, _ = team_of(cluster, ["c1"])
    (node,) = team.nodes()
    failure = team.start([node], ("node",))[node]
    assert isinstance(failure, MachineFault)
    assert failure.sentence() == "c1: no room; make some"


def test_load_machines_end_where_the_server_cannot_be_started() -> None:
    cluster = Joined("db", "c1", failing={"db": MachineFault("no server")})
    team, _ = team_of(cluster, ["c1"])
    (node,) = team.nodes()
    assert isinstance(team.start([node], ("node",))[node], MachineFault)
    assert [worker.node.name for worker in cluster.ended] == ["c1"]


def test_the_end_of_a_team_is_that_of_all_the_laboratory_first() -> None:
    cluster = Joined("db", "c1", "c2")
    team, _ = team_of(cluster)
    team.end([started(team)])
    assert [worker.node.name for worker in cluster.ended] == ["db", "c1", "c2"]


def test_a_network_has_to_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    near, far = Node("1", "a", "127.0.0.1"), Node("2", "b", "10.0.0.2")
    for is_private in (True, False):
        check_trusted([near], is_private=is_private, is_trusted=False)
        check_trusted([near, far], is_private=is_private, is_trusted=True)
    with pytest.raises(UserMistake, match="a private server listen on the network"):
        check_trusted([near, far], is_private=True, is_trusted=False)
    with pytest.raises(UserMistake, match="the password of the external server"):
        check_trusted([near, far], is_private=False, is_trusted=False)
    monkeypatch.setenv("RAY_USE_TLS", "1")
    check_trusted([near, far], is_private=False, is_trusted=False)
    with pytest.raises(UserMistake, match="a private server"):
        check_trusted([near, far], is_private=True, is_trusted=False)
