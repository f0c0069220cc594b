"""What a tap understands of PostgreSQL: connections recorded before real servers, and hostile bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlstax.network.tap.listening import MOST_OF_LOGIN, Listening, Tally
from tlstax.records.capture import Conversation
from wire_bytes import Said, client_hello, finished13, query, record, server_hello

PREPARED = ["Parse, Describe, Sync", "Bind, Describe, Execute, Sync"]
ANSWERS = [
    "ParseComplete, ParameterDescription, RowDescription, ReadyForQuery",
    "BindComplete, RowDescription, DataRow, CommandComplete, ReadyForQuery",
]
ROW = "RowDescription, DataRow, CommandComplete, ReadyForQuery"
TAKEN = ("AuthenticationOk", "ParameterStatus", "BackendKeyData", "ReadyForQuery")
SCRAM = (
    "StartupMessage",
    "AuthenticationSASL",
    "SASLInitialResponse",
    "AuthenticationSASLContinue",
    "SASLResponse",
    "AuthenticationSASLFinal",
    *TAKEN,
)
REQUEST = ("SSLRequest", "yes (S)")

EXPECTED: dict[str, dict[str, Any]] = {
    "SCRAM in the clear, prepared": {"turns": 3 + 2, "to_login": 3, "login": SCRAM},
    "psql: an error, COPY both ways, two statements in one": {"turns": 3 + 7, "to_login": 3, "login": SCRAM},
    "a wrong password by MD5": {
        "turns": 2,
        "login": (
            "StartupMessage",
            "AuthenticationMD5Password",
            "PasswordMessage",
            "ErrorResponse 28P01",
        ),
    },
    "a password in the clear": {
        "turns": 2 + 1,
        "to_login": 2,
        "login": ("StartupMessage", "AuthenticationCleartextPassword", "PasswordMessage", *TAKEN),
    },
    "TLS 1.2, SCRAM": {"turns": 1 + 2 + 3 + 2, "login": REQUEST, "tls": ("TLSv1.2", "secp256r1", False)},
    "TLS 1.3 with a HelloRetryRequest, trust": {
        "turns": 1 + 2 + 1 + 2,
        "login": REQUEST,
        "tls": ("TLSv1.3", "secp256r1", True),
    },
    "TLS 1.3, MD5, 18.4": {"turns": 1 + 1 + 2 + 2, "login": REQUEST, "tls": ("TLSv1.3", "x25519", False)},
    "TLS 1.3, SCRAM, 18.4": {"turns": 1 + 1 + 3 + 2, "login": REQUEST, "tls": ("TLSv1.3", "x25519", False)},
    "direct TLS 1.3, SCRAM, 18.4": {
        "turns": 1 + 3 + 2,
        "direct": True,
        "tls": ("TLSv1.3", "x25519", False),
    },
}
"""What is known of each: its round trips after TCP's as request, TLS, login and statements."""


def _recorded() -> dict[str, tuple[Said, ...]]:
    text = (Path(__file__).parent / "recorded" / "postgresql.txt").read_text(encoding="ascii")
    found: dict[str, tuple[Said, ...]] = {}
    for part in text.split("\n[")[1:]:
        name, *lines = part.splitlines()
        found[name.rstrip("]")] = tuple(
            ("client" if line[0] == ">" else "server", bytes.fromhex(line[2:])) for line in lines if line
        )
    return found


RECORDED = _recorded()


def heard(said: tuple[Said, ...]) -> Conversation:
    listening = Listening(Tally(), lambda _: None)
    for sender, data in said:
        listening.hear(sender, data)
    return listening.conversation()


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def first_packet(code: int, rest: bytes = b"") -> bytes:
    return (8 + len(rest)).to_bytes(4, "big") + code.to_bytes(4, "big") + rest


SSL_REQUEST, GSSENC_REQUEST, CANCEL_REQUEST = (first_packet(80877100 + last) for last in (3, 4, 2))
STARTUP = first_packet(3 << 16, b"user\0alice\0\0")
OK, READY = message(b"R", bytes(4)), message(b"Z", b"I")
LOGIN: tuple[Said, ...] = (("client", STARTUP), ("server", OK + READY))


def whats(said: tuple[Said, ...], sender: str) -> list[str]:
    return [frame.what for frame in heard(said).frames if frame.sender == sender]


