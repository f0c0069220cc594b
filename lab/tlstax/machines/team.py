"""A server's machine and the machines that its load comes from, as if they were one machine of a cluster.

A block runs on all of them together. Where one ends, so does what the others do of it, and they begin anew:
the block is treated as if its one machine had been lost.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import ValidationError

from tlstax.clients.fleet_messages import ANNOUNCEMENTS, Listening, ListenOrder, NotListening, Peer
from tlstax.machines.cluster import Cluster, Heard, Node, OpenOrder, Worker, line
from tlstax.plan.addresses import is_loopback
from tlstax.run.pilot import LoadFrom
from tlstax.run.preparing import Listener, Request
from tlstax.support import interruption
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.interruption import leaving

CLIENT_COMMAND = ("client-node",)
"""What a load machine's tlstax is started with."""

LISTEN_S, HEAR_S = 900.0, 1.0
"""How long a load machine may take to listen (it may have to be set up first); how often to look."""

Warn = Callable[[str], None]


@dataclass
class LoadWorkers:
    """The load machines' programs, and where each listens."""

    workers: list[Worker]
    peers: tuple[Peer, ...]


@dataclass(frozen=True)
class TeamWorker:
    """The laboratory on the server's machine, which is told of the load machines with its first order."""

    node: Node
    laboratory: Worker
    load: LoadWorkers
    told: list[bool] = field(default_factory=list)

    def send(self, text: str) -> None:
        """Give it a line."""
        if not self.told:
            self.told.append(True)
            order = OpenOrder.model_validate_json(text)
            known = {"peers": self.load.peers, "address": self.node.address}
            text = line(order.model_copy(update=known))
        self.laboratory.send(text)


class Team:
    """A cluster of one machine: `server`, with load from `clients`, all of them nodes of another cluster.

    It is there as long as the server's machine is and any of the others. `warn` hears who is left out.
    """

    def __init__(self, cluster: Cluster, server: str, clients: Sequence[str], warn: Warn) -> None:
        self._cluster, self._server, self._clients, self._warn = cluster, server, tuple(clients), warn
        self._working: list[TeamWorker] = []

    def nodes(self) -> Sequence[Node]:
        """The team as one node; it is another one when one of its machines is."""
        server, clients = self._machines()
        if server is None or not clients:
            return ()
        identity = "+".join(node.identity for node in (server, *clients))
        return (Node(identity, server.name, server.address),)

    def start(self, nodes: Sequence[Node], arguments: Sequence[str]) -> Mapping[Node, Worker | TlstaxError]:
        """Start the load machines, then the laboratory."""
        return {node: self._start(node, arguments) for node in nodes}

    def hear(self, within_s: float) -> Sequence[Heard]:
        """What has come from the laboratory; where a load machine ended, that the team did."""
        found = []
        for heard in self._cluster.hear(within_s):
            team = next((one for one in self._working if heard.worker in _all(one)), None)
            if team is None:
                continue
            if heard.worker is team.laboratory:
                found.append(Heard(team, heard.lines, heard.ended, heard.node_is_lost))
            elif heard.ended is not None:
                ended = f"its load machine {heard.worker.node.name}: {heard.ended}"
                found.append(Heard(team, (), ended, node_is_lost=False))
            if heard.ended is not None:
                self._end(team, without=heard.worker)
        return found

    def end(self, workers: Sequence[Worker]) -> None:
        """Have these end in order, the laboratory first."""
        for team in [one for one in self._working if one in workers]:
            self._end(team)

    def _end(self, team: TeamWorker, without: Worker | None = None) -> None:
        self._working.remove(team)
        for some in ([team.laboratory], team.load.workers):
            self._cluster.end([worker for worker in some if worker is not without])

    def _start(self, node: Node, arguments: Sequence[str]) -> Worker | TlstaxError:
        server, clients = self._machines()
        if server is None:
            return MachineFault(f"{self._server} is gone")
        try:
            load = start_load(self._cluster, clients, self._warn)
        except TlstaxError as error:
            return error
        laboratory = self._cluster.start([server], arguments)[server]
        if isinstance(laboratory, TlstaxError):
            self._cluster.end(load.workers)
            return laboratory
        team = TeamWorker(node, laboratory, load)
        self._working.append(team)
        return team

    def _machines(self) -> tuple[Node | None, tuple[Node, ...]]:
        named = {node.name: node for node in self._cluster.nodes()}
        return named.get(self._server), tuple(named[name] for name in self._clients if name in named)


