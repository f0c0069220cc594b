"""A driver's trial is what the server's word and its counters say, and no more is claimed of it."""

from __future__ import annotations

import pytest
from test_checks import FULL, PLAIN, reasons, record_of

from check_by_check import doubts
from tlstax.checks import judge
from tlstax.checks.drivers import connections, handshakes, resumption, steady
from tlstax.checks.handshakes import missed
from tlstax.contract import ErrorEvent, Negotiated, WarmupSlice
from tlstax.records.server_counts import counting_of
from tlstax.records.trial import TrialRecord, Verdict
from tlstax.run.early_abort import stop_on_the_users_mistake, stop_where_nothing_can_be_done
from tlstax.study import Case, load_study
from tlstax.support.errors import UserMistake

MARIADB = counting_of("11.8.6-MariaDB", None, {})

DRIVER = "pymysql-1.1"
TAX = load_study("tax")


def of_driver(case: Case, *, tls: str | None = None, **counted: int) -> TrialRecord:
    """A trial like this one by a driver, which tells and counts nothing; the server's counters changed so."""
    record = record_of(case)
    assert record.ready is not None
    assert record.done is not None
    assert record.server is not None
    levels = case.levels | {"client": DRIVER, "tls": tls or case.levels.tls}
    seen = tuple(
        one.model_copy(update={"client": None, "client_tells": False}) for one in record.ready.negotiated
    )
    silent = {
        span: getattr(record.done, span).model_copy(update={"handshakes": (), "authentications": {}})
        for span in ("window", "lifetime")
    }
    delta = dict(record.server.status_delta)
    for name, change in counted.items():
        delta[name] = delta.get(name, 0) + change
    named = record.trial.model_copy(update={"case": case.model_copy(update={"levels": levels})})
    ready = {"negotiated": seen, "client": DRIVER, "client_version": "1.1", "tls_library": None}
    return record.model_copy(
        update={
            "trial": named,
            "ready": record.ready.model_copy(update=ready),
            "done": record.done.model_copy(update=silent),
            "server": record.server.model_copy(update={"status_delta": delta}),
        }
    )


def notes(record: TrialRecord) -> str:
    verdict = judge(record)
    assert verdict.value == "valid", verdict
    return "; ".join(verdict.notes)


def asked(record: TrialRecord, *seen: Negotiated) -> TrialRecord:
    assert record.ready is not None
    return record.model_copy(update={"ready": record.ready.model_copy(update={"negotiated": seen})})


@pytest.mark.parametrize("case", [PLAIN, FULL])
@pytest.mark.parametrize("tls", [None, "unset"])
def test_what_the_server_proves_is_valid(case: Case, tls: str | None) -> None:
    assert notes(of_driver(case, tls=tls)) == ""


def test_a_driver_that_encrypts_unasked_is_invalid_where_it_was_told_not_to() -> None:
    said = reasons(of_driver(FULL, tls="off"))
    assert "the server says TLSv1.3 where the case is plaintext" in said
    assert "where there must be none" in said
    assert "is not encrypted" in reasons(of_driver(PLAIN, tls="1.3"))


@pytest.mark.parametrize(("case", "change"), [(PLAIN, 1), (FULL, -1)])
def test_each_connection_counts_and_not_only_those_that_were_asked(case: Case, change: int) -> None:
    assert "where there must be" in reasons(of_driver(case, Ssl_finished_accepts=change))


def test_left_to_the_driver_the_count_must_fit_what_was_said() -> None:
    record = of_driver(FULL, tls="unset", Ssl_finished_accepts=-1)
    assert "made a TLS handshake, the others none" in notes(record)
    none = of_driver(FULL, tls="unset")
    assert none.server is not None
    counted = none.server.status_delta["Ssl_finished_accepts"]
    assert "the server counted 0 TLS handshakes" in reasons(
        of_driver(FULL, tls="unset", Ssl_finished_accepts=-counted)
    )


def test_client_and_server_must_agree_where_the_driver_tells() -> None:
    record = of_driver(FULL, tls="unset")
    assert record.ready is not None
    (one, *_) = record.ready.negotiated
    wrong = one.model_copy(update={"client_tells": True})
    assert "do not agree" in reasons(asked(record, wrong))


def test_connections_that_a_driver_opens_by_itself_are_told_and_missing_ones_are_not_believed() -> None:
    assert "opened 3 connections by itself" in notes(of_driver(PLAIN, Connections=3))
    assert "the server counted" in reasons(of_driver(PLAIN, Connections=-1))


