"""An inspection that is cut short keeps what was asked, and says why it ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tlstax.guests import address
from tlstax.guests.access import GuestAccess
from tlstax.inspection import inspection
from tlstax.inspection.own_connection import Own
from tlstax.inspection.questions import Question
from tlstax.results.inspection import Asked, Inside, InspectedServer, ServerWord
from tlstax.support.errors import Interrupted, MachineFault

ACCESS = GuestAccess(address=address.parse("mysql://ann@127.0.0.1:3306/lent"), user="ann", password="secret")
OWN = Own(
    word=ServerWord(
        version="9.7.4", tls_library=None, account_plugin=None, requires_tls=True, account_is_encrypted=True
    ),
    offers_tls=True,
    chain=(),
    inside=Inside(since_start=None, watched=None, programs=(), unread=()),
)


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
