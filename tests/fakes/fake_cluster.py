"""A cluster whose machines measure nothing: each does its block at once, and dies when told to."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from random import Random
from statistics import NormalDist

from fake_trials import fake_header, fake_record, tax_truth
from tlstax.contract import Frozen
from tlstax.machines.cluster import (
    ORDERS,
    Began,
    BeginOrder,
    BlockDone,
    BlockOrder,
    Failed,
    Heard,
    Measured,
    Node,
    Opened,
    OpenOrder,
    Said,
    Worker,
    line,
)
from tlstax.records.trial import Specimen, Trial, TrialRecord
from tlstax.support.errors import TlstaxError

NOISE = 0.001


@dataclass
class FakeMachine:
    """What a machine does.

    It dies after `reports_until_death` reports of blocks (None: never), with its node or alone. It is not
    there the first `absent_for` times that the cluster is asked. With a `failure` it cannot be made ready,
    with a `refusal` not even be started. `lives` counts its deaths; it dies in each if it `keeps_dying`.
    """

    name: str
    reports_until_death: int | None = None
    node_dies: bool = True
    absent_for: int = 0
    failure: Failed | None = None
    refusal: TlstaxError | None = None
    specimens: tuple[Specimen, ...] = field(default_factory=lambda: fake_header().specimens)
    lives: int = 0
    keeps_dying: bool = False


@dataclass(frozen=True)
class FakeWorker:
    """A life of a machine's program, and what it was told."""

    node: Node
    told: list[Frozen] = field(default_factory=list)

    def send(self, text: str) -> None:
        self.told.append(ORDERS.validate_json(text))


class FakeCluster:
    """These machines, which report one thing each time that anybody listens, in turn.

    `started` has every worker that there has been, `ended` those that were ended by us. The `error` is raised
    the `interrupt_at`-th time that anybody listens.
    """

    def __init__(
        self, *machines: FakeMachine, interrupt_at: int | None = None, error: BaseException | None = None
    ) -> None:
        self.machines = {machine.name: machine for machine in machines}
        self.started: list[FakeWorker] = []
        self.ended: list[Worker] = []
        self.heard = 0
        self._interrupt_at, self._error = interrupt_at, error
        self._reports: dict[int, deque[Frozen]] = {}
        self._obeyed: dict[int, int] = {}
        self._dead: set[int] = set()
        self._generator = Random(5)  # noqa: S311 (noise, not a secret)

    def nodes(self) -> Sequence[Node]:
        found = []
        for place, machine in enumerate(self.machines.values()):
            machine.absent_for -= 1
            if machine.absent_for < 0:
                found.append(Node(f"{machine.name}/{machine.lives}", machine.name, f"10.0.0.{place + 1}"))
        return found

    def start(self, nodes: Sequence[Node], arguments: Sequence[str]) -> Mapping[Node, Worker | TlstaxError]:
        assert tuple(arguments) == ("node",)
        found: dict[Node, Worker | TlstaxError] = {}
        for node in nodes:
            refusal = self.machines[node.name].refusal
            found[node] = refusal if refusal is not None else self._begin(node)
        return found

    def hear(self, within_s: float) -> Sequence[Heard]:
        assert within_s > 0
        self.heard += 1
        if self._error is not None and self.heard == self._interrupt_at:
            raise self._error
        return [heard for worker in self.started if (heard := self._next(worker)) is not None]

    def end(self, workers: Sequence[Worker]) -> None:
        self.ended.extend(workers)
        self._dead.update(id(worker) for worker in workers)

    def blocks_given(self) -> list[tuple[str, int]]:
        """Every block that was handed out, to whom, machine by machine."""
        return [
            (worker.node.name, order.trials[0].block)
            for worker in self.started
            for order in worker.told
            if isinstance(order, BlockOrder)
        ]

    def _begin(self, node: Node) -> FakeWorker:
        worker = FakeWorker(node)
        self.started.append(worker)
        self._reports[id(worker)] = deque()
        return worker

    def _next(self, worker: FakeWorker) -> Heard | None:
        if id(worker) in self._dead:
            return None
        machine, reports = self.machines[worker.node.name], self._reports[id(worker)]
        for order in worker.told[self._obeyed.get(id(worker), 0) :]:
            reports.extend(self._answers(machine, order))
        self._obeyed[id(worker)] = len(worker.told)
        if not reports:
            return None
        report = reports.popleft()
        if isinstance(report, Began | Measured | BlockDone) and machine.reports_until_death is not None:
            machine.reports_until_death -= 1
            if machine.reports_until_death < 0:
                return self._dies(worker, machine)
        return Heard(worker, (line(report),))

    def _dies(self, worker: FakeWorker, machine: FakeMachine) -> Heard:
        self._dead.add(id(worker))
        machine.reports_until_death = 1 if machine.keeps_dying else None
        if machine.node_dies:
            machine.lives += 1
        return Heard(worker, ended="killed by signal 9", node_is_lost=machine.node_dies)

    def _answers(self, machine: FakeMachine, order: Frozen) -> Sequence[Frozen]:
        if isinstance(order, OpenOrder):
            if machine.failure is not None:
                return [machine.failure]
            opened = Opened(study=order.study, machine=fake_header().machine, specimens=machine.specimens)
            return [Said(text="starting a server"), opened]
        if isinstance(order, BeginOrder):
            return []
        assert isinstance(order, BlockOrder)
        return self._block(order.trials)

    def _block(self, trials: tuple[Trial, ...]) -> Sequence[Frozen]:
        """Two sittings, the second half of the trials in the second."""
        half = len(trials) // 2
        reports: list[Frozen] = []
        for part in (trials[:half], trials[half:]):
            if part:
                reports += [
                    Began(trial=part[0]),
                    Measured(records=tuple(self._record(trial) for trial in part)),
                ]
        return [*reports, BlockDone(block=trials[0].block)]

    def _record(self, trial: Trial) -> TrialRecord:
        draw = NormalDist().inv_cdf(min(max(self._generator.random(), 1e-12), 1 - 1e-12))
        return fake_record(trial, tax_truth(trial.case).times(exp(NOISE * draw)))
