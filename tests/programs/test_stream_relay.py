"""What a copy before the window comes by: all passes as it is, and what the server sent is counted."""

from __future__ import annotations

import socket
import threading

from tlstax.clients.streams.relay import Relay
from tlstax.contract import TcpEndpoint

ANSWER = b"x" * 3_000_000


def serve(listening: socket.socket, times: int) -> None:
    """Answer N clients, each once it has said all."""
    for _ in range(times):
        client, _ = listening.accept()
        with client:
            while client.recv(1 << 16):
                pass
            client.sendall(ANSWER)


def asked(endpoint: TcpEndpoint) -> int:
    """How many bytes come for a question, until the end."""
    with socket.create_connection((endpoint.host, endpoint.port), 30) as client:
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        return sum(map(len, iter(lambda: client.recv(1 << 16), b"")))


def test_all_that_servers_send_is_passed_on_and_counted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve, args=(listening, 2), daemon=True)
        server.start()
        there = TcpEndpoint(host="127.0.0.1", port=listening.getsockname()[1])
        relay = Relay(there, 30)
        with relay.listening() as entry:
            assert [asked(entry) for _ in range(2)] == [len(ANSWER)] * 2
        assert relay.received_bytes == 2 * len(ANSWER)
        server.join(30)


def test_a_server_that_is_not_there_ends_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = TcpEndpoint(host="127.0.0.1", port=closed.getsockname()[1])
    relay = Relay(nobody, 30)
    with relay.listening() as entry, socket.create_connection((entry.host, entry.port), 30) as client:
        assert client.recv(1) == b""
    assert relay.received_bytes == 0
