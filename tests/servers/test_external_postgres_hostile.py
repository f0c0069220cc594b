"""Whoever answers in the place of an external PostgreSQL gets no password, and we get one sentence, soon."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from tlstax.contract import AuthMethod
from tlstax.external import connection as external_connection
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.tls import VERIFYING, ExternalTls, SslMode
from tlstax.specimens import certificates
from tlstax.sql.database import Database, GuardedDatabase, SqlError
from tlstax.support.errors import TlstaxError

PASSWORD = "Sesame, open!"
PATIENCE_S, LONGEST_S = 0.4, 30.0
"""How long an answer is waited for here; and how long one of these tests may take on a busy machine."""

Act = bytes | Literal["hear", "close", "silence", "endless", "drip", "scram"]
"""Bytes to send, or: take what the client says; hang up; be silent; say the last for ever, or slowly."""


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def asks(code: int, more: bytes = b"") -> bytes:
    return message(b"R", struct.pack("!i", code) + more)


def error(state: str, said: str, severity: str = "FATAL") -> bytes:
    parts = (f"S{severity}", f"V{severity}", f"C{state}", f"M{said}")
    return message(b"E", b"".join(part.encode() + b"\0" for part in parts) + b"\0")


OK, READY, KEY = asks(0), message(b"Z", b"I"), message(b"K", struct.pack("!ii", 4711, 1))
SASL = asks(10, b"SCRAM-SHA-256\0\0")
BOUND = asks(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")
FIRST = asks(11, b"r=%s,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
LET_IN: tuple[Act, ...] = (OK, KEY, READY)


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a session is set to after its login takes statements, which no script here answers."""
    monkeypatch.setattr("tlstax.postgres.session.settle", lambda _: None)


class Server:
    """A port at which each connection is told the same; `heard` is all that was said there."""

    def __init__(self, script: Sequence[Act], tls: ssl.SSLContext | None = None) -> None:
        self.script, self.tls = script, tls
        self.heard = bytearray()
        self.port = 0
        self._done = threading.Event()

    @contextmanager
    def listening(self) -> Iterator[Server]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]

            def serve() -> None:
                with suppress(OSError):
                    while True:
                        channel, _ = listener.accept()
                        threading.Thread(target=self._serve, args=(channel,), daemon=True).start()

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            try:
                yield self
            finally:
                self._done.set()
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()

    def _serve(self, channel: socket.socket) -> None:
        last = b"\0"
        with channel, suppress(OSError):
            channel.settimeout(LONGEST_S)
            if self.tls is not None:
                channel.recv(8, socket.MSG_WAITALL)
                channel.sendall(b"S")
                channel = self.tls.wrap_socket(channel, server_side=True)
            for act in self.script:
                if isinstance(act, bytes):
                    last = act.replace(b"%s", self._nonce() + b"more")
                    channel.sendall(_resized(last) if last != act else last)
                elif act == "hear":
                    self.heard += channel.recv(65536)
                elif act == "scram":
                    channel.sendall(asks(12, b"v=" + self._signature()))
                elif act == "close":
                    return
                elif act == "silence":
                    self._done.wait()
                else:
                    self._repeat(channel, last, slowly=act == "drip")
            while data := channel.recv(65536):
                self.heard += data

    def _repeat(self, channel: socket.socket, last: bytes, *, slowly: bool) -> None:
        while not self._done.is_set():
            channel.sendall(last[:1] if slowly else last * 1000)
            if slowly:
                time.sleep(0.02)

    def _nonce(self) -> bytes:
        return bytes(self.heard).rpartition(b"r=")[2].partition(b",")[0]

    def _signature(self) -> bytes:
        """As a server computes it that knows the password (RFC 5802, section 3)."""
        text = bytes(self.heard)
        bare = b"n=,r=" + text.split(b"n=,r=")[1].split(b"p\0")[0]
        final = b"c=" + text.split(b"c=")[1].split(b",p=")[0]
        nonce = bare.removeprefix(b"n=,r=") + b"more"
        first = b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), salt, 4096)
        key = hmac.digest(salted, b"Server Key", "sha256")
        return base64.b64encode(hmac.digest(key, b",".join((bare, first, final)), "sha256"))


def _resized(request: bytes) -> bytes:
    """The message with its length as it is after something was put into it."""
    return message(request[:1], request[5:])


def access_to(port: int, tls: ExternalTls) -> ExternalAccess:
    address = ExternalAddress("127.0.0.1", port, "ann", product="postgresql", database="lent")
    return ExternalAccess(address, "ann", PASSWORD, tls)


