"""A relay that reads how a driver logs in, and ends what a server must not be given or a driver not be asked.

In the clear the login is read packet by packet; over TLS nothing but the wish for it can be. Sources: MySQL's
source documentation, "Connection Phase", "Protocol::SSLRequest", "Protocol::AuthSwitchRequest" and
"caching_sha2_password information".
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from tlstax.contract import TcpEndpoint
from tlstax.support.here import LOOPBACK
from tlstax.tools.probes.drivers.door import door
from tlstax.tools.probes.drivers.login_packets import CLIENT_SSL, PATIENCE_S, exactly, framed, packet, pass_on

OK, MORE_DATA, SWITCH, ERROR = 0x00, 0x01, 0xFE, 0xFF
PROVED, WANTS_ALL, ASKS_FOR_KEY = b"\x03", b"\x04", b"\x02"
"""Of caching_sha2_password: the server knows the proof, or wants the whole password; the client wants its
key."""

SSL_REQUEST_BYTES = 32
"""A login's first packet has the same 32 bytes, and then at least a user (HandshakeResponse41)."""

BY_PROOF = frozenset({b"caching_sha2_password", b"mysql_native_password"})
"""Methods whose first answer is a proof and not the password."""

GOODBYE_S, LOOK_AGAIN_S = 2.0, 0.005
"""How long a driver's goodbye may take to reach the server, and how often that is looked for."""

RECORD_HEADER_BYTES = 5
"""Of a TLS record, the last two of which are its length (RFC 8446, 5.1)."""


@dataclass(frozen=True)
class Lets:
    """What the relay lets happen; whatever else comes is ended there, and reaches nobody.

    `in_clear` and `over_tls` are whether a login may go on so: without `over_tls` a driver's ClientHello is
    taken, and not passed on. With `proof_alone` a driver in the clear is never asked for the password, under
    whatever key, and after a connection has ended no other one reaches the server.
    """

    in_clear: bool = True
    over_tls: bool = True
    proof_alone: bool = False


EVERYTHING = Lets()


@dataclass
class WireLogin:
    """One login as it crossed the relay.

    `over_tls` is None where the driver said nothing; `path` the way that caching_sha2_password took in the
    clear, `let_in` whether the server's OK was seen there. `ended` says why the relay ended it.
    """

    over_tls: bool | None = None
    path: Literal["fast", "full", "key asked for"] | None = None
    let_in: bool = False
    ended: str = ""


@dataclass
class LoginWire:
    """The relay before a server."""

    server: TcpEndpoint
    lets: Lets = EVERYTHING
    logins: list[WireLogin] = field(default_factory=list)
    _open: list[socket.socket] = field(default_factory=list)
    _one_has_ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def listening(self) -> Iterator[TcpEndpoint]:
        """Where it listens, while it does; at the end what is still open has a moment to end in order."""
        with door(LOOPBACK, self._taken, 2 * PATIENCE_S) as port:
            try:
                yield TcpEndpoint(host=LOOPBACK, port=port)
            finally:
                deadline = time.monotonic() + GOODBYE_S
                while self._open and time.monotonic() < deadline:
                    time.sleep(LOOK_AGAIN_S)
                for channel in [*self._open]:
                    with suppress(OSError):
                        channel.shutdown(socket.SHUT_RDWR)

    def _taken(self, driver: socket.socket) -> None:
        """One connection, to its end."""
        with driver:
            if self.lets.proof_alone and self._one_has_ended.is_set():
                return
            try:
                self._between(driver)
            finally:
                self._one_has_ended.set()

    def _between(self, driver: socket.socket) -> None:
        with (
            suppress(OSError, EOFError),
            socket.create_connection((self.server.host, self.server.port), PATIENCE_S) as server,
        ):
            for channel in (driver, server):
                channel.settimeout(PATIENCE_S)
                channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open += (driver, server)
            try:
                login = WireLogin()
                self.logins.append(login)
                number, greeting = packet(server)
                driver.sendall(framed(number, greeting))
                if greeting[0] != ERROR:
                    self._log_in(driver, server, login)
            finally:
                for channel in (driver, server):
                    self._open.remove(channel)

    def _log_in(self, driver: socket.socket, server: socket.socket, login: WireLogin) -> None:
        number, first = packet(driver)
        login.over_tls = bool(int.from_bytes(first[:2], "little") & CLIENT_SSL) and (
            len(first) <= SSL_REQUEST_BYTES
        )
        if login.over_tls and not self.lets.over_tls:
            login.ended = "it would have given the password over TLS to a server that it does not verify"
            _take_record(driver)
            return
        if not login.over_tls and not self.lets.in_clear:
            login.ended = "it went on without TLS"
            return
        server.sendall(framed(number, first))
        if login.over_tls or self._prove(driver, server, login):
            pass_on(driver, server)

    def _prove(self, driver: socket.socket, server: socket.socket, login: WireLogin) -> bool:
        """A login in the clear, step by step; whether it came to its end, good or bad."""
        while True:
            number, said = packet(server)
            if self.lets.proof_alone and (why := _wants_password(said)):
                login.ended = why
                return False
            driver.sendall(framed(number, said))
            if said[0] in {OK, ERROR}:
                login.let_in = said[0] == OK
                return True
            verdict = said[1:] if said[0] == MORE_DATA else b""
            if verdict == PROVED:
                login.path = "fast"
                continue
            answer_number, answer = packet(driver)
            if verdict == WANTS_ALL:
                login.path = "key asked for" if answer == ASKS_FOR_KEY else "full"
            server.sendall(framed(answer_number, answer))


def _wants_password(said: bytes) -> str:
    """Why what the server says may make a driver give the password away; empty where it cannot."""
    if said[0] == SWITCH:
        plugin = said[1:].partition(b"\0")[0]
        if plugin not in BY_PROOF:
            return f"the server asked for {plugin.decode(errors='replace') or 'mysql_old_password'}"
    if said[0] == MORE_DATA and said[1:] != PROVED:
        return "the server asked for the whole password without TLS"
    return ""


def _take_record(driver: socket.socket) -> None:
    """Read the driver's first TLS record, so that whoever listens before the relay has seen all of it."""
    header = exactly(driver, RECORD_HEADER_BYTES)
    exactly(driver, int.from_bytes(header[3:], "big"))
