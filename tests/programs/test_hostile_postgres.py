"""The wire that plays PostgreSQL's server notices clients that let themselves be deceived, made up for it."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from tlstax.contract import Account, TcpEndpoint
from tlstax.specimens.certificates import CertificateRequest, issue
from tlstax.tools.probes.postgres_drivers.adapter import STATEMENT
from tlstax.tools.probes.postgres_drivers.document import Over, Trick
from tlstax.tools.probes.postgres_drivers.hostile_server import LET_IN, READY, HostileServer, Scene

ACCOUNT = Account(user="app", password="a-generated-word", database="app")
SSL_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"
STARTUP = b"\0\0\0\x11\0\x03\0\0user\0app\0"
QUERY = b"Q" + (len(STATEMENT) + 5).to_bytes(4, "big") + STATEMENT.encode() + b"\0"
WITHIN_S = 20.0

Client = Callable[[socket.socket], None]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> HostileServer:
    place = tmp_path_factory.mktemp("certificates")
    request = CertificateRequest(key="ec-p256")
    (place / "nobody").mkdir()
    nobody, right = issue(place / "nobody", request), issue(Path(place), request)
    return HostileServer(TcpEndpoint(host="127.0.0.1", port=9), ACCOUNT, nobody, right)


def met(wire: HostileServer, trick: Trick, over: Over, client: Client) -> Scene:
    """What the wire saw of this client."""
    with (
        wire.listening() as entry,
        wire.playing(trick, over) as scene,
        socket.create_connection((entry.host, entry.port), WITHIN_S) as channel,
    ):
        client(channel)
    return scene


def encrypted(channel: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(channel)


def answer(channel: socket.socket) -> bytes:
    """One message of the server's, with its type."""
    header = b""
    while len(header) < 5:
        header += channel.recv(5 - len(header))
    body = b""
    while len(body) < int.from_bytes(header[1:], "big") - 4:
        body += channel.recv(int.from_bytes(header[1:], "big") - 4 - len(body))
    return header + body


def hung_up(channel: socket.socket) -> None:
    """Wait until the wire has nothing more to say."""
    channel.settimeout(WITHIN_S)
    while channel.recv(4096):
        pass


def believer(channel: socket.socket) -> None:
    """A client that keeps what came before TLS, and takes it for an answer that came over TLS."""
    channel.sendall(SSL_REQUEST)
    kept = b""
    while len(kept) < 1 + len(LET_IN + READY):
        kept += channel.recv(4096)
    assert kept == b"S" + LET_IN + READY
    with encrypted(channel) as inner:
        inner.sendall(STARTUP)
        inner.sendall(QUERY)
        hung_up(inner)


def test_a_client_that_takes_bytes_before_tls_for_protected_is_noticed(wire: HostileServer) -> None:
    scene = met(wire, "bytes behind the answer", "clear", believer)
    assert (scene.connected, scene.ran, scene.mechanism) == (True, True, None)


def test_one_that_hangs_up_is_not_deceived(wire: HostileServer) -> None:
    def careful(channel: socket.socket) -> None:
        channel.sendall(SSL_REQUEST)
        assert channel.recv(4096)[:1] == b"S"

    scene = met(wire, "bytes behind the answer", "clear", careful)
    assert (scene.asked, scene.connected, scene.ran) == (True, False, False)


@pytest.mark.parametrize("over", ["clear", "TLS"])
def test_a_password_is_noticed_and_not_kept(wire: HostileServer, over: Over) -> None:
    def trusting(channel: socket.socket) -> None:
        channel.sendall(SSL_REQUEST)
        assert channel.recv(1) == (b"S" if over == "TLS" else b"N")
        inner = encrypted(channel) if over == "TLS" else channel
        inner.sendall(STARTUP)
        assert answer(inner) == b"R\0\0\0\x08\0\0\0\x03"
        inner.sendall(
            b"p" + (len(ACCOUNT.password) + 5).to_bytes(4, "big") + ACCOUNT.password.encode() + b"\0"
        )
        assert answer(inner) == LET_IN
        while not answer(inner).startswith(b"Z"):
            pass
        inner.sendall(QUERY)
        assert answer(inner).startswith(b"T")

    scene = met(wire, "clear password", over, trusting)
    assert (scene.gave, scene.connected, scene.ran) == ("password", True, True)
    assert scene.in_clear == (over == "clear")
    seen = "".join(message.hex for message in scene.messages)
    assert ACCOUNT.password.encode().hex() not in seen
    assert (b"*" * len(ACCOUNT.password)).hex() in seen


def test_another_answer_is_no_password(wire: HostileServer) -> None:
    def guessing(channel: socket.socket) -> None:
        channel.sendall(STARTUP)
        answer(channel)
        channel.sendall(b"p\0\0\0\x0aother\0")
        answer(channel)

    scene = met(wire, "clear password", "clear", guessing)
    assert (scene.gave, scene.ran) == ("nothing", False)


@pytest.mark.parametrize("words", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x04", b"\xff" * 64])
def test_whatever_comes_ends_in_order(wire: HostileServer, words: bytes) -> None:
    def strange(channel: socket.socket) -> None:
        with contextlib.suppress(OSError):
            channel.sendall(words)
            channel.shutdown(socket.SHUT_WR)
            hung_up(channel)

    scene = met(wire, "nothing asked", "clear", strange)
    assert (scene.logins, scene.connected) == (0, False)
