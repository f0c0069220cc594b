"""A door on loopback where somebody between client and server takes each connection by itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
