"""TCP ports that closed connections still keep where a client ran, as a frozen type."""

from __future__ import annotations

from tlstax.contract import Frozen


class PortUse(Frozen):
    """How many ports wait (TIME_WAIT in tcp(7), a minute each) on a client's machine, when it has finished.

    `there_are` is how many the kernel chooses from for connections to one server, from all addresses that
    the client uses. Whatever else the machine has closed waits there, too.
    """

    waiting: int
    there_are: int
