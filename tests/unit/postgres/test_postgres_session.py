"""What holds for one connection to an external PostgreSQL: its settings, its locks, and who is in front."""

from __future__ import annotations

import pytest

from answering_database import AnsweringDatabase, Rows
from tlstax.postgres import session
from tlstax.sql.database import SqlError


class Guarded(AnsweringDatabase):
    """A connection that the server has called by this number."""

    number = 41

    @property
    def account_plugin(self) -> str:
        return "scram-sha-256"

    @property
    def password_was_sent(self) -> bool:
        return False

    def wait_at_most(self, timeout_s: float) -> None:
        """Nobody waits."""


def test_names_mean_the_servers_own_before_anything_else_is_said() -> None:
    server = Guarded({"SELECT pg_backend_pid()": [(41,)]})
    session.settle(server)
    assert server.statements[1] == "SELECT pg_catalog.set_config('search_path', '', false)"
    assert "(statement_timeout, 0)" in server.statements[2]
    assert "read_only" not in server.statements[2], "whoever set that meant it"


def test_nothing_is_set_in_a_session_that_may_be_anothers_next() -> None:
    pooled = Guarded({"SELECT pg_backend_pid()": [(7,)]})
    assert session.has_pooler(pooled)
    session.settle(pooled)
    assert set(pooled.statements) == {"SELECT pg_backend_pid()"}


@pytest.mark.parametrize(
    ("rows", "refused"),
    [([], False), ([("0",)], False), ([("299999",)], True), ([("300000",)], False)],
)
def test_connections_that_wait_for_their_turn_must_not_be_closed(rows: Rows, *, refused: bool) -> None:
    told = session.hindrance(AnsweringDatabase({"idle_session_timeout": rows}), writes=True)
    assert (told is not None) is refused


@pytest.mark.parametrize(
    ("recovers", "reads_only", "words"),
    [("true", "on", "standby"), ("false", "on", "default_transaction_read_only"), ("false", "off", None)],
)
def test_where_nothing_may_be_made_is_known_beforehand(
    recovers: str, reads_only: str, words: str | None
) -> None:
    told = session.why_nothing_is_made(AnsweringDatabase({"pg_is_in_recovery": [(recovers, reads_only)]}))
    assert told is None if words is None else told is not None and words in told[0]


def test_a_lock_has_a_number_by_its_name_and_two_halves_of_it() -> None:
    lock = session.SchemaLock("tlstax")
    high, low = lock._halves
    assert (high << 32 | low) == lock._number % 2**64
    assert session.SchemaLock("tlstax")._number == lock._number != session.SchemaLock("shop")._number


def test_only_the_session_that_took_the_lock_is_ended() -> None:
    lock = session.SchemaLock("tlstax")
    server = AnsweringDatabase({"pg_try_advisory_lock": [("true", 12, "noon")]})
    lock.end_holder(server)
    assert server.statements == [], "it was not taken"
    assert lock.take(server)
    lock.end_holder(server)
    assert server.statements[-1].startswith("SELECT pg_terminate_backend(l.pid)")
    assert "l.pid = 12 AND a.backend_start = noon" in server.statements[-1]


def test_a_lock_that_another_has_is_not_taken_again() -> None:
    lock = session.SchemaLock("tlstax")
    assert lock.take(AnsweringDatabase({"pg_try_advisory_lock": [("true", 12, "noon")]}))
    others = AnsweringDatabase({"SELECT l.pid": [(13,)]})
    assert not lock.take_again(others)
    assert not any("terminate" in statement for statement in others.statements)
    assert lock.take_again(AnsweringDatabase({"pg_try_advisory_lock": [("true", 14, "one")]})), "it is free"


def test_a_lock_is_not_waited_for_longer_than_asked() -> None:
    taken = AnsweringDatabase({"pg_try_advisory_lock": [("false", 12, "noon")]})
    assert not session.NamedLock("x").take(taken)
    with pytest.raises(SqlError, match="gone"):
        session.NamedLock("x").take(AnsweringDatabase({"pg_try": SqlError("08006", "gone")}))


@pytest.mark.parametrize(
    ("number", "came", "leg"),
    [
        (41, "TLS", None),
        (7, "TLS", "TLS"),
        (7, "tcp", "in the clear"),
        (7, "", "Unix socket"),
    ],
)
def test_how_a_pooler_came_to_the_server_is_the_server_s_word(
    number: int, came: str, leg: str | None
) -> None:
    server = Guarded({"pg_stat_ssl": [(came,)], "SELECT pg_backend_pid()": [(number,)]})
    assert session.pooler_leg(server) == leg


def test_of_a_pooler_that_has_gone_nothing_is_told() -> None:
    assert session.pooler_leg(Guarded({"pg_stat_ssl": [], "SELECT pg_backend_pid()": [(7,)]})) is None