@contextmanager
def load_from(cluster: Cluster, request: Request, listener: Listener) -> Iterator[LoadFrom]:
    """Load for an external server from all machines of a cluster, until the block ends. MachineFault."""
    if request.external is None:
        raise TypeError("a private server runs on a machine of the cluster")
    (access,) = request.external.servers.values()
    listener.step(
        "making ready the machines that the load comes from (what a machine lacks is sent there, once)"
    )
    load = start_load(cluster, cluster.nodes(), listener.warn)
    try:
        yield LoadFrom(load.peers, access.address.host, is_private=False)
    finally:
        with leaving("ending the work on other machines"):
            cluster.end(load.workers)


def start_load(cluster: Cluster, clients: Sequence[Node], warn: Warn) -> LoadWorkers:
    """Start tlstax on the load machines and learn where each listens; those that fail are left out.

    MachineFault where all do.
    """
    token = secrets.token_hex(32)
    started = cluster.start(clients, CLIENT_COMMAND)
    workers, why = [], MachineFault("there is no machine that load could come from")
    for node, worker in started.items():
        if isinstance(worker, TlstaxError):
            why = MachineFault(f"{node.name}: {worker.message}", remedy=worker.remedy)
            warn(f"no load comes from {node.name}: {worker.sentence()}")
            continue
        worker.send(line(ListenOrder(token=token, address=node.address)))
        workers.append(worker)
    try:
        listening = {}
        for worker, said in _announced(cluster, workers):
            if isinstance(said, Listening):
                listening[worker.node.name] = worker, said
            else:
                why = MachineFault(f"{worker.node.name}: {said.why}")
                warn(f"no load comes from {worker.node.name}: {said.why}")
    except BaseException:
        cluster.end(workers)
        raise
    if not listening:
        raise why
    known = [listening[node.name] for node in clients if node.name in listening]
    peers = tuple(
        Peer(
            name=worker.node.name,
            address=worker.node.address,
            port=said.port,
            token=token,
            fingerprint=said.fingerprint,
        )
        for worker, said in known
    )
    return LoadWorkers([worker for worker, _ in known], peers)


def _announced(
    cluster: Cluster, workers: Sequence[Worker]
) -> Iterator[tuple[Worker, Listening | NotListening]]:
    """What each of these says first; that it ended where it says nothing."""
    waiting, deadline = list(workers), time.monotonic() + LISTEN_S
    while waiting:
        interruption.check()
        for heard in cluster.hear(HEAR_S):
            if heard.worker in waiting and (heard.lines or heard.ended is not None):
                waiting.remove(heard.worker)
                yield heard.worker, _first_word(heard)
        if time.monotonic() > deadline:
            for worker in waiting:
                yield worker, NotListening(why=f"it did not listen within {LISTEN_S:.0f} s")
            return


def _first_word(heard: Heard) -> Listening | NotListening:
    try:
        return ANNOUNCEMENTS.validate_json(heard.lines[0])
    except (ValidationError, IndexError):
        return NotListening(why=heard.ended or "what it says cannot be read")


def _all(team: TeamWorker) -> tuple[Worker, ...]:
    return team.laboratory, *team.load.workers


RAY_TLS = "RAY_USE_TLS"
"""By this variable Ray encrypts what it carries (Ray's manual, "TLS authentication")."""


def check_trusted(nodes: Sequence[Node], *, is_private: bool, is_trusted: bool) -> None:
    """UserMistake where others might be on the network between these machines, and nobody says that none are.

    A private server listens on it for as long as the run takes. Passwords go to load machines over an
    encrypted connection, but whose it is, is known by what Ray carries.
    """
    if is_trusted or all(is_loopback(node.address) for node in nodes):
        return
    if is_private:
        raise UserMistake(
            "--server-on has a private server listen on the network between the machines for as long as the "
            "run takes, with a certificate, accounts and data that were made for it",
            remedy="say --trust-network if nobody else is on that network",
        )
    if os.environ.get(RAY_TLS, "") not in {"1", "true", "True"}:
        raise UserMistake(
            "the password of the external server would go to the load machines that this Ray cluster names, "
            "and its TLS is off, so that others on the network could name theirs",
            remedy=f"switch Ray's TLS on ({RAY_TLS}=1, as its manual says), or say --trust-network",
        )
