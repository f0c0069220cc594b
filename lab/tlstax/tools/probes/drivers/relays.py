"""Relays between a driver and its server: one that reads how it logs in, and a hostile one.

The first ends what a server must not be given or a driver not be asked. In the clear the login is read packet
by packet; over TLS nothing but the wish for it can be. The other takes the offer of TLS away, and asks for
what is not its own. Only private servers and accounts made for them are ever behind that one: whatever a
driver gives away there is worth nothing.

What may stand in each packet is in MySQL's source documentation: "Protocol Basics", "Connection Phase"
(HandshakeV10, SSLRequest, AuthSwitchRequest, AuthMoreData), "caching_sha2_password information" and "LOCAL
INFILE Request".
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tlstax.contract import TcpEndpoint
from tlstax.records.capture import Frame
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.support.here import LOOPBACK
from tlstax.support.relaying import door, pass_on
from tlstax.tools.probes.drivers.probed import Gift, Trick

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


def packet(channel: socket.socket) -> tuple[int, bytes]:
    """The next packet: its number, and what is in it. EOFError where there is none."""
    header = exactly(channel, 4)
    return header[3], exactly(channel, int.from_bytes(header[:3], "little"))


def exactly(channel: socket.socket, count: int) -> bytes:
    """As many bytes as asked. EOFError where there are fewer."""
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


FULL_AUTHENTICATION, REQUEST_PUBLIC_KEY = b"\x01\x04", b"\x02"
SWITCH_PACKET, LOCAL_FILE, QUERY = b"\xfe", b"\xfb", 0x03
LOGIN_BYTES = 32
"""What stands before the user's name in a login ("HandshakeResponse41"); who gives up says COM_QUIT."""

OLD_HASH_BYTES = 9
"""What mysql_old_password answers: eight bytes and an end."""

HOSTILE_PATIENCE_S = 10.0
SHOWN_BYTES = 64
KEY_BITS = 2048

MASK = b"*"


@dataclass
class HostileWire:
    """One who plays a trick on each connection, and what they were given.

    `connections` is how many there were; `logins` how many logged in, without TLS where its offer was taken
    away; `began_tls` how many began TLS where it was left. `gifts` are what was given away, `frames` what the
    driver sent, with its password masked.
    """

    server: TcpEndpoint
    trick: Trick
    password: str
    certificates: Certificates
    wanted_file: Path
    connections: int = 0
    logins: int = 0
    began_tls: int = 0
    gifts: list[Gift] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[TcpEndpoint]:
        """Where they listen, while they do."""
        with door(NO_LOCALHOST, self._between, 2 * HOSTILE_PATIENCE_S) as port:
            yield TcpEndpoint(host=NO_LOCALHOST, port=port)

    def _between(self, driver: socket.socket) -> None:
        """One connection. Who hangs up has refused."""
        self.connections += 1
        with (
            driver,
            socket.create_connection((self.server.host, self.server.port)) as server,
            suppress(OSError, EOFError, ValueError, UnsupportedAlgorithm),
        ):
            for channel in (driver, server):
                channel.settimeout(HOSTILE_PATIENCE_S)
            self._play(driver, server)

    def _play(self, driver: socket.socket, server: socket.socket) -> None:
        _, greeting = packet(server)
        over_tls = self.trick == "certificate of nobody"
        driver.sendall(framed(0, greeting if over_tls else without_tls(greeting)))
        number, first = self._taken(driver, "the first packet")
        if int.from_bytes(first[:2], "little") & CLIENT_SSL:
            if over_tls:
                self.began_tls += 1
                self._over_tls(driver, greeting)
            return
        if len(first) < LOGIN_BYTES or over_tls:
            return
        self.logins += 1
        if self.trick == "offer taken away":
            server.sendall(framed(number, first))
            pass_on(driver, server)
        elif self.trick == "file":
            self._ask_for_file(driver, server, (number, first))
        else:
            self._ask_for_password(driver, number, scramble_of(greeting))

    def _over_tls(self, driver: socket.socket, greeting: bytes) -> None:
        """With TLS, by a certificate that nobody vouches for: the whole password is asked for there."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificates.certificate_file, self.certificates.key_file)
        with context.wrap_socket(driver, server_side=True) as channel:
            number, _ = self._taken(channel, "a login over TLS")
            self.logins += 1
            self._full_login(channel, number, scramble_of(greeting))

    def _ask_for_password(self, driver: socket.socket, number: int, scramble: bytes) -> None:
        if self.trick == "clear password":
            driver.sendall(framed(number + 1, SWITCH_PACKET + b"mysql_clear_password\0"))
            _, answer = self._taken(driver, "an answer to mysql_clear_password")
            self._judge(answer)
        elif self.trick == "old password":
            driver.sendall(framed(number + 1, SWITCH_PACKET + b"mysql_old_password\0" + scramble[:8] + b"\0"))
            _, answer = self._taken(driver, "an answer to mysql_old_password")
            self._judge(answer)
            if len(answer) == OLD_HASH_BYTES and "password" not in self.gifts:
                self.gifts.append("hash")
        else:
            self._full_login(driver, number, scramble)

    def _full_login(self, channel: socket.socket, number: int, scramble: bytes) -> None:
        """caching_sha2_password as a server asks that has the password in no cache."""
        channel.sendall(framed(number + 1, SWITCH_PACKET + b"caching_sha2_password\0" + scramble + b"\0"))
        number, _ = self._taken(channel, "an answer to caching_sha2_password")
        channel.sendall(framed(number + 1, FULL_AUTHENTICATION))
        number, answer = self._taken(channel, "an answer to a full login")
        if answer != REQUEST_PUBLIC_KEY:
            self._judge(answer)
            return
        key = rsa.generate_private_key(65537, KEY_BITS)
        channel.sendall(framed(number + 1, b"\x01" + public_pem(key)))
        _, encrypted = self._taken(channel, "the password, encrypted by the key")
        self._judge(unmasked(key, encrypted, scramble))

    def _ask_for_file(self, driver: socket.socket, server: socket.socket, login: tuple[int, bytes]) -> None:
        """The login as it is, and to the first statement the question for a file in place of an answer."""
        server.sendall(framed(*login))
        while True:
            number, said = packet(server)
            driver.sendall(framed(number, said))
            if said[0] in {OK, ERROR}:
                break
            if said[:2] != b"\x01\x03":
                server.sendall(framed(*self._taken(driver, "a step of the login")))
        while True:
            number, said = self._taken(driver, "a statement")
            if said[0] == QUERY:
                break
            server.sendall(framed(number, said))
            driver.sendall(framed(*packet(server)))
        driver.sendall(framed(number + 1, LOCAL_FILE + os.fsencode(self.wanted_file)))
        _, content = self._taken(driver, "an answer to LOCAL INFILE")
        if content and content in self.wanted_file.read_bytes():
            self.gifts.append("file")

    def _judge(self, answer: bytes) -> None:
        if answer.rstrip(b"\0") == self.password.encode():
            self.gifts.append("password")

    def _taken(self, channel: socket.socket, what: str) -> tuple[int, bytes]:
        """The driver's next packet, written down without its password."""
        number, payload = packet(channel)
        secret = self.password.encode()
        shown = payload.replace(secret, MASK * len(secret))[:SHOWN_BYTES]
        self.frames.append(Frame(sender="client", what=what, length=len(payload), hex=shown.hex()))
        return number, payload
