"""A tap passes everything on, tells what was sent without waiting, and leaves nothing behind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tlstax.contract import TcpEndpoint
from tlstax.network.tap import opening
from tlstax.network.tap.opening import LONGEST_HOLD_S, open_tap

LOOPBACK = "127.0.0.1"
WITHIN_S = 10.0

Talk = Callable[[socket.socket], None]


def packet(sequence: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([sequence]) + body


GREETING = packet(0, b"\x0a9.7.4\0" + bytes(4) + b"saltsalt\0" + b"\xff\xf7\xff\2\0\xff\xdf" + bytes(20))
LOGIN = packet(1, b"\x85\xa6\x0f\0" + bytes(28) + b"user\0\0")
OK = packet(2, b"\0\0\0\2\0\0\0")
QUERY, ANSWER = packet(0, b"\x03SELECT 1"), packet(1, b"\0\0\0\2\0\0\0")


@contextmanager
def serving(talk: Talk) -> Iterator[TcpEndpoint]:
    """A server that has one talk with each client."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        listener.settimeout(0.05)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                with client:
                    client.settimeout(WITHIN_S)
                    talk(client)

        server = threading.Thread(target=serve)
        server.start()
        try:
            yield TcpEndpoint(host=LOOPBACK, port=listener.getsockname()[1])
        finally:
            over.set()
            server.join()


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (part := connection.recv(count - len(data))):
        data += part
    return data


def answering(connection: socket.socket) -> None:
    """A server that answers each query at once, by itself, as servers do with what is sent in one go."""
    connection.sendall(GREETING)
    exactly(connection, len(LOGIN))
    connection.sendall(OK)
    while exactly(connection, len(QUERY)):
        connection.sendall(ANSWER)


def connected(entry: TcpEndpoint) -> socket.socket:
    client = socket.create_connection((entry.host, entry.port), timeout=WITHIN_S)
    exactly(client, len(GREETING))
    client.sendall(LOGIN)
    exactly(client, len(OK))
    return client


def test_three_queries_in_one_go_are_one_turn_and_one_by_one_three() -> None:
    with serving(answering) as server, open_tap(server) as tap, connected(tap.entry) as client:
        tap.begin_window()
        client.sendall(QUERY * 3)
        assert exactly(client, 3 * len(ANSWER)) == ANSWER * 3
        tap.end_window(3)
        window = tap.capture().window
        assert window is not None
        assert (window.turns, window.bytes_sent) == (1, 3 * len(QUERY))
        tap.begin_window()
        for _ in range(3):
            client.sendall(QUERY)
            exactly(client, len(ANSWER))
        tap.end_window(3)
        window = tap.capture().window
        assert window is not None
        assert window.turns == 3


def test_what_follows_an_answer_that_the_client_has_not_read_is_no_turn_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each query is sent when the server has answered the one before, and the answer is still on its way."""
    monkeypatch.setattr(opening, "HOLD_S", 0.5)
    monkeypatch.setattr(opening, "LONGEST_HOLD_S", WITHIN_S)
    answered = threading.Semaphore(0)

    def talk(connection: socket.socket) -> None:
        connection.sendall(GREETING)
        exactly(connection, len(LOGIN))
        connection.sendall(OK)
        while exactly(connection, len(QUERY)):
            connection.sendall(ANSWER)
            answered.release()

    with serving(talk) as server, open_tap(server) as tap, connected(tap.entry) as client:
        tap.begin_window()
        for _ in range(3):
            client.sendall(QUERY)
            assert answered.acquire(timeout=WITHIN_S)
        exactly(client, 3 * len(ANSWER))
        tap.end_window(3)
        window = tap.capture().window
    assert window is not None
    assert window.turns == 1


def test_much_is_passed_on_whole_although_the_client_reads_late() -> None:
    much = bytes(range(256)) * 40_000

    def talk(connection: socket.socket) -> None:
        connection.sendall(much)
        connection.shutdown(socket.SHUT_WR)
        exactly(connection, len(much))

    with serving(talk) as server, open_tap(server) as tap:
        with socket.create_connection((tap.entry.host, tap.entry.port), timeout=WITHIN_S) as client:
            writer = threading.Thread(target=client.sendall, args=(much,))
            threading.Event().wait(2 * LONGEST_HOLD_S)
            writer.start()
            assert exactly(client, len(much) + 1) == much
            writer.join()
        seen = tap.capture()
    assert seen.connections == 1
    assert seen.conversations[0].traffic.bytes_received == len(much)


@pytest.mark.parametrize("pause_s", [0.0, opening.HOLD_S / 5])
def test_what_a_postgresql_server_sends_beside_its_yes_to_tls_is_passed_on_and_counted(
    pause_s: float,
) -> None:
    request, early = bytes.fromhex("00000008 04d2162f"), b"R\0\0\0\x08\0\0\0\0"

    def talk(connection: socket.socket) -> None:
        exactly(connection, len(request))
        connection.sendall(b"S")
        threading.Event().wait(pause_s)
        connection.sendall(early)
        exactly(connection, 1)

    with serving(talk) as server, open_tap(server) as tap:
        with socket.create_connection((tap.entry.host, tap.entry.port), timeout=WITHIN_S) as client:
            client.sendall(request)
            assert exactly(client, 1 + len(early)) == b"S" + early
        (seen,) = tap.capture().conversations
    assert (seen.spoken, seen.login, seen.before_hello_bytes) == (
        "postgresql",
        ("SSLRequest", "yes (S)"),
        len(early),
    )
    assert seen.traffic.turns == 1


def test_who_hung_up_is_told() -> None:
    with serving(answering) as server, open_tap(server) as tap:
        with connected(tap.entry):
            assert tap.capture().conversations[0].ended_by is None
        with connected(tap.entry) as second:
            second.sendall(QUERY)
            exactly(second, len(ANSWER))
            ends = [one.ended_by for one in tap.capture().conversations]
    assert ends == ["client", None]

    def short(connection: socket.socket) -> None:
        connection.sendall(GREETING)

    with serving(short) as server, open_tap(server) as tap:
        with socket.create_connection((tap.entry.host, tap.entry.port), timeout=WITHIN_S) as client:
            assert exactly(client, len(GREETING) + 1) == GREETING
        assert tap.capture().conversations[0].ended_by == "server"


def test_a_server_that_is_not_there_is_seen_by_the_client() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
    with open_tap(TcpEndpoint(host=LOOPBACK, port=port)) as tap:
        with socket.create_connection((tap.entry.host, tap.entry.port), timeout=WITHIN_S) as client:
            assert client.recv(1) == b""
        assert tap.capture().connections == 0


def test_nothing_is_left_when_it_is_closed_while_clients_are_connected() -> None:
    descriptors = Path("/proc/self/fd")
    with serving(answering) as server:
        before = len(list(descriptors.iterdir()))
        with open_tap(server) as tap:
            client = connected(tap.entry)
        assert exactly(client, 1) == b""
        client.close()
        assert not [thread for thread in threading.enumerate() if thread.name == "tap"]
    assert len(list(descriptors.iterdir())) <= before
