"""Built-in workloads: sysbench's statements as sysbench has them, and what each does to its table."""

from __future__ import annotations

import re

import pytest

from tlstax.contract import Offset, Sequence, Transaction, Workload
from tlstax.sql.table_rows import WORDS, TableContent
from tlstax.study import workloads

ROWS = 1000

READS = [
    (10, "SELECT c FROM sbtest1 WHERE id={id}"),
    (1, "SELECT c FROM sbtest1 WHERE id BETWEEN {id} AND {last}"),
    (1, "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN {id} AND {last}"),
    (1, "SELECT c FROM sbtest1 WHERE id BETWEEN {id} AND {last} ORDER BY c"),
    (1, "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN {id} AND {last} ORDER BY c"),
]
WRITES = [
    (1, "UPDATE sbtest1 SET k=k+1 WHERE id={id}"),
    (1, "UPDATE sbtest1 SET c={c} WHERE id={id}"),
    (1, "DELETE FROM sbtest1 WHERE id={id}"),
    (1, "INSERT INTO sbtest1 (id, k, c, pad) VALUES ({id}, {k}, {c}, {pad})"),
]
WRITING = {
    "insert": workloads.RowsChanged(inserted=1),
    "update": workloads.RowsChanged(updated=1),
    "delete": workloads.RowsChanged(deleted=1),
    "oltp-read-write": workloads.RowsChanged(inserted=1, updated=2, deleted=1),
    "people-insert": workloads.RowsChanged(inserted=1),
    "people-update": workloads.RowsChanged(updated=1),
    "people-delete": workloads.RowsChanged(deleted=1),
    "words-insert": workloads.RowsChanged(inserted=1),
    "words-execute": workloads.RowsChanged(inserted=1),
}
SHAPES = {"people-": "people", "words-": "words"}


def only_transaction(name: str) -> Transaction:
    (transaction,) = workloads.built_in(name, "sbtest1", ROWS).transactions
    return transaction


@pytest.mark.parametrize(
    ("name", "statements"), [("oltp-read-only", READS), ("oltp-read-write", [*READS, *WRITES])]
)
def test_mixes_are_sysbenchs_statements_in_its_order(name: str, statements: list[tuple[int, str]]) -> None:
    transaction = only_transaction(name)
    assert transaction.bracketed
    assert [(each.repeat, each.sql) for each in transaction.statements] == statements


def test_ranges_are_a_hundred_ids() -> None:
    for statement in only_transaction("oltp-read-only").statements[1:]:
        assert statement.parameters["last"] == Offset(of="id", by=99)


def test_the_row_that_is_deleted_is_inserted_again() -> None:
    transaction = only_transaction("oltp-read-write")
    deletes, inserts = transaction.statements[-2:]
    assert "id" in transaction.parameters
    assert "id" not in {**deletes.parameters, **inserts.parameters}


@pytest.mark.parametrize("name", ["delete", "people-delete"])
def test_deletes_take_every_row_once(name: str) -> None:
    (statement,) = workloads.built_in(name, "t", ROWS).statements
    assert statement.parameters["id"] == Sequence(first=1, last=ROWS)


@pytest.mark.parametrize("name", ["insert", "people-insert"])
def test_inserts_do_not_meet_the_rows_of_the_table(name: str) -> None:
    (statement,) = workloads.built_in(name, "t", ROWS).statements
    new_id = statement.parameters["id"]
    assert isinstance(new_id, Sequence)
    assert new_id.first > ROWS


@pytest.mark.parametrize("name", workloads.NAMES)
def test_it_is_known_what_a_workload_changes(name: str) -> None:
    expected = WRITING.get(name, workloads.RowsChanged())
    assert workloads.rows_changed(workloads.built_in(name, "t", ROWS)) == expected
    assert workloads.changes_data(name) == (name in WRITING)


@pytest.mark.parametrize("name", workloads.NAMES)
def test_all_parameters_of_a_statement_are_there_and_used(name: str) -> None:
    for transaction in workloads.built_in(name, "t", ROWS).transactions:
        for statement in transaction.statements:
            wanted = set(re.findall(r"\{(\w+)\}", statement.sql))
            assert set(statement.parameters) <= wanted <= {*statement.parameters, *transaction.parameters}


