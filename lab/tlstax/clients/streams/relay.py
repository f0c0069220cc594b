"""What a copy before the window comes by: it passes bytes on as they are, and counts what the server sent.

So the bytes on the wire are counted by neither side, whatever they hold: TLS, compression or both. The
copies of the window do not come by it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tlstax.contract import TcpEndpoint
from tlstax.support.here import LOOPBACK
from tlstax.support.relaying import door, pass_on

_WINDS_UP_S = 10.0


@dataclass
class Relay:
    """Connects to a server for each client that comes; a server that is not there ends the connection."""

    server: TcpEndpoint
    timeout_s: float
    _sent: list[int] = field(default_factory=list)

    @property
    def received_bytes(self) -> int:
        """What the server sent in all, known when the relay listens no more."""
        return sum(self._sent)

    @contextmanager
    def listening(self) -> Iterator[TcpEndpoint]:
        """Where it listens, while it does: at a name that each certificate of a private server has."""
        with door(LOOPBACK, self._taken, _WINDS_UP_S) as port:
            yield TcpEndpoint(host=LOOPBACK, port=port)

    def _taken(self, client: socket.socket) -> None:
        address = (self.server.host, self.server.port)
        with client, suppress(OSError), socket.create_connection(address, self.timeout_s) as server:
            server.settimeout(None)
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sent.append(pass_on(client, server))
