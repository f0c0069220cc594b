"""Somebody between a driver of PostgreSQL and its server, who plays the server or changes what it says.

Only private servers and accounts made for them are ever behind it, on the loopback interface: whatever a
driver gives away there is worth nothing. What may stand in each message, and what a client must make of it,
is in PostgreSQL's documentation, "Frontend/Backend Protocol": "Message Flow" (SSL Session Encryption),
"SASL Authentication", "Message Formats".
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import secrets
import select
import socket
import ssl
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tlstax.contract import Account, TcpEndpoint
from tlstax.network.tap.postgres_messages import (
    AUTHENTICATION,
    CANCEL_REQUEST,
    GSS_REQUEST,
    OF_CLIENT,
    SSL_REQUEST,
)
from tlstax.postgres.scram import PLAIN, PLUS, end_point_of, keys, md5_proof
from tlstax.records.capture import Frame, Sender
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.support.relaying import door, pass_on
from tlstax.tools.probes.drivers.relays import exactly
from tlstax.tools.probes.postgres_drivers.adapter import STATEMENT
from tlstax.tools.probes.postgres_drivers.document import Gift, Login, Over, Trick

HELLO = 0x16
"""The first byte of a TLS handshake: one that begins at once."""

OK, CLEAR, MD5, SASL, SASL_CONTINUE, SASL_FINAL = 0, 3, 5, 10, 11, 12
ITERATIONS = 4096
PATIENCE_S = 8.0
"""For a driver that is silent; as long as a busy machine may need."""

LONGEST_MESSAGE, READ_BYTES = 1 << 20, 1 << 16
SHOWN_BYTES = 96
MOST_MESSAGES = 60
TEXT_OID = 25
ALPN = "postgresql"

PLANTED = "an error that anybody may send"
"""What the wire's own error says."""

LET_IN, READY = b"R\0\0\0\x08\0\0\0\0", b"Z\0\0\0\x05I"
"""AuthenticationOk and ReadyForQuery: the end of a login."""

TOLD = {
    "server_version": "18.0",
    "client_encoding": "UTF8",
    "server_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "integer_datetimes": "on",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
}
"""What a server says of itself at the end of a login."""


@dataclass
class Scene:
    """What is played on each connection from now on, and what was seen of it.

    Without a `trick` the login is in order, and all that there is offered. `over` is where the wire plays the
    server. `mechanism` is what an orderly login chose; `asked` is whether the driver asked for TLS, and
    `began_tls` whether it began it;
    `logins` how many connections came as far as naming the user, `in_clear` whether one did without TLS.
    """

    trick: Trick | None
    over: Over
    gave: Gift = "nothing"
    connected: bool = False
    ran: bool = False
    asked: bool = False
    began_tls: bool = False
    in_clear: bool = False
    logins: int = 0
    mechanism: Login | None = None
    messages: list[Frame] = field(default_factory=list)


class HostileServer:
    """Listens where drivers are told that their server is; `playing` says what they meet there.

    `certificates` are those of nobody, `right` the server's own, by which the wire may stand for a server
    that is verified. With no scene all is passed on to `through`.
    """

    def __init__(
        self, server: TcpEndpoint, account: Account, certificates: Certificates, right: Certificates
    ) -> None:
        self.server = self.through = server
        self.user = account.user.encode()
        self.password = account.password.encode()
        self.nobody, self.right = _context(certificates), _context(right)
        self.end_point = end_point_of(
            x509.load_pem_x509_certificate(right.certificate_file.read_bytes()).public_bytes(Encoding.DER)
        )
        self._scene: Scene | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[TcpEndpoint]:
        """Where it listens, while it does."""
        with door(NO_LOCALHOST, self._taken, 2.0) as port:
            yield TcpEndpoint(host=NO_LOCALHOST, port=port)

    @contextlib.contextmanager
    def playing(self, trick: Trick | None, over: Over) -> Iterator[Scene]:
        """Play this on each connection meanwhile."""
        scene = self._scene = Scene(trick, over)
        try:
            yield scene
        finally:
            self._scene = None

    def _taken(self, driver: socket.socket) -> None:
        """One connection, to its end. Who hangs up has refused."""
        scene = self._scene
        with driver, contextlib.suppress(OSError, EOFError, ValueError, struct.error):
            driver.settimeout(PATIENCE_S)
            driver.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if scene is None:
                self.pass_on(driver, b"", self.through)
                return
            _Conversation(self, scene, driver).play()

    @staticmethod
    def pass_on(driver: socket.socket, first: bytes, server: TcpEndpoint) -> None:
        """Carry a connection to a server, beginning with what was read of it."""
        with socket.create_connection((server.host, server.port), PATIENCE_S) as channel:
            channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel.settimeout(PATIENCE_S)
            if first:
                channel.sendall(first)
            pass_on(driver, channel)


