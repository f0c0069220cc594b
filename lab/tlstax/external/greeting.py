"""The first packet of a server, looked at before it is read: whether it is MySQL, and offers TLS.

Source of the format: MySQL's client/server protocol, Protocol::HandshakeV10 and ERR_Packet.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Literal

HEADER_BYTES = 4
GREETING_LIMIT_BYTES = 4096
PROTOCOL_VERSION = 10
ERROR_MARK = 0xFF
CLIENT_SSL = 0x0800
AFTER_VERSION_BYTES = 4 + 8 + 1
"""Thread id, first part of the salt, and a filler stand between the version and the capability flags."""

POLL_S = 0.01


@dataclass(frozen=True)
class Greeting:
    """What a port says first.

    `refusal` is a MySQL server's error packet in place of a greeting; `foreign` is not MySQL at all;
    `silent` and `closed` said too little before the deadline or the end.
    """

    kind: Literal["mysql", "refusal", "foreign", "silent", "closed"]
    offers_tls: bool = False


def peek(connection: socket.socket, timeout_s: float) -> Greeting:
    """Look at the greeting and leave it unread. OSError when the connection breaks."""
    deadline = time.monotonic() + timeout_s
    connection.settimeout(timeout_s)
    seen = b""
    while time.monotonic() < deadline:
        try:
            received = connection.recv(GREETING_LIMIT_BYTES, socket.MSG_PEEK)
        except TimeoutError:
            break
        if not received:
            return Greeting("closed")
        verdict = parse(received)
        if verdict is not None:
            return verdict
        seen = received
        time.sleep(POLL_S)
    return Greeting("foreign" if seen else "silent")


def parse(received: bytes) -> Greeting | None:
    """What the bytes so far mean; None when more are needed."""
    if len(received) <= HEADER_BYTES:
        return None if _may_be_header(received) else Greeting("foreign")
    length = int.from_bytes(received[:3], "little")
    mark = received[HEADER_BYTES]
    if not _may_be_header(received) or mark not in {PROTOCOL_VERSION, ERROR_MARK}:
        return Greeting("foreign")
    if mark == ERROR_MARK:
        return Greeting("refusal")
    if len(received) < HEADER_BYTES + length:
        return None
    return _greeting(received[HEADER_BYTES : HEADER_BYTES + length])


def _may_be_header(received: bytes) -> bool:
    """A greeting is shorter than 4 kB, so the length's upper byte is 0, and its sequence number is 0."""
    return received[1:2] < b"\x10" and received[2:4] in {b"", b"\0", b"\0\0"}


def _greeting(payload: bytes) -> Greeting:
    end_of_version = payload.find(b"\0", 1)
    flags = end_of_version + 1 + AFTER_VERSION_BYTES
    if end_of_version < 0 or len(payload) < flags + 2:
        return Greeting("foreign")
    capabilities = int.from_bytes(payload[flags : flags + 2], "little")
    return Greeting("mysql", offers_tls=bool(capabilities & CLIENT_SSL))
