"""What workloads do to their data, as far as their statements tell; pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from tlstax.contract import Statement, Workload

_READS = re.compile(
    r"\s*(SELECT|SHOW|DO|VALUES|TABLE|EXPLAIN|DESCRIBE|DESC|SET|BEGIN|COMMIT)\b", re.IGNORECASE
)
_CHANGES = re.compile(r"\s*(INSERT|UPDATE|DELETE)\b", re.IGNORECASE)


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


def returns_rows(workload: Workload) -> bool:
    """Whether every operation has an answer with rows: every transaction has a SELECT, and it is no storm."""
    return not workload.storm and all(
        any(_verb(statement) == "SELECT" for statement in one.statements) for one in workload.transactions
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
            counts[_verb(statement)] += statement.repeat
    return RowsChanged(inserted=counts["INSERT"], updated=counts["UPDATE"], deleted=counts["DELETE"])


def _verb(statement: Statement) -> str:
    return statement.sql.split(maxsplit=1)[0].upper()
