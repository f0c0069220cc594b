"""What a run starts on another machine: a laboratory, or what listens for one and runs its load clients."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TextIO

from pydantic import ValidationError

from tlstax.clients.fleet_messages import Listening, ListenOrder, NotListening
from tlstax.clients.outpost import Outpost
from tlstax.contract import Frozen
from tlstax.machines.cluster import (
    ORDERS,
    Began,
    BeginOrder,
    BlockDone,
    BlockOrder,
    Failed,
    Measured,
    Opened,
    OpenOrder,
    Said,
    line,
)
from tlstax.observers.machine import available_cpus, describe_machine
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import Split
from tlstax.plan.sittings import Sitting
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.benches import Benches, unsaid
from tlstax.run.block import Where, run_block
from tlstax.run.early_abort import stop_on_the_users_mistake
from tlstax.run.pilot import LoadFrom
from tlstax.run.preparing import Request, needs_of, opened
from tlstax.run.server_variables import check_switchable
from tlstax.run.tls_support import settled
from tlstax.specimens.sessions import open_session
from tlstax.study import Study
from tlstax.support import interruption
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.plain_words import first_mistake, reason

PATIENCE_S = 60.0
"""How long a node waits to be ended by the head once a load machine is gone: Ray takes its time to know."""

Orders = Iterator[OpenOrder | BeginOrder | BlockOrder]


def work(orders: TextIO, reports: TextIO) -> None:
    """Do as ordered until the orders end. What goes wrong is reported, and ends the work.

    The end of the orders interrupts whatever is going on, as Ctrl-C does.
    """
    head = _Head(reports)
    try:
        with interruption.restored():
            _obey(_read(orders), head)
    except TlstaxError as error:
        is_mistake = isinstance(error, UserMistake)
        head.tell(Failed(message=error.message, remedy=error.remedy, is_mistake=is_mistake))


def _obey(orders: Orders, head: _Head) -> None:
    first = next(orders, None)
    if not isinstance(first, OpenOrder):
        return
    with ExitStack() as stack:
        study, benches = _open(first, head, stack)
        head.tell(
            Opened(study=study, machine=benches.machine, specimens=benches.specimens, load=benches.load)
        )
        where = None
        for order in orders:
            if isinstance(order, BeginOrder):
                where = Where(order.header, benches)
            elif isinstance(order, BlockOrder) and where is not None:
                header = where.header
                run_block(order.trials, where, header.trial_duration_s, _Follower(head, header.study))
                head.tell(BlockDone(block=order.trials[0].block))


def _open(order: OpenOrder, head: _Head, stack: ExitStack) -> tuple[Study, Benches]:
    request = Request(
        study=order.study,
        seed=order.seed,
        tls_as_able=order.tls_as_able,
        beside_others=order.beside_others,
        cpus=order.cpus,
        load=LoadFrom(order.peers, order.address, PATIENCE_S) if order.peers else None,
    )
    needs = needs_of(request, duration_s=order.trial_duration_s)
    benches = stack.enter_context(opened(request, needs, head))
    check_switchable(order.study, benches)
    if order.is_settled:
        return order.study, benches
    return settled(order.study, benches, head.step, as_able=order.tls_as_able), benches


class _Head:
    """Who gave the orders, as a watcher of the work."""

    def __init__(self, reports: TextIO) -> None:
        self._reports = reports

    def tell(self, message: Frozen) -> None:
        """One report. MachineFault where nobody is there to get it."""
        try:
            self._reports.write(line(message))
            self._reports.flush()
        except OSError:
            raise MachineFault("nobody reads what this node reports") from None

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        self.tell(Said(text=text))

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        self.tell(Said(text=text, is_warning=True))


@dataclass(frozen=True)
class _Follower:
    """Reports what a block does; a mistake of the user's ends it here as it does on one machine."""

    head: _Head
    study: Study

    def sits(self, sitting: Sitting) -> None:
        pass

    def begins(self, trial: Trial) -> None:
        self.head.tell(Began(trial=trial))

    def failed(self, record: TrialRecord) -> None:
        stop_on_the_users_mistake(record, self.study)

    def turns_begin(self, sitting: Sitting) -> None:
        self.head.tell(Began(trial=sitting.trials[-1], taking_turns=len(sitting.trials)))

    def done(self, records: tuple[TrialRecord, ...]) -> None:
        self.head.tell(Measured(records=tuple(record.without_password() for record in records)))
        for record in records:
            stop_on_the_users_mistake(record, self.study)

    def warn(self, text: str) -> None:
        self.head.warn(text)


def _read(orders: TextIO) -> Orders:
    """The orders as they come. Their end interrupts this process, whatever it is doing."""
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_gather, args=(orders, lines), daemon=True).start()
    while True:
        text = lines.get()
        try:
            yield ORDERS.validate_json(text)
        except ValidationError as error:
            raise MachineFault(f"an order cannot be read, at {first_mistake(error)}") from None


def _gather(orders: TextIO, lines: queue.Queue[str]) -> None:
    for text in orders:
        lines.put(text)
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """The hidden command `node`; the exit status."""
    work(sys.stdin, sys.stdout)
    return 0


def listen(orders: TextIO, reports: TextIO) -> None:
    """Listen as ordered, and let the laboratory's clients run, until the orders end."""
    try:
        order = ListenOrder.model_validate_json(orders.readline())
    except ValidationError:
        _tell(reports, NotListening(why="its order cannot be read"))
        return
    cpus = tuple(sorted(available_cpus()))
    machine = describe_machine(split=Split((), cpus)).model_copy(update={"notes": ()})
    try:
        # Another run that measures here is not waited for: it will know.
        with open_session() as session, turn(unsaid, beside_others=True):
            try:
                outpost = Outpost(order.address, order.token, machine, session)
            except OSError as error:
                raise MachineFault(f"it cannot listen on {order.address} ({reason(error)})") from None
            threading.Thread(target=outpost.serve, daemon=True).start()
            _tell(reports, Listening(port=outpost.port, fingerprint=outpost.fingerprint))
            orders.read()
    except TlstaxError as error:
        _tell(reports, NotListening(why=error.message))


def _tell(reports: TextIO, message: Frozen) -> None:
    reports.write(line(message))
    reports.flush()


def client_main() -> int:
    """The hidden command `client-node`; the exit status."""
    listen(sys.stdin, sys.stdout)
    return 0
