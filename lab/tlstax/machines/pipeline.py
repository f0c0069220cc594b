"""A run over many machines, in one function: machines → plan → blocks, each on one of them → store.

Its crew are the nodes that work for it: who is being made ready, who is free, who works, who is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pydantic import ValidationError

from tlstax.contract import Frozen
from tlstax.machines.cluster import (
    REPORTS,
    Began,
    BeginOrder,
    BlockDone,
    BlockOrder,
    Cluster,
    Dispatch,
    Failed,
    Heard,
    Measured,
    Node,
    Opened,
    OpenOrder,
    Report,
    Said,
    Worker,
    line,
)
from tlstax.plan.order import blocks
from tlstax.records.trial import RunHeader, Specimen, StoredRun, TrialRecord, Verdict
from tlstax.run.early_abort import stop_on_the_users_mistake, stop_where_nothing_can_be_done
from tlstax.run.pipeline import Watcher, noted, to_its_end
from tlstax.run.preparing import Listener, Request, begun, needs_of
from tlstax.run.progress import Outlook
from tlstax.run.resume import check_same_content, slim, spent_s
from tlstax.stats.live import Account
from tlstax.stats.stopping import Stop, Taken, decide
from tlstax.store import Store
from tlstax.support import interruption
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.interruption import leaving
from tlstax.support.text import counted, enumerated

HEAR_S = 1.0
"""How long to wait for a report until the cluster is asked who is there."""

LOOK_SHARE = 0.02
"""By how much the blocks have to have grown until it is asked again whether they are enough."""


def run_on(cluster: Cluster, request: Request, store: Store, watcher: Watcher) -> StoredRun:
    """Carry out a study on all machines of the cluster and give back what the store holds of it.

    A block is in the store when its machine is done with it. Ctrl-C ends the work of all in order and keeps
    what was measured. UserMistake and MachineFault where nothing could be measured, or no machine is left.
    """
    needs = needs_of(request)
    order = OpenOrder(
        study=request.study,
        seed=needs.seed,
        trial_duration_s=needs.duration_s,
        is_settled=request.resumed is not None,
        tls_as_able=request.tls_as_able,
        beside_others=request.beside_others,
        cpus=request.cpus,
    )
    crew = Crew(cluster, order, watcher)
    try:
        first = _first_ready(crew)
        if request.resumed is not None:
            check_same_content(request.resumed.header, first.specimens)
        header = begun(request, first.study, needs, first, store)

        def measure() -> str:
            return _Measuring(header, crew, store, watcher, request.resumed).until_known()

        to_its_end(header.run, measure, store, watcher)
    finally:
        crew.end()
    return store.load(header.run)


def _first_ready(crew: Crew) -> Opened:
    """What the first machine that is ready can do; the others have to be able to do the same."""
    while True:
        crew.muster()
        crew.check_anybody_left()
        reports = [report for _, report in crew.hear(HEAR_S)]
        for gone in (report for report in reports if isinstance(report, Gone)):
            crew.listener.warn(gone.why)
        for opened in (report for report in reports if isinstance(report, Opened)):
            return opened


@dataclass
class _Measuring:
    """Blocks handed out, and what comes back of them, until enough is known."""

    header: RunHeader
    crew: Crew
    store: Store
    watcher: Watcher
    resumed: StoredRun | None
    reported: dict[str, list[TrialRecord]] = field(default_factory=dict)
    """What each machine has reported of the block that it is at."""

    def __post_init__(self) -> None:
        study, before = self.header.study, self.resumed
        self.records = list(before.trials) if before else []
        self.account = Account(self.header, self.records)
        spent = spent_s(before) if before else 0.0
        self.outlook = Outlook(study, self.header.trial_duration_s, spent, time.monotonic())
        done = {record.trial.place for record in self.records}
        begun_on = {record.trial.block: record.machine for record in self.records if record.machine}
        self.machines = dict(self.header.machines)
        self.known_machines = dict(self.header.machines)
        self.dispatch = Dispatch(blocks(study, self.header.seed, done), begun_on)
        self.stop: Stop | None = None
        self.answered = False
        self.taken = Taken.of(study)
        self.blocks_done = len({record.trial.block for record in self.records})
        self.next_look = self.blocks_done + 1

    def until_known(self) -> str:
        """Hand out blocks until the stopping rule is content and all that were begun are done; why."""
        if self.outlook.warning:
            self.watcher.warn(self.outlook.warning)
        try:
            for member in self.crew.working:
                self._give_block(member)
            self._name_machines()
            while self.stop is None or self.dispatch.under_way:
                self.crew.muster()
                self.crew.check_anybody_left()
                for member, report in self.crew.hear(HEAR_S):
                    self._handle(member, report)
                self._name_machines()
                interruption.check()
            for text in self.dispatch.slow([member.node.name for member in self.crew.working]):
                self.watcher.warn(text)
        finally:
            # What was measured of unfinished blocks is kept; a later session of the run may go on with them.
            for name in list(self.reported):
                self._keep(name)
        return self.stop.why

    def _name_machines(self) -> None:
        """Have the store know all machines that there are by now."""
        if self.machines != self.known_machines:
            self.known_machines = dict(self.machines)
            self.store.amend(self.header.model_copy(update={"machines": self.known_machines}))

    def _handle(self, member: Member, report: object) -> None:
        name = member.node.name
        if isinstance(report, Opened):
            self._give_block(member)
        elif isinstance(report, Began):
            self._show(name, report)
        elif isinstance(report, Measured):
            records = [record.model_copy(update={"machine": name}) for record in report.records]
            self.reported.setdefault(name, []).extend(records)
            for record in records:
                stop_on_the_users_mistake(record, self.header.study)
        elif isinstance(report, BlockDone):
            self._block_is_done(name)
            self._give_block(member)
        elif isinstance(report, Gone):
            self._machine_is_gone(name, report.why)

    def _give_block(self, member: Member) -> None:
        if member.state != "open" or self.stop is not None:
            return
        name, opened = member.node.name, member.opened
        if opened is not None and not member.has_begun:
            self.machines[name] = opened.machine
            member.worker.send(line(BeginOrder(header=self.header)))
            member.has_begun = True
        member.worker.send(line(BlockOrder(trials=self.dispatch.next_for(name))))

    def _block_is_done(self, name: str) -> None:
        block = self.dispatch.done(name)
        self._keep(name)
        self.answered = self.answered or stop_where_nothing_can_be_done(self.records, self.header.study)
        if block[0].goes_before:
            return
        self.blocks_done += 1
        now_s, study = time.monotonic(), self.header.study
        if not self._is_time_to_look(self.outlook.spent_s(now_s)):
            return
        measured = [record for record in self.records if record.trial.is_measured]
        decision = decide(study, measured, self.outlook.spent_s(now_s), self.taken)
        if isinstance(decision, Stop):
            # The last one speaks of all blocks that are in the store.
            self.stop = decision
        else:
            self.outlook.decided(decision.progress, now_s)
            self.account.decided(decision.progress)
            at_work = f"{counted(len(self.crew.working), 'machine')} at work on blocks of their own"
            self.watcher.noted(noted(self.account, self.outlook, at_work))

    def _is_time_to_look(self, spent_s: float) -> bool:
        """Whether there is enough new to look at all blocks again, or the budget may be spent.

        A look takes as long as there are trials. Of many machines blocks come faster than that.
        """
        each_s = spent_s / self.blocks_done
        has_room = spent_s + each_s * len(self.crew.working) <= self.header.study.budget_s
        if self.blocks_done < self.next_look and has_room:
            return False
        self.next_look = self.blocks_done + max(1, int(self.blocks_done * LOOK_SHARE))
        return True

    def _machine_is_gone(self, name: str, why: str) -> None:
        records = self.reported.pop(name, [])
        block = self.dispatch.lost(name, {record.trial.position for record in records})
        self.reported[name] = [_broken_off(record, why) for record in records]
        self._keep(name)
        what = f"; block {block[0].block + 1} is measured elsewhere" if block else ""
        self.watcher.warn(f"{why}{what}")

    def _keep(self, name: str) -> None:
        """Put into the store what the machine reported of its block."""
        records = self.reported.pop(name, [])
        if records:
            self.store.add_trials(self.header.run, records)
            self.account.took(records)
        self.records += [slim(record, self.header.study) for record in records]

    def _show(self, name: str, report: Began) -> None:
        now_s = time.monotonic()
        if report.taking_turns:
            step = self.outlook.turns(report.trial, report.taking_turns, now_s)
        else:
            step = self.outlook.step(report.trial, now_s)
        self.watcher.trial(step.on(name))


def _broken_off(record: TrialRecord, why: str) -> TrialRecord:
    """The record of a trial that does not count, since its block was not measured to its end."""
    if record.trial.goes_before:
        return record
    reason = f"its block was broken off: {why}"
    verdict = Verdict(value="invalid", reasons=(reason, *record.verdict.reasons))
    return record.model_copy(update={"verdict": verdict})


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
