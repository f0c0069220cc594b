"""Somebody between a driver and its server who takes the offer of TLS away, and asks for what is not theirs.

What may stand in each packet is in MySQL's source documentation, "Connection Phase" (HandshakeV10,
AuthSwitchRequest, AuthMoreData, caching_sha2_password) and "LOCAL INFILE Request". Only private servers and
accounts made for them are ever behind it: whatever a driver gives away here is worth nothing.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tlstax.contract import TcpEndpoint
from tlstax.probes.drivers.attacked import Gift, Trick
from tlstax.records.capture import Frame
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.ports import NO_LOCALHOST

CLIENT_SSL = 0x0800
"""In the greeting: there is TLS. In the client's first packet: it goes on with TLS ("SSLRequest")."""

SCRAMBLE_BYTES = 20
FULL_AUTHENTICATION, REQUEST_PUBLIC_KEY = b"\x01\x04", b"\x02"
OK, ERROR, SWITCH, LOCAL_FILE, QUERY = 0x00, 0xFF, b"\xfe", b"\xfb", 0x03
LOGIN_BYTES = 32
"""What stands before the user's name in a login ("HandshakeResponse41"); who gives up says COM_QUIT."""

OLD_HASH_BYTES = 9
"""What mysql_old_password answers: eight bytes and an end."""

PATIENCE_S = 10.0
SHOWN_BYTES = 64
KEY_BITS = 2048

MASK = b"*"


@dataclass
class HostileWire:
    """One who plays a trick on each connection, and what they were given.

    `logins` is how many connections logged in, without TLS where its offer was taken away; `began_tls` how
    many began TLS where it was left. `gifts` are what was given away, `frames` what the driver sent, with
    its password masked.
    """

    server: TcpEndpoint
    trick: Trick
    password: str
    certificates: Certificates
    wanted_file: Path
    logins: int = 0
    began_tls: int = 0
    gifts: list[Gift] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[TcpEndpoint]:
        """Where they listen, while they do."""
        with socket.create_server((NO_LOCALHOST, 0), backlog=64) as listener:
            threads: list[threading.Thread] = []

            def serve() -> None:
                while True:
                    try:
                        driver, _ = listener.accept()
                    except OSError:
                        return
                    thread = threading.Thread(target=self._between, args=(driver,), daemon=True)
                    threads.append(thread)
                    thread.start()

            accepting = threading.Thread(target=serve, daemon=True)
            accepting.start()
            try:
                yield TcpEndpoint(host=NO_LOCALHOST, port=int(listener.getsockname()[1]))
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                for thread in (accepting, *threads):
                    thread.join(2 * PATIENCE_S)

    def _between(self, driver: socket.socket) -> None:
        """One connection. Who hangs up has refused."""
        with (
            driver,
            socket.create_connection((self.server.host, self.server.port)) as server,
            suppress(OSError, EOFError, ValueError, UnsupportedAlgorithm),
        ):
            for channel in (driver, server):
                channel.settimeout(PATIENCE_S)
            self._play(driver, server)

    def _play(self, driver: socket.socket, server: socket.socket) -> None:
        _, greeting = _packet(server)
        over_tls = self.trick == "certificate of nobody"
        driver.sendall(_framed(0, greeting if over_tls else without_tls(greeting)))
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
            server.sendall(_framed(number, first))
            _pass_on(driver, server)
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
            driver.sendall(_framed(number + 1, SWITCH + b"mysql_clear_password\0"))
            _, answer = self._taken(driver, "an answer to mysql_clear_password")
            self._judge(answer)
        elif self.trick == "old password":
            driver.sendall(_framed(number + 1, SWITCH + b"mysql_old_password\0" + scramble[:8] + b"\0"))
            _, answer = self._taken(driver, "an answer to mysql_old_password")
            self._judge(answer)
            if len(answer) == OLD_HASH_BYTES and "password" not in self.gifts:
                self.gifts.append("hash")
        else:
            self._full_login(driver, number, scramble)

    def _full_login(self, channel: socket.socket, number: int, scramble: bytes) -> None:
        """caching_sha2_password as a server asks that has the password in no cache."""
        channel.sendall(_framed(number + 1, SWITCH + b"caching_sha2_password\0" + scramble + b"\0"))
        number, _ = self._taken(channel, "an answer to caching_sha2_password")
        channel.sendall(_framed(number + 1, FULL_AUTHENTICATION))
        number, answer = self._taken(channel, "an answer to a full login")
        if answer != REQUEST_PUBLIC_KEY:
            self._judge(answer)
            return
        key = rsa.generate_private_key(65537, KEY_BITS)
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        pem = key.public_key().public_bytes(serialization.Encoding.PEM, form)
        channel.sendall(_framed(number + 1, b"\x01" + pem))
        _, encrypted = self._taken(channel, "the password, encrypted by the key")
        oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)  # noqa: S303 (MySQL's)
        masked = key.decrypt(encrypted, oaep)
        self._judge(bytes(byte ^ scramble[place % SCRAMBLE_BYTES] for place, byte in enumerate(masked)))

    def _ask_for_file(self, driver: socket.socket, server: socket.socket, login: tuple[int, bytes]) -> None:
        """The login as it is, and to the first statement the question for a file in place of an answer."""
        server.sendall(_framed(*login))
        while True:
            number, said = _packet(server)
            driver.sendall(_framed(number, said))
            if said[0] in {OK, ERROR}:
                break
            if said[:2] != b"\x01\x03":
                server.sendall(_framed(*self._taken(driver, "a step of the login")))
        while True:
            number, said = self._taken(driver, "a statement")
            if said[0] == QUERY:
                break
            server.sendall(_framed(number, said))
            driver.sendall(_framed(*_packet(server)))
        driver.sendall(_framed(number + 1, LOCAL_FILE + os.fsencode(self.wanted_file)))
        _, content = self._taken(driver, "an answer to LOCAL INFILE")
        if content and content in self.wanted_file.read_bytes():
            self.gifts.append("file")

    def _judge(self, answer: bytes) -> None:
        if answer.rstrip(b"\0") == self.password.encode():
            self.gifts.append("password")

    def _taken(self, channel: socket.socket, what: str) -> tuple[int, bytes]:
        """The driver's next packet, written down without its password."""
        number, payload = _packet(channel)
        secret = self.password.encode()
        shown = payload.replace(secret, MASK * len(secret))[:SHOWN_BYTES]
        self.frames.append(Frame(sender="client", what=what, length=len(payload), hex=shown.hex()))
        return number, payload


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


def _pass_on(driver: socket.socket, server: socket.socket) -> None:
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


def _packet(channel: socket.socket) -> tuple[int, bytes]:
    """The next packet: its number, and what is in it. EOFError where there is none."""
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
