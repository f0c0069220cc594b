"""What crosses loopback on one port, as the kernel shows it to those who may look (packet(7))."""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

ETH_P_ALL = 0x0003
"""Has a packet shown before IP gets it. Who asks for `ETH_P_IP` on one interface is shown it after that, when
the other side may have been woken by it, and its answer been shown (Linux, net/core/dev.c)."""

ETH_P_IP = 0x0800
PACKET_HOST = 0
"""A packet that comes in; on loopback each is seen going out too."""

SKF_AD_PROTOCOL, SKF_AD_PKTTYPE = 0xFFFFF000, 0xFFFFF004
"""Where a filter finds the protocol, and whether the packet comes in (<linux/filter.h>)."""

SO_ATTACH_FILTER = 26
"""Has the kernel pass on what a program of the classic BPF accepts (socket(7), <linux/filter.h>)."""

SO_RCVBUFFORCE = 33
"""Sets a buffer beyond the system's limit, for those who may (socket(7))."""

BUFFER_BYTES = 64 << 20
FRAME_BYTES = 1 << 17
FIN, SYN, ACK = 0x01, 0x02, 0x10

LATEST_S = 10.0
"""On a busy machine packets wait for their processor; so long is the end of connections waited for."""

SSL_REQUEST_BYTES = 36
"""Protocol::SSLRequest with its packet header (MySQL's client/server protocol)."""

RECORD_HEADER_BYTES = 5
APPLICATION_DATA = 23
"""A TLS record's header and a content type (RFC 8446, section 5.1)."""


@dataclass
class Conversation:
    """The segments with payload of one connection, in their order: whether the client's, and the payload."""

    segments: list[tuple[bool, bytes]] = field(default_factory=list)
    seen: set[tuple[bool, int]] = field(default_factory=set)
    client_has_left: bool = False

    def until_the_goodbye(self) -> list[tuple[bool, bytes]]:
        """The segments before the last that the client sent, which is its COM_QUIT."""
        last = max(place for place, (from_client, _) in enumerate(self.segments) if from_client)
        return self.segments[:last]

    def round_trips(self, *, tls13: bool = False, proof_records: int = 0) -> int:
        """How often the client waited: for its SYN, for the greeting, then for each answer to what it sent.

        In TLS 1.3 it does not wait after its Finished, though a server's tickets may come before what it
        sends next. That Finished is in its first segment of application data, after the certificate if it was
        asked for one (RFC 8446, sections 2, 4.6.1 and 5); a client that has one sends it, its signature and
        its Finished in N `proof_records`, which may take several segments.
        """
        trips, waiting, said = 2, False, b""
        for from_client, payload in self.until_the_goodbye():
            if from_client:
                is_first = not data_records(said)
                said += payload
                records = data_records(said)
                waiting = not (tls13 and records and (is_first or records <= proof_records))
            elif waiting:
                trips, waiting = trips + 1, False
        return trips

    def turns(self) -> int:
        """How often the client waited where it speaks first and the server only answers, as PostgreSQL's do.

        Once for its SYN, then for each answer to what it sent: the server issues no tickets after its own.
        """
        sides = [from_client for from_client, _ in self.until_the_goodbye()]
        return 1 + sum(mine and not next_one for mine, next_one in pairwise(sides))

    def bytes_of(self, *, client: bool) -> int:
        """Payload that this side sent before the goodbye."""
        return sum(len(said) for from_client, said in self.until_the_goodbye() if from_client == client)


def data_records(said: bytes) -> int:
    """How many TLS records of application data are in what a client has said after its SSLRequest."""
    count, place = 0, SSL_REQUEST_BYTES
    while place + RECORD_HEADER_BYTES <= len(said):
        count += said[place] == APPLICATION_DATA
        place += RECORD_HEADER_BYTES + int.from_bytes(said[place + 3 : place + RECORD_HEADER_BYTES])
    return count


@dataclass
class Capture:
    """Connections to a port of this machine that began while it was watched, by the client's address."""

    port: int
    conversations: dict[tuple[bytes, int], Conversation] = field(default_factory=dict)

    def take(self, packet: bytes) -> None:
        """One IPv4 packet (RFC 791) with a TCP segment (RFC 9293)."""
        header = (packet[0] & 0xF) * 4
        total = int.from_bytes(packet[2:4])
        if packet[9] != socket.IPPROTO_TCP:
            return
        source, destination, sequence = struct.unpack_from("!HHI", packet, header)
        if self.port not in (source, destination):
            return
        from_client = destination == self.port
        peer = (packet[12:16], source) if from_client else (packet[16:20], destination)
        flags = packet[header + 13]
        if flags & SYN and not flags & ACK:
            self.conversations[peer] = Conversation()
        if from_client and flags & FIN and peer in self.conversations:
            self.conversations[peer].client_has_left = True
        payload = packet[header + (packet[header + 12] >> 4) * 4 : total]
        known = self.conversations.get(peer)
        # What is sent again is one segment, not two.
        if known is not None and payload and (from_client, sequence) not in known.seen:
            known.seen.add((from_client, sequence))
            known.segments.append((from_client, payload))


def why_not() -> str:
    """Why packets cannot be watched here; empty where they can."""
    try:
        _opened().close()
    except (OSError, AttributeError) as error:
        return f"packets cannot be watched here ({error}): it takes CAP_NET_RAW, as root has"
    return ""


def _opened() -> socket.socket:
    watching = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    watching.bind(("lo", ETH_P_ALL))
    return watching


def _let_in_alone(watching: socket.socket, port: int) -> None:
    """Have it get TCP from and to this port alone: others may keep loopback busy without a pause."""
    program = (
        (0x28, 0, 0, SKF_AD_PROTOCOL),
        (0x15, 0, 10, ETH_P_IP),  # another one: refuse
        (0x30, 0, 0, SKF_AD_PKTTYPE),
        (0x15, 0, 8, PACKET_HOST),  # on its way out: refuse
        (0x30, 0, 0, 9),  # the protocol of the IPv4 packet (RFC 791)
        (0x15, 0, 6, socket.IPPROTO_TCP),  # another one: refuse
        (0xB1, 0, 0, 0),  # how long its header is
        (0x48, 0, 0, 0),  # the source port behind it (RFC 9293)
        (0x15, 2, 0, port),
        (0x48, 0, 0, 2),  # the destination port
        (0x15, 0, 1, port),
        (0x06, 0, 0, FRAME_BYTES),
        (0x06, 0, 0, 0),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    described = struct.pack("HP", len(program), ctypes.addressof(code))
    watching.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, described)


@contextmanager
def captured(port: int) -> Iterator[Capture]:
    """What crosses loopback on that port while the block runs; complete when it has ended.

    Its clients are to have left by then: the last of what they sent may be under way for a while.
    """
    capture, over = Capture(port), threading.Event()
    ended_at = float("inf")
    with _opened() as watching:
        _let_in_alone(watching, port)
        watching.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        watching.settimeout(0.2)

        def watch() -> None:
            while True:
                try:
                    packet, address = watching.recvfrom(FRAME_BYTES)
                except TimeoutError:
                    all_left = all(one.client_has_left for one in capture.conversations.values())
                    if over.is_set() and (all_left or time.monotonic() > ended_at + LATEST_S):
                        return
                    continue
                # Those before the filter was set are among them.
                if address[1:3] == (ETH_P_IP, PACKET_HOST):
                    capture.take(packet)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield capture
        finally:
            ended_at = time.monotonic()
            over.set()
            watcher.join()