def test_every_recorded_connection_is_expected() -> None:
    assert set(RECORDED) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_connection_is_understood(name: str) -> None:
    seen, expected = heard(RECORDED[name]), EXPECTED[name]
    assert seen.spoken == "postgresql"
    assert seen.traffic.turns == expected["turns"]
    assert seen.turns_to_login == expected.get("to_login")
    assert seen.login == expected.get("login", ())
    assert seen.is_direct == expected.get("direct", False)
    assert seen.before_hello_bytes == 0
    agreed = seen.tls and (seen.tls.version, seen.tls.group, seen.tls.hello_retry)
    assert agreed == expected.get("tls")
    if seen.tls is not None:
        assert seen.tls.finished
        assert not seen.tls.resumed
        assert seen.tls.hello.protocols == ("postgresql",)
        assert seen.statements == ()


def test_what_is_asked_and_answered_in_the_clear_is_named() -> None:
    prepared = RECORDED["SCRAM in the clear, prepared"]
    assert whats(prepared, "client") == [*PREPARED, "Terminate"]
    assert whats(prepared, "server") == ANSWERS
    assert [(one.command, one.text) for one in heard(prepared).statements] == [
        ("Parse", "SELECT 1"),
        ("Execute", ""),
        ("Terminate", ""),
    ]
    typed = RECORDED["psql: an error, COPY both ways, two statements in one"]
    asked = [*["Query"] * 4, "CopyData, CopyDone", "Query", "Query", "Terminate"]
    assert whats(typed, "client") == asked
    assert whats(typed, "server") == [
        ROW,
        "ErrorResponse 42P01, ReadyForQuery",
        "CommandComplete, ReadyForQuery",
        "CopyInResponse",
        "CommandComplete, ReadyForQuery",
        "CopyOutResponse, CopyData, CopyDone, CommandComplete, ReadyForQuery",
        ROW,
    ]
    assert [one.text for one in heard(typed).statements][:2] == ["select 1;", "select * from nope;"]


@pytest.mark.parametrize("asked", [3, 5, 7, 10])
def test_no_secret_of_a_login_is_kept(asked: int) -> None:
    said: tuple[Said, ...] = (
        ("client", STARTUP),
        ("server", message(b"R", asked.to_bytes(4, "big") + b"salt")),
        ("client", message(b"p", b"secret\0")),
        ("server", OK + message(b"K", b"secret") + READY),
        # By the protocol none of these comes after the login.
        ("client", message(b"p", b"secret\0")),
        ("server", message(b"R", bytes(3) + b"\5secret") + message(b"K", b"secret")),
        ("client", message(b"Q", b"SELECT 1\0")),
    )
    seen = heard(said)
    kept = b"".join(bytes.fromhex(frame.hex) for frame in seen.frames)
    assert b"secret" not in kept + seen.model_dump_json().encode()
    assert b"SELECT 1" in kept


def test_what_is_sent_without_waiting_is_one_turn_and_one_frame() -> None:
    commands = message(b"B") + message(b"E")
    said: tuple[Said, ...] = (
        *LOGIN,
        ("client", commands),
        ("client", commands + message(b"S")),
        ("server", message(b"2")),
        ("server", message(b"C") + message(b"2") + message(b"C") + READY),
    )
    assert heard(said).traffic.turns == 2
    assert whats(said, "client") == ["Bind, Execute, Sync"]
    assert whats(said, "server") == ["BindComplete, CommandComplete, ReadyForQuery"]


def test_what_a_server_says_unasked_answers_nothing() -> None:
    unasked = message(b"A") + message(b"N", b"C00000\0\0") + message(b"S")
    ask: tuple[Said, ...] = (("client", message(b"Q", b"x\0")), ("server", unasked))
    assert heard((*LOGIN, ("server", unasked))).traffic.turns == 1
    assert heard((*LOGIN, *ask)).traffic.turns == 1
    assert heard((*LOGIN, *ask, ("server", message(b"C") + READY))).traffic.turns == 2
    assert heard((*LOGIN, ("client", message(b"X")))).traffic.turns == 1


def test_a_server_without_tls_is_logged_in_to_in_the_clear() -> None:
    said: tuple[Said, ...] = (
        ("client", GSSENC_REQUEST),
        ("server", b"N"),
        ("client", SSL_REQUEST),
        ("server", b"N"),
        *LOGIN,
    )
    seen = heard(said)
    assert seen.login[:5] == ("GSSENCRequest", "no (N)", "SSLRequest", "no (N)", "StartupMessage")
    assert (seen.tls, seen.traffic.turns, seen.turns_to_login) == (None, 3, 3)


def test_a_request_to_cancel_is_told() -> None:
    seen = heard((("client", CANCEL_REQUEST + bytes(8)),))
    assert (seen.login, seen.traffic.turns) == (("CancelRequest",), 0)


