"""Proof of treatment: a trial that was not what it claims is never valid, and one that was always is."""

from __future__ import annotations

from typing import Any

import pytest

from fake_trials import LIBSSL, fake_record, tax_truth, whole_tax, with_errors
from tlstax.checks import NOT_STARTED, judge, judged
from tlstax.checks.treatment import registered_suite
from tlstax.plan.order import cases
from tlstax.records.trial import Evidence, MappedLibrary, Trial, TrialRecord
from tlstax.study import Case

CASES = cases(whole_tax())
PLAIN = next(case for case in CASES if case.role == "baseline" and case.levels["workload"] == "reconnect")
FULL = next(case for case in CASES if case.levels == {**PLAIN.levels, "tls": "1.3", "resumption": "off"})
RESUMED = next(case for case in CASES if case.levels == {**PLAIN.levels, "tls": "1.3", "resumption": "on"})


def record_of(case: Case) -> TrialRecord:
    return fake_record(Trial(block=0, position=0, case=case), tax_truth(case), duration_s=0.1)


def with_done(record: TrialRecord, **changes: Any) -> TrialRecord:
    assert record.done is not None
    return record.model_copy(update={"done": record.done.model_copy(update=changes)})


def with_server(record: TrialRecord, **changes: Any) -> TrialRecord:
    assert record.server is not None
    return record.model_copy(update={"server": record.server.model_copy(update=changes)})


def with_counter(record: TrialRecord, name: str, change: int) -> TrialRecord:
    assert record.server is not None
    delta = dict(record.server.status_delta)
    delta[name] = delta.get(name, 0) + change
    return with_server(record, status_delta=delta)


def claiming(record: TrialRecord, case: Case) -> TrialRecord:
    """The evidence of one case under the name of another."""
    return record.model_copy(update={"trial": record.trial.model_copy(update={"case": case})})


def reasons(evidence: Evidence) -> str:
    verdict = judge(evidence)
    assert verdict.value == "invalid", verdict
    return "; ".join(verdict.reasons)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key())
def test_what_was_as_claimed_is_valid(case: Case) -> None:
    verdict = judge(record_of(case))
    assert (verdict.value, verdict.reasons) == ("valid", ())


def test_tls_measured_as_plaintext_is_invalid() -> None:
    """The published mistake: a client that ignores the flag compares TLS with TLS."""
    said = reasons(claiming(record_of(FULL), PLAIN))
    assert "the server says TLSv1.3 where the case is plaintext" in said


def test_plaintext_measured_as_tls_is_invalid() -> None:
    assert "the connection is not encrypted" in reasons(claiming(record_of(PLAIN), FULL))


def test_another_version_than_asked_for_is_invalid() -> None:
    tls12 = next(case for case in CASES if case.levels == {**PLAIN.levels, "tls": "1.2", "resumption": "off"})
    assert "TLSv1.3 where the case is TLS 1.2" in reasons(claiming(record_of(FULL), tls12))


def test_full_handshakes_measured_as_resumed_are_invalid_and_the_other_way_round() -> None:
    assert "were full, not resumed" in reasons(claiming(record_of(FULL), RESUMED))
    assert "were resumed where none may be" in reasons(claiming(record_of(RESUMED), FULL))


@pytest.mark.parametrize("counter", ["Connections", "Ssl_finished_accepts", "Ssl_session_cache_hits"])
@pytest.mark.parametrize("change", [-1, 1])
def test_the_server_must_count_what_the_client_counts(counter: str, change: int) -> None:
    assert counter in reasons(with_counter(record_of(RESUMED), counter, change))


def test_a_guest_may_be_used_by_others_but_never_count_less() -> None:
    guest = record_of(FULL).model_copy(update={"guest": True})
    busy = judge(with_counter(guest, "Connections", 3))
    assert (busy.value, busy.notes) == ("valid", ("others used the server during the trial",))
    assert "Connections" in reasons(with_counter(guest, "Connections", -1))


def test_another_library_than_claimed_is_invalid() -> None:
    other = MappedLibrary(path="/opt/other/libssl.so.3", sha256="00")
    record = record_of(FULL).model_copy(update={"client_mapped_tls_libraries": (other,)})
    said = reasons(record)
    assert LIBSSL.path in said
    assert other.path in said


def test_slow_logins_in_the_window_are_invalid() -> None:
    record = record_of(PLAIN)
    assert record.done is not None
    window = record.done.window.model_copy(update={"authentications": {"fast": 10, "full_rsa": 2}})
    assert "2 measured logins took the slow path (full_rsa)" in reasons(with_done(record, window=window))


def test_rows_that_differ_from_the_servers_are_invalid() -> None:
    record = record_of(PLAIN).model_copy(update={"row_mismatches": ("SELECT c FROM t WHERE id=7",)})
    assert "id=7" in reasons(record)


