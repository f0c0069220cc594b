"""What pg8000 raises becomes one error, which says whether the connection failed and on what."""

from __future__ import annotations

import struct
from unittest.mock import Mock

import pytest
from pg8000.native import DatabaseError, InterfaceError

from tlstax.postgres import database
from tlstax.postgres.database import APART, PostgresDatabase
from tlstax.sql.database import SqlError


def raised(error: BaseException) -> SqlError:
    def fail() -> None:
        raise error

    with pytest.raises(SqlError) as found:
        database._carefully(fail)
    return found.value


def refusal(code: str, severity: str = "ERROR") -> DatabaseError:
    return DatabaseError({"S": "FEHLER", "V": severity, "C": code, "M": "the server's sentence"})


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("28P01", database.ACCESS_DENIED),
        ("28000", database.ACCESS_DENIED),
        ("3D000", database.UNKNOWN_SCHEMA),
        ("42P07", database.TABLE_EXISTS),
        ("42710", database.OBJECT_EXISTS),
        ("42P01", database.NO_SUCH_TABLE),
        ("42601", database.PARSE_ERROR),
        ("2BP01", database.REFERRED_TO),
        ("42501", database.NOT_ALLOWED),
        ("25006", database.READ_ONLY),
    ],
)
def test_a_refusal_is_known_by_its_state(code: str, meaning: frozenset[str]) -> None:
    error = raised(refusal(code))
    assert (error.code, error.message, error.is_of_connection) == (code, "the server's sentence", False)
    assert error.code in meaning
    assert raised(refusal("22012")).code not in meaning


def test_a_copy_of_the_users_gets_no_rows_and_what_it_gives_is_forgotten() -> None:
    session, sent = database.Session.__new__(database.Session), bytearray()
    session._sock = Mock(write=sent.extend)
    context = Mock(stream=None)
    session.handle_COPY_IN_RESPONSE(b"\0\0\0", context)
    assert (
        sent == b"f" + struct.pack("!i", 4 + len(sent[5:])) + b"tlstax has no rows for it; write an INSERT\0"
    )
    session._sock.flush.assert_called_once_with()
    session.handle_COPY_OUT_RESPONSE(b"\0\0\0", context)
    session.handle_COPY_DATA(b"a row", context)


def test_what_ends_a_session_is_a_failure_of_the_connection() -> None:
    for severity in ("FATAL", "PANIC"):
        assert raised(refusal("57P01", severity)).is_of_connection


def test_a_failure_of_the_network_has_its_cause() -> None:
    cause = ConnectionResetError(104, "Connection reset by peer")
    wrapped = InterfaceError("network error")
    wrapped.__cause__ = cause
    for error in (raised(cause), raised(wrapped)):
        assert error.is_of_connection
        assert error.cause is cause
        assert error.message == "[Errno 104] Connection reset by peer"
    assert raised(InterfaceError("Server refuses SSL")).message == "Server refuses SSL"


@pytest.mark.parametrize(
    "error", [struct.error("unpack"), KeyError(b"?"), UnicodeDecodeError("utf8", b"", 0, 1, "")]
)
def test_a_server_that_speaks_otherwise_is_said_in_words(error: Exception) -> None:
    found = raised(error)
    assert found.message == "the server does not keep to the protocol"
    assert found.is_of_connection


class Sessions:
    """Logins that are noted, each with a session that answers its number and its database."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.error: Exception | None = None

    def __call__(self, name: str) -> tuple[Session, Channel]:
        self.opened.append(name)
        return Session(self, len(self.opened), name), Channel()


class Session:
    def __init__(self, sessions: Sessions, number: int, name: str) -> None:
        self._sessions, self._number, self._name = sessions, number, name

    def run(self, statement: str, stream: object = None) -> list[list[object]]:  # noqa: ARG002
        if self._sessions.error is not None:
            raise self._sessions.error
        return [[self._number, self._name, statement]]

    def close(self) -> None:
        """Nothing to close."""


class Channel:
    """A socket at whose other end nobody says anything more."""

    def __init__(self) -> None:
        self.sent = b""

    def settimeout(self, _: float) -> None:
        """There is nothing to wait for."""

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, _: int) -> bytes:
        return b""

    def close(self) -> None:
        """Nothing to close."""


def connection(sessions: Sessions) -> PostgresDatabase:
    return PostgresDatabase(sessions, "load")  # type: ignore[arg-type]


def test_questions_apart_are_asked_in_another_database() -> None:
    sessions = Sessions()
    login = connection(sessions)
    assert login.rows("a") == [(1, "load", "a")]
    assert database.apart(login).rows("b") == [(2, APART, "b")]
    assert database.apart(database.apart(login)).rows("c") == [(2, APART, "c")]
    assert sessions.opened == ["load", APART]


def test_a_session_that_was_left_is_opened_by_the_next_statement() -> None:
    sessions = Sessions()
    login = connection(sessions)
    login.leave()
    assert login.is_open
    login.leave()
    assert sessions.opened == ["load"]
    assert login.rows("a") == [(2, "load", "a")]
    login.apart.leave()
    assert login.apart.rows("b") == [(3, APART, "b")], "that one stays"


def test_a_failed_connection_is_closed_and_a_refused_statement_is_not_one() -> None:
    sessions = Sessions()
    login = connection(sessions)
    sessions.error = refusal("42601")
    with pytest.raises(SqlError):
        login.rows("a")
    assert login.is_open
    sessions.error = InterfaceError("network error")
    with pytest.raises(SqlError):
        login.rows("a")
    assert not login.is_open
    assert login.channel is None
    sessions.error = None
    with pytest.raises(SqlError, match="closed"):
        login.rows("a")


def test_values_are_literals_and_a_percent_sign_is_one_without_values() -> None:
    login = connection(Sessions())
    assert login.rows("%s %s %s", ("it's", 5, None))[0][2] == "'it''s' 5 NULL"
    assert login.rows("7 % 4")[0][2] == "7 % 4"
