"""A connection to a load machine, encrypted, to the very one that was meant: order and reply in turn."""

from __future__ import annotations

import hashlib
import socket
import ssl
import time
from types import TracebackType
from typing import Self, TypeVar

from pydantic import ValidationError

from tlstax.clients.fleet_messages import (
    REPLIES,
    AskClock,
    Broke,
    Clock,
    ClockOffset,
    Finished,
    Greet,
    Peer,
    Readied,
    Reply,
    Sliced,
    Welcome,
    of_exchanges,
)
from tlstax.clients.process import ClientFailure
from tlstax.contract import Frozen
from tlstax.support.plain_words import plain

R = TypeVar("R", Welcome, Clock, Readied, Sliced, Finished)

CONNECT_S, ANSWER_S = 10.0, 10.0
"""How long a load machine may take to let us connect, and to answer what it has not to work for."""

EXCHANGES = 8
"""How often its clock is asked: the exchange that takes the least time tells what it shows."""

LONGEST_LINE_BYTES = 64 << 20


class LoadMachineLost(ClientFailure):
    """A load machine cannot be reached, or no longer."""


class FleetLine:
    """A connection to one load machine, greeted; leaving it closes it, which ends what it was for.

    LoadMachineLost where the machine cannot be reached, is another one than was meant, or goes away.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._buffer = bytearray()
        try:
            plain = socket.create_connection((peer.address, peer.port), CONNECT_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = _context().wrap_socket(plain)
        except OSError as error:
            raise self._lost(error) from None
        shown = self._socket.getpeercert(binary_form=True) or b""
        if hashlib.sha256(shown).hexdigest() != peer.fingerprint:
            self._socket.close()
            raise LoadMachineLost(f"who answers for {peer.name} at {peer.address} is somebody else")
        self.tell(Greet(token=peer.token))
        self.welcome = self.reply(Welcome, ANSWER_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it. May be called twice."""
        self._socket.close()

    def tell(self, order: Frozen) -> None:
        """Give an order."""
        try:
            self._socket.sendall(order.model_dump_json().encode() + b"\n")
        except OSError as error:
            raise self._lost(error) from None

    def reply(self, kind: type[R], within_s: float) -> R:
        """The reply to the order that was given last; ClientFailure where the client broke."""
        found = self._reply(within_s)
        if isinstance(found, Broke):
            raise ClientFailure(f"{self.peer.name}: {found.message}", found.errors)
        if not isinstance(found, kind):
            raise LoadMachineLost(f"{self.peer.name} answered what it was not asked")
        return found

    def clock(self) -> ClockOffset:
        """How much the machine's clock is ahead of ours."""
        exchanges = []
        for _ in range(EXCHANGES):
            asked_s = time.monotonic()
            self.tell(AskClock())
            theirs_s = self.reply(Clock, ANSWER_S).at_s
            exchanges.append((asked_s, time.monotonic(), theirs_s))
        return of_exchanges(exchanges)

    def _reply(self, within_s: float) -> Reply:
        try:
            return REPLIES.validate_json(self._next_line(time.monotonic() + within_s))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise LoadMachineLost(
                f"what {self.peer.name} answers cannot be read, at {where}: {plain(first['msg'])}"
            ) from None

    def _next_line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            try:
                self._socket.settimeout(max(0.001, deadline - time.monotonic()))
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise self._lost(error) from None
            if not data:
                raise LoadMachineLost(f"the load machine {self.peer.name} is gone")
            self._buffer += data
            if len(self._buffer) > LONGEST_LINE_BYTES:
                raise LoadMachineLost(f"the load machine {self.peer.name} sent an endless line")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _lost(self, error: OSError) -> LoadMachineLost:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else str(error)
        return LoadMachineLost(f"the load machine {self.peer.name} cannot be reached: {why}")


def _context() -> ssl.SSLContext:
    """Whose certificate it is, is checked by its fingerprint: the machine has made it for this run."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
