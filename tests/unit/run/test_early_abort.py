"""A run that answers nothing: when it is given up, whose fault it is, and what is said and advised."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fake_trials import crashed
from report_runs import all_invalid, baseline_lost, changed, exact_run, not_begun, one_case_lost
from tlstax.contract import ErrorCount, ErrorEvent
from tlstax.records.trial import StoredRun, TrialRecord, Verdict
from tlstax.run.early_abort import stop_where_nothing_can_be_done, unanswered
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

SAID = "the server answered with error {code} (HY000): as it says"


def refused(record: TrialRecord, code: int, kind: str = "server_error") -> TrialRecord:
    """The trial, whose client was refused with this error before it was ready."""
    message = SAID.format(code=code)
    error = ErrorEvent.model_validate(
        {"kind": kind, "fault": "server", "fatal": True, "message": message, "code": code}
    )
    return crashed(record.trial, message).model_copy(update={"client_errors": (error,), "job": record.job})


def plaintext_refused(code: int, blocks: int = 1) -> StoredRun:
    """Each trial without TLS was refused, all others are well."""
    run = exact_run(number_of_blocks=blocks)
    off = "off"
    return changed(
        run, lambda record: refused(record, code) if record.trial.case.levels["tls"] == off else record
    )


def fault_of(run: StoredRun) -> TlstaxError:
    fault = unanswered(run)
    assert fault is not None
    return fault


@pytest.mark.parametrize("answered", [exact_run, one_case_lost])
def test_a_run_with_one_comparison_is_answered(answered: Callable[[], StoredRun]) -> None:
    assert unanswered(answered()) is None
    assert stop_where_nothing_can_be_done(answered().trials, answered().header.study)


def test_a_run_without_trials_has_no_cause() -> None:
    assert unanswered(not_begun()) is None


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        (3159, UserMistake, "require_secure_transport=OFF"),
        (1461, UserMistake, "max_prepared_stmt_count"),
        (1226, UserMistake, "raise that limit"),
        (1045, UserMistake, "let in without TLS"),
        (1040, MachineFault, "max_connections"),
        (1129, MachineFault, "FLUSH HOSTS"),
        (1053, MachineFault, "start it again"),
        (9999, MachineFault, "as it says"),
    ],
)
def test_the_cause_decides_the_status_and_the_advice(code: int, kind: type[TlstaxError], advice: str) -> None:
    fault = fault_of(plaintext_refused(code))
    assert type(fault) is kind
    assert SAID.format(code=code) in fault.message
    assert advice in fault.sentence()
    assert "{" not in fault.sentence()


def test_what_an_account_or_a_setting_demands_ends_the_run_after_its_first_block() -> None:
    run = plaintext_refused(3159)
    with pytest.raises(UserMistake, match="error 3159"):
        stop_where_nothing_can_be_done(run.trials, run.header.study)
    first_half = [record for record in run.trials if record.verdict.value == "valid"][:1]
    assert not stop_where_nothing_can_be_done(first_half, run.header.study)


def test_what_may_pass_is_waited_for_during_some_blocks_and_no_longer() -> None:
    run = plaintext_refused(1040, blocks=3)
    study = run.header.study
    for blocks in (1, 2):
        begun = [record for record in run.trials if record.trial.block < blocks]
        assert not stop_where_nothing_can_be_done(begun, study)
    with pytest.raises(MachineFault, match="error 1040"):
        stop_where_nothing_can_be_done(run.trials, study)


def test_operations_that_failed_are_told_by_the_error_that_most_of_them_met() -> None:
    def failed(record: TrialRecord) -> TrialRecord:
        assert record.done is not None
        errors = (
            ErrorCount(kind="server_closed", code=None, count=1),
            ErrorCount(kind="server_error", code=1290, count=40),
        )
        done = record.done.model_copy(update={"operations": 0, "errors": errors})
        why = Verdict(value="invalid", reasons=("41 of 41 operations failed (error 1290)",))
        return record.model_copy(update={"done": done, "verdict": why})

    fault = fault_of(changed(exact_run(number_of_blocks=1), failed))
    assert type(fault) is UserMistake
    assert "error 1290" in fault.message


def test_the_commonest_reason_is_told_and_of_how_many_trials_it_is() -> None:
    assert "a session was not resumed" in fault_of(all_invalid()).message
    lost = fault_of(baseline_lost())
    assert type(lost) is MachineFault
    assert "signal 9" in lost.message
