"""Ports of this machine that nobody listens on."""

from __future__ import annotations

import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"

NO_LOCALHOST = "127.0.0.2"
"""On loopback too, as all of 127.0.0.0/8 is (RFC 6890), but not the address that some drivers take for this
very machine, on which they check less."""


def free_ports(count: int, address: str = LOOPBACK) -> list[int]:
    """N ports of an address that were free a moment ago; the caller tries others when one no longer is."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((address, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
