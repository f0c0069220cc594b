"""A trial whose chain, trusted authorities or client certificate is not its case's is found out."""

from __future__ import annotations

from typing import Any

import pytest

from check_by_check import doubts
from fake_trials import fake_record, tax_truth
from tlstax.checks import settings
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import ProcessUse, Window
from tlstax.study import Level, load_study

PLAIN, TLS = (next(c for c in cases(load_study("tax")) if c.levels["tls"] == tls) for tls in ("off", "1.3"))


def record(case: Any = TLS, *, demands: bool | None = None, **view: Any) -> TrialRecord:
    """A trial whose client's library says this of each connection."""
    made = fake_record(Trial(block=0, position=0, case=case), tax_truth(case), duration_s=0.1)
    assert made.ready is not None
    assert made.server is not None
    seen = tuple(
        one.model_copy(update={"client": one.client and one.client.model_copy(update=view)})
        for one in made.ready.negotiated
    )
    ready = made.ready.model_copy(update={"negotiated": seen})
    server = made.server.model_copy(update={"demands_certificate": demands})
    return made.model_copy(update={"ready": ready, "server": server})


def levels(case: Any = TLS, **more: Level) -> dict[str, Level]:
    return {**case.levels, **more}


@pytest.mark.parametrize(
    ("sent", "wanted", "weights"),
    [
        (3, 3, []),
        (1, 1, []),
        (2, 3, [("invalid", "the server sent a chain of 2, where the case has a chain of 3")]),
        (2, 1, [("invalid", "the server sent a chain of 2, where the case has its certificate alone")]),
        (None, 3, [("unknown", "it is not known whether the server sent a chain of 3")]),
    ],
)
def test_the_chain_that_came_is_the_cases(
    sent: int | None, wanted: int, weights: list[tuple[str, str]]
) -> None:
    assert doubts(settings.chain, record(certificates_sent=sent), levels(chain=wanted)) == weights


def test_a_resumed_session_shows_no_chain() -> None:
    assert doubts(settings.chain, record(certificates_sent=None, resumed=True), levels(chain=3)) == []


def test_what_the_client_trusts_is_the_cases() -> None:
    assert doubts(settings.trust, record(authorities=128), levels(trust=128)) == []
    assert doubts(settings.trust, record(authorities=1), levels(trust=128)) == [
        ("invalid", "the client trusted one authority, where the case has a file of 128 authorities")
    ]
    ((weight, _),) = doubts(settings.trust, record(authorities=None), levels(trust=128))
    assert weight == "unknown"


def test_a_driver_does_not_tell_and_was_given_no_other_file() -> None:
    by_driver = levels(trust=128, chain=2, client="pymysql-1.2")
    for check in (settings.trust, settings.chain):
        ((weight, words),) = doubts(check, record(), by_driver)
        assert weight == "note"
        assert "does not report" in words


@pytest.mark.parametrize(
    ("context", "bytes_per_op", "weights"),
    [
        ("each", 150_000, []),
        ("shared", 300, []),
        ("each", 300, ["invalid"]),
        ("shared", 150_000, ["invalid"]),
        ("each", None, ["unknown"]),
    ],
)
def test_how_often_the_authorities_were_read_is_counted_by_the_kernel(
    context: str, bytes_per_op: int | None, weights: list[str]
) -> None:
    made = record(authorities=128)
    operations = made.watched_operations
    read = {} if bytes_per_op is None else {"read_bytes": bytes_per_op * operations}
    window = Window(client=ProcessUse(counters=read), took_s=0.1, cpus=(), operations=operations)
    asked = levels(trust=128, tls_context=context, workload="reconnect")
    found = doubts(settings.context, made.model_copy(update={"window": window}), asked)
    assert [weight for weight, _ in found] == weights


def client_certificate(wanted: str, **made: Any) -> list[str]:
    found = doubts(settings.client_certificate, record(**made), levels(client_certificate=wanted))
    return [weight for weight, _ in found]


def test_the_client_proves_itself_where_the_case_has_it_and_the_server_demands_it() -> None:
    assert client_certificate("on", client_certificate=True, demands=True) == []
    assert client_certificate("off", client_certificate=False, demands=False) == []
    assert client_certificate("on", client_certificate=False, demands=True) == ["invalid"]
    assert client_certificate("off", client_certificate=True, demands=False) == ["invalid"]
    assert client_certificate("on", client_certificate=True, demands=False) == ["invalid"]
    assert client_certificate("off", client_certificate=False, demands=True) == ["invalid"]
    assert client_certificate("on", client_certificate=True, demands=None) == ["unknown"]
    assert client_certificate("on", client_certificate=None, demands=True) == ["unknown"]
    assert client_certificate("on", client_certificate=False, demands=True, resumed=True) == []


def test_where_the_case_names_none_of_it_nothing_is_asked() -> None:
    for check in (settings.chain, settings.trust, settings.client_certificate):
        assert doubts(check, record(), levels()) == []
        plain = levels(PLAIN, chain=3, trust=16, client_certificate="on")
        assert doubts(check, record(PLAIN), plain) == []
