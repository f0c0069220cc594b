"""One exchange over TCP, from here and from a program of its own: any bytes go there and come back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tlstax.network.paths.exchange import Exchange, exchange

WORDS = bytes(range(256))


@pytest.fixture
def port() -> Iterator[int]:
    """A server that greets, and then says what it was told, once."""

    def serve() -> None:
        end, _ = listener.accept()
        with end:
            end.sendall(b"greeting ")
            end.sendall(end.recv(4096))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(5.0)


@pytest.mark.parametrize("entering", [(), ("env",)])
def test_bytes_of_any_kind_go_and_come(port: int, entering: tuple[str, ...]) -> None:
    assert exchange(entering, Exchange("127.0.0.1", port, WORDS)) == b"greeting " + WORDS


def test_nothing_comes_where_nothing_listens() -> None:
    assert exchange((), Exchange("127.0.0.1", 1, WORDS)) == b""
