"""Ports of this machine that nobody listens on."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

NO_LOCALHOST = "127.0.0.2"
"""On loopback too, as all of 127.0.0.0/8 is (RFC 6890), but not the address that some drivers take for this
very machine, on which they check less."""


def free_ports(count: int, address: str = LOOPBACK) -> list[int]:
    """N ports of an address that were free a moment ago; the caller tries others when one no longer is.

    MachineFault where this machine does not have the address.
    """
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            try:
                probe.bind((address, 0))
            except OSError as error:
                raise MachineFault(f"no port of {address} can be had ({error.strerror})") from error
        return [int(probe.getsockname()[1]) for probe in probes]
