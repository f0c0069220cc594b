"""A connection to a PostgreSQL that may be anything: whatever comes is an answer, or an error."""

from __future__ import annotations

import struct
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tlstax.postgres import guarded_connection
from tlstax.postgres.guarded_connection import BoundedChannel, GuardedDatabase
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError
from tlstax.support.errors import MachineFault


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


OK, READY = message(b"R", struct.pack("!i", 0)), message(b"Z", b"I")
LET_IN = OK + message(b"K", struct.pack("!ii", 4711, 1)) + READY


class FakeSocket:
    """It has these bytes to be read, a few at a time, and then the end of the connection."""

    def __init__(self, data: bytes, at_once: int = 65536) -> None:
        self._data, self._at_once = data, at_once
        self.sent = bytearray()
        self.is_closed = False

    def settimeout(self, _: float) -> None:
        pass

    def recv(self, size: int) -> bytes:
        taken, self._data = self._data[: min(size, self._at_once)], self._data[min(size, self._at_once) :]
        return taken

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True


def login(fake: FakeSocket) -> GuardedDatabase:
    channel = BoundedChannel(cast("Any", fake), 5.0)
    return GuardedDatabase(channel, lambda code, _: b"proof" if code else None, "ann", "lent", lambda: "none")


def rows(*answer: bytes, at_once: int = 65536) -> list[tuple[Any, ...]]:
    with login(FakeSocket(LET_IN + b"".join(answer), at_once)) as database:
        return database.rows("SELECT 1")


ONE = (
    message(b"T", b"\0\1one\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)),
    message(b"D", b"\0\1\0\0\0\1x"),
    message(b"C", b"SELECT 1\0"),
    READY,
)


def test_a_login_says_who_and_in_which_encoding_and_asks_for_no_search_path() -> None:
    fake = FakeSocket(LET_IN)
    database = login(fake)
    assert (database.number, database.account_plugin, database.is_encrypted) == (4711, "none", False)
    start = bytes(fake.sent[8:])
    assert b"user\0ann\0" in start
    assert b"database\0lent\0" in start
    assert b"client_encoding\0UTF8\0" in start
    assert b"options\0" not in start
    database.close()
    assert fake.is_closed
    assert fake.sent.endswith(b"X\0\0\0\4")


def test_answers_come_in_pieces() -> None:
    assert rows(*ONE) == rows(*ONE, at_once=1) == [("x",)]


@given(st.binary(max_size=400))
@example(b"Z\x00\x00\x00\x04")
def test_any_bytes_in_the_place_of_a_login_are_an_error(data: bytes) -> None:
    fake = FakeSocket(data)
    with pytest.raises(SqlError) as failed:
        login(fake)
    assert failed.value.is_of_connection or failed.value.code
    assert fake.is_closed


@given(st.binary(max_size=200), st.integers(0, 200), st.sampled_from(b"RTDCZENSAIGHdctsn123vK~"))
def test_any_bytes_in_an_answer_are_an_answer_or_an_error(data: bytes, place: int, kind: int) -> None:
    whole = b"".join(ONE)
    for answer in (
        data,
        whole[:place] + data + whole[place:],
        whole[:place] + data,
        message(bytes([kind]), data) + whole,
        whole[: len(ONE[0])] + message(bytes([kind]), data) + READY,
    ):
        fake = FakeSocket(LET_IN + answer)
        database = login(fake)
        failed: SqlError | None = None
        try:
            database.rows("SELECT 1")
        except SqlError as error:
            failed = error
        assert database.is_open is not (failed is not None and failed.is_of_connection)


@pytest.mark.parametrize("length", [0, 3, 2**31 - 1, -1, -(2**31)])
def test_a_length_that_is_none_is_malformed(length: int) -> None:
    with pytest.raises(SqlError):
        rows(b"D" + struct.pack("!i", length) + b"x" * 50)


def test_an_answer_has_only_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_connection, "ANSWER_AT_MOST_BYTES", 1000)
    assert rows(*ONE) == [("x",)]
    with pytest.raises(Malformed, match="longer than"):
        rows(ONE[0], *[ONE[1]] * 200, *ONE[2:])


def test_an_answer_takes_only_so_long() -> None:
    channel = BoundedChannel(cast("Any", FakeSocket(b"x")), 0.0)
    channel.allow()
    with pytest.raises(TimeoutError):
        channel.read(1)
    channel.answer_s = 60.0
    channel.allow()
    assert channel.read(1) == b"x"
    with pytest.raises(ConnectionAbortedError):
        channel.read(1)


def test_what_is_not_to_be_answered_ends_the_login() -> None:
    def refuse(_: int, __: bytes) -> bytes:
        raise MachineFault("no")

    fake = FakeSocket(message(b"R", struct.pack("!i", 3)))
    with pytest.raises(MachineFault, match="no"):
        GuardedDatabase(BoundedChannel(cast("Any", fake), 5.0), refuse, "ann", "lent", lambda: "none")
    assert fake.is_closed


def test_an_interrupted_answer_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSocket(LET_IN)
    database = login(fake)

    def interrupted(_: int) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "recv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        database.rows("SELECT 1")
    assert not database.is_open
    with pytest.raises(SqlError):
        database.rows("SELECT 1")