def test_no_work_or_many_errors_are_invalid_few_errors_a_note() -> None:
    assert "no operation was finished" in reasons(with_done(record_of(PLAIN), operations=0))
    assert "(timeout 2013)" in reasons(with_errors(record_of(PLAIN), "timeout", 400))
    few = judge(with_errors(record_of(PLAIN), "timeout", 1))
    assert (few.value, few.notes) == ("valid", ("1 operation failed",))


def test_work_that_was_never_started_is_a_note() -> None:
    verdict = judge(with_done(record_of(PLAIN), skipped=3))
    assert (verdict.value, verdict.notes) == ("valid", (NOT_STARTED,))


def test_missing_evidence_is_unknown_not_valid() -> None:
    assert judge(record_of(PLAIN).model_copy(update={"done": None})).value == "unknown"
    assert judge(with_done(record_of(PLAIN), row_samples=())).value == "unknown"


def test_a_failed_trial_is_invalid_with_its_reason() -> None:
    failed = record_of(PLAIN).model_copy(update={"failure": "the load client was killed by signal 9"})
    assert reasons(failed) == "the load client was killed by signal 9"


def test_a_users_own_statement_may_be_answered_otherwise_every_time() -> None:
    strange = record_of(PLAIN).model_copy(update={"row_mismatches": ("SELECT NOW()",)})
    assert "rows differ" in reasons(strange)
    own = claiming(strange, Case(levels={**PLAIN.levels, "workload": "mine"}, role="treatment"))
    assert judge(own).value == "valid"
    assert judge(own).notes == ("rows differ from the server's: SELECT NOW()",)


def test_transactions_that_got_in_each_others_way_are_part_of_the_load() -> None:
    failed = with_errors(record_of(PLAIN), "server_error", 500)
    assert failed.done is not None
    (error,) = failed.done.errors
    met = with_done(failed, errors=(error.model_copy(update={"code": 1213}),))
    assert judge(met).value == "valid"
    assert judge(met).notes == ("the server rolled back 500 operations that conflicted with others",)
    assert judge(with_done(met, errors=(error.model_copy(update={"code": 1064}),))).value == "invalid"


def test_a_check_that_breaks_gives_unknown() -> None:
    broken = record_of(PLAIN.model_copy())
    object.__setattr__(broken.trial.case, "levels", None)
    verdict = judged(broken).verdict
    assert verdict.value == "unknown"
    assert "could not be judged" in verdict.reasons[0]


def test_another_group_than_the_cases_is_invalid() -> None:
    chosen = Case(levels={**FULL.levels, "group": "X25519"}, role="treatment")
    assert "handshakes used secp256r1, not x25519" in reasons(claiming(record_of(FULL), chosen))
    same = Case(levels={**FULL.levels, "group": "P-256"}, role="treatment")
    assert judge(claiming(record_of(FULL), same)).value == "valid"


def shaking_hands(record: TrialRecord, **changes: Any) -> TrialRecord:
    """The same trial, but its handshakes came out otherwise."""
    assert record.done is not None
    lifetime = record.done.lifetime
    seen = tuple(h.model_copy(update=changes) for h in lifetime.handshakes)
    return with_done(record, lifetime=lifetime.model_copy(update={"handshakes": seen}))


def test_of_a_list_of_groups_the_first_must_be_used_without_a_second_hello() -> None:
    listed = Case(levels={**FULL.levels, "group": "P-256-first"}, role="treatment")
    record = claiming(record_of(FULL), listed)
    assert judge(shaking_hands(record, hello_retry=False)).value == "valid"
    assert "though secp256r1 was taken, for which the client had sent its key share" in reasons(record)
    other = shaking_hands(record, hello_retry=False, group="x25519")
    assert "handshakes used x25519, not secp256r1, the first that was offered" in reasons(other)


def test_another_cipher_than_the_cases_is_invalid() -> None:
    named = Case(levels={**FULL.levels, "cipher": "TLS_AES_128_GCM_SHA256"}, role="treatment")
    assert judge(claiming(record_of(FULL), named)).value == "valid"
    other = Case(levels={**FULL.levels, "cipher": "TLS_CHACHA20_POLY1305_SHA256"}, role="treatment")
    said = reasons(claiming(record_of(FULL), other))
    assert "agreed on TLS_AES_128_GCM_SHA256, not TLS_CHACHA20_POLY1305_SHA256" in said
    assert "the client says TLS_AES_128_GCM_SHA256 where the case is TLS_CHACHA20_POLY1305_SHA256" in said


@pytest.mark.parametrize(
    ("said", "registered"),
    [
        ("TLS13-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"),
        ("TLS13-CHACHA20-POLY1305-SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
        ("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
    ],
)
def test_wolfssls_names_of_cipher_suites_are_understood(said: str, registered: str) -> None:
    assert registered_suite(said) == registered
