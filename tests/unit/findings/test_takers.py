"""Who takes locks in each case, by hand: summed up over trials, and shown the busiest first."""

from __future__ import annotations

import pytest

from fake_trials import fake_run
from tlstax.findings.core.outcomes import outcomes
from tlstax.findings.locks.takers import case_locks
from tlstax.plan.order import cases
from tlstax.records.locks import LockCounts, LockSite
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.locks.csv_rows import rows
from tlstax.report.locks.section import sections
from tlstax.results.document import RunDocument
from tlstax.results.locks import CaseLocks
from tlstax.study import Study, load_study
from tlstax.study.changes import override
from tlstax.topics.core.section import Block, Detail, Folded
from tlstax.topics.core.table import Table


def site(kind: str, library: str, function: str, calls: int, moved: int = 0) -> LockSite:
    return LockSite(kind=kind, library=library, function=function, calls=calls, contended=0, moved=moved)


FIRST = LockCounts(
    operations=100,
    sites=(
        site("read lock", "libcrypto.so.3", "store_get", 300, moved=30),
        site("mutex", "mysqld", "do_command", 200),
        site("wait", "mysqld", "block", 50),
        site("mutex", "libssl.so.3", "ssl_session", 1),
    ),
    lost=0,
)
SECOND = LockCounts(operations=50, sites=(site("mutex", "mysqld", "do_command", 250),), lost=0)


def counted() -> StoredRun:
    """A run of which two trials of one case counted locks, in 100 and 50 operations."""
    run = fake_run(number_of_blocks=2, invalid=False)
    wanted = next(record.trial.case for record in run.trials if record.trial.case.role == "treatment")
    own = [record for record in run.trials if record.trial.case == wanted]
    locks = dict(zip((record.trial.place for record in own), (FIRST, SECOND), strict=True))
    return run.model_copy(
        update={
            "trials": tuple(
                record.model_copy(update={"locks": locks.get(record.trial.place)}) for record in run.trials
            )
        }
    )


def only(run: StoredRun) -> CaseLocks:
    (found,) = case_locks(run.header.study, run.trials)
    return found


def test_locks_are_summed_up_over_a_cases_trials() -> None:
    found = only(counted())
    assert (found.trials, found.operations) == (2, 150)
    assert found.per_op == pytest.approx((501 + 250) / 150)
    assert (found.least_per_op, found.most_per_op) == pytest.approx((5.0, 5.01))
    assert [(one.kind, one.function, one.per_op) for one in found.takers] == [
        ("mutex", "do_command", pytest.approx(450 / 150)),
        ("read lock", "store_get", pytest.approx(300 / 150)),
        ("wait", "block", pytest.approx(50 / 150)),
        ("mutex", "ssl_session", pytest.approx(1 / 150)),
    ]
    assert found.takers[1].moved_per_op == pytest.approx(30 / 150)


def test_only_valid_trials_that_counted_are_taken() -> None:
    run = counted()
    spoiled = tuple(
        record.model_copy(update={"verdict": record.verdict.model_copy(update={"value": "invalid"})})
        for record in run.trials
    )
    assert case_locks(run.header.study, spoiled) == ()
    assert case_locks(run.header.study, fake_run(number_of_blocks=1).trials) == ()


def with_locks(locks: LockCounts | None) -> TrialRecord:
    return fake_run(number_of_blocks=1, invalid=False).trials[0].model_copy(update={"locks": locks})


def test_a_trials_outcomes_are_locks_for_each_operation() -> None:
    found = outcomes(with_locks(FIRST))
    assert found["server_locks_per_op"] == pytest.approx(5.01)
    assert found["server_libssl_locks_per_op"] == pytest.approx(0.01)
    assert found["server_libcrypto_locks_per_op"] == pytest.approx(3.0)
    assert found["server_locks_moved_per_op"] == pytest.approx(0.3)
    assert found["server_lock_waits_per_op"] == pytest.approx(0.5)
    assert "server_libssl_locks_per_op" not in outcomes(with_locks(SECOND))
    assert not any("lock" in name for name in outcomes(with_locks(None)))


def blocks_of(detail: Detail, *found: CaseLocks) -> list[Block]:
    document = RunDocument.model_construct(locks=found)
    return [block for section in sections(document, detail) for block in section.blocks]


