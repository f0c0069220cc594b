"""What a tap understands of bytes that pass: turns, handshakes, statements, frames; any bytes may come."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlstax.network.tap.listening import FRAME_BYTES, MOST_FRAMES, MOST_STATEMENTS, Listening, Tally
from tlstax.records.capture import Conversation, TlsSeen
from wire_bytes import (
    CLIENT_COMPRESS,
    CLIENT_QUERY_ATTRIBUTES,
    FLAGS,
    HELLO_RETRY,
    OK,
    Said,
    client_hello,
    extension,
    finished13,
    greeting,
    login,
    message,
    packet,
    query,
    record,
    server_hello,
    ssl_request,
    vector,
)

LOGIN: tuple[Said, ...] = (("server", greeting()), ("client", login()), ("server", packet(2, OK)))
ANSWER = packet(1, b"\1") + packet(2, b"\3def") + packet(3, b"\0011") + packet(4, b"\xfe\0\0\2\0")
REQUEST: tuple[Said, ...] = (("server", greeting()), ("client", ssl_request()))
TLS13_HELLO = record(22, server_hello("1301", version="0304", share="001d"))
TLS13_SERVER = TLS13_HELLO + record(20, b"\1") + record(23, bytes(900))
TLS13: tuple[Said, ...] = (
    *REQUEST,
    ("client", record(22, client_hello())),
    ("server", TLS13_SERVER),
    ("client", record(20, b"\1") + finished13()),
)


def heard(said: tuple[Said, ...]) -> Conversation:
    listening = Listening(Tally(), lambda _: None)
    for sender, data in said:
        listening.hear(sender, data)
    return listening.conversation()


def turns(*said: Said) -> int:
    return heard(said).traffic.turns


def tls_of(*said: Said) -> TlsSeen:
    seen = heard(said).tls
    assert seen is not None
    return seen


def test_connecting_and_logging_in_are_two_turns_and_each_statement_is_one() -> None:
    assert turns(*LOGIN) == 2
    asked: tuple[Said, ...] = (("client", query("SELECT 1")), ("server", ANSWER))
    assert turns(*LOGIN, *asked, *asked) == 4
    assert heard((*LOGIN, *asked)).turns_to_login == 2


def test_what_is_sent_without_waiting_is_one_turn() -> None:
    three = query("SELECT 1") + query("SELECT 2") + query("SELECT 3")
    assert turns(*LOGIN, ("client", three), ("server", ANSWER * 3)) == 3
    one_by_one: tuple[Said, ...] = tuple(("client", query(f"SELECT {n}")) for n in range(3))
    assert turns(*LOGIN, *one_by_one, ("server", ANSWER), ("server", ANSWER * 2)) == 3


def test_a_goodbye_waits_for_nothing() -> None:
    assert turns(*LOGIN, ("client", packet(0, b"\1"))) == 2


def test_statements_are_read_with_and_without_query_attributes() -> None:
    assert [
        (seen.command, seen.text)
        for seen in heard(
            (
                *LOGIN,
                ("client", query("SET NAMES utf8mb4")),
                ("server", packet(1, OK)),
                ("client", packet(0, b"\x16SELECT ?")),
                ("client", packet(0, b"\x0e")),
            )
        ).statements
    ] == [("COM_QUERY", "SET NAMES utf8mb4"), ("COM_STMT_PREPARE", "SELECT ?"), ("COM_PING", "")]
    with_attributes: tuple[Said, ...] = (
        ("server", greeting()),
        ("client", login(FLAGS | CLIENT_QUERY_ATTRIBUTES)),
        ("server", packet(2, OK)),
        ("client", packet(0, b"\x03\0\1SELECT 1")),
        ("server", ANSWER),
        ("client", packet(0, b"\x03\1\1\0\1\xfd\0\4name\5valueSELECT 2")),
    )
    assert [seen.text for seen in heard(with_attributes).statements] == ["SELECT 1", "SELECT 2"]


def test_frames_begin_after_the_login_and_an_answer_is_one() -> None:
    seen = heard((*LOGIN, ("client", query("SELECT 1")), ("server", ANSWER[:9]), ("server", ANSWER[9:])))
    assert [(frame.sender, frame.what, frame.length) for frame in seen.frames] == [
        ("client", "COM_QUERY", len(query("SELECT 1"))),
        ("server", "result set", len(ANSWER)),
    ]
    assert bytes.fromhex(seen.frames[0].hex) == query("SELECT 1")
    assert bytes.fromhex(seen.frames[1].hex) == ANSWER


def test_no_secret_of_a_login_is_kept_nor_of_a_change_of_the_user() -> None:
    change = packet(0, b"\x11other\0\6secret" + b"db\0")
    said: tuple[Said, ...] = (
        ("server", greeting()),
        ("client", login(secret=b"secret")),
        ("server", packet(2, b"\xfemysql_clear_password\0")),
        ("client", packet(3, b"secret\0")),
        ("server", packet(4, OK)),
        ("client", change),
        ("server", packet(1, b"\xfemysql_clear_password\0")),
        ("client", packet(2, b"secret\0")),
        ("server", packet(3, OK)),
        ("client", query("SELECT 1")),
        ("server", ANSWER),
    )
    seen = heard(said)
    kept = b"".join(bytes.fromhex(frame.hex) for frame in seen.frames)
    assert b"secret" not in kept
    assert b"SELECT 1" in kept
    assert [statement.command for statement in seen.statements] == ["COM_CHANGE_USER", "COM_QUERY"]
    assert b"secret" not in seen.model_dump_json().encode()


def test_no_more_is_kept_than_is_said() -> None:
    listening = Listening(Tally(), lambda _: None)
    for sender, data in LOGIN:
        listening.hear(sender, data)
    for _ in range(300):
        listening.hear("client", query("SELECT " + "9" * 50_000))
        listening.hear("server", ANSWER * 50)
    seen = listening.conversation()
    assert len(seen.frames) == MOST_FRAMES
    assert len(seen.statements) == MOST_STATEMENTS
    assert max(len(frame.hex) for frame in seen.frames) == 2 * FRAME_BYTES
    assert max(len(statement.text) for statement in seen.statements) < 5000
    assert seen.traffic.turns == 302


def test_a_compressed_conversation_is_said_to_be_one_and_not_read() -> None:
    squeezed = bytes([3, 0, 0, 0, 0, 0, 0]) + b"abc"
    said: tuple[Said, ...] = (
        ("server", greeting()),
        ("client", login(FLAGS | CLIENT_COMPRESS)),
        ("server", packet(2, OK)),
        ("client", squeezed),
        ("server", squeezed),
    )
    seen = heard(said)
    assert [frame.what for frame in seen.frames] == ["compressed packet"] * 2
    assert (seen.statements, seen.traffic.turns) == ((), 3)


def test_tls_13_adds_one_turn_and_tickets_none() -> None:
    ticket, data = record(23, bytes(234)), record(23, bytes(60))
    assert turns(*TLS13) == 2
    assert turns(*TLS13, ("client", data), ("server", ticket + data)) == 3
    assert turns(*TLS13, ("server", ticket * 2), ("client", data), ("server", data)) == 3
    seen = tls_of(*TLS13, ("client", data), ("server", data))
    assert (seen.version, seen.cipher, seen.group) == ("TLSv1.3", "TLS_AES_128_GCM_SHA256", "x25519")
    assert (seen.hello_retry, seen.resumed, seen.finished) == (False, False, True)
    assert seen.hello.versions == ("TLSv1.3", "TLSv1.2")
    suites = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "0xfefe")
    assert seen.hello.cipher_suites == suites
    assert seen.hello.groups == ("x25519", "secp256r1", "X25519MLKEM768")
    assert (seen.hello.key_shares, seen.hello.server_name) == (("x25519",), "db.example")
    assert not seen.hello.offers_session
    signatures = ("ecdsa_secp256r1_sha256", "rsa_pss_rsae_sha256", "mldsa65", "0xfefe")
    assert seen.hello.signatures == signatures


@pytest.mark.parametrize(
    "end",
    [
        record(23, bytes(25)) + finished13(),
        record(23, bytes(700)) + record(23, bytes(281)) + finished13(),
        # rustls: an empty certificate and the Finished in one record; JSSE: each with sixteen zeros.
        record(23, bytes(8 + 36 + 1 + 16)),
        record(23, bytes(25 + 16)) + record(23, bytes(53 + 16)),
    ],
)
def test_the_finished_of_a_client_is_found_as_libraries_send_it(end: bytes) -> None:
    said: tuple[Said, ...] = (*TLS13[:-1], ("client", record(20, b"\1") + end))
    assert tls_of(*said).finished
    tickets = ("server", record(23, bytes(234)) * 2)
    data = record(23, bytes(60))
    assert turns(*said, tickets) == 2
    assert turns(*said, tickets, ("client", data), ("server", data)) == 3


def test_a_handshake_that_ends_in_an_unknown_way_is_over_when_the_server_goes_on() -> None:
    said: tuple[Said, ...] = (*TLS13[:-1], ("client", record(23, bytes(999))))
    assert not tls_of(*said).finished
    assert tls_of(*said, ("server", record(23, bytes(60)))).finished


def test_a_refused_certificate_is_no_finished_handshake_and_an_alert_no_turn() -> None:
    alert = record(23, bytes(2 + 1 + 16))
    for refusal in (alert, record(23, bytes(2 + 1 + 16 + 16))):
        assert not tls_of(*TLS13[:-1], ("client", refusal)).finished
        assert not tls_of(*TLS13[:-1], ("client", refusal), ("server", alert)).finished
    assert turns(*TLS13, ("client", record(23, bytes(22))), ("server", alert)) == 2


def test_a_hello_retry_adds_a_turn_and_is_told() -> None:
    retry = record(22, server_hello("1302", version="0304", random=HELLO_RETRY))
    last = record(22, server_hello("1302", version="0304", share="0017")) + record(23, bytes(900))
    said: tuple[Said, ...] = (
        *REQUEST,
        ("client", record(22, client_hello())),
        ("server", retry),
        ("client", record(20, b"\1") + record(22, client_hello())),
        ("server", last),
        ("client", finished13(48)),
    )
    seen = tls_of(*said)
    assert (seen.hello_retry, seen.group, seen.finished) == (True, "secp256r1", True)
    assert turns(*said) == 3


def test_resumption_is_told_in_either_version() -> None:
    offer = record(22, client_hello(more=extension(41, b"psk")))
    taken = record(22, server_hello("1301", version="0304", share="001d", more=extension(41, b"\0\0")))
    seen = tls_of(*REQUEST, ("client", offer), ("server", taken + record(23, bytes(60))))
    assert (seen.resumed, seen.hello.offers_session) == (True, True)
    hello = record(22, client_hello(versions="0303", session_id=bytes(32)))
    short = record(22, server_hello("c02f")) + record(20, b"\1") + record(22, bytes(40))
    mine = record(20, b"\1") + record(22, bytes(40))
    said: tuple[Said, ...] = (*REQUEST, ("client", hello), ("server", short), ("client", mine))
    seen = tls_of(*said)
    assert (seen.version, seen.resumed, seen.finished, seen.group) == ("TLSv1.2", True, True, None)
    assert turns(*said, ("client", record(23, bytes(60))), ("server", record(23, bytes(60)))) == 3


def test_a_whole_handshake_of_tls_12_is_read_though_its_messages_are_cut() -> None:
    curve = message(12, b"\3\0\x17" + vector(1, bytes(65)) + bytes(260))
    flight = server_hello("c02f") + message(11, bytes(3000)) + curve + message(14, b"")
    cut = b"".join(record(22, flight[at : at + 500]) for at in range(0, len(flight), 500))
    own = record(22, message(16, bytes(66))) + record(20, b"\1") + record(22, bytes(40))
    said: tuple[Said, ...] = (
        *REQUEST,
        ("client", record(22, client_hello(versions="0303"))),
        ("server", cut),
        ("client", own),
        ("server", record(22, bytes(200)) + record(20, b"\1") + record(22, bytes(40))),
    )
    seen = tls_of(*said)
    assert (seen.group, seen.resumed, seen.finished) == ("secp256r1", False, True)
    assert turns(*said) == 3
    data = heard((*said, ("client", record(23, bytes(60))))).frames
    assert [(frame.what, frame.length) for frame in data] == [("TLSv1.2 Application Data", 65)]


CONVERSATIONS = st.sampled_from([(*LOGIN, ("client", query("SELECT 1")), ("server", ANSWER)), TLS13])


@settings(max_examples=200, deadline=None)
@given(CONVERSATIONS, st.integers(1, 40))
def test_it_is_the_same_however_it_is_cut(said: tuple[Said, ...], size: int) -> None:
    cut = tuple((sender, data[at : at + size]) for sender, data in said for at in range(0, len(data), size))
    assert heard(cut) == heard(said)


@settings(max_examples=300, deadline=None)
@given(
    CONVERSATIONS,
    st.integers(0, 6),
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
