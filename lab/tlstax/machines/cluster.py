"""What a cluster can do for a run, what head and nodes say, and which block is measured where. Pure.

The head runs the study and has the store; a node measures blocks. Orders go from the head to a node, which
reports what it does, a JSON document a line. Neither side trusts the other's lines: they are read as frozen
types, and what is unknown is refused.

Blocks are handed out in their order, each to one machine as a whole, since a ratio is taken within a block. A
block whose machine is lost goes to another one if nothing was measured of it yet; else what was measured is
kept as broken off, and a block that nobody has begun takes its place: blocks differ in their order alone, and
there is no end of them. What captured trials show is not compared, so of their block only the rest is done.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Annotated, Literal, Protocol

from pydantic import Field, TypeAdapter

from tlstax.clients.fleet_messages import Peer
from tlstax.contract import Frozen
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.records.beforehand import ExternalServer
from tlstax.records.trial import LoadMachines, Machine, RunHeader, Specimen, Trial, TrialRecord
from tlstax.study import Study
from tlstax.support.errors import TlstaxError
from tlstax.support.text import counted


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. `identity` is the cluster's own, and another one when the machine comes back.

    `name` is short, the same when it comes back, and no other machine's.
    """

    identity: str
    name: str
    address: str


class Worker(Protocol):
    """A program of ours on a node, that takes lines and writes lines."""

    @property
    def node(self) -> Node:
        """Where it works."""
        ...

    def send(self, line: str) -> None:
        """Give it a line. What cannot be given shows in what is heard of it."""
        ...


@dataclass(frozen=True)
class Heard:
    """What has come from a worker: lines, and how it ended; None while it works.

    `node_is_lost` where it ended because its machine, or what joins it to us, is gone.
    """

    worker: Worker
    lines: Sequence[str] = ()
    ended: str | None = None
    node_is_lost: bool = False


class Cluster(Protocol):
    """Machines that are joined."""

    def nodes(self) -> Sequence[Node]:
        """Those that are there now."""
        ...

    def start(self, nodes: Sequence[Node], arguments: Sequence[str]) -> Mapping[Node, Worker | TlstaxError]:
        """Start tlstax with these arguments on all of these at once; why not, where it cannot be."""
        ...

    def hear(self, within_s: float) -> Sequence[Heard]:
        """What has come from any worker since; waits so long for something."""
        ...

    def end(self, workers: Sequence[Worker]) -> None:
        """Have these end in order, all at once, and by force where that takes too long."""
        ...