@pytest.mark.parametrize("name", workloads.NAMES)
def test_every_workload_has_words_and_a_table(name: str) -> None:
    assert workloads.in_words(name) != name
    expected = next((shape for start, shape in SHAPES.items() if name.startswith(start)), "sbtest")
    assert workloads.table_of(name) == expected


def test_the_word_is_inserted_as_it_was_published() -> None:
    """The published dump has a command of 40 bytes, its number and this; its answer has autocommit off."""
    words = workloads.built_in("words-insert", workloads.TABLES["words"], ROWS)
    (statement,) = words.statements
    assert statement.sql == "insert into words (word)  values('123')"
    assert (words.protocol, len(statement.sql)) == ("text", 0x28 - 1)
    assert words.on_connect == ("SET autocommit=0",)


def test_words_are_alike_and_have_ids_from_one_on() -> None:
    rows = [row for chunk in WORDS.chunks(TableContent(rows=20_001, seed=3, shape="words")) for row in chunk]
    assert (rows[0], rows[-1], len(rows)) == ((1, "123"), (20_001, "123"), 20_001)


def test_a_storm_asks_nothing_and_so_shows_no_rows() -> None:
    storm = workloads.built_in("storm", "sbtest1", ROWS)
    assert storm.storm
    assert not workloads.returns_rows(storm)


def of(*statements: str, **changed: object) -> Workload:
    terms = {"statements": [{"sql": sql} for sql in statements]}
    return Workload.model_validate({**terms, **changed})


@pytest.mark.parametrize(
    "workload",
    [
        of("SET autocommit=0", "UPDATE t SET k=1"),
        of("START TRANSACTION", "UPDATE t SET k=1"),
        of("LOCK TABLES t WRITE"),
        of("UPDATE t SET k=1", on_connect=["SET autocommit=0"]),
        workloads.built_in("delete", "sbtest1", 10_000),
        workloads.built_in("words-insert", "words", 0),
    ],
)
def test_what_would_be_left_open_or_used_up_is_not_shared(workload: Workload) -> None:
    assert not workloads.can_be_shared(workload)


def test_what_is_over_with_its_operation_is_shared() -> None:
    for name in ("insert", "update", "oltp-read-write", "people-insert"):
        assert workloads.can_be_shared(workloads.built_in(name, "t", ROWS))
    assert workloads.can_be_shared(of("REPLACE INTO t VALUES (1)", "/* why */ DELETE FROM t WHERE id=2"))


def test_a_part_of_a_sequence_shares_no_number_with_another() -> None:
    """By hand: seven numbers from 4 on make three parts of two, and one is left over."""
    once = {"kind": "sequence", "first": 4, "last": 10}
    statement = {"sql": "DELETE FROM t WHERE a={a} AND b={b}", "parameters": {"b": once}}
    mixed = Workload.model_validate(
        {"mix": [{"parameters": {"a": once}, "statements": [statement]}]}, strict=False
    )
    parts = [workloads.part_of(mixed, place, 3).mix[0] for place in range(3)]
    wanted = [Sequence(first=4, last=5), Sequence(first=6, last=7), Sequence(first=8, last=9)]
    assert [one.parameters["a"] for one in parts] == wanted
    assert [one.statements[0].parameters["b"] for one in parts] == wanted
    drawn = workloads.built_in("update", "t", ROWS)
    assert workloads.part_of(drawn, 1, 3) == drawn, "what is drawn evenly may be drawn by all"


@pytest.mark.parametrize(
    ("name", "each"),
    [("point-select", 1), ("reconnect", 1), ("oltp-read-write", 1), ("words-insert", 0), ("storm", 0)],
)
def test_how_many_transactions_an_operation_is(name: str, each: int) -> None:
    """Where each statement commits by itself, each is one; of a storm there is none, but its logins."""
    assert workloads.transactions_each(workloads.built_in(name, "t", ROWS, "postgresql")) == each


def test_each_statement_outside_a_bracket_is_a_transaction() -> None:
    assert workloads.transactions_each(workloads.built_in("session-10x120", "t", ROWS, "postgresql")) == 10
