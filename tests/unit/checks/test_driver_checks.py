"""A driver's trial is what the server's word and its counters say, and no more is claimed of it."""

from __future__ import annotations

from typing import Any

import pytest
from test_checks import FULL, PLAIN, reasons, record_of

from tlstax.checks import judge
from tlstax.contract import ErrorEvent, Negotiated, WarmupSlice
from tlstax.records.trial import TrialRecord
from tlstax.run.early_abort import stop_on_the_users_mistake, stop_where_nothing_can_be_done
from tlstax.study import Case, load_study
from tlstax.support.errors import UserMistake

DRIVER = "pymysql-1.1"
TAX = load_study("tax")


def of_driver(case: Case, *, tls: str | None = None, **counted: int) -> TrialRecord:
    """A trial like this one by a driver, which tells and counts nothing; the server's counters changed so."""
    record = record_of(case)
    assert record.ready is not None
    assert record.done is not None
    assert record.server is not None
    levels = {**case.levels, "client": DRIVER, "tls": tls or case.levels["tls"]}
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
    return record.model_copy(update={"client_errors": (error,), "failure": error.message})


def test_what_one_driver_cannot_do_ends_no_study_and_what_none_can_do_does() -> None:
    bad, good = refused(of_driver(PLAIN)), of_driver(PLAIN)
    stop_on_the_users_mistake(bad, TAX)
    stop_where_nothing_can_be_done([bad, good], TAX)
    with pytest.raises(UserMistake, match="no such plugin"):
        stop_where_nothing_can_be_done([bad, bad], TAX)
    later: Any = bad.trial.model_copy(update={"block": 1})
    stop_where_nothing_can_be_done([bad.model_copy(update={"trial": later})] * 2, TAX)
    with pytest.raises(UserMistake, match="no such plugin"):
        stop_on_the_users_mistake(refused(record_of(PLAIN)), TAX)
