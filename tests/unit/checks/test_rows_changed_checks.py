"""Proof of writing: a trial whose statements missed their rows is never valid."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from check_by_check import doubts
from fake_trials import fake_record, tax_truth
from tlstax.checks import judge
from tlstax.checks.rows_changed import Written, came_to_its_number, claims, rows_changed
from tlstax.contract import ErrorCount, Job
from tlstax.plan.order import cases
from tlstax.records import server_counts
from tlstax.records.server_counts import counting_of
from tlstax.records.trial import Trial, TrialRecord, Verdict
from tlstax.records.window import Window
from tlstax.study import Case, load_study, workloads
from tlstax.study.factors import CaseLevels

PLAIN = cases(load_study("tax"))[0]
OPERATIONS = 5_000
PUT_BACK = workloads.put_back_sql("sbtest1")
READ_WRITE = {"Innodb_rows_inserted": 5_000, "Innodb_rows_updated": 10_000, "Innodb_rows_deleted": 5_000}


def writing(name: str, counted: dict[str, int], *, mariadb: bool = False, **job: Any) -> TrialRecord:
    """A trial of the workload with 5,000 operations, of which the server counted this in the window."""
    case = Case(levels={**PLAIN.levels, "workload": name}, role="baseline")
    record = fake_record(Trial(block=0, position=0, case=PLAIN), tax_truth(PLAIN), duration_s=0.1)
    assert record.job is not None
    assert record.done is not None
    assert record.server is not None
    told = Job.model_validate(
        {
            **record.job.model_dump(by_alias=True, exclude={"account", "workload"}),
            "account": {"user": "u", "password": "p"},
            "workload": workloads.built_in(name, "sbtest1", 10_000).model_dump(),
            **job,
        },
        strict=False,
    )
    return record.model_copy(
        update={
            "trial": Trial(block=0, position=0, case=case),
            "job": told.without_password(),
            "done": record.done.model_copy(update={"operations": OPERATIONS, "row_samples": ()}),
            "window": Window(took_s=0.1, status_delta={"Bytes": 1, **_statements(told), **counted}),
            "server": record.server.model_copy(update={"version": "11.8.3-MariaDB"})
            if mariadb
            else record.server,
        }
    )


def _statements(job: Job) -> dict[str, int]:
    """What the server counted of the statements that were run, whether or not they changed a row."""
    ran = Counter({"Com_stmt_execute": 0})
    for statement in job.workload.statements:
        prepared = (statement.protocol or job.workload.protocol) == "prepared"
        ran[f"Com_{workloads.verb(statement).lower()}"] += OPERATIONS * statement.repeat
        ran["Com_stmt_execute"] += OPERATIONS * statement.repeat * prepared
    return dict(ran)


def judged_reasons(record: TrialRecord) -> str:
    verdict = judge(record)
    assert verdict.value == "invalid", verdict
    return "; ".join(verdict.reasons)


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("delete", {"Innodb_rows_deleted": 5_000}),
        ("insert", {"Innodb_rows_inserted": 5_000}),
        ("people-update", {"Innodb_rows_updated": 5_000}),
        ("oltp-read-write", READ_WRITE),
        ("insert-64", {"Innodb_rows_inserted": 5_000}),
        ("insert-20x64", {"Innodb_rows_inserted": 100_000}),
    ],
)
def test_writes_that_hit_are_valid(name: str, counted: dict[str, int]) -> None:
    assert judge(writing(name, counted)) == Verdict(value="valid")


@pytest.mark.parametrize("counted", [99_999, 100_001, 5_000])
def test_a_statement_of_many_rows_inserts_all_of_them(counted: int) -> None:
    said = judged_reasons(writing("insert-20x64", {"Innodb_rows_inserted": counted}))
    assert ("added no row" if counted < 100_000 else "where the client claims 100,000") in said


@pytest.mark.parametrize(
    ("name", "counted", "says"),
    [
        (
            "delete",
            {"Innodb_rows_deleted": 3_800},
            "of 5,000 deletes 1,200 found no row: the table ran dry",
        ),
        ("delete", {}, "of 5,000 deletes 5,000 found no row"),
        ("insert", {"Innodb_rows_inserted": 4_999}, "of 5,000 inserts 1 added no row"),
        ("people-update", {"Innodb_rows_updated": 2_500}, "of 5,000 updates 2,500 changed no row"),
        (
            "oltp-read-write",
            {**READ_WRITE, "Innodb_rows_updated": 9_000},
            "of 10,000 updates 1,000 changed no row",
        ),
        (
            "delete",
            {"Innodb_rows_deleted": 6_000},
            "counted 6,000 rows deleted, where the client claims 5,000",
        ),
    ],
)
def test_writes_that_missed_are_told(name: str, counted: dict[str, int], says: str) -> None:
    assert says in judged_reasons(writing(name, counted))


def test_mariadb_counts_in_its_core() -> None:
    dry = writing("delete", {"Handler_delete": 4_000}, mariadb=True)
    assert "of 5,000 deletes 1,000 found no row" in judged_reasons(dry)
    full = writing("delete", {"Handler_delete": 5_000}, mariadb=True)
    assert "deletes" not in "; ".join(judge(full).reasons)


def test_rows_of_statements_that_failed_may_be_counted() -> None:
    record = writing("update", {"Innodb_rows_updated": 5_003})
    assert record.done is not None
    failed = (ErrorCount(kind="server_error", code=1213, count=3),)
    done = record.done.model_copy(update={"errors": failed})
    assert judge(record.model_copy(update={"done": done})).value == "valid"


def test_rows_that_are_put_back_between_rounds_are_no_doubt() -> None:
    counted = {"Innodb_rows_inserted": 25_000}
    rounds = {"operations": OPERATIONS, "rounds": 5, "reset": PUT_BACK}
    assert judge(writing("insert", counted, **rounds)).value == "valid"
    assert "claims 5,000" in judged_reasons(writing("insert", counted))


def test_a_trial_that_had_fewer_operations_than_it_was_to_have_is_invalid() -> None:
    record = writing("delete", {"Innodb_rows_deleted": 5_000}, operations=10_000, duration_s=600.0)
    assert "ended after 5,000 of 10,000 operations: the table ran dry" in judged_reasons(record)


def test_a_writing_trial_needs_no_row_to_be_asked_for_again() -> None:
    reading = writing("select-range", {})
    assert judge(reading).value == "unknown"
    assert "no row was kept" in judge(reading).reasons[0]


def ended(
    operations: int, *, failed: int = 0, elapsed_s: float = 1.0, storm: bool = False, rounds_s: int = 0
) -> TrialRecord:
    """A trial that was to have 100 operations in ten rounds within 5 s."""
    record = writing("delete", {}, operations=100, duration_s=5.0, rounds=10)
    assert record.done is not None
    assert record.job is not None
    workload = record.job.workload.model_copy(update={"storm": storm})
    errors = (ErrorCount(kind="server_error", code=1213, count=failed),) if failed else ()
    done = {"operations": operations, "errors": errors, "elapsed_s": elapsed_s, "rounds_s": (0.1,) * rounds_s}
    return record.model_copy(
        update={
            "job": record.job.model_copy(update={"workload": workload}),
            "done": record.done.model_copy(update=done),
        }
    )


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (ended(100), None),
        (ended(97, failed=3), None),
        (ended(97, failed=2), "it ended after 99 of 100 operations: the table ran dry"),
        (ended(97, elapsed_s=4.9), "it ended after 97 of 100 operations: the table ran dry"),
        (ended(97, elapsed_s=5.0), "it ended after 97 of 100 operations: it took too long"),
        (ended(97, storm=True), "it ended after 97 of 100 operations: the client stopped"),
        (ended(97, storm=True, elapsed_s=5.0), "it ended after 97 of 100 operations: it took too long"),
        (ended(100, storm=True, rounds_s=10), None),
        (ended(100, storm=True, rounds_s=9), "the client reported the times of 9 of its 10 rounds"),
    ],
)
def test_a_trial_comes_to_its_number_and_a_storm_tells_each_round(
    record: TrialRecord, says: str | None
) -> None:
    assert doubts(came_to_its_number, record) == ([("invalid", says)] if says else [])


def test_without_a_number_a_trial_may_have_any() -> None:
    assert doubts(came_to_its_number, writing("delete", {})) == []
    assert doubts(came_to_its_number, ended(1).model_copy(update={"job": None})) == []
    assert doubts(rows_changed, writing("delete", {}).model_copy(update={"job": None})) == []


@pytest.mark.parametrize(
    ("rounds", "reset", "is_put_back"), [(1, PUT_BACK, False), (2, (), False), (2, PUT_BACK, True)]
)
def test_data_is_put_back_only_between_several_rounds(
    rounds: int, reset: tuple[str, ...], *, is_put_back: bool
) -> None:
    more = writing(
        "insert", {"Innodb_rows_inserted": 6_000}, operations=OPERATIONS, rounds=rounds, reset=reset
    )
    said = [("invalid", "the server counted 6,000 rows inserted, where the client claims 5,000")]
    assert doubts(rows_changed, more) == ([] if is_put_back else said)


def test_rows_that_a_server_does_not_count_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """All products count them today; another may not."""
    counters = counting_of("9.7.4", None, {}).counters
    kept = {count: names for count, names in counters.items() if not count.startswith("rows_")}
    mute = replace(counting_of("9.7.4", None, {}), counters=kept)
    monkeypatch.setattr(server_counts, "_BY_PRODUCT", {"mysql": mute})
    assert doubts(rows_changed, writing("insert", {})) == [
        ("unknown", "the server does not count rows inserted")
    ]


def test_where_the_window_was_not_watched_the_clients_life_is_counted() -> None:
    """It has the warm-up in it, so that more than is claimed is no doubt."""
    record = writing("delete", {})
    assert record.server is not None
    for counted, says in (
        (4_000, [("invalid", "of 5,000 deletes 1,000 found no row: the table ran dry")]),
        (6_000, []),
    ):
        server = record.server.model_copy(update={"status_delta": {"Innodb_rows_deleted": counted}})
        assert doubts(rows_changed, record.model_copy(update={"window": None, "server": server})) == says


def written(name: str, operations: int, *, failed: int = 0) -> Written:
    known = name in workloads.NAMES
    of = workloads.built_in(name if known else "update", "t", 1000)
    case = CaseLevels.of({"workload": name, "tls": "off"})
    return Written(case, of, operations, failed)


def test_what_clients_wrote_in_their_turns_is_added_up() -> None:
    """By hand: 7 and 5 transactions, each of a row in, two changed and one out; one more failed midway."""
    both = [written("oltp-read-write", 7), written("oltp-read-write", 5, failed=1)]
    assert claims(both) == {
        "rows_inserted": (12, 13),
        "rows_updated": (24, 26),
        "rows_deleted": (12, 13),
    }


def test_nothing_is_claimed_of_what_reads_nor_of_what_a_user_wrote() -> None:
    assert claims([written("point-select", 7), written("mine", 7)]) == {}
