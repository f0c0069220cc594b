"""What a guest says, understood: its greeting, its refusals, its certificate."""

from __future__ import annotations

import ssl

import pytest

from tlstax.checks.server_errors import SERVER_ERRORS
from tlstax.external import failures as external_failures
from tlstax.external import greeting
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.chain import Handshake
from tlstax.external.greeting import Greeting
from tlstax.external.tls import ExternalTls
from tlstax.sql.database import SqlError
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

MYSQL_GREETING = (
    b"K\x00\x00\x00\n9.7.4-2\x00!,\x00\x00R4^\x13\x15\x08Ic\x00\xff\xff\xff\x02\x00\xff\xdf\x15\x00\x00\x00\x00"
    b"\x00\x00\x00\x00\x00\x00#\x08[\x10S5sd>J@-\x00caching_sha2_password\x00"
)
"""Seen from MySQL 9.7.4."""

CAPABILITIES_AT = MYSQL_GREETING.index(b"\xff\xff\xff")

PASSWORD = "s3cret-of-ann"
ACCESS = ExternalAccess(
    ExternalAddress("db.example", 3307, "ann", "shop"), "ann", PASSWORD, ExternalTls("VERIFY_CA", "ca")
)


def test_a_greeting_tells_whether_tls_is_offered() -> None:
    assert greeting.parse(MYSQL_GREETING) == Greeting("mysql", offers_tls=True)
    plain = bytearray(MYSQL_GREETING)
    plain[CAPABILITIES_AT + 1] &= 0xFF ^ 0x08
    assert greeting.parse(bytes(plain)) == Greeting("mysql", offers_tls=False)


def test_a_greeting_may_come_in_pieces() -> None:
    kinds = {greeting.parse(MYSQL_GREETING[:length]) for length in range(len(MYSQL_GREETING))}
    assert kinds == {None}


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\x05\x00\x00\x00\x0b\x08\x05\x1a\x00",
        b"+OK",
        b"\x16\x03\x01\x02\x00",
    ],
)
def test_other_protocols_are_not_taken_for_mysql(said: bytes) -> None:
    assert greeting.parse(said) == Greeting("foreign")


def test_an_error_packet_is_a_refusal() -> None:
    assert greeting.parse(b"\x17\x00\x00\x00\xff\x10\x04Too many connections") == Greeting("refusal")


def fault_of(code: int, said: str = "as the server says") -> TlstaxError:
    return external_failures.of_refusal(ACCESS, SqlError(code, said))


@pytest.mark.parametrize(
    ("code", "fault", "words"),
    [
        (1045, UserMistake, "refused the user ann"),
        (1698, UserMistake, "refused the user ann"),
        (1044, UserMistake, "ann may not"),
        (1142, UserMistake, "INDEX, INSERT and SELECT"),
        (1049, UserMistake, "no schema shop"),
        (1130, UserMistake, "from this machine"),
        (1129, MachineFault, "FLUSH HOSTS"),
        (1040, MachineFault, "max_connections"),
        (1203, UserMistake, "no more connections"),
        (1226, UserMistake, "raise that limit"),
        (1290, UserMistake, "read-only"),
        (1820, UserMistake, "expired"),
        (2013, MachineFault, "broke the connection"),
        (2059, UserMistake, "a method that tlstax does not support"),
        (3118, UserMistake, "locked"),
        (3159, UserMistake, "encrypted connections only"),
        (1114, MachineFault, "no room"),
        (9999, MachineFault, "as the server says, 9999"),
    ],
)
def test_each_refusal_is_one_sentence_with_the_address(
    code: int, fault: type[TlstaxError], words: str
) -> None:
    error = fault_of(code)
    assert type(error) is fault
    assert words in error.sentence()
    assert "db.example:3307" in error.message
    assert "{" not in error.sentence()
    assert PASSWORD not in error.sentence()


def test_nobody_is_sent_into_the_clear() -> None:
    """What fails under TLS is mended there; plaintext is the user's own word."""
    without = external_failures.without_tls(ACCESS)
    failed = [
        external_failures.of_tls(ACCESS, _failed(reason), Handshake(version="TLS 1.0"))
        for reason in (*(own.reason for own in external_failures.HANDSHAKES), "something else")
    ]
    for error in (without, *failed):
        assert "DISABLED" not in error.sentence()
        assert error.remedy
    assert "the server has TLS 1.0 at most" in failed[0].sentence()
    assert "tlstax inspect" in failed[-1].sentence()


def _failed(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "a handshake failed")
    error.reason = reason
    return error


def test_verification_knows_each_number_once() -> None:
    codes = [code for own in external_failures.UNVERIFIED for code in own.codes]
    assert len(codes) == len(set(codes))
    assert not set(codes) & set(external_failures.NO_ISSUER)


def test_no_number_means_two_things() -> None:
    codes = [code for known in SERVER_ERRORS for code in known.codes]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("code", "fault", "words"),
    [
        (10, MachineFault, "has expired"),
        (9, MachineFault, "not valid yet"),
        (62, UserMistake, "not issued for db.example"),
        (64, UserMistake, "not issued for db.example"),
        (19, UserMistake, "was not issued by the authority in ca"),
        (20, UserMistake, "was not issued by the authority in ca"),
        (8, MachineFault, "cannot be verified (a reason)"),
    ],
)
def test_each_certificate_fault_has_its_sentence(code: int, fault: type[TlstaxError], words: str) -> None:
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_code, error.verify_message = code, "a reason"
    failure = external_failures.of_tls(ACCESS, error, Handshake())
    assert type(failure) is fault
    assert words in failure.sentence()
    assert "db.example:3307" in failure.message
