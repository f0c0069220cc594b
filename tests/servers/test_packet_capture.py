"""What crosses the interface is read right, in whichever order two processors deliver it."""

from __future__ import annotations

import socket
import struct
from itertools import permutations

import pytest
from packet_capture import ACK, FIN, SYN, Capture, Conversation

CLIENT, SERVER, PORT = b"\x7f\x00\x00\x02", b"\x7f\x00\x00\x01", 3306
CLIENT_PORT = 40000
FIRST = (1 << 32) - 40
"""A sequence number that wraps round within the ClientHello (RFC 9293, 3.4)."""


def record(kind: int, size: int) -> bytes:
    """A TLS record of this content type (RFC 8446, 5.1)."""
    return struct.pack("!BHH", kind, 0x0303, size) + b"\x17" * size


GREETING, SSL_REQUEST, QUIT = b"\x4b" * 79, b"\x20" * 36, record(23, 22)
SAID: tuple[tuple[str, bytes], ...] = (
    ("S", GREETING),
    ("C", SSL_REQUEST),
    ("C", record(22, 220)),
    ("S", record(22, 94)),
    ("C", record(20, 1) + record(22, 253)),
    ("S", record(22, 155) + record(23, 2154)),
    ("C", record(23, 83)),
    ("S", record(23, 234)),
    ("C", record(23, 127)),
    ("S", record(23, 23)),
    ("C", record(23, 56)),
    ("S", record(23, 205)),
    ("C", QUIT),
)
"""A connect of MySQL that is asked for a second ClientHello, its first query and its goodbye."""

TRIPS = 6


def segment(side: str, sequence: int, payload: bytes = b"", flags: int = ACK) -> bytes:
    """An IPv4 packet (RFC 791) with a TCP segment (RFC 9293)."""
    ports = (CLIENT_PORT, PORT) if side == "C" else (PORT, CLIENT_PORT)
    addresses = CLIENT + SERVER if side == "C" else SERVER + CLIENT
    tcp = struct.pack("!HHIIBBHHH", *ports, sequence % (1 << 32), 0, 5 << 4, flags, 65535, 0, 0)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0, 64, socket.IPPROTO_TCP, 0)
    return head + addresses + tcp + payload


def packets() -> list[bytes]:
    """The whole conversation, each side's segments one behind the other."""
    at = {"C": FIRST + 1, "S": 1000}
    found = [segment("C", FIRST, flags=SYN)]
    for side, payload in SAID:
        found.append(segment(side, at[side], payload))
        at[side] += len(payload)
    found.append(segment("C", at["C"], flags=ACK | FIN))
    return found


def conversation(delivered: list[bytes]) -> Conversation:
    capture = Capture(PORT)
    for packet in delivered:
        capture.take(packet)
    (found,) = capture.conversations.values()
    assert found.client_has_left
    return found


def test_a_conversation_is_counted_as_it_went() -> None:
    found = conversation(packets())
    assert found.round_trips(tls13=True) == TRIPS
    assert found.bytes_of(client=True) == sum(len(said) for side, said in SAID if side == "C") - len(QUIT)
    assert found.bytes_of(client=False) == sum(len(said) for side, said in SAID if side == "S")


# The places of SSLRequest and ClientHello, and those of the Finished, the tickets and the login.
@pytest.mark.parametrize("places", [(2, 3), (7, 8, 9)])
def test_segments_that_pass_each_other_are_counted_all_the_same(places: tuple[int, ...]) -> None:
    """Neither side waits between these, so that a client moved to another processor may seem to say them
    in another order."""
    in_order = packets()
    right = conversation(in_order)
    for other in permutations(places):
        delivered = list(in_order)
        for place, source in zip(places, other, strict=True):
            delivered[place] = in_order[source]
        found = conversation(delivered)
        assert found.round_trips(tls13=True) == TRIPS
        assert found.bytes_of(client=True) == right.bytes_of(client=True)


def test_what_is_sent_again_is_counted_once() -> None:
    delivered = packets()
    delivered[9:9] = [delivered[7], delivered[3]]
    assert conversation(delivered).round_trips(tls13=True) == TRIPS
