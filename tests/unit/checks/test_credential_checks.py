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


def record(
    case: Any = TLS, *, demands: bool | None = None, another: dict[str, Any] | None = None, **view: Any
) -> TrialRecord:
    """A trial whose client's library says this of each connection, and of `another` these things besides."""
    made = fake_record(Trial(block=0, position=0, case=case), tax_truth(case), duration_s=0.1)
    assert made.ready is not None
    assert made.server is not None
    seen = tuple(
        one.model_copy(update={"client": one.client and one.client.model_copy(update=said)})
        for one in made.ready.negotiated
        for said in ([view] if another is None else [view, {**view, **another}])
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
    one_of_two = record(certificates_sent=None, another={"resumed": True})
    assert doubts(settings.chain, one_of_two, levels(chain=3)) == []


def test_what_the_client_trusts_is_the_cases() -> None:
    assert doubts(settings.trust, record(authorities=128), levels(trust=128)) == []
    assert doubts(settings.trust, record(authorities=1), levels(trust=128)) == [
        ("invalid", "the client trusted one authority, where the case has a file of 128 authorities")
    ]
    assert doubts(settings.trust, record(authorities=None), levels(trust=128)) == [
        ("unknown", "it is not known whether the client trusted a file of 128 authorities")
    ]


def test_a_driver_does_not_tell_and_was_given_no_other_file() -> None:
    by_driver = levels(trust=128, chain=2, client="pymysql-1.2")
    for check in (settings.trust, settings.chain):
        ((weight, words),) = doubts(check, record(), by_driver)
        assert weight == "note"
        assert "does not report" in words


EACH_READ = ("invalid", "the client read its authorities for each connect, where the case has it otherwise")
FEWER_READ = (
    "invalid",
    "the client read its authorities fewer times than it connected, where the case has it otherwise",
)
NOT_KNOWN = ("unknown", "it is not known how often the client read its authorities")


def reading(bytes_per_op: int | None, case: Any = TLS, **named: Level) -> list[tuple[str, str]]:
    """What is doubted of a trial whose client read N bytes of files an operation (None: not known)."""
    made = record(case, authorities=128)
    operations = made.watched_operations
    read = {} if bytes_per_op is None else {"read_bytes": bytes_per_op * operations}
    window = Window(client=ProcessUse(counters=read), took_s=0.1, cpus=(), operations=operations)
    asked = levels(case, **{"trust": 128, "workload": "reconnect", **named})
    return doubts(settings.context, made.model_copy(update={"window": window}), asked)


@pytest.mark.parametrize(
    ("context", "bytes_per_op", "found"),
    [
        ("each", 150_000, []),
        ("shared", 300, []),
        ("each", 300, [FEWER_READ]),
        ("shared", 150_000, [EACH_READ]),
        ("each", None, [NOT_KNOWN]),
        # A file of 128 authorities has 300 bytes of each at the least.
        ("each", 128 * 300, []),
        ("each", 128 * 300 - 1, [FEWER_READ]),
    ],
)
def test_how_often_the_authorities_were_read_is_counted_by_the_kernel(
    context: str, bytes_per_op: int | None, found: list[tuple[str, str]]
) -> None:
    assert reading(bytes_per_op, tls_context=context) == found


def test_who_is_not_watched_is_not_known_to_read() -> None:
    made, asked = record(authorities=128), levels(trust=128, tls_context="each", workload="reconnect")
    for window in (None, Window(took_s=0.1)):
        assert doubts(settings.context, made.model_copy(update={"window": window}), asked) == [NOT_KNOWN]


def test_of_few_authorities_kept_connections_and_plaintext_reading_tells_nothing() -> None:
    """With 16 of them it begins to."""
    assert reading(300, tls_context="each", trust=16) == [FEWER_READ]
    assert reading(300, tls_context="each", trust=15) == []
    assert reading(300, tls_context="each", workload="point-select") == []
    assert reading(300, PLAIN, tls_context="each") == []
    assert reading(150_000) == [], "no context is named"
    made = record(authorities=1)
    window = Window(client=ProcessUse(counters={"read_bytes": 300 * made.watched_operations}), took_s=0.1)
    unsaid = levels(tls_context="each", workload="reconnect")
    assert doubts(settings.context, made.model_copy(update={"window": window}), unsaid) == []


def client_certificate(wanted: str, **made: Any) -> list[tuple[str, str]]:
    return doubts(settings.client_certificate, record(**made), levels(client_certificate=wanted))


@pytest.mark.parametrize(
    ("wanted", "shown", "demands", "found"),
    [
        ("on", True, True, []),
        ("off", False, False, []),
        ("on", False, True, [("invalid", "no client proved itself by a certificate")]),
        ("off", True, False, [("invalid", "a client proved itself by a certificate")]),
        ("on", True, False, [("invalid", "the server demanded no client certificate")]),
        ("off", False, True, [("invalid", "the server demanded a client certificate")]),
        ("on", True, None, [("unknown", "the server demanded a client certificate")]),
        ("on", None, True, [("unknown", "a client certificate was shown")]),
        ("off", None, False, [("unknown", "no client certificate was shown")]),
    ],
)
def test_the_client_proves_itself_where_the_case_has_it_and_the_server_demands_it(
    wanted: str, shown: bool | None, demands: bool | None, found: list[tuple[str, str]]
) -> None:
    sentences = {
        "invalid": "{}, where the case has it otherwise",
        "unknown": "it is not known whether {}",
    }
    said = [(weight, sentences[weight].format(what)) for weight, what in found]
    assert client_certificate(wanted, client_certificate=shown, demands=demands) == said


def test_one_connection_without_a_certificate_is_found_out_and_a_resumed_one_needs_none() -> None:
    proved: dict[str, Any] = {"client_certificate": True, "demands": True}
    without = {"client_certificate": False}
    assert client_certificate("on", **proved, another=without) == [
        ("invalid", "some connections proved themselves by a certificate, and others did not")
    ]
    assert client_certificate("on", **proved, another={**without, "resumed": True}) == []
    assert client_certificate("on", **{**proved, **without, "resumed": True}) == []


def test_where_the_case_names_none_of_it_nothing_is_asked() -> None:
    for check in (settings.chain, settings.trust, settings.client_certificate):
        assert doubts(check, record(), levels()) == []
        plain = levels(PLAIN, chain=3, trust=16, client_certificate="on")
        assert doubts(check, record(PLAIN), plain) == []