def test_sessions_that_a_driver_resumes_are_told_and_invalid_where_none_may_be() -> None:
    assert "resumed TLS sessions by itself" in notes(of_driver(FULL, tls="unset", Ssl_session_cache_hits=4))
    assert "every handshake is to be full" in reasons(of_driver(FULL, Ssl_session_cache_hits=4))


def test_a_driver_that_did_not_become_steady_is_told() -> None:
    record = of_driver(PLAIN)
    assert record.ready is not None
    warmup = (WarmupSlice(elapsed_s=10.0, operations=5, cpu_us=1.0),)
    ready = record.ready.model_copy(update={"steady": False, "warmup": warmup})
    assert "was not steady when it was measured: after 10.0 s" in notes(
        record.model_copy(update={"ready": ready})
    )


def refused(record: TrialRecord) -> TrialRecord:
    error = ErrorEvent(
        kind="access_denied", fault="client", fatal=True, message=f"{DRIVER} says: no such plugin"
    )
    verdict = Verdict(value="invalid", reasons=(error.message,))
    return record.model_copy(update={"client_errors": (error,), "failure": error.message, "verdict": verdict})


def test_what_one_driver_cannot_do_ends_no_study_and_what_none_can_do_does() -> None:
    bad, good = refused(of_driver(PLAIN)), of_driver(PLAIN)
    stop_on_the_users_mistake(bad, TAX)
    stop_where_nothing_can_be_done([bad, good], TAX)
    with pytest.raises(UserMistake, match="no such plugin"):
        stop_where_nothing_can_be_done([bad, bad], TAX)
    with pytest.raises(UserMistake, match="no such plugin"):
        stop_on_the_users_mistake(refused(record_of(PLAIN)), TAX)


def counting(record: TrialRecord, **counters: int) -> TrialRecord:
    """The same trial, of which the server counted exactly this."""
    assert record.server is not None
    return record.model_copy(update={"server": record.server.model_copy(update={"status_delta": counters})})


def with_version(record: TrialRecord, version: str) -> TrialRecord:
    assert record.server is not None
    return record.model_copy(update={"server": record.server.model_copy(update={"version": version})})


WHO = "pymysql-1.1 (1.1)"


def test_the_sentences_on_handshakes_are_whole() -> None:
    one = counting(of_driver(FULL), Connections=1, Ssl_finished_accepts=2)
    assert doubts(handshakes, one) == [
        (
            "invalid",
            "the server counted 2 TLS handshakes on 1 connection "
            "(Ssl_finished_accepts), where there must be one for "
            "each",
        )
    ]
    plain = counting(of_driver(PLAIN), Connections=2, Ssl_finished_accepts=1)
    assert doubts(handshakes, plain) == [
        (
            "invalid",
            "the server counted 1 TLS handshake on 2 connections "
            "(Ssl_finished_accepts), where there must be none",
        )
    ]
    assert doubts(handshakes, counting(of_driver(PLAIN), Connections=2)) == []
    assert doubts(handshakes, counting(of_driver(FULL), Connections=2)) == [
        (
            "invalid",
            "the server counted 0 TLS handshakes on 2 connections "
            "(Ssl_finished_accepts), where there must be one for "
            "each",
        )
    ]
    assert doubts(handshakes, counting(of_driver(FULL))) == [], "no connection, no handshake"


def test_mariadb_may_have_missed_a_handshake() -> None:
    def of(tls: str | None, shaken: int) -> list[tuple[str, str]]:
        record = counting(of_driver(FULL, tls=tls), Connections=10, Ssl_finished_accepts=shaken)
        return doubts(handshakes, with_version(record, "11.8.3-MariaDB"))

    assert of(None, 9) == [("note", missed(MARIADB, 9, 10))]
    assert [weight for weight, _ in of(None, 8)] == ["invalid"]
    assert [weight for weight, _ in of(None, 11)] == ["invalid"]
    assert of("unset", 9) == [], "not worth a word: all of them made one"
    assert of("unset", 7) == [("note", "7 of 10 connections made a TLS handshake, the others none")]
    assert [weight for weight, _ in of("unset", 6)] == ["invalid"]


def test_a_server_that_counts_no_handshakes_is_noted() -> None:
    yassl = with_version(counting(of_driver(FULL), Connections=2), "5.6.14")
    assert yassl.server is not None
    yassl = yassl.model_copy(update={"server": yassl.server.model_copy(update={"tls_library_version": None})})
    assert doubts(handshakes, yassl) == [
        ("note", "the server counts no handshakes: what it says on the asked connections shows them")
    ]


