"""The workloads of sysbench 1.0.20 on its table, statement by statement.

Source: oltp_common.lua and the oltp_*.lua beside it. Ids are drawn evenly (--rand-type=uniform). Two things
differ: inserts say their ids, which follow on the table's, where sysbench leaves them to AUTO_INCREMENT; and
deletes take the ids one after another, so that each of them finds its row, where sysbench draws them.
"""

from __future__ import annotations

from tlstax.contract import Digits, Offset, Sequence, Statement, Transaction, UniformInt, Workload

POINT_SELECTS = 10
RANGE_SIZE = 100

_GROUP = "#" * 11
C_TEMPLATE = "-".join([_GROUP] * 10)
PAD_TEMPLATE = "-".join([_GROUP] * 5)

LAST_ID = 2**31 - 1
"""The largest value of the column `id`, an INTEGER."""


def point_select(table: str, rows: int) -> Workload:
    """oltp_point_select: one row by its primary key."""
    return Workload(protocol="prepared", statements=(_by_id(table, rows),))


def reconnect(table: str, rows: int) -> Workload:
    """Connect, select one row with a text query (what runs once is not worth preparing), disconnect."""
    return Workload(reconnect=True, protocol="text", statements=(_by_id(table, rows),))


def select_range(table: str, rows: int) -> Workload:
    """The simple range of the read-only mix, by itself."""
    return Workload(protocol="prepared", statements=(_range("SELECT c FROM {table}", table, rows),))


def insert(table: str, rows: int) -> Workload:
    """oltp_insert, prepared: one row with the next id."""
    new_id = Sequence(first=rows + 1, last=LAST_ID)
    return Workload(protocol="prepared", statements=(_insert(table, rows, {"id": new_id}),))


def update(table: str, rows: int) -> Workload:
    """oltp_update_index: the indexed column of one row."""
    return Workload(protocol="prepared", statements=(_update_index(table, rows),))


def delete(table: str, rows: int) -> Workload:
    """oltp_delete over ids in their order; when all rows are gone, it is over."""
    by_id = Statement(sql=_delete_sql(table), parameters={"id": Sequence(first=1, last=rows)})
    return Workload(protocol="prepared", statements=(by_id,))


def read_only(table: str, rows: int) -> Workload:
    """oltp_read_only: ten point selects and four ranges, in a transaction."""
    return Workload(protocol="prepared", mix=(Transaction(bracketed=True, statements=_reads(table, rows)),))


def read_write(table: str, rows: int) -> Workload:
    """oltp_read_write: the read-only mix, two updates, and a row deleted and inserted again."""
    statements = (
        *_reads(table, rows),
        _update_index(table, rows),
        Statement(
            sql=f"UPDATE {table} SET c={{c}} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
            parameters={"c": Digits(template=C_TEMPLATE), "id": _any_id(rows)},
        ),
        Statement(sql=_delete_sql(table)),
        _insert(table, rows, {}),
    )
    # The row that is deleted is the one that is inserted: its id is drawn once, for both statements.
    once = {"id": _any_id(rows)}
    return Workload(
        protocol="prepared", mix=(Transaction(bracketed=True, parameters=once, statements=statements),)
    )


def _reads(table: str, rows: int) -> tuple[Statement, ...]:
    """The statements of the read-only mix in their order."""
    return (
        _by_id(table, rows).model_copy(update={"repeat": POINT_SELECTS}),
        _range("SELECT c FROM {table}", table, rows),
        _range("SELECT SUM(k) FROM {table}", table, rows),
        _range("SELECT c FROM {table}", table, rows, " ORDER BY c"),
        _range("SELECT DISTINCT c FROM {table}", table, rows, " ORDER BY c"),
    )


def _any_id(rows: int) -> UniformInt:
    return UniformInt(low=1, high=rows)


def _by_id(table: str, rows: int) -> Statement:
    return Statement(
        sql=f"SELECT c FROM {table} WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        parameters={"id": _any_id(rows)},
    )


def _range(head: str, table: str, rows: int, tail: str = "") -> Statement:
    return Statement(
        sql=f"{head.format(table=table)} WHERE id BETWEEN {{id}} AND {{last}}{tail}",
        parameters={"id": _any_id(rows), "last": Offset(of="id", by=RANGE_SIZE - 1)},
    )


def _update_index(table: str, rows: int) -> Statement:
    return Statement(
        sql=f"UPDATE {table} SET k=k+1 WHERE id={{id}}",  # noqa: S608 - the table's name is our own
        parameters={"id": _any_id(rows)},
    )


def _delete_sql(table: str) -> str:
    return f"DELETE FROM {table} WHERE id={{id}}"  # noqa: S608 - the table's name is our own


def _insert(table: str, rows: int, new_id: dict[str, Sequence]) -> Statement:
    """A new row; without an id of its own it takes the transaction's."""
    return Statement(
        sql=f"INSERT INTO {table} (id, k, c, pad) VALUES ({{id}}, {{k}}, {{c}}, {{pad}})",  # noqa: S608
        parameters={
            **new_id,
            "k": _any_id(rows),
            "c": Digits(template=C_TEMPLATE),
            "pad": Digits(template=PAD_TEMPLATE),
        },
    )
