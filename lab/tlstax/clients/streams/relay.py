"""What a copy before the window comes by: it passes bytes on as they are, and counts what the server sent.

So the bytes on the wire are counted by neither side, whatever they hold: TLS, compression or both. The
copies of the window do not come by it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tlstax.contract import TcpEndpoint

_HERE = "127.0.0.1"
"""A name that each certificate of a private server has."""

_READ_BYTES = 1 << 18
_WINDS_UP_S = 10.0


class Relay:
    """Listens here and connects to a server for each client that comes. Use as a context manager.

    What the server sent is known once the clients are gone.
    """

    def __init__(self, server: TcpEndpoint, timeout_s: float) -> None:
        self._server, self._timeout_s = server, timeout_s
        self._listening = socket.create_server((_HERE, 0))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._from_server: list[int] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def endpoint(self) -> TcpEndpoint:
        """Where it listens."""
        return TcpEndpoint(host=_HERE, port=self._listening.getsockname()[1])

    def received_bytes(self) -> int:
        """What the server sent in all, once the last of it has been passed on."""
        for thread in self._threads[1:]:
            thread.join(_WINDS_UP_S)
        return sum(self._from_server)

    def _start(self, act: Callable[..., object], *given: socket.socket) -> None:
        thread = threading.Thread(target=act, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                try:
                    server = socket.create_connection((self._server.host, self._server.port), self._timeout_s)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self._open.append(server)
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._start(self._pass_on, client, server)
                self._start(self._count, server, client)

    def _count(self, server: socket.socket, client: socket.socket) -> None:
        self._from_server.append(self._pass_on(server, client))

    @staticmethod
    def _pass_on(source: socket.socket, to: socket.socket) -> int:
        passed = 0
        # One that is gone ends the other way as well: no more than that is said of it here.
        with suppress(OSError):
            while data := source.recv(_READ_BYTES):
                passed += len(data)
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_WR)
        return passed