def test_left_to_the_driver_both_kinds_of_connections_must_have_been_made() -> None:
    """Asked on eight connections, all are encrypted; or none is, and there must be as many without."""
    encrypted = counting(of_driver(FULL, tls="unset"), Connections=10, Ssl_finished_accepts=7)
    assert doubts(handshakes, encrypted) == [
        (
            "invalid",
            "the server counted 7 TLS handshakes on 10 connections "
            "(Ssl_finished_accepts), and 8 of the 8 that it was "
            "asked on are encrypted",
        )
    ]
    plain = counting(of_driver(PLAIN, tls="unset"), Connections=10, Ssl_finished_accepts=3)
    assert doubts(handshakes, plain) == [
        (
            "invalid",
            "the server counted 3 TLS handshakes on 10 connections "
            "(Ssl_finished_accepts), and 0 of the 8 that it was "
            "asked on are encrypted",
        )
    ]
    fits = counting(of_driver(PLAIN, tls="unset"), Connections=10, Ssl_finished_accepts=2)
    assert doubts(handshakes, fits) == [("note", "2 of 10 connections made a TLS handshake, the others none")]
    one = counting(of_driver(FULL, tls="unset"), Connections=1, Ssl_finished_accepts=1)
    assert "counted 1 TLS handshake on 1 connection (" in doubts(handshakes, one)[0][1]
    for number in (0, 9):
        all_alike = counting(
            of_driver(FULL if number else PLAIN, tls="unset"), Connections=9, Ssl_finished_accepts=number
        )
        assert doubts(handshakes, all_alike) == []


def test_the_sentences_on_resumption_are_whole() -> None:
    said = (
        f"{WHO} resumed TLS sessions by itself: on 9 connections the "
        "server found one 4 times (Ssl_session_cache_hits)"
    )
    record = counting(of_driver(FULL), Connections=9, Ssl_session_cache_hits=4)
    assert doubts(resumption, record) == [("invalid", f"{said}, where every handshake is to be full")]
    left = counting(of_driver(FULL, tls="unset"), Connections=9, Ssl_session_cache_hits=4)
    assert doubts(resumption, left) == [("note", said)]
    unasked = record.trial.case.levels.without("resumption")
    assert doubts(resumption, record, unasked) == [("note", said)]
    nameless = record.trial.case.levels.without("tls")
    assert [weight for weight, _ in doubts(resumption, record, nameless)] == ["invalid"], (
        "no level is plaintext"
    )
    once = counting(of_driver(FULL), Connections=1, Ssl_session_cache_hits=1)
    assert "on 1 connection the server found one 1 time (" in doubts(resumption, once)[0][1]


def test_what_is_no_doubt_of_resumption() -> None:
    hits = {"Connections": 9, "Ssl_session_cache_hits": 4}
    assert doubts(resumption, counting(of_driver(FULL), Connections=9)) == []
    assert doubts(resumption, with_version(counting(of_driver(FULL), **hits), "11.8.3-MariaDB")) == []
    assert doubts(resumption, counting(record_of(FULL), **hits)) == [], "the engine's are checked elsewhere"


def test_the_sentences_on_connections_are_whole() -> None:
    record = of_driver(PLAIN)
    assert record.done is not None
    asked_for = record.done.lifetime.connections
    more = counting(record, Connections=asked_for + 1)
    assert doubts(connections, more) == [
        (
            "note",
            f"{WHO} opened 1 connection by itself besides the {asked_for} "
            "that its program asked for (Connections)",
        )
    ]
    assert doubts(connections, counting(record)) == [
        ("invalid", f"the server counted 0 connections, where {WHO} says {asked_for}")
    ]
    assert doubts(connections, more.model_copy(update={"guest": True})) == [], (
        "others use an external server too"
    )


@pytest.mark.parametrize(
    ("is_steady", "slices", "says"), [(False, 0, "0.0"), (False, 2, "7.5"), (True, 2, None), (None, 2, None)]
)
def test_how_long_a_driver_was_warmed_up_in_vain_is_told(
    is_steady: bool | None, slices: int, says: str | None
) -> None:
    record = of_driver(PLAIN)
    assert record.ready is not None
    warmup = tuple(WarmupSlice(elapsed_s=s, operations=5, cpu_us=1.0) for s in (2.0, 7.5)[:slices])
    ready = record.ready.model_copy(update={"steady": is_steady, "warmup": warmup})
    said = (
        f"{WHO} was not steady when it was measured: after {says} s its CPU time per operation was still "
        "falling"
    )
    assert doubts(steady, record.model_copy(update={"ready": ready})) == ([("note", said)] if says else [])
