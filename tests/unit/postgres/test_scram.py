"""SCRAM-SHA-256, the client's side: RFC 7677's example, and servers that do not keep to it."""

from __future__ import annotations

import base64

import pytest

from tlstax.postgres import scram
from tlstax.postgres.scram import ScramClient, ScramError

NONCE = b"rOprNGfwEbeRWgbNEkqO"
FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def client(*, end_point: bytes | None = None, could_bind: bool = False) -> ScramClient:
    made = ScramClient("pencil", end_point=end_point, could_bind=could_bind)
    made._nonce = NONCE
    return made


class Named(ScramClient):
    """One that names the user, as the RFC's example does and PostgreSQL's clients do not."""

    @property
    def _bare(self) -> bytes:
        return b"n=user,r=" + self._nonce


def test_the_example_of_the_rfc_is_answered_as_it_says() -> None:
    named = Named("pencil", end_point=None, could_bind=False)
    named._nonce = NONCE
    assert named.first() == b"n,,n=user,r=" + NONCE
    assert named.final(FIRST) == FINAL + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert not named.is_verified
    named.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert named.is_verified


def test_what_the_client_says_of_binding_is_in_its_first_word_and_proved_in_its_last() -> None:
    for end_point, could_bind, flag in (
        (None, False, b"n"),
        (None, True, b"y"),
        (b"hash", False, b"p=tls-server-end-point"),
    ):
        own = client(end_point=end_point, could_bind=could_bind)
        header = flag + b",,"
        assert own.first() == header + b"n=,r=" + NONCE
        bound = base64.b64encode(header + (end_point or b""))
        assert own.final(FIRST).startswith(b"c=" + bound + b",r=")
        assert own.mechanism == (scram.PLUS if end_point else scram.PLAIN)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=" + NONCE + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        FIRST.replace(b"s=", b"t="),
        FIRST.replace(b"W22", b"\xff\xff\xff"),
        FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s="),
        FIRST.replace(b"4096", b"0"),
        FIRST.replace(b"4096", b"-1"),
        FIRST.replace(b"4096", b"10000001"),
        FIRST.replace(b"4096", b"9" * 400),
        FIRST.replace(b"4096", "²".encode()),
        FIRST + b"," + b"x" * 5000,
        b"m=ext," + FIRST,
    ],
)
def test_a_first_message_that_is_none_is_refused(first: bytes) -> None:
    with pytest.raises(ScramError):
        client().final(first)


@pytest.mark.parametrize("final", [b"", b"v=", b"e=other-error", b"v=AAAA", b"x"])
def test_a_server_that_proves_nothing_is_not_believed(final: bytes) -> None:
    own = client()
    own.final(FIRST)
    with pytest.raises(ScramError, match="did not prove"):
        own.verify(final)
    assert not own.is_verified
    with pytest.raises(ScramError):
        client().verify(b"v=")


def test_few_iterations_are_the_servers_business() -> None:
    """PostgreSQL 16 has scram_iterations from 1 on."""
    assert client().final(FIRST.replace(b"4096", b"1")).startswith(FINAL[:7])


def test_a_password_is_prepared_and_else_taken_as_it_is() -> None:
    assert scram._prepared("I\xadX") == b"IX"
    assert scram._prepared("a\x07b") == b"a\x07b"


def test_no_two_clients_have_a_nonce() -> None:
    one, other = (ScramClient("x", end_point=None, could_bind=False).first() for _ in range(2))
    assert one != other


def test_md5_is_as_documented() -> None:
    """concat('md5', md5(concat(md5(concat(password, username)), random-salt)))."""
    assert scram.md5_proof(b"ann", b"secret", b"salt") == b"md5b8f5ba9f485dba302ec0963f7ee9ba8f"


def test_how_often_the_password_is_hashed_is_known_once_the_server_has_said_it() -> None:
    own = client()
    assert own.iterations == 0
    own.final(FIRST.replace(b"i=4096", b"i=5000"))
    assert own.iterations == 5000
