"""The tests' own view of loopback has packets in the order in which they came."""

from __future__ import annotations

import multiprocessing
import socket

import pytest
from packet_capture import captured, why_not

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]

ROUNDS = 50_000


def answer(connection: socket.socket) -> None:
    """Answers each byte at once, awake all the time, until the other side has left."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setblocking(False)
    while True:
        try:
            if not connection.recv(1):
                return
            connection.send(b"a")
        except BlockingIOError:
            continue
        except ConnectionError:
            return


def ask(port: int) -> None:
    """Asks for a byte `ROUNDS` times, awake all the time."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        for _ in range(ROUNDS):
            connection.send(b"q")
            while True:
                try:
                    assert connection.recv(1)
                    break
                except BlockingIOError:
                    continue


def test_no_answer_is_shown_before_its_question() -> None:
    """Where packets were shown after IP had them, about one in 5,000 was, on two processors."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with captured(port) as capture:
            asker = multiprocessing.get_context("fork").Process(target=ask, args=(port,))
            asker.start()
            with listening.accept()[0] as connection:
                answer(connection)
            asker.join()
    assert asker.exitcode == 0
    (conversation,) = capture.conversations.values()
    assert [from_client for from_client, _ in conversation.segments] == [True, False] * ROUNDS
