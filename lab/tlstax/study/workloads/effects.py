"""The tables that workloads work on, by shape, and what workloads do to them as far as statements show."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from tlstax.contract import Parameter, Sequence, Statement, Transaction, Workload

Drawing = TypeVar("Drawing", Statement, Transaction)

Shape = Literal["sbtest", "people", "words", "bodies", "answers"]
"""How a table is laid out and filled: sysbench's; people with names and addresses, without an index; words,
or bodies of any size, whose ids the server gives; answers of the sizes that are asked for."""

TABLES: dict[Shape, str] = {
    "sbtest": "sbtest1",
    "people": "people",
    "words": "words",
    "bodies": "bodies",
    "answers": "answers",
}
"""What the table of each shape is called in a schema of the laboratory's own."""

EMPTY: frozenset[Shape] = frozenset({"bodies"})
"""The shapes that have no rows before a trial: what is inserted is the same whatever there is."""

KEPT = "_kept"
"""Ends the name of a table's copy that is never worked on."""


def put_back_sql(table: str) -> tuple[str, ...]:
    """The statements that make a table equal to its kept copy."""
    return (f"TRUNCATE TABLE {table}", f"INSERT INTO {table} SELECT * FROM {table}{KEPT}")  # noqa: S608


_COMMENT = r"(?:\s*/\*.*?\*/)*"
"""Comments before a statement say nothing of what it does."""

_READS = re.compile(
    _COMMENT + r"\s*(SELECT|SHOW|DO|VALUES|TABLE|EXPLAIN|DESCRIBE|DESC|SET|BEGIN|COMMIT)\b", re.IGNORECASE
)
_CHANGES = re.compile(_COMMENT + r"\s*(INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(_COMMENT + r"\s*(\w+)")


_LEAVE_NOTHING_OPEN = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE"})
"""Statements that are over with their answer, as connections begin: each is a transaction of its own, or part
of one that ends with its operation."""

SHARED_NUMBERS = 100_000_000
"""How many numbers a sequence has at least of which each client of a sitting gets a part: a million each for
a hundred clients, more than a client uses in the longest window."""


def transactions_each(workload: Workload) -> int:
    """How many transactions an operation is, at the least; none where its connection has one open for all."""
    if any(verb(Statement(sql=said)) == "BEGIN" for said in workload.on_connect):
        return 0
    of_units = [
        1 if unit.bracketed else sum(one.repeat for one in unit.statements) for unit in workload.transactions
    ]
    return min(of_units, default=0)


class RowsChanged(NamedTuple):
    """Rows that one operation changes, each of its statements changing one."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0


def writes(workload: Workload) -> bool:
    """Whether it may change data: whether any of its statements is of a kind that does more than read.

    What is not known to read only counts as writing, so that data is put back once too often rather than
    not at all.
    """
    return any(not _READS.match(statement.sql) for statement in workload.all_statements)


def draws_once(workload: Workload) -> bool:
    """Whether it draws values that each are there once, so that a warm-up would use them up."""
    return bool(sequences_of(workload))


def can_be_shared(workload: Workload) -> bool:
    """Whether clients can do it in turn on the same tables, each resting while another works.

    What a client leaves open when it rests, such as a transaction, would keep the others from their rows. So
    nothing may be said on connecting, which might turn autocommit off, and there may be no statement whose
    effect lasts beyond its operation. What is drawn once must not run out when it is shared.
    """
    plain = all(verb(statement) in _LEAVE_NOTHING_OPEN for statement in workload.all_statements)
    enough = all(each.last - each.first + 1 >= SHARED_NUMBERS for each in sequences_of(workload))
    return plain and enough and not workload.on_connect


def part_of(workload: Workload, place: int, parts: int) -> Workload:
    """The same with one of N parts of each of its sequences, the first having the place 0."""

    def parted(drawing: Drawing) -> Drawing:
        drawn = {name: _part(one, place, parts) for name, one in drawing.parameters.items()}
        return drawing.model_copy(update={"parameters": drawn})

    changed = each_changed(workload, parted)
    return changed.model_copy(update={"mix": tuple(map(parted, changed.mix))})


def each_changed(workload: Workload, change: Callable[[Statement], Statement]) -> Workload:
    """The same with each of its statements changed so."""
    mix = tuple(
        one.model_copy(update={"statements": tuple(map(change, one.statements))}) for one in workload.mix
    )
    return workload.model_copy(update={"mix": mix, "statements": tuple(map(change, workload.statements))})


def _part(parameter: Parameter, place: int, parts: int) -> Parameter:
    if not isinstance(parameter, Sequence):
        return parameter
    each = (parameter.last - parameter.first + 1) // parts
    first = parameter.first + place * each
    return Sequence(first=first, last=first + each - 1)


def sequences_of(workload: Workload) -> tuple[Sequence, ...]:
    """What of a workload is drawn in its order, each value once over all connections."""
    return tuple(one for one in workload.all_parameters if isinstance(one, Sequence))


def returns_rows(workload: Workload) -> bool:
    """Whether every operation has an answer with rows: every transaction has a SELECT, and it is no storm."""
    return not workload.storm and all(
        any(verb(statement) == "SELECT" for statement in one.statements) for one in workload.transactions
    )


def rows_changed(workload: Workload) -> RowsChanged:
    """What an operation changes, of a workload with one kind of transaction, each statement of one row.

    A storm changes none.
    """
    if workload.storm:
        return RowsChanged()
    (transaction,) = workload.transactions
    counts = {"INSERT": 0, "UPDATE": 0, "DELETE": 0}
    for statement in transaction.statements:
        if _CHANGES.match(statement.sql):
            counts[verb(statement)] += statement.repeat
    return RowsChanged(inserted=counts["INSERT"], updated=counts["UPDATE"], deleted=counts["DELETE"])


def verb(statement: Statement) -> str:
    """The word that says what the statement does, in capitals; empty where it begins with none."""
    first = _FIRST_WORD.match(statement.sql)
    return first[1].upper() if first else ""
