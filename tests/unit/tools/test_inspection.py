"""An inspection that is cut short keeps what was asked; how a server is used is read twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fake_database import FakeDatabase
from tlstax.contract import TlsView
from tlstax.external.access import ExternalAccess, parse_url
from tlstax.products.external import external_product
from tlstax.results.inspection import (
    WOULD_BLOCK,
    Asked,
    ConnectPhase,
    Inside,
    InspectedServer,
    PoolerLeg,
    ServerWord,
)
from tlstax.sql.database import SqlError
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.tools import inspection
from tlstax.tools.inspection import Own, inside
from tlstax.tools.tls_probe import Question

ACCESS = ExternalAccess(address=parse_url("mysql://ann@127.0.0.1:3306/lent"), user="ann", password="secret")
OWN = Own(
    word=ServerWord(
        version="9.7.4", tls_library=None, account_plugin=None, requires_tls=True, account_is_encrypted=True
    ),
    offers_tls=True,
    chain=(),
    inside=Inside(since_start=None, watched=None, programs=(), unread=()),
)

VIEW = TlsView(version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384", resumed=None)


class Steps:
    def __init__(self) -> None:
        self.said: list[str] = []

    def step(self, text: str) -> None:
        self.said.append(text)


def inspected(monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Asked]) -> tuple[InspectedServer, Steps]:
    steps = Steps()
    monkeypatch.setattr(inspection, "own_connection", lambda *_: OWN)
    monkeypatch.setattr(inspection, "ask", ask)
    return inspection.inspect(ACCESS, 0.0, steps), steps


def refuse(question: Question, *_: object) -> Asked:
    return Asked(topic=question.topic, name=question.name, why_not="handshake failure")


@pytest.mark.parametrize(
    ("error", "status", "why"),
    [
        (MachineFault("the server went away"), "failed", "the server went away"),
        (Interrupted(), "interrupted", "interrupted"),
    ],
)
def test_what_was_asked_is_kept(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: str, why: str
) -> None:
    left = iter([refuse, refuse])

    def ask(question: Question, *more: object) -> Asked:
        answer = next(left, None)
        if answer is None:
            raise error
        return answer(question, *more)

    found, _ = inspected(monkeypatch, ask)
    assert (found.status, found.stopped_because, len(found.asked)) == (status, why, 2)
    assert found.connections == 4, "its own, two that were refused, and the one that ended it"


def test_it_says_beforehand_how_many_connections_it_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    found, steps = inspected(monkeypatch, refuse)
    assert steps.said[0] == (
        "127.0.0.1:3306 gets 34 connections at most, one after the other: no more than 4 at once with those "
        "that it has not wound up yet"
    )
    assert found.status == "complete"
    assert found.connections == 25, "where a client left to itself is refused, no connects are measured"
    assert "secret" not in found.model_dump_json()


def blocking(
    monkeypatch: pytest.MonkeyPatch, limit: int, agrees: Callable[[Question], bool]
) -> tuple[InspectedServer, Steps, int]:
    """An inspection of a server that blocks after `limit` refusals in a row, and the most that it saw."""
    refusals = [0]
    most = 0

    def ask(question: Question, *_: object) -> Asked:
        nonlocal most
        agreed = VIEW if agrees(question) else None
        refusals[0] = 0 if agreed else refusals[0] + 1
        most = max(most, refusals[0])
        why_not = "" if agreed else "handshake failure"
        return Asked(topic=question.topic, name=question.name, agreed=agreed, why_not=why_not)

    def connects(*_: object) -> tuple[ConnectPhase, ...]:
        refusals[0] = 0
        return ()

    def log_in(*_: object) -> None:
        refusals[0] = 0

    steps = Steps()
    monkeypatch.setattr(inspection, "own_connection", lambda *_: replace(OWN, most_connect_errors=limit))
    monkeypatch.setattr(inspection, "login", log_in)
    monkeypatch.setattr(inspection, "connect_cost", connects)
    monkeypatch.setattr(inspection, "ask", ask)
    found = inspection.inspect(ACCESS, 0.0, steps)
    assert refusals[0] == 0 or limit > most, "what is left would count with whoever connects next"
    return found, steps, most


@pytest.mark.parametrize("limit", [2, 3, 5])
def test_a_server_never_sees_as_many_refusals_in_a_row_as_it_blocks_a_host_for(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    found, steps, most = blocking(monkeypatch, limit, lambda _: False)
    assert most == limit - 1
    (said,) = [text for text in steps.said if "max_connect_errors" in text]
    more = int(said.split(" take ")[1].split()[0])
    assert 25 < found.connections <= 25 + more


def test_where_one_refusal_blocks_nothing_is_asked_that_may_be_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, _, most = blocking(monkeypatch, 1, lambda question: question.topic == "default")
    assert most == 0
    assert {own.why_not for own in found.asked[1:]} == {WOULD_BLOCK}
    assert not any(own.could_ask for own in found.asked[1:])


def test_a_server_that_allows_many_is_asked_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, most = blocking(monkeypatch, 100, lambda _: False)
    assert (found.connections, most) == (25, 22)


@pytest.mark.parametrize(("leg", "drivers"), [(None, 24), ("in the clear", None)])
def test_of_postgresqls_drivers_it_is_told_who_could_connect_where_no_pooler_is_in_front(
    monkeypatch: pytest.MonkeyPatch, leg: PoolerLeg | None, drivers: int | None
) -> None:
    said = {"version": "PostgreSQL 18.6", "account_plugin": "scram-sha-256", "lets_in_clear": True}
    word = OWN.word.model_copy(update={**said, "pooler_leg": leg})
    monkeypatch.setattr(inspection, "own_connection", lambda *_: replace(OWN, word=word, offers_tls=False))
    access = replace(ACCESS, address=replace(ACCESS.address, product="postgresql"))
    found = inspection.inspect(access, 0.0, Steps()).who_connects
    assert (found and found.drivers) == drivers
    if found is not None:
        one = inspection.inspect(access, 0.0, Steps(), ["pgx-5"]).who_connects
        assert one is not None
        assert one.by_default.in_clear == ("pgx-5",)


MYSQL = external_product("mysql")
COUNTERS = (("Uptime", "10"), ("Connections", "20"), ("Ssl_finished_accepts", "5"))


def test_since_the_start_and_over_the_watch() -> None:
    waited: list[float] = []
    found = inside(FakeDatabase(*COUNTERS), MYSQL, 5.0, waited.append)
    assert found.since_start is not None
    assert (found.since_start.connects_per_s, found.since_start.tls_share) == (2.0, 0.25)
    assert found.watched is not None
    assert found.watched.connects_per_s == 0.0
    assert len(waited) == 1
    assert waited[0] == pytest.approx(5.0, abs=1.0)


def test_who_is_connected_may_be_kept_from_the_account() -> None:
    """The counters' rows are no answer to who is connected."""
    found = inside(FakeDatabase(*COUNTERS), MYSQL, 1.0, lambda _: None)
    assert found.programs == ()
    (unread,) = found.unread
    assert unread.startswith("who is connected, and how: ")
    assert unread.endswith("SELECT on performance_schema")


def test_a_server_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(SqlError):
        inside(FakeDatabase(error=SqlError(2013, "gone", is_of_connection=True)), MYSQL, 1.0, lambda _: None)
