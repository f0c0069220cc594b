"""Workloads that write, against real servers: what the server did is what the engine says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from load_jobs import ROWS, WITHIN_S, client, job, measured

from tlstax.clients.process import ClientFailure
from tlstax.contract import (
    Digits,
    Done,
    Offset,
    OneOf,
    Protocol,
    Sequence,
    Statement,
    TlsOn,
    Transaction,
    UniformInt,
    Workload,
)
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent
from tlstax.stats.histograms import decode

ID = UniformInt(low=1, high=ROWS)
OPERATIONS = 600
# Below the others, one for each update: transactions that draw their rows run into deadlocks now and then.
UPDATED = Sequence(first=-3 * OPERATIONS, last=-1)
TEXTS = ("it's", 'a "quote"', "back\\slash's", "naïve", "")


@pytest.fixture
def filled(private: PrivateServer) -> Iterator[PrivateServer]:
    """A table of ours beside the laboratory's, with ids 1 to ROWS, text and a number."""
    yield from with_table(private)


@pytest.fixture
def mysql_filled(mysql: PrivateServer) -> Iterator[PrivateServer]:
    yield from with_table(mysql)


def with_table(server: PrivateServer) -> Iterator[PrivateServer]:
    server.prepare_table(TableContent(rows=ROWS, seed=1))
    run(server, "DROP TABLE IF EXISTS tlstax.written")
    run(
        server, "CREATE TABLE tlstax.written (id INT PRIMARY KEY, k INT, c VARCHAR(40)) CHARACTER SET utf8mb4"
    )
    fill(server, 1, ROWS)
    yield server
    run(server, "DROP TABLE tlstax.written")


def fill(server: PrivateServer, first: int, last: int) -> None:
    rows = ",".join(f"({number},0,'')" for number in range(first, last + 1))
    run(server, f"INSERT INTO tlstax.written VALUES {rows}")  # noqa: S608 - numbers of our own