def named_nodes(hosts: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each node of a cluster, by its host's name and address; those with equal names have both."""
    addresses: dict[str, set[str]] = {}
    for host, address in hosts:
        addresses.setdefault(host, set()).add(address)
    return [host if len(addresses[host]) == 1 else f"{host}-{address}" for host, address in hosts]


class OpenOrder(Frozen):
    """Have everything ready that the blocks of this study need.

    With `is_settled` the study is as the servers can do it; else the node asks them, and where `tls_as_able`,
    a server that lacks a TLS version gets what it has. `cpus` are those that the user asked for. The
    load comes from `peers`, which reach this node's server at `address`; from the node itself without.
    """

    kind: Literal["open"] = "open"
    study: Study
    seed: int
    trial_duration_s: float
    is_settled: bool = False
    tls_as_able: bool = False
    beside_others: bool = False
    cpus: AskedCpus = AskedCpus()
    peers: tuple[Peer, ...] = ()
    address: str = ""


class BeginOrder(Frozen):
    """The run has begun, and this is its header."""

    kind: Literal["begin"] = "begin"
    header: RunHeader


class BlockOrder(Frozen):
    """Measure these trials: a block of the run, or what is left of it."""

    kind: Literal["block"] = "block"
    trials: tuple[Trial, ...]


Order = Annotated[OpenOrder | BeginOrder | BlockOrder, Field(discriminator="kind")]


class Said(Frozen):
    """A step that may take a while, or with `is_warning` something that the user should know."""

    kind: Literal["said"] = "said"
    text: str
    is_warning: bool = False


class Opened(Frozen):
    """All is ready: the study as this node's servers can do it, on which machine, with which specimens.

    `load` has the machines that the load comes from, None where it is the node itself.
    """

    kind: Literal["opened"] = "opened"
    study: Study
    machine: Machine
    specimens: tuple[Specimen, ...]
    load: LoadMachines | None = None

    @property
    def external(self) -> tuple[ExternalServer, ...]:
        """No node measures an external server: blocks of one are not spread."""
        return ()


class Began(Frozen):
    """A trial begins; or, where `taking_turns` is not 0, N clients take turns from now on."""

    kind: Literal["began"] = "began"
    trial: Trial
    taking_turns: int = 0


class Measured(Frozen):
    """Trials that count together or not at all, judged; their jobs have no passwords."""

    kind: Literal["measured"] = "measured"
    records: tuple[TrialRecord, ...]


class BlockDone(Frozen):
    """Nothing is left to do of the block."""

    kind: Literal["block_done"] = "block_done"
    block: int


class Failed(Frozen):
    """The node cannot go on: its machine is at fault, or with `is_mistake` what the user asked for."""

    kind: Literal["failed"] = "failed"
    message: str
    remedy: str = ""
    is_mistake: bool = False


Report = Annotated[Said | Opened | Began | Measured | BlockDone | Failed, Field(discriminator="kind")]

ORDERS: TypeAdapter[OpenOrder | BeginOrder | BlockOrder] = TypeAdapter(Order)
REPORTS: TypeAdapter[Said | Opened | Began | Measured | BlockDone | Failed] = TypeAdapter(Report)


def line(message: Frozen) -> str:
    """A message as one line, with its end."""
    return message.model_dump_json() + "\n"


Block = tuple[Trial, ...]

SLOW = 0.25
"""A machine that has measured less than this share of what the machines' median has is said to be slow."""


@dataclass
class Dispatch:
    """Hands out blocks.

    `blocks` are those still to be done, without end. `begun_on` has the machine of each that was begun
    before a run was cut off: nobody else goes on with it. `under_way` is who is at which, and
    `measured_by` how many blocks each machine is done with.
    """

    blocks: Iterator[Block]
    begun_on: Mapping[int, str] = field(default_factory=dict)
    under_way: dict[str, Block] = field(default_factory=dict)
    measured_by: Counter[str] = field(default_factory=Counter)
    _waiting: deque[Block] = field(default_factory=deque)

    def next_for(self, machine: str) -> Block:
        """The block that this machine is to measure now; from then on it is under way there."""
        block = self._returned(machine)
        while block is None:
            drawn = next(self.blocks)
            if self._may_have(machine, drawn):
                block = drawn
            else:
                self._waiting.append(drawn)
        self.under_way[machine] = block
        return block

    def done(self, machine: str) -> Block:
        """The machine is done with its block, which is returned."""
        self.measured_by[machine] += 1
        return self.under_way.pop(machine)

    def lost(self, machine: str, measured: set[int]) -> Block | None:
        """The machine is gone; `measured` are the positions of its block of which there are records.

        The block that it was at, None where it had none.
        """
        block = self.under_way.pop(machine, None)
        if block is None:
            return None
        left = tuple(trial for trial in block if trial.position not in measured)
        if left and (not measured or block[0].goes_before):
            self._waiting.appendleft(left)
        return block

    def slow(self, machines: Collection[str]) -> Iterator[str]:
        """A sentence for each of these machines, those still at work, that has done far less than others."""
        usual = median([self.measured_by[name] for name in machines] or [0])
        for name in sorted(machines):
            blocks = self.measured_by[name]
            if blocks < SLOW * usual:
                did = counted(blocks, "block") if blocks else "no block"
                yield f"{name} is slow: it measured {did} while the median machine measured {usual:g}"

    def _returned(self, machine: str) -> Block | None:
        for block in self._waiting:
            if self._may_have(machine, block):
                self._waiting.remove(block)
                return block
        return None

    def _may_have(self, machine: str, block: Block) -> bool:
        return self.begun_on.get(block[0].block, machine) == machine
