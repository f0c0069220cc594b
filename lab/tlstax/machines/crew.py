"""The nodes that work for a run: who is being made ready, who is free, who works, who is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pydantic import ValidationError

from tlstax.contract import Frozen
from tlstax.machines.cluster import Cluster, Heard, Node, Worker
from tlstax.machines.messages import REPORTS, Failed, Opened, OpenOrder, Report, Said, line
from tlstax.records.trial import Specimen
from tlstax.run.preparing import Listener
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.interruption import leaving
from tlstax.support.text import enumerated

MOST_LOSSES = 3
"""A machine that is lost more often than this in one run is not used again."""

COMMAND = ("node",)
"""What a node's tlstax is started with."""


@dataclass
class Member:
    """A node and its worker, from its start to its end; `has_begun` once it has the run's header."""

    node: Node
    worker: Worker
    state: Literal["opening", "open", "out"] = "opening"
    opened: Opened | None = None
    has_begun: bool = False


@dataclass(frozen=True)
class Gone:
    """In place of a report: this machine works no longer, and why."""

    why: str


@dataclass
class Crew:
    """All that work for a run. Each is given `order` first; `listener` hears of what is being made ready."""

    cluster: Cluster
    order: OpenOrder
    listener: Listener
    members: dict[str, Member] = field(default_factory=dict)
    """By the node's identity."""
    tried: set[str] = field(default_factory=set)
    """The identities of all nodes that there have been."""
    losses: dict[str, int] = field(default_factory=dict)
    """How often each machine was lost, by its name."""
    failure: TlstaxError | None = None
    """Why the first machine that failed did."""

    @property
    def working(self) -> list[Member]:
        """Those that are there, ready or not."""
        return [member for member in self.members.values() if member.state != "out"]

    def muster(self) -> None:
        """Start a worker on each node of the cluster that is new."""
        new = [node for node in self.cluster.nodes() if node.identity not in self.tried]
        self.tried.update(node.identity for node in new)
        wanted = [node for node in new if self.losses.get(node.name, 0) < MOST_LOSSES]
        if not wanted:
            return
        names = enumerated([node.name for node in wanted])
        self.listener.step(f"making ready: {names} (what a machine lacks is sent there, once)")
        for node, worker in self.cluster.start(wanted, COMMAND).items():
            if isinstance(worker, TlstaxError):
                self._fails(node.name, worker)
                continue
            self.members[node.identity] = Member(node, worker)
            worker.send(line(self.order))

    def hear(self, within_s: float) -> Iterator[tuple[Member, Frozen | Gone]]:
        """What members report, `Opened` first. Steps and warnings go to the listener."""
        for heard in self.cluster.hear(within_s):
            member = self.members[heard.worker.node.identity]
            for text in heard.lines:
                if member.state == "out":
                    break
                yield from self._reported(member, text)
            if heard.ended is not None and member.state != "out":
                yield member, self._lost(member, heard)

    def check_anybody_left(self) -> None:
        """The failure that put the first machine out, where none is left."""
        if not self.working:
            raise self.failure or MachineFault("no machine of the cluster is left")

    def end(self) -> None:
        """Have all that are left end in order, all at once."""
        workers = [member.worker for member in self.working]
        for member in self.working:
            member.state = "out"
        with leaving("ending the work on other machines"):
            self.cluster.end(workers)

    def put_out(self, member: Member, why: str) -> None:
        """Have a member end that cannot be used."""
        member.state = "out"
        self.listener.warn(f"{member.node.name} is left out: {why}")
        self.cluster.end([member.worker])

    def _reported(self, member: Member, text: str) -> Iterator[tuple[Member, Frozen | Gone]]:
        report = _read(text)
        name = member.node.name
        if report is None:
            self.put_out(member, "what it reports cannot be read")
            yield member, Gone("what it reports cannot be read")
        elif isinstance(report, Said):
            (self.listener.warn if report.is_warning else self.listener.step)(f"{name}: {report.text}")
        elif isinstance(report, Failed):
            error = _error(name, report)
            if isinstance(error, UserMistake):
                raise error
            self._fails(name, error)
            member.state = "out"
            yield member, Gone(report.message)
        elif isinstance(report, Opened):
            yield from self._ready(member, report)
        else:
            yield member, report

    def _ready(self, member: Member, report: Opened) -> Iterator[tuple[Member, Frozen | Gone]]:
        first = next((other.opened for other in self.members.values() if other.opened is not None), None)
        why = difference(first, report) if first is not None else ""
        if why:
            self.put_out(member, why)
            return
        member.state, member.opened = "open", report
        yield member, report

    def _lost(self, member: Member, heard: Heard) -> Gone:
        member.state = "out"
        name = member.node.name
        self.losses[name] = self.losses.get(name, 0) + 1
        if not heard.node_is_lost:
            # It may get another worker; where the node is gone, it comes back under another identity.
            self.tried.discard(member.node.identity)
        gone = Gone(f"{name} {'is gone' if heard.node_is_lost else 'stopped working'} ({heard.ended})")
        self.failure = self.failure or MachineFault(gone.why)
        return gone

    def _fails(self, name: str, error: TlstaxError) -> None:
        self.failure = self.failure or error
        self.listener.warn(f"{name} is left out: {error.sentence()}")


def difference(first: Opened, other: Opened) -> str:
    """Why a machine cannot stand beside the first of a run; empty where it can."""
    known = {specimen.name: specimen for specimen in first.specimens}
    for specimen in other.specimens:
        theirs = known.get(specimen.name)
        if theirs is None or _content(theirs) != _content(specimen):
            return f"its {specimen.name} ({specimen.version}) is not the one of the other machines"
    if other.study != first.study:
        return "its servers cannot do what those of the other machines can"
    return ""


def _content(specimen: Specimen) -> tuple[str, str]:
    return specimen.sha256, specimen.version


def _read(text: str) -> Report | None:
    try:
        return REPORTS.validate_json(text)
    except ValidationError:
        return None


def _error(name: str, report: Failed) -> TlstaxError:
    if report.is_mistake:
        return UserMistake(report.message, remedy=report.remedy)
    return MachineFault(f"{name}: {report.message}", remedy=report.remedy)