def visited(
    script: Sequence[Act],
    *,
    access: Callable[[ExternalAccess], ExternalAccess] = lambda own: own,
    then: Callable[[GuardedDatabase], object] | None = None,
) -> str:
    """What is said of a server that says this, whose login `access` may change; it has heard no password."""
    began = time.monotonic()
    with Server(script).listening() as server:
        own = access(access_to(server.port, ExternalTls()))
        said = ""
        try:
            with external_connection.connect(own, None, PATIENCE_S) as database:
                database.wait_at_most(PATIENCE_S)
                if then is not None:
                    then(database)
        except TlstaxError as fault:
            said = fault.sentence()
    assert not said or "; " in said or "reports an error" in said
    assert PASSWORD.encode() not in server.heard
    assert "\n" not in said
    assert PASSWORD not in said
    assert "Traceback" not in said
    assert time.monotonic() - began < LONGEST_S
    return said


NO_TLS: tuple[Act, ...] = ("hear", b"N", "hear")
"""A server without TLS that has the start-up message."""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (("hear", "close"), "closed it without sending anything"),
        (("close",), "closed it without sending anything"),
        (("silence",), "accepted the connection and then sent nothing for"),
        (("hear", b"S" + b"x" * 20, "silence"), "sent more than its answer to the question for TLS"),
        (("hear", b"N" + OK, "silence"), "sent more than its answer to the question for TLS"),
        (("hear", b"X", "silence"), "does not speak PostgreSQL's protocol"),
        (("hear", b"HTTP/1.1 400 Bad Request\r\n\r\n", "silence"), "does not speak PostgreSQL's protocol"),
        ((b"SSH-2.0-OpenSSH_9.2\r\n", "silence"), "does not speak PostgreSQL's protocol"),
        ((b"\x4a\0\0\0\x0a8.0.33\0" + b"\1" * 66, "silence"), "is a MySQL or MariaDB server"),
        ((b"\x4e\0\0\0\x0a8.0.33-a-long-name\0" + b"\1" * 60, "silence"), "is a MySQL or MariaDB server"),
        (("hear", error("0A000", "no"), "silence"), "answered the question for TLS with an error"),
        (("hear", b"S", "silence"), "sent nothing more when TLS had begun"),
        (("hear", b"S", "hear", b"garbage" * 100, "silence"), "the TLS handshake with 127.0.0.1"),
        (("hear", b"S", "close"), "the TLS handshake with 127.0.0.1"),
        (("hear", b"N", "close"), "closed it without sending anything"),
        ((*NO_TLS, "silence"), "accepted the connection and then sent nothing for"),
        ((*NO_TLS, "close"), "closed it without sending anything"),
        ((*NO_TLS, b"HTTP/1.1 400 Bad Request\r\n\r\n", "silence"), "does not speak PostgreSQL's protocol"),
        ((*NO_TLS, b"R\0\0\0\x08\0", "silence"), "broke the connection"),
        ((*NO_TLS, b"R\0\0\0\x08\0", "close"), "broke the connection"),
        ((*NO_TLS, message(b"R", b""), "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, b"R\0\0\0\0", "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, b"R\xff\xff\xff\xff", "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, b"R\x7f\xff\xff\xff" + b"x" * 100, "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, message(b"R", b"x" * 3), "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, asks(5, b"sal"), "silence"), ""),
        ((*NO_TLS, asks(99), "silence"), "a method that tlstax does not support (request 99)"),
        ((*NO_TLS, asks(7), "silence"), "a method that tlstax does not support (GSSAPI)"),
        ((*NO_TLS, asks(10, b"OAUTHBEARER\0\0"), "silence"), "does not support (SASL OAUTHBEARER)"),
        ((*NO_TLS, asks(10, b"\xff\xfe\0\0"), "silence"), "a method that tlstax does not support"),
        ((*NO_TLS, asks(10, b""), "silence"), "a method that tlstax does not support"),
        ((*NO_TLS, asks(10, b"SCRAM-SHA-256-PLUS\0\0"), "silence"), "and there is no TLS"),
        ((*NO_TLS, asks(11, b"r=x"), "silence"), "a method that tlstax does not support"),
        ((*NO_TLS, asks(12, b"v=x"), "silence"), "a method that tlstax does not support"),
        ((*NO_TLS, asks(3), "silence"), "in clear text over a connection without TLS"),
        ((*NO_TLS, SASL, "hear", *LET_IN), "before it proved that it knows the password"),
        ((*NO_TLS, SASL, "hear", KEY, READY), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=x,s=AAAA,i=1"), "silence"), "does not continue the client's"),
        ((*NO_TLS, SASL, "hear", asks(11, b"\xff" * 90), "silence"), "none of SCRAM's"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", asks(12, b"v=AAAA"), *LET_IN), "did not prove that it knows"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", *LET_IN), "before it proved that it knows the password"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=%s"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=%s,s=AAAA,i=0"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=%s,s=AAAA,i=-4096"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=%s,s=AAAA,i=99999999999999999999"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=%s,s=not base64!,i=4096"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", asks(11, b"r=%s,s=,i=4096"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", asks(11, b""), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", asks(12, b"e=invalid-proof"), "silence"), "SCRAM"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", asks(12, b""), *LET_IN), "did not prove that it knows"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", FIRST, "silence"), "127.0.0.1"),
        ((*NO_TLS, SASL, "hear", SASL, "silence"), "127.0.0.1"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", "close"), "127.0.0.1"),
        ((*NO_TLS, SASL, "hear", FIRST, "hear", "silence"), "127.0.0.1"),
        ((*NO_TLS, OK, message(b"K", b"\0"), READY), ""),
        ((*NO_TLS, OK, message(b"S", b"server_version"), READY), ""),
        ((*NO_TLS, OK, "silence"), "127.0.0.1"),
        ((*NO_TLS, OK, error("57P01", "terminating connection"), "close"), "somebody ended a connection"),
        ((*NO_TLS, OK, KEY, "close"), "127.0.0.1"),
        ((*NO_TLS, OK, message(b"Z", b"?")), ""),
        ((*NO_TLS, READY, "silence"), "does not speak PostgreSQL's protocol"),
        ((*NO_TLS, message(b"N", b"SNOTICE\0Mhello\0\0"), "endless"), "127.0.0.1"),
        ((*NO_TLS, message(b"N", b"x"), "drip"), "127.0.0.1"),
        ((*NO_TLS, message(b"S", b"client_encoding\0zip\0"), *LET_IN), ""),
        ((*NO_TLS, message(b"v", b"\0\3\0\0\0\0\0\0"), "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, message(b"E", b""), "silence"), "reports an error"),
        ((*NO_TLS, message(b"E", b"\xff\0\0"), "silence"), "does not follow PostgreSQL's protocol"),
        ((*NO_TLS, error("²²²²²", "no"), "silence"), "reports an error"),
        ((*NO_TLS, error("28000", "no\nline\r\nhere " + "x" * 9000), "silence"), "refused the user ann"),
    ],
)
def test_whatever_is_answered_ends_in_one_sentence(script: Sequence[Act], words: str) -> None:
    said = visited(script)
    assert words in said
    assert len(said) < 1200


@pytest.mark.parametrize(
    ("state", "said", "words"),
    [
        ("28P01", "password authentication failed", "refused the user ann with this password"),
        ("28000", 'no pg_hba.conf entry for host "h"', "no line of pg_hba.conf at"),
        ("28000", 'kein pg_hba.conf-Eintrag für Host "h"', "no line of pg_hba.conf at"),
        ("28000", "connection requires a valid client certificate", "only with a client certificate"),
        ("28000", 'role "ann" is not permitted to log in', "refused the user ann"),
        ("3D000", 'database "lent" does not exist', "has no database lent"),
        ("53300", "sorry, too many clients already", "has no free connection"),
        ("57P03", "the database system is starting up", "is starting, stopping or recovering"),
        ("57P01", "terminating connection due to administrator command", "somebody ended a connection"),
        ("08P01", "no such database: lent", "has no database lent"),
        ("08P01", "no more connections allowed (max_client_conn)", "has no free connection"),
        ("08P01", "expected password", "does not follow PostgreSQL's protocol, or says so of its client"),
        ("ZZZZZ", "something", "reports an error (something, ZZZZZ)"),
    ],
)
def test_each_refusal_is_told_apart(state: str, said: str, words: str) -> None:
    told = visited((*NO_TLS, error(state, said), "close"))
    assert words in told
    assert "127.0.0.1:" in told


def test_without_tls_nothing_is_sent_where_tls_is_demanded() -> None:
    with Server(("hear", b"N", "hear")).listening() as server:
        access = access_to(server.port, ExternalTls("REQUIRED", mode_by="sslmode=require in the URL"))
        with pytest.raises(TlstaxError, match="which sslmode=require in the URL demands"):
            external_connection.connect(access, None, PATIENCE_S)
    assert len(server.heard) == 8


def test_a_server_that_proves_itself_is_logged_in_to() -> None:
    script = (*NO_TLS, SASL, "hear", FIRST, "hear", "scram", *LET_IN)
    seen: list[object] = []
    said = visited(script, then=lambda own: seen.append((own.account_plugin, own.number, own.is_encrypted)))
    assert said == ""
    assert seen == [("scram-sha-256", 4711, False)]


@pytest.mark.parametrize(
    ("require_auth", "script", "words"),
    [
        (("scram-sha-256",), (*NO_TLS, *LET_IN), "lets whoever comes in without asking for a proof"),
        (("scram-sha-256",), (*NO_TLS, asks(5, b"salt"), "silence"), "asks for the password's proof by md5"),
        (("md5",), (*NO_TLS, SASL, "silence"), "asks for SCRAM, which"),
        (("md5", "none"), (*NO_TLS, asks(3), "silence"), "asks for the password itself"),
        (("scram-sha-256-plus",), (*NO_TLS, SASL, "silence"), "asks for SCRAM without binding it"),
    ],
)
def test_ways_of_logging_in_that_are_not_allowed_get_nothing(
    require_auth: tuple[AuthMethod, ...], script: Sequence[Act], words: str
) -> None:
    said = visited(
        script,
        access=lambda own: replace(own, require_auth=require_auth, auth_by="require_auth=… in the URL"),
    )
    assert words in said
    assert "which require_auth=… in the URL does not allow, so nothing was sent" in said


def test_who_has_no_password_says_so_only_where_it_is_asked_for() -> None:
    def without(own: ExternalAccess) -> ExternalAccess:
        return replace(own, password="")

    assert visited((*NO_TLS, *LET_IN), access=without) == ""
    for ask in (SASL, asks(5, b"salt")):
        said = visited((*NO_TLS, ask, "silence"), access=without)
        assert "asks for a password of ann, and none was given" in said


def over_tls(directory: Path, mode: SslMode, script: Sequence[Act]) -> tuple[str, bytes]:
    """What is said of a server that says this over TLS, and what it heard."""
    made = certificates.issue(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate_file, made.key_file)
    said = ""
    with Server(script, context).listening() as server:
        tls = ExternalTls(mode, str(made.ca_file) if mode in VERIFYING else None)
        try:
            external_connection.connect(access_to(server.port, tls), None, PATIENCE_S).close()
        except TlstaxError as fault:
            said = fault.sentence()
        time.sleep(0.2)
    return said, bytes(server.heard)


@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED"])
def test_clear_text_is_not_sent_to_who_was_not_verified(tmp_path: Path, mode: SslMode) -> None:
    said, heard = over_tls(tmp_path, mode, ("hear", asks(3), "hear"))
    assert "in clear text over a connection whose certificate was not verified" in said
    assert PASSWORD.encode() not in heard


def test_clear_text_is_sent_to_who_was_verified(tmp_path: Path) -> None:
    said, heard = over_tls(tmp_path, "VERIFY_CA", ("hear", asks(3), "hear", *LET_IN))
    assert (said, PASSWORD.encode() + b"\0" in heard) == ("", True)


def test_a_channel_is_bound_where_the_server_offers_it(tmp_path: Path) -> None:
    said, heard = over_tls(tmp_path, "PREFERRED", ("hear", BOUND, "hear", "close"))
    assert b"SCRAM-SHA-256-PLUS\0" in heard
    assert b"p=tls-server-end-point,,n=,r=" in heard
    assert said
    _, heard = over_tls(tmp_path, "PREFERRED", ("hear", SASL, "hear", "close"))
    assert b"y,,n=,r=" in heard, "it would have, which a server that offered it would take for an attack"


def test_tls_that_begins_at_once_is_told_from_what_hangs_up() -> None:
    said = visited(
        ("hear", "close"), access=lambda own: replace(own, tls=ExternalTls("REQUIRED", direct=True))
    )
    assert "closed the connection when TLS was begun at once" in said


ROWS = message(b"T", b"\0\1one\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0))
ONE = message(b"D", b"\0\1\0\0\0\1x")
DONE = message(b"C", b"SELECT 1\0")
IN: tuple[Act, ...] = (*NO_TLS, *LET_IN, "hear")


@pytest.mark.parametrize(
    "answer",
    [
        ("silence",),
        ("close",),
        (ROWS, ONE, "endless"),
        (ROWS, ONE, "drip"),
        (message(b"D", b"\0\1\0\0\0\1x"), READY),
        (ROWS, message(b"D", b"\0\1\x7f\xff\xff\xff"), READY),
        (message(b"T", b"\xff\xff"), READY),
        (message(b"G", b"\0\0\0"), READY),
        (message(b"H", b"\0\0\0"), READY),
        (message(b"d", b"file"), READY),
        (message(b"t"), message(b"~"), READY),
        (error("XX000", "torn", "PANIC"), "close"),
        (message(b"A", b"\0"), READY),
        (OK, asks(3), "silence"),
        (ROWS, message(b"D", b"\0\1\0\0\0\1\xff"), DONE, READY),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_closes_the_connection(answer: Sequence[Act]) -> None:
    ended: list[bool] = []

    def ask(database: Database) -> None:
        with suppress(SqlError):
            rows = database.rows("SELECT 'x'")
            assert all(len(row) <= 1 for row in rows)
            return
        ended.append(database.is_open)

    said = visited((*IN, *answer), then=ask)
    assert said == "" or "does not" in said or "in clear text" in said
    assert ended in ([], [False])
