"""What workloads do to their data, as far as their statements show."""

from __future__ import annotations

import re
from typing import NamedTuple

from tlstax.contract import Sequence, Statement, Workload

_COMMENT = r"(?:\s*/\*.*?\*/)*"
"""Comments before a statement say nothing of what it does."""

_READS = re.compile(
    _COMMENT + r"\s*(SELECT|SHOW|DO|VALUES|TABLE|EXPLAIN|DESCRIBE|DESC|SET|BEGIN|COMMIT)\b", re.IGNORECASE
)
_CHANGES = re.compile(_COMMENT + r"\s*(INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(_COMMENT + r"\s*(\w+)")


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
    return any(
        not _READS.match(statement.sql) for one in workload.transactions for statement in one.statements
    )


def draws_once(workload: Workload) -> bool:
    """Whether it draws values that each are there once, so that a warm-up would use them up."""
    drawn = [one.parameters for one in workload.transactions]
    drawn += [statement.parameters for one in workload.transactions for statement in one.statements]
    return any(isinstance(parameter, Sequence) for each in drawn for parameter in each.values())


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
