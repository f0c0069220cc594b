"""Packets of a login as somebody between both sides reads and changes them.

MySQL's source documentation: "Protocol Basics", "HandshakeV10", "caching_sha2_password information".
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT_SSL = 0x0800
"""In the greeting: there is TLS. In the client's first packet: it goes on with TLS ("SSLRequest")."""

SCRAMBLE_BYTES = 20
PATIENCE_S = 60.0


def public_pem(key: rsa.RSAPrivateKey) -> bytes:
    """The public half of a key, as a server sends it to a client that asks for it."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def unmasked(key: rsa.RSAPrivateKey, encrypted: bytes, scramble: bytes) -> bytes:
    """The password that a client encrypted by this key, less the challenge that it was mixed with.

    ValueError where it was encrypted by another one.
    """
    oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)  # noqa: S303 (MySQL's)
    masked = key.decrypt(encrypted, oaep)
    return bytes(byte ^ scramble[place % SCRAMBLE_BYTES] for place, byte in enumerate(masked))


def without_tls(greeting: bytes) -> bytes:
    """The greeting of a server that has no TLS to offer ("HandshakeV10", capability_flags_1)."""
    place = _after_scramble(greeting)
    flags = int.from_bytes(greeting[place : place + 2], "little") & ~CLIENT_SSL
    return greeting[:place] + flags.to_bytes(2, "little") + greeting[place + 2 :]


def scramble_of(greeting: bytes) -> bytes:
    """The challenge, which is in two parts, of 8 bytes and of 12."""
    first = _after_scramble(greeting) - 9
    second = _after_scramble(greeting) + 2 + 1 + 2 + 2 + 1 + 10
    return greeting[first : first + 8] + greeting[second : second + 12]


def _after_scramble(greeting: bytes) -> int:
    """Where the capabilities begin: behind protocol, version, connection, half of the challenge, a zero."""
    return greeting.index(b"\0", 1) + 1 + 4 + 8 + 1


def pass_on(driver: socket.socket, server: socket.socket) -> None:
    """Carry bytes both ways until both have hung up, or one is silent for too long."""

    def one_way(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=one_way, args=(server, driver), daemon=True)
    back.start()
    one_way(driver, server)
    back.join(PATIENCE_S)


def packet(channel: socket.socket) -> tuple[int, bytes]:
    """The next packet: its number, and what is in it. EOFError where there is none."""
    header = exactly(channel, 4)
    return header[3], exactly(channel, int.from_bytes(header[:3], "little"))


def exactly(channel: socket.socket, count: int) -> bytes:
    """So many bytes. EOFError where there are fewer."""
    data = b""
    while len(data) < count:
        more = channel.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def framed(number: int, payload: bytes) -> bytes:
    """A packet with its header: three bytes of length, one of number."""
    return len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload
