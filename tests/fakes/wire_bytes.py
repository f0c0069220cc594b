"""Bytes as MySQL's clients and servers send them, in the clear and around a TLS handshake, made by hand."""

from __future__ import annotations

from tlstax.records.capture import Sender

CLIENT_SSL, CLIENT_COMPRESS, CLIENT_QUERY_ATTRIBUTES = 1 << 11, 1 << 5, 1 << 27
FLAGS = 0x000F_A685 & ~CLIENT_SSL
HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")

Said = tuple[Sender, bytes]
"""Who sent which bytes."""


def packet(sequence: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([sequence]) + body


def greeting(flags: int = FLAGS | CLIENT_SSL | CLIENT_COMPRESS | CLIENT_QUERY_ATTRIBUTES) -> bytes:
    low, high = (flags & 0xFFFF).to_bytes(2, "little"), (flags >> 16).to_bytes(2, "little")
    return packet(0, b"\x0a9.7.4\0" + bytes(4) + b"saltsalt\0" + low + b"\xff\2\0" + high + bytes(20))


def login(flags: int = FLAGS, sequence: int = 1, secret: bytes = b"hashed-password") -> bytes:
    fixed = flags.to_bytes(4, "little") + bytes(4) + b"\xff" + bytes(23)
    return packet(sequence, fixed + b"tlstax\0" + bytes([len(secret)]) + secret + b"db\0")


def ssl_request(flags: int = FLAGS | CLIENT_SSL) -> bytes:
    return packet(1, flags.to_bytes(4, "little") + bytes(28))


def query(text: str) -> bytes:
    return packet(0, b"\x03" + text.encode())


OK = b"\0\0\0\2\0\0\0"


def record(content: int, body: bytes) -> bytes:
    return bytes([content]) + b"\3\3" + len(body).to_bytes(2, "big") + body


def message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def extension(number: int, body: bytes) -> bytes:
    return number.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body


def vector(size: int, body: bytes) -> bytes:
    return len(body).to_bytes(size, "big") + body


def client_hello(*, versions: str = "0304 0303", session_id: bytes = b"", more: bytes = b"") -> bytes:
    extensions = (
        extension(0, vector(2, b"\0" + vector(2, b"db.example")))
        + extension(10, vector(2, bytes.fromhex("0a0a 001d 0017 11ec")))
        + extension(13, vector(2, bytes.fromhex("0403 0804 0905 fefe")))
        + extension(43, vector(1, bytes.fromhex(versions)))
        + extension(51, vector(2, bytes.fromhex("001d") + vector(2, bytes(32))))
        + more
    )
    body = b"\3\3" + bytes(32) + vector(1, session_id) + vector(2, bytes.fromhex("2a2a 1301 1302 c02f fefe"))
    return message(1, body + b"\1\0" + vector(2, extensions))


def server_hello(
    suite: str, *, version: str = "", random: bytes = bytes(32), share: str = "", more: bytes = b""
) -> bytes:
    extensions = (
        (extension(43, bytes.fromhex(version)) if version else b"")
        + (extension(51, bytes.fromhex(share) + vector(2, bytes(32))) if share else b"")
        + more
    )
    return message(2, b"\3\3" + random + b"\0" + bytes.fromhex(suite) + b"\0" + vector(2, extensions))


def finished13(hash_bytes: int = 32) -> bytes:
    """The client's Finished of TLS 1.3 from outside: a hash, two headers and a seal."""
    return record(23, bytes(4 + hash_bytes + 1 + 16))