def test_what_gssapi_encrypts_is_not_read() -> None:
    said: tuple[Said, ...] = (("client", GSSENC_REQUEST), ("server", b"G"), ("client", STARTUP))
    seen = heard(said)
    assert (seen.login, seen.tls, seen.frames) == (("GSSENCRequest",), None, ())


HELLO13: tuple[Said, ...] = (
    ("client", record(22, client_hello())),
    ("server", record(22, server_hello("1301", version="0304", share="001d")) + record(23, bytes(900))),
    ("client", finished13()),
)


@pytest.mark.parametrize("extra", [b"N", OK + READY, record(22, bytes(40))])
@pytest.mark.parametrize("cut", [False, True])
def test_bytes_before_the_clienthello_are_seen_and_the_handshake_nonetheless(extra: bytes, cut: bool) -> None:
    answer: tuple[Said, ...] = (("server", b"S"), ("server", extra)) if cut else (("server", b"S" + extra),)
    seen = heard((("client", SSL_REQUEST), *answer, *HELLO13))
    assert seen.before_hello_bytes == len(extra)
    assert seen.login == REQUEST
    assert seen.tls is not None
    assert (seen.tls.version, seen.tls.finished, seen.traffic.turns) == ("TLSv1.3", True, 2)


def test_tls_begun_at_once_is_told() -> None:
    seen = heard(HELLO13)
    assert (seen.is_direct, seen.spoken, seen.login, seen.traffic.turns) == (True, "postgresql", (), 1)
    assert not heard((("client", SSL_REQUEST), ("server", b"S"), *HELLO13)).is_direct


@pytest.mark.parametrize(
    "said",
    [
        (("client", SSL_REQUEST), ("server", b"X")),
        (("client", SSL_REQUEST), ("server", b"G")),
        (("client", first_packet(7 << 16)),),
        (("client", bytes(4)),),
        (*LOGIN, ("server", message(b"R", b""))),
        (*LOGIN, ("client", b"Q\0\0\0\3")),
        (("client", query("SELECT 1")),),
    ],
)
def test_what_is_no_postgresql_is_counted_and_not_read(said: tuple[Said, ...]) -> None:
    seen = heard((*said, ("client", message(b"Q", b"SELECT 2\0"))))
    assert seen.statements == ()
    assert seen.traffic.bytes_sent == sum(len(data) for sender, data in said if sender == "client") + 14


def test_no_more_is_kept_than_is_said() -> None:
    login: tuple[Said, ...] = tuple(("client", SSL_REQUEST if n % 2 else GSSENC_REQUEST) for n in range(99))
    assert len(heard(login).login) == MOST_OF_LOGIN
    answer = b"".join(message(bytes([kind])) for kind in range(ord("a"), ord("z")))
    long = "9" * 50_000
    seen = heard(
        (*LOGIN, ("client", message(b"P", b"name\0" + long.encode() + b"\0\0\0")), ("server", answer))
    )
    assert len(seen.frames[1].what.split(", ")) == 8
    assert seen.statements[0].text == "9" * 4096
    assert seen.frames[0].length == len(long) + 13


CONVERSATIONS = st.sampled_from(sorted(RECORDED.values()))


@settings(max_examples=100, deadline=None)
@given(CONVERSATIONS, st.integers(1, 40))
def test_it_is_the_same_however_it_is_cut(said: tuple[Said, ...], size: int) -> None:
    cut = tuple((sender, data[at : at + size]) for sender, data in said for at in range(0, len(data), size))
    assert heard(cut) == heard(said)


@settings(max_examples=300, deadline=None)
@given(
    CONVERSATIONS,
    st.integers(0, 12),
    st.lists(st.tuples(st.sampled_from(["client", "server"]), st.binary(max_size=300)), max_size=12),
)
def test_any_bytes_may_come_at_any_place(said: tuple[Said, ...], whole: int, then: list[Said]) -> None:
    seen = heard((*said[:whole], *then))
    sent = sum(len(data) for sender, data in (*said[:whole], *then) if sender == "client")
    assert seen.traffic.bytes_sent == sent


@settings(max_examples=300, deadline=None)
@given(CONVERSATIONS, st.integers(0, 2000), st.binary(min_size=1, max_size=4))
def test_changed_bytes_do_no_harm(said: tuple[Said, ...], place: int, wrong: bytes) -> None:
    listening = Listening(Tally(), lambda _: None)
    for sender, data in said:
        at = place % max(1, len(data))
        listening.hear(sender, data[:at] + wrong + data[at + len(wrong) :])
    assert listening.conversation().traffic.turns <= len(said)
