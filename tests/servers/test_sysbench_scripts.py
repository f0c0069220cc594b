"""sysbench's own scripts behind the contract: the server counts what they are said to do, and no more."""

from __future__ import annotations

from collections.abc import Mapping

import load_jobs
import pytest
from load_jobs import ROWS, WITHIN_S

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.clients.sysbench import obtain_client
from tlstax.contract import Done, Job, Protocol, Statement, TlsOff, TlsOn, UniformInt, Workload
from tlstax.mysql.status import read_status
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.study import workloads

PER_OPERATION: dict[str, dict[str, int]] = {
    "point-select": {"Com_select": 1},
    "select-range": {"Com_select": 1},
    "insert": {"Com_insert": 1},
    "update": {"Com_update": 1},
    "oltp-read-only": {"Com_begin": 1, "Com_select": 14, "Com_commit": 1},
    "oltp-read-write": {
        "Com_begin": 1,
        "Com_select": 14,
        "Com_update": 2,
        "Com_delete": 1,
        "Com_insert": 1,
        "Com_commit": 1,
    },
}
"""What the server counts of each statement, prepared or not, in one operation."""

CASES = [(name, "text") for name in PER_OPERATION] + [
    (name, "prepared") for name in PER_OPERATION if name != "insert"
]


@pytest.fixture
def filled(mainly_mysql: PrivateServer) -> PrivateServer:
    """A server whose table is as it was before any test wrote to it."""
    mainly_mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    return mainly_mysql


def job(server: PrivateServer, workload: Workload, **changes: object) -> Job:
    return load_jobs.job(server, **{"workload": workload, "connections": 1, **changes})


def work(name: str, protocol: Protocol = "text", **changes: object) -> Workload:
    plain = workloads.built_in(name, "sbtest1", ROWS)
    return plain.model_copy(update={"protocol": protocol, **changes})


def tls(server: PrivateServer) -> TlsOn:
    return TlsOn(min_version="1.3", max_version="1.3", verify="ca", ca_file=server.ca_file)


def measured(server: PrivateServer, asked: Job) -> tuple[Done, Mapping[str, int]]:
    """What sysbench says of its window, and what the server counted meanwhile."""
    with server.admin() as admin, LoadClient(obtain_client(str)[1], asked) as client:
        client.wait_ready(WITHIN_S)
        before = read_status(admin)
        client.go()
        done = client.wait_done(WITHIN_S)
        return done, changed_counters(before, read_status(admin))


@pytest.mark.parametrize(
    "encrypted", [pytest.param(False, marks=pytest.mark.long), True], ids=["plaintext", "tls"]
)
@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_the_server_counted_every_statement_of_an_operation(
    filled: PrivateServer, name: str, protocol: Protocol, encrypted: bool
) -> None:
    asked = job(filled, work(name, protocol), tls=tls(filled) if encrypted else TlsOff())
    done, counted = measured(filled, asked)
    assert done.operations > 0
    assert done.errors == ()
    statements = {
        name: count
        for name, count in counted.items()
        if name in {"Com_select", "Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_commit"}
    }
    assert statements == {key: times * done.operations for key, times in PER_OPERATION[name].items()}
    executed = counted.get("Com_stmt_execute", 0)
    assert executed == (done.operations * prepared_of(name, filled) if protocol == "prepared" else 0)
    assert counted.get("Ssl_finished_accepts", 0) == 0


def prepared_of(name: str, server: PrivateServer) -> int:
    """How many statements of an operation are prepared: MySQL takes no prepared BEGIN, MariaDB does."""
    per_operation = PER_OPERATION[name]
    alone = sum(per_operation.values())
    return alone - per_operation.get("Com_begin", 0) if "MariaDB" not in server.version else alone


def test_inserted_rows_lie_beyond_the_tables(filled: PrivateServer) -> None:
    done, _ = measured(filled, job(filled, work("insert"), warmup_s=0.0))
    with filled.admin() as database:
        added, first = database.rows(f"SELECT COUNT(*), MIN(id) FROM sbtest1 WHERE id > {ROWS}")[0]  # noqa: S608
    assert added == done.operations
    assert first > ROWS


def test_deletes_with_ids_that_are_drawn_miss_ever_more(filled: PrivateServer) -> None:
    """That is sysbench's oltp_delete; the built-in workload goes through the table and is refused."""
    drawn = Statement(
        sql="DELETE FROM sbtest1 WHERE id={id}", parameters={"id": UniformInt(low=1, high=ROWS)}
    )
    asked = job(filled, Workload(protocol="prepared", statements=(drawn,)), operations=2 * ROWS, warmup_s=0.0)
    done, counted = measured(filled, asked.model_copy(update={"duration_s": 60.0}))
    assert done.operations == counted["Com_delete"] == 2 * ROWS
    assert 0 < counted["Handler_delete"] < ROWS
    with (
        pytest.raises(ClientFailure, match="at random"),
        LoadClient(obtain_client(str)[1], job(filled, work("delete"))) as client,
    ):
        client.wait_ready(WITHIN_S)


@pytest.mark.parametrize("connections", [1, 3])
def test_so_many_operations_are_done_as_were_asked_for(filled: PrivateServer, connections: int) -> None:
    asked = job(filled, work("update"), connections=connections, operations=100, rounds=5, duration_s=60.0)
    done, counted = measured(filled, asked)
    assert done.operations == done.scheduled == counted["Com_update"] == 100
    assert done.elapsed_s < 30


def test_what_connections_begin_with_is_said_on_each(filled: PrivateServer) -> None:
    with filled.admin() as database:
        database.rows("CREATE TABLE greeted (id BIGINT, word VARCHAR(9))")
        try:
            greeting = ("SET @word = 'a, b'", "INSERT INTO greeted SELECT CONNECTION_ID(), @word")
            measured(filled, job(filled, work("update", on_connect=greeting), connections=3))
            assert database.rows("SELECT COUNT(DISTINCT id), MIN(word), MAX(word) FROM greeted")[0] == (
                3,
                "a, b",
                "a, b",
            )
        finally:
            database.rows("DROP TABLE greeted")


@pytest.mark.parametrize("name", ["select-range", "oltp-read-only"])
def test_the_rows_shown_are_the_servers(filled: PrivateServer, name: str) -> None:
    done, _ = measured(filled, job(filled, work(name), row_samples=3))
    assert len(done.row_samples) == 3
    with filled.admin() as database:
        for sample in done.row_samples:
            assert tuple(database.rows(sample.sql)) == sample.rows
    widest = max(len(sample.rows) for sample in done.row_samples)
    assert widest > 1 if name == "select-range" else widest == 1


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_what_sysbench_ignores_is_counted(filled: PrivateServer, protocol: Protocol) -> None:
    """Eight transactions at once on ten rows: some are the victims of deadlocks, in the warm-up too."""
    hot = workloads.built_in("oltp-read-write", "sbtest1", 10).model_copy(update={"protocol": protocol})
    done, counted = measured(filled, job(filled, hot, connections=8, warmup_s=0.5, duration_s=1.0))
    assert counted["Com_commit"] == done.operations
    failed = sum(error.count for error in done.errors)
    assert failed == done.scheduled - done.operations > 0
    assert {error.code for error in done.errors} <= {1213, 1020, 1205}
    assert counted["Com_begin"] == done.scheduled
