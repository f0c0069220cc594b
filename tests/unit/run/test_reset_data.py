"""Which tables are put back before a trial, and which are not looked at."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import Mock

from tlstax.records.trial import TableState
from tlstax.run.reset_data import TrialData
from tlstax.specimens.server import Server
from tlstax.sql.database import Database
from tlstax.sql.table_rows import TableContent
from tlstax.study.factors import CaseLevels
from tlstax.study.needs import DataNeeds
from tlstax.study.workloads.user_defined import UserWorkload

HELD = TableState(table="sbtest1", rows=50, checksum=7)


def own(name: str, sql: str, **more: Any) -> UserWorkload:
    written = {"name": name, "transactions": [{"statements": [{"sql": sql}]}], **more}
    return UserWorkload.model_validate(written)


def server() -> Mock:
    made = Mock(tables={"sbtest": "sbtest1"})
    table = made.product.table
    table.state.return_value = table.expected.return_value = HELD
    table.is_purging.return_value = False
    return made


def trial_data(made: Mock, *workloads: UserWorkload, is_filled: bool) -> TrialData:
    shapes: tuple[Any, ...] = ("sbtest",) if is_filled else ()
    contents: Any = {"sbtest": TableContent(rows=50, seed=5)} if is_filled else {}
    needs = DataNeeds(shapes, shapes, {one.name: one for one in workloads})
    return TrialData(cast(Server, made), contents, needs)


def case(workload: str) -> CaseLevels:
    return CaseLevels.of({"workload": workload})


def test_a_workload_that_writes_tables_of_its_own_alone_needs_no_other() -> None:
    made, database = server(), cast(Database, Mock())
    data = trial_data(
        made,
        own("orders", "INSERT INTO orders VALUES ({id})", restore=["TRUNCATE orders"]),
        is_filled=False,
    )
    for _ in range(2):
        assert data.ready(database, case("orders")) == ()
    assert not made.product.table.state.called
    assert not made.product.table.put_back.called
    assert made.carry_out.call_count == 2, "its own tables are restored before each trial"
    assert made.product.table.write_changed_pages.call_count == 2, (
        "what it wrote is written out before the next"
    )


def test_what_a_case_writes_elsewhere_leaves_the_filled_table_alone() -> None:
    made, database = server(), cast(Database, Mock())
    data = trial_data(made, own("orders", "INSERT INTO orders VALUES ({id})"), is_filled=True)
    assert data.ready(database, case("update")) == (HELD,)
    assert not made.product.table.put_back.called, "nothing has changed it yet"
    assert data.ready(database, case("orders")) == (HELD,), "the trial before changed it"
    assert data.ready(database, case("orders")) == ()
    assert made.product.table.put_back.call_count == 1