class _Conversation:
    """One connection in a scene."""

    def __init__(self, wire: HostileServer, scene: Scene, driver: socket.socket) -> None:
        self._wire, self._scene, self._driver = wire, scene, driver
        self._channel: socket.socket = driver

    def play(self) -> None:
        """As the scene has it."""
        scene, wire = self._scene, self._wire
        first = self._driver.recv(1, socket.MSG_PEEK)
        if not first:
            return
        if first[0] == HELLO:
            self._note("client", "ClientHello, without being asked", 0, b"")
            scene.began_tls = True
            if scene.over == "TLS":
                self._encrypt()
                self._play_server(self._startup())
            return
        startup = self._startup()
        while (code := _code(startup)) in {SSL_REQUEST, GSS_REQUEST}:
            if code == GSS_REQUEST:
                self._answer(b"N")
            elif not self._answer_request():
                return
            startup = self._startup()
        if code == CANCEL_REQUEST:
            return
        if scene.trick in {"offer taken away", "error"}:
            scene.logins += 1
            scene.in_clear = True
            wire.pass_on(self._driver, startup, wire.server)
        elif self._channel is not self._driver or scene.over == "clear":
            self._play_server(startup)

    def _answer_request(self) -> bool:
        """Answer the driver that asks for TLS; whether the connection goes on."""
        scene = self._scene
        scene.asked = True
        if scene.trick == "error":
            self._send(b"E", b"SERROR\0VERROR\0C08P01\0M" + PLANTED.encode() + b"\0\0", "ErrorResponse")
            return False
        if scene.trick != "bytes behind the answer" and scene.over == "clear":
            self._answer(b"N")
            return True
        if scene.trick == "bytes behind the answer":
            answer = b"S" + LET_IN + READY
            self._driver.sendall(answer)
            self._note("server", "S, AuthenticationOk, ReadyForQuery", len(answer), answer)
        else:
            self._answer(b"S")
        scene.began_tls = True
        self._encrypt()
        return True

    def _play_server(self, startup: bytes) -> None:
        """The login, by whoever plays the server."""
        scene = self._scene
        if not startup:
            return
        scene.logins += 1
        scene.in_clear = scene.in_clear or self._channel is self._driver
        trick = scene.trick
        if trick == "passed on":
            self._pass_on(startup)
            return
        if trick == "clear password":
            self._ask(CLEAR, b"")
            self._judge(self._proof())
        elif trick == "md5":
            salt = secrets.token_bytes(4)
            self._ask(MD5, salt)
            self._judge(self._proof(), salt)
        elif trick != "nothing asked" and not self._by_scram():
            return
        self._ask(OK, b"")
        for name, value in TOLD.items():
            self._send(b"S", f"{name}\0{value}\0".encode(), "ParameterStatus")
        self._send(b"K", struct.pack("!II", 1, 1), "BackendKeyData")
        self._send(b"Z", b"I", "ReadyForQuery")
        while True:
            self._serve(*self._message())

    def _pass_on(self, startup: bytes) -> None:
        """Carry what is said over TLS to the real server and back, which is in the clear there."""
        inner, server = self._channel, self._wire.server
        with socket.create_connection((server.host, server.port), PATIENCE_S) as outer:
            outer.sendall(startup)
            while True:
                waiting = inner.pending() if isinstance(inner, ssl.SSLSocket) else 0
                ready = [inner] if waiting else select.select([inner, outer], [], [], PATIENCE_S)[0]
                for source, sink in ((inner, outer), (outer, inner)):
                    if source in ready:
                        data = source.recv(READ_BYTES)
                        if not data:
                            return
                        sink.sendall(data)
                if not ready:
                    return

    def _by_scram(self) -> bool:
        """A login by SCRAM, as the scene has it end; whether the driver kept to it."""
        scene = self._scene
        is_bindable = self._channel is not self._driver
        offered = (PLUS, PLAIN) if is_bindable else (PLAIN,)
        self._ask(SASL, b"".join(name.encode() + b"\0" for name in offered) + b"\0")
        kind, said = self._message()
        if kind != b"p":
            self._believed(kind, said)
            return False
        name, _, rest = said.partition(b"\0")
        first = rest[4:]
        scene.mechanism = "SCRAM-SHA-256-PLUS" if name == PLUS.encode() else "SCRAM-SHA-256"
        bare = first[first.index(b"n=") :] if b"n=" in first else first.split(b",", 2)[2]
        header = first[: len(first) - len(bare)]
        nonce = bare.partition(b"r=")[2] + base64.b64encode(secrets.token_bytes(18))
        salt = secrets.token_bytes(16)
        server_first = b"r=%s,s=%s,i=%d" % (nonce, base64.b64encode(salt), ITERATIONS)
        self._ask(SASL_CONTINUE, server_first)
        final = self._proof()
        if scene.gave == "nothing":
            scene.gave = "proof"
        without_proof, _, proof = final.rpartition(b",p=")
        signed = b",".join((bare, server_first, without_proof))
        client_key, server_key = keys(self._wire.password, salt, ITERATIONS)
        if scene.trick == "no proof":
            return True
        if scene.trick == "wrong proof":
            server_key = secrets.token_bytes(len(server_key))
        elif not self._is_in_order(without_proof, proof, (header, signed, client_key)):
            return False
        signature = hmac.digest(server_key, signed, "sha256")
        self._ask(SASL_FINAL, b"v=" + base64.b64encode(signature))
        return True

    def _is_in_order(self, without_proof: bytes, proof: bytes, known: tuple[bytes, bytes, bytes]) -> bool:
        """Whether the driver knows the password, and binds itself to the channel where it says so."""
        header, signed, client_key = known
        bound = header + (self._wire.end_point or b"") if header.startswith(b"p=") else header
        binding = without_proof.partition(b",")[0].removeprefix(b"c=")
        signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
        expected = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return base64.b64decode(binding) == bound and base64.b64decode(proof) == expected

    def _believed(self, kind: bytes, said: bytes) -> None:
        """Whoever asks something takes itself for logged in."""
        if kind in {b"Q", b"P"}:
            self._scene.connected = True
            self._scene.ran = self._scene.ran or STATEMENT.encode() in said

    def _serve(self, kind: bytes, said: bytes) -> None:
        """Answer a driver that takes itself for logged in: a row of one text to all that it asks."""
        if kind == b"X":
            raise EOFError
        self._believed(kind, said)
        if kind == b"Q":
            self._send_rows(described=True, complete=_complete(said))
            self._send(b"Z", b"I", "ReadyForQuery")
        elif kind == b"D":
            if said[:1] == b"S":
                self._send(b"t", b"\0\0", "ParameterDescription")
            self._send(b"T", _COLUMN, "RowDescription")
        elif kind == b"E":
            self._send_rows(described=False, complete=b"SELECT 1")
        elif kind in _ANSWERS:
            answer, body, name = _ANSWERS[kind]
            self._send(answer, body, name)

    def _send_rows(self, *, described: bool, complete: bytes) -> None:
        if complete.startswith(b"SELECT"):
            if described:
                self._send(b"T", _COLUMN, "RowDescription")
            self._send(b"D", struct.pack("!hi", 1, 1) + b"1", "DataRow")
        self._send(b"C", complete + b"\0", "CommandComplete")

    def _judge(self, answer: bytes, salt: bytes = b"") -> None:
        """Whether the password was given, or its hash."""
        text = answer.rstrip(b"\0")
        if text == self._wire.password:
            self._scene.gave = "password"
        elif salt and text == md5_proof(self._wire.user, self._wire.password, salt):
            self._scene.gave = "hash"

    def _encrypt(self) -> None:
        """TLS from here on, by a certificate of nobody; the server's own where the login is in order."""
        is_right = self._scene.trick in {None, "bytes behind the answer"}
        context = self._wire.right if is_right else self._wire.nobody
        self._channel = context.wrap_socket(self._driver, server_side=True)
        self._note("client", "(TLS from here on)", 0, b"")

    def _startup(self) -> bytes:
        """The next packet without a type: a request, or whom the driver wants to log in."""
        header = exactly(self._channel, 4)
        length = int.from_bytes(header, "big")
        if not 8 <= length <= LONGEST_MESSAGE:
            raise ValueError("no packet of a beginning")
        packet = header + exactly(self._channel, length - 4)
        names = {SSL_REQUEST: "SSLRequest", GSS_REQUEST: "GSSENCRequest", CANCEL_REQUEST: "CancelRequest"}
        self._note("client", names.get(_code(packet), "StartupMessage"), len(packet), packet)
        return packet

    def _proof(self) -> bytes:
        """The next message, which is to be a proof of the account."""
        kind, said = self._message()
        if kind != b"p":
            self._believed(kind, said)
            raise EOFError
        return said

    def _message(self) -> tuple[bytes, bytes]:
        """The driver's next message: its type, and what is in it."""
        try:
            header = exactly(self._channel, 5)
        except ssl.SSLError as error:
            raise EOFError from error
        length = int.from_bytes(header[1:], "big")
        if not 4 <= length <= LONGEST_MESSAGE:
            raise ValueError("no message")
        said = exactly(self._channel, length - 4)
        name = OF_CLIENT.get(header[:1], "proof of the account" if header[:1] == b"p" else "message")
        self._note("client", name, len(header) + len(said), header + said)
        return header[:1], said

    def _ask(self, number: int, body: bytes) -> None:
        self._send(b"R", number.to_bytes(4, "big") + body, AUTHENTICATION[number])

    def _send(self, kind: bytes, body: bytes, what: str) -> None:
        message = kind + (len(body) + 4).to_bytes(4, "big") + body
        self._channel.sendall(message)
        self._note("server", what, len(message), message)

    def _answer(self, answer: bytes) -> None:
        self._driver.sendall(answer)
        self._note("server", answer.decode(), 1, answer)

    def _note(self, sender: Sender, what: str, length: int, data: bytes) -> None:
        """Write it down, without the password."""
        if len(self._scene.messages) < MOST_MESSAGES:
            secret = self._wire.password
            shown = data.replace(secret, b"*" * len(secret))[:SHOWN_BYTES]
            self._scene.messages.append(Frame(sender=sender, what=what, length=length, hex=shown.hex()))


_ANSWERS = {
    b"P": (b"1", b"", "ParseComplete"),
    b"B": (b"2", b"", "BindComplete"),
    b"C": (b"3", b"", "CloseComplete"),
    b"S": (b"Z", b"I", "ReadyForQuery"),
}
"""To messages that have one answer, whatever is in them."""

_COLUMN = struct.pack("!h", 1) + b"x\0" + struct.pack("!ihihih", 0, 0, TEXT_OID, -1, -1, 0)
"""A row's description: one column of text."""


def _code(packet: bytes) -> int:
    return int.from_bytes(packet[4:8], "big")


def _complete(query: bytes) -> bytes:
    """How a statement ends: by its first word."""
    word = query.split(None, 1)[0].upper().rstrip(b";\0") if query.split() else b""
    return b"SELECT 1" if word in {b"SELECT", b"SHOW"} else word or b"SELECT 1"


def _context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate_file, certificates.key_file)
    context.set_alpn_protocols([ALPN])
    return context
