"""Somebody between a driver and its server who takes the offer of TLS away, and asks for what is not theirs.

What may stand in each packet is in MySQL's source documentation, "Connection Phase" (HandshakeV10,
AuthSwitchRequest, AuthMoreData, caching_sha2_password) and "LOCAL INFILE Request". Only private servers and
accounts made for them are ever behind it: whatever a driver gives away here is worth nothing.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa

from tlstax.contract import TcpEndpoint
from tlstax.records.capture import Frame
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.tools.probes.drivers.attacked import Gift, Trick
from tlstax.tools.probes.drivers.door import door
from tlstax.tools.probes.drivers.login_packets import (
    CLIENT_SSL,
    framed,
    packet,
    pass_on,
    public_pem,
    scramble_of,
    unmasked,
    without_tls,
)

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
        with door(NO_LOCALHOST, self._between, 2 * PATIENCE_S) as port:
            yield TcpEndpoint(host=NO_LOCALHOST, port=port)

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
            driver.sendall(framed(number + 1, SWITCH + b"mysql_clear_password\0"))
            _, answer = self._taken(driver, "an answer to mysql_clear_password")
            self._judge(answer)
        elif self.trick == "old password":
            driver.sendall(framed(number + 1, SWITCH + b"mysql_old_password\0" + scramble[:8] + b"\0"))
            _, answer = self._taken(driver, "an answer to mysql_old_password")
            self._judge(answer)
            if len(answer) == OLD_HASH_BYTES and "password" not in self.gifts:
                self.gifts.append("hash")
        else:
            self._full_login(driver, number, scramble)

    def _full_login(self, channel: socket.socket, number: int, scramble: bytes) -> None:
        """caching_sha2_password as a server asks that has the password in no cache."""
        channel.sendall(framed(number + 1, SWITCH + b"caching_sha2_password\0" + scramble + b"\0"))
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