def test_a_table_has_the_locks_of_each_case_by_library() -> None:
    table, *_ = blocks_of("short", only(counted()))
    assert isinstance(table, Table)
    (row,) = table.rows
    assert row[1:] == ("5.0", "2.00", "0.01", "0.20", "–", "0.33", row[-1])
    assert blocks_of("whole") == blocks_of("short") == []


def test_takers_are_shown_where_there_is_room_and_not_what_is_next_to_nothing() -> None:
    _, _, table = blocks_of("whole", only(counted()))
    assert isinstance(table, Table)
    assert [row[:3] for row in table.rows] == [
        ("mysqld: do_command", "mutex", "3.00"),
        ("libcrypto.so.3: store_get", "read lock", "2.00"),
        ("mysqld: block", "wait", "0.33"),
        ("libssl.so.3: ssl_session", "mutex", "0.01"),
    ]
    assert any(isinstance(block, Folded) for block in blocks_of("page", only(counted())))
    rare = only(counted()).model_copy(update={"takers": (only(counted()).takers[0],) * 2})
    rare = rare.model_copy(update={"takers": (rare.takers[0].model_copy(update={"per_op": 0.004}),)})
    _, _, table = blocks_of("whole", rare)
    assert isinstance(table, Table)
    assert table.rows == ()


def test_what_counting_costs_is_told_where_the_case_was_measured_too() -> None:
    run = counted()
    assert only(run).times_slower is None
    own = next(record for record in run.trials if record.locks is not None)
    beside = own.model_copy(update={"locks": None, "trial": own.trial.model_copy(update={"block": 7})})
    found = only(run.model_copy(update={"trials": (*run.trials, beside)}))
    assert found.times_slower == pytest.approx(1, abs=0.1)


def test_spreadsheets_have_a_row_for_each_function() -> None:
    document = RunDocument.model_construct(locks=(only(counted()),))
    written = list(rows(document))
    assert [row["outcome"] for row in written][:2] == [
        "mysqld: do_command: mutex",
        "libcrypto.so.3: store_get: read lock",
    ]
    assert written[1]["value"] == pytest.approx(2.0)


def test_locks_that_were_waited_for_are_told_for_each_operation() -> None:
    busy = FIRST.model_copy(update={"sites": (FIRST.sites[0].model_copy(update={"contended": 25}),)})
    run = fake_run(number_of_blocks=1, invalid=False)
    (found,) = case_locks(run.header.study, (run.trials[0].model_copy(update={"locks": busy}),))
    assert found.takers[0].contended_per_op == pytest.approx(0.25)
    assert (found.trials, found.operations) == (1, 100)


def test_a_case_that_did_nothing_took_nothing() -> None:
    idle = LockCounts(operations=0, sites=(), lost=0)
    run = fake_run(number_of_blocks=1, invalid=False)
    (found,) = case_locks(run.header.study, (run.trials[0].model_copy(update={"locks": idle}),))
    assert (found.trials, found.per_op, found.least_per_op, found.most_per_op) == (0, 0.0, 0.0, 0.0)
    assert found.takers == ()


def counted_everywhere(study: Study) -> list[TrialRecord]:
    """The trials of a run in the order in which they ran, all of them counted."""
    run = fake_run(study, number_of_blocks=1, invalid=False)
    return [record.model_copy(update={"locks": FIRST}) for record in run.trials]


def test_cases_are_in_the_plans_order_whatever_was_run_first() -> None:
    study = asked_for_locks()
    planned = [dict(case.levels) for case in cases(study) if case.role != "control"]
    found = case_locks(study, counted_everywhere(study))
    assert [one.case for one in found] == planned
    assert all("counted" not in one.label for one in found)
    assert [one.case for one in case_locks(study, reversed(counted_everywhere(study)))] == planned


def test_a_study_that_varies_what_is_planted_keeps_it_in_its_cases() -> None:
    study = override(load_study("tax"), "fault", ["none", "count-locks"])
    found = case_locks(study, counted_everywhere(study))
    assert {one.case["fault"] for one in found} == {"none", "count-locks"}
    assert len(found) == len([case for case in cases(study) if case.role != "control"])


def asked_for_locks() -> Study:
    return load_study("tax").model_copy(update={"count": "locks"})
