"""Workloads as the contract describes them: the built-in ones by name, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tlstax.contract import Workload
from tlstax.study.level_names import STREAM, TABLE_RECONNECT, TABLE_SELECT
from tlstax.study.level_names import WORKLOADS as NAMES
from tlstax.study.product import DEFAULT, ProductName
from tlstax.study.workloads import statements
from tlstax.study.workloads.effects import (
    EMPTY,
    KEPT,
    TABLES,
    RowsChanged,
    Shape,
    can_be_shared,
    draws_once,
    each_changed,
    part_of,
    put_back_sql,
    returns_rows,
    rows_changed,
    sequences_of,
    transactions_each,
    verb,
    writes,
)
from tlstax.study.workloads.sized import Inserted, Rows, Sent, Session

__all__ = [
    "EMPTY",
    "KEPT",
    "NAMES",
    "TABLES",
    "Inserted",
    "Rows",
    "RowsChanged",
    "Session",
    "Shape",
    "built_in",
    "by_numbers",
    "can_be_repeated",
    "can_be_shared",
    "changes_data",
    "draws_once",
    "each_changed",
    "in_words",
    "is_built_in",
    "needs_table",
    "part_of",
    "put_back_sql",
    "returns_rows",
    "rows_changed",
    "sequences_of",
    "table_of",
    "transactions_each",
    "verb",
    "writes",
]


@dataclass(frozen=True)
class _BuiltIn:
    table: Shape
    words: str
    made: Callable[[str, int], Workload]
    reads_table: bool = True


_BUILT_IN = {
    "point-select": _BuiltIn("sbtest", "point selects on kept connections", statements.point_select),
    "reconnect": _BuiltIn("sbtest", "reconnecting for every point select", statements.reconnect),
    "ping": _BuiltIn("sbtest", "pings on kept connections", statements.ping, reads_table=False),
    "reconnect-ping": _BuiltIn(
        "sbtest", "reconnecting for every ping", statements.reconnect_ping, reads_table=False
    ),
    "storm": _BuiltIn("sbtest", "connection storms", statements.storm),
    "select-range": _BuiltIn("sbtest", "selects of 100 rows by key", statements.select_range),
    "insert": _BuiltIn("sbtest", "inserts of one row", statements.insert),
    "update": _BuiltIn("sbtest", "updates of one row by key", statements.update),
    "delete": _BuiltIn("sbtest", "deletes of one row by key", statements.delete),
    "oltp-read-only": _BuiltIn("sbtest", "sysbench's read-only transactions", statements.read_only),
    "oltp-read-write": _BuiltIn("sbtest", "sysbench's read-write transactions", statements.read_write),
    "people-insert": _BuiltIn("people", "inserts into people", statements.people_insert),
    "people-select": _BuiltIn("people", "selects of all of people", statements.people_select),
    "people-update": _BuiltIn("people", "updates in people without an index", statements.people_update),
    "people-delete": _BuiltIn("people", "deletes from people without an index", statements.people_delete),
    "words-insert": _BuiltIn("words", "inserts of a word in one transaction", statements.words_insert),
    "words-execute": _BuiltIn("words", "the same inserts by execute()", statements.words_execute),
    STREAM: _BuiltIn("sbtest", "whole copies", statements.stream),
}


_OF_TABLE_THERE = {
    TABLE_SELECT: "selects of a key on kept connections",
    TABLE_RECONNECT: "reconnecting for every select of a key",
}


def built_in(name: str, table: str, rows: int, product: ProductName = DEFAULT) -> Workload:
    """The workload of that name over ids 1 to `rows` of `table`, as the product has it.

    KeyError for another name.
    """
    sized = by_numbers(name)
    if isinstance(sized, Rows):
        return sized.workload(table, rows, product)
    made = sized.workload(table, rows) if sized else _BUILT_IN[name].made(table, rows)
    return statements.as_at(product, made)


@cache
def by_numbers(name: str) -> Session | Rows | Sent | Inserted | None:
    """What a name with numbers in it stands for; None for another one."""
    return Session.named(name) or Rows.named(name) or Sent.named(name) or Inserted.named(name)


def is_built_in(name: str) -> bool:
    """Whether the workload of that name is one of ours, and not a user's own."""
    return name in NAMES or by_numbers(name) is not None


def table_of(name: str) -> Shape:
    """The shape of the table that the built-in workload works on. KeyError for another name."""
    sized = by_numbers(name)
    if isinstance(sized, Inserted):
        return "bodies"
    if isinstance(sized, Session):
        return "answers"
    return "sbtest" if sized else _BUILT_IN[name].table


def needs_table(name: str) -> bool:
    """Whether the built-in workload has anything to do with its table."""
    return name not in _BUILT_IN or _BUILT_IN[name].reads_table


def changes_data(name: str) -> bool:
    """Whether the built-in workload changes its table. KeyError for another name."""
    return writes(built_in(name, TABLES[table_of(name)], 1))


def can_be_repeated(name: str) -> bool:
    """Whether a round of the workload costs the same on what the round before left.

    That holds where rows are only added to a table without an index. Of a name that is not built in nothing
    is known.
    """
    if name not in _BUILT_IN or table_of(name) != "people":
        return False
    changed = rows_changed(built_in(name, TABLES["people"], 1))
    return changed.inserted > 0 == changed.updated == changed.deleted


def in_words(name: str) -> str:
    """What the workload is called in a report; a name that is not built in stands for itself."""
    if sized := by_numbers(name):
        return sized.words
    if name in _OF_TABLE_THERE:
        return _OF_TABLE_THERE[name]
    return _BUILT_IN[name].words if name in _BUILT_IN else name