def run(server: PrivateServer, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with server.admin() as database:
        return database.rows(sql, values)


def counted(server: PrivateServer) -> dict[str, int]:
    """How often the server has run each kind of statement, and each way of running one."""
    with server.admin() as database:
        return {
            name.removeprefix("Com_").lower(): int(value)
            for name, value in database.rows("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
        }


def window(server: PrivateServer, workload: Workload, **changes: object) -> tuple[Done, dict[str, int]]:
    """A job's result, and what the server counted between `ready` and `done`."""
    wanted = {"workload": workload, "warmup_s": 0.0, **changes}
    with client(job(server, **wanted)) as started:
        started.wait_ready(WITHIN_S)
        before = counted(server)
        started.go()
        done = started.wait_done(WITHIN_S)
        after = counted(server)
    return done, {name: after[name] - before[name] for name in after}


def mixed(protocol: Protocol, *, reconnect: bool = False) -> Workload:
    """Reads, and in brackets a delete, an insert of the same row and an update."""
    read = Transaction(
        weight=1,
        parameters={"id": ID},
        statements=(
            Statement(
                sql="SELECT c FROM tlstax.written WHERE id BETWEEN {id} AND {high}",
                parameters={"high": Offset(of="id", by=9)},
                repeat=2,
            ),
        ),
    )
    write = Transaction(
        weight=2,
        bracketed=True,
        parameters={"id": Sequence(first=ROWS + 1, last=ROWS + 100_000)},
        statements=(
            Statement(
                sql="INSERT INTO tlstax.written (id, k, c) VALUES ({id}, {k}, {c})",
                parameters={"k": ID, "c": OneOf(values=TEXTS)},
            ),
            Statement(
                sql="UPDATE tlstax.written SET k=k+1 WHERE id={low}",
                parameters={"low": UPDATED},
                repeat=3,
                protocol="text",
            ),
            Statement(sql="DELETE FROM tlstax.written WHERE id={id}"),
            Statement(
                sql="INSERT INTO tlstax.written (id, k, c) VALUES ({id}, 0, {c})",
                parameters={"c": Digits(template="<###-##>")},
            ),
        ),
    )
    on_connect = ("SET SESSION innodb_lock_wait_timeout=20",)
    return Workload(reconnect=reconnect, protocol=protocol, mix=(read, write), on_connect=on_connect)


def queries(done: Done) -> int:
    """How many statements of operations were answered."""
    phases = [done.histograms_ns.get(name) for name in ("first_query", "query")]
    return sum(decode(phase).count for phase in phases if phase)


@pytest.mark.parametrize("protocol", ["text", "prepared"])
@pytest.mark.parametrize("reconnect", [False, True])
def test_the_server_counts_every_statement_of_a_mix(
    filled: PrivateServer, protocol: Protocol, reconnect: bool
) -> None:
    fill(filled, UPDATED.first, UPDATED.last)
    workload = mixed(protocol, reconnect=reconnect)
    done, seen = window(filled, workload, operations=OPERATIONS, duration_s=30.0)
    assert done.errors == ()
    assert (done.operations, done.scheduled, done.row_samples) == (OPERATIONS, OPERATIONS, ())
    writes = seen["commit"]
    # Two of three, on average: five standard deviations of 600 drawn are 58.
    assert 342 < writes < 458
    reads = done.operations - writes
    expected = {
        "begin": writes,
        "insert": 2 * writes,
        "update": 3 * writes,
        "delete": writes,
        "select": 2 * reads,
        "rollback": 0,
    }
    assert {name: seen[name] for name in expected} == expected
    assert queries(done) == 9 * writes - writes + 2 * reads
    prepared = 0 if protocol == "text" else 3 * writes + 2 * reads
    assert seen["stmt_execute"] == prepared
    ((rows, digits),) = run(
        filled,
        "SELECT COUNT(*), SUM(c REGEXP '^<[0-9]{3}-[0-9]{2}>$') FROM tlstax.written WHERE id > %s",
        ROWS,
    )
    assert rows == digits == writes


@pytest.mark.parametrize("protocol", ["text", "prepared"])
@pytest.mark.parametrize("sql_mode", ["", "NO_BACKSLASH_ESCAPES"])
def test_texts_arrive_as_they_are(filled: PrivateServer, protocol: Protocol, sql_mode: str) -> None:
    statement = Statement(
        sql="UPDATE tlstax.written SET c={c} WHERE id={id}",
        parameters={"id": Sequence(first=1, last=ROWS), "c": OneOf(values=TEXTS)},
    )
    on_connect = (f"SET SESSION sql_mode='{sql_mode}'",)
    written = Workload(protocol=protocol, statements=(statement,), on_connect=on_connect)
    done, seen = window(filled, written, duration_s=30.0)
    assert done.operations == seen["update"] == ROWS
    found = run(filled, "SELECT c, COUNT(*) FROM tlstax.written GROUP BY BINARY c, c")
    assert {text for text, _ in found} == set(TEXTS)
    assert sum(count for _, count in found) == ROWS


def test_a_sequence_gives_every_number_once_and_ends_the_window(filled: PrivateServer) -> None:
    """Over two threads, and from the warm-up on."""
    delete = Statement(
        sql="DELETE FROM tlstax.written WHERE id={id}", parameters={"id": Sequence(first=1, last=ROWS)}
    )
    workload = Workload(protocol="prepared", statements=(delete,))
    done, seen = window(filled, workload, connections=5, threads=2, duration_s=30.0)
    assert done.operations == done.scheduled == seen["delete"] == ROWS
    assert done.errors == ()
    assert done.elapsed_s < 30.0
    assert run(filled, "SELECT COUNT(*) FROM tlstax.written") == [(0,)]


def test_what_the_warm_up_took_of_a_sequence_is_gone(filled: PrivateServer) -> None:
    before = counted(filled)["insert"]
    insert = Statement(
        sql="INSERT INTO tlstax.written VALUES ({id}, 0, '')",
        parameters={"id": Sequence(first=ROWS + 1, last=ROWS + 1_000_000)},
    )
    done, seen = window(filled, Workload(statements=(insert,)), warmup_s=0.05, operations=50, duration_s=30.0)
    assert (done.operations, seen["insert"], done.errors) == (50, 50, ())
    in_all = counted(filled)["insert"] - before
    assert in_all > 50
    assert run(filled, "SELECT COUNT(*), MAX(id) FROM tlstax.written WHERE id > %s", ROWS) == [
        (in_all, ROWS + in_all)
    ]


def contended() -> Workload:
    """Two rows, updated in either order: sooner or later two transactions wait for each other."""

    def update(row: int) -> Statement:
        return Statement(sql=f"UPDATE tlstax.written SET k=k+1 WHERE id={row}")  # noqa: S608 - a number of our own

    there = Transaction(bracketed=True, statements=(update(1), update(2)))
    back = Transaction(bracketed=True, statements=(update(2), update(1)))
    return Workload(protocol="prepared", mix=(there, back))


def test_a_deadlock_costs_an_operation_and_no_connection(mysql_filled: PrivateServer) -> None:
    tls = TlsOn(min_version="1.3", verify="ca", ca_file=mysql_filled.ca_file)
    done, seen = window(mysql_filled, contended(), connections=8, operations=2000, duration_s=30.0, tls=tls)
    failed = sum(error.count for error in done.errors)
    assert {(error.kind, error.code) for error in done.errors} == {("server_error", 1213)}
    assert failed > 0
    assert (done.operations, done.scheduled) == (2000 - failed, 2000)
    assert (seen["rollback"], seen["commit"]) == (failed, done.operations)
    assert (done.window.connections, done.window.handshakes) == (0, ())
    assert run(mysql_filled, "SELECT SUM(k) FROM tlstax.written") == [(2 * done.operations,)]


def test_a_lock_that_is_not_given_up_rolls_the_whole_operation_back(filled: PrivateServer) -> None:
    waiting = contended().model_copy(update={"on_connect": ("SET SESSION innodb_lock_wait_timeout=1",)})
    with filled.admin() as holder:
        holder.rows("BEGIN")
        holder.rows("UPDATE tlstax.written SET k=0 WHERE id=2")
        done, seen = window(filled, waiting, connections=2, duration_s=0.5)
        holder.rows("ROLLBACK")
    assert {error.code for error in done.errors} == {1205}
    assert done.operations == 0
    assert seen["rollback"] == done.scheduled == 2
    assert done.window.connections == 0
    assert run(filled, "SELECT SUM(k) FROM tlstax.written") == [(0,)]


def test_samples_are_of_workloads_that_only_ask(filled: PrivateServer) -> None:
    whole = Workload(statements=(Statement(sql="SELECT * FROM tlstax.written"),))
    _, done = measured(job(filled, workload=whole))
    assert done.row_samples
    assert {len(sample.rows) for sample in done.row_samples} == {ROWS}


def test_a_client_that_works_in_one_go_refuses_to_put_data_back(filled: PrivateServer) -> None:
    in_rounds = job(filled, rounds=5, reset=("TRUNCATE tlstax.written",))
    with client(in_rounds) as started, pytest.raises(ClientFailure) as failure:
        started.wait_ready(WITHIN_S)
    assert (failure.value.errors[0].kind, failure.value.errors[0].fault) == ("bad_job", "job")
    assert "reset" in str(failure.value)


def test_an_opening_statement_that_is_refused_ends_the_job(filled: PrivateServer) -> None:
    opened = Workload(statements=(Statement(sql="SELECT 1"),), on_connect=("SET SESSION nonsense=1",))
    with client(job(filled, workload=opened)) as started, pytest.raises(ClientFailure) as failure:
        started.wait_ready(WITHIN_S)
    assert failure.value.errors[0].kind == "server_error"
    assert "nonsense" in str(failure.value)


def test_a_connection_that_was_lost_is_opened_again_with_all_that_it_had(filled: PrivateServer) -> None:
    """What was said and prepared on the first is said and prepared on the next."""
    setting = Statement(
        sql="UPDATE tlstax.written SET k=@step WHERE id={id}", parameters={"id": Sequence(first=1, last=ROWS)}
    )
    workload = Workload(protocol="prepared", statements=(setting,), on_connect=("SET @step=7",))
    slow = job(filled, workload=workload, warmup_s=0.0, duration_s=30.0, connections=2)
    with client(slow) as started:
        started.wait_ready(WITHIN_S)
        lost = run(filled, "SELECT id FROM information_schema.processlist WHERE user LIKE '%load%'")
        for (number,) in lost:
            run(filled, f"KILL {number}")
        started.go()
        done = started.wait_done(WITHIN_S)
    failed = sum(error.count for error in done.errors)
    assert done.window.connections == len(lost) == 2
    assert done.operations + failed >= ROWS
    assert run(filled, "SELECT COUNT(*) FROM tlstax.written WHERE k=7") == [(done.operations,)]
