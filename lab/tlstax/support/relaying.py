"""Connections that are taken on this machine, and bytes that are passed on between two of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

READ_BYTES = 1 << 18
WINDS_UP_S = 60.0
"""How long one side may go on sending after the other has hung up."""


@contextmanager
def door(host: str, taken: Callable[[socket.socket], None], patience_s: float) -> Iterator[int]:
    """The port at `host`, while connections there are `taken`, each in a thread of its own.

    At the end each is waited for, `patience_s` at the most.
    """
    with socket.create_server((host, 0), backlog=64) as listener:
        threads: list[threading.Thread] = []

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                thread = threading.Thread(target=taken, args=(client,), daemon=True)
                threads.append(thread)
                thread.start()

        accepting = threading.Thread(target=serve, daemon=True)
        accepting.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *threads):
                thread.join(patience_s)


def pass_on(client: socket.socket, server: socket.socket) -> int:
    """Carry bytes both ways until both have hung up, or one is silent for longer than its socket's timeout.

    What comes out is how many bytes the server sent.
    """
    sent: list[int] = []
    back = threading.Thread(target=lambda: sent.append(_one_way(server, client)), daemon=True)
    back.start()
    _one_way(client, server)
    back.join(WINDS_UP_S)
    return sum(sent)


def _one_way(source: socket.socket, sink: socket.socket) -> int:
    passed = 0
    # One that is gone ends the other way as well: no more than that is said of it here.
    with suppress(OSError):
        while data := source.recv(READ_BYTES):
            passed += len(data)
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
    return passed
