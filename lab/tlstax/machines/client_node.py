"""A load machine's tlstax: it listens for a laboratory until its standard input ends."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

from pydantic import ValidationError

from tlstax.clients.fleet_messages import Listening, ListenOrder, NotListening
from tlstax.clients.outpost import Outpost
from tlstax.contract import Frozen
from tlstax.observers.machine import available_cpus, describe_machine
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import Split
from tlstax.specimens.sessions import open_session
from tlstax.support.errors import MachineFault, TlstaxError
from tlstax.support.plain_words import reason


def work(orders: TextIO, reports: TextIO) -> None:
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
        with open_session() as session, turn(_unsaid, beside_others=True):
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
    reports.write(message.model_dump_json() + "\n")
    reports.flush()


def _unsaid(_: str) -> None:
    """Whose turn it is, is of no interest to a laboratory on another machine."""


def main() -> int:
    """The hidden command `client-node`; the exit status."""
    work(sys.stdin, sys.stdout)
    return 0
