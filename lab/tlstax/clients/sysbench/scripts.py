"""Which of sysbench's scripts does what a workload asks for, and where none does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tlstax.clients.adapter import Refusal
from tlstax.contract import Parameter, Sequence, UniformInt, Workload
from tlstax.study import workloads

TABLE = re.compile(r"(?:FROM|INTO|UPDATE) ([A-Za-z0-9_]+) ")
STOCK_TABLE = "sbtest1"
"""What sysbench's own scripts call the first of their tables."""

RANGE_SIZE = 100
"""How many rows sysbench's ranges span, unless told otherwise."""


@dataclass(frozen=True)
class Script:
    """A script of ours and the stock script that it holds still, empty where the event is our own.

    `options` make of the stock script what is wanted. `sampled_rows` is how many rows the statement spans
    that is shown as a sample of the work, 0 where nothing can be shown: data that changes is another by the
    time that it is checked.
    """

    ours: str = "stock"
    stock: str = ""
    options: tuple[str, ...] = ()
    any_table: bool = False
    text_only: bool = False
    sampled_rows: int = 0


SCRIPTS = {
    "point-select": Script("point_select", "oltp_point_select", any_table=True, sampled_rows=1),
    "reconnect": Script("reconnect", any_table=True, text_only=True, sampled_rows=1),
    "select-range": Script(
        stock="oltp_read_only",
        options=(
            "--skip_trx=on",
            "--point_selects=0",
            "--sum_ranges=0",
            "--order_ranges=0",
            "--distinct_ranges=0",
        ),
        sampled_rows=RANGE_SIZE,
    ),
    "insert": Script(stock="oltp_insert", text_only=True),
    "update": Script(stock="oltp_update_index"),
    "delete": Script(stock="oltp_delete"),
    "oltp-read-only": Script(stock="oltp_read_only", sampled_rows=1),
    "oltp-read-write": Script(stock="oltp_read_write"),
}
"""By the built-in workload that each does."""


@dataclass(frozen=True)
class Chosen:
    """The script for a workload, and the table of how many rows that it works on."""

    script: Script
    table: str
    rows: int


def chosen(workload: Workload) -> Chosen:
    """The script that does this workload, in whichever protocol; Refusal where there is none.

    A workload is known by its definition, not by its name: it must be the built-in one, word by word.
    """
    table, rows = _table(workload), _rows(workload)
    if table is not None and rows is not None:
        for name, script in SCRIPTS.items():
            if _bare(workload) == _bare(_done_by_sysbench(name, table, rows)):
                _check(name, script, workload, table)
                return Chosen(script, table, rows)
        if _bare(workload) == _bare(workloads.built_in("delete", table, rows)):
            raise Refusal(
                "sysbench's oltp_delete draws ids at random, so that ever more of its deletes find no row, "
                "and the job wants one id after another"
            )
    known = ", ".join(SCRIPTS)
    raise Refusal(f"sysbench runs its own scripts alone ({known}), and the job's statements are in none")


def _done_by_sysbench(name: str, table: str, rows: int) -> Workload:
    """What the script does, in the contract's words; the deletes alone are not the built-in ones."""
    workload = workloads.built_in(name, table, rows)
    if name != "delete":
        return workload
    (statement,) = workload.statements
    drawn: dict[str, Parameter] = {"id": UniformInt(low=1, high=rows)}
    return workload.model_copy(update={"statements": (statement.model_copy(update={"parameters": drawn}),)})


def _check(name: str, script: Script, workload: Workload, table: str) -> None:
    if script.text_only and workload.protocol == "prepared":
        raise Refusal(f"sysbench does {name} with a text query, and the job wants a prepared statement")
    if not script.any_table and table != STOCK_TABLE:
        raise Refusal(f"sysbench's {script.stock} works on a table {STOCK_TABLE}, and the job names {table}")


def _bare(workload: Workload) -> Workload:
    """Without what sysbench has options for: the protocol, and the statements on connecting."""
    return workload.model_copy(update={"protocol": "text", "on_connect": ()})


def _table(workload: Workload) -> str | None:
    """The table of its first statement; None where it has none: no statement, or none with a table."""
    statements = (statement for one in workload.transactions for statement in one.statements)
    match = next((TABLE.search(statement.sql) for statement in statements), None)
    return match[1] if match else None


def _rows(workload: Workload) -> int | None:
    """How many rows the table has, as far as ids are drawn from all of them."""
    return next((_last(parameter) for parameter in _parameters(workload) if _last(parameter)), None)


def _last(parameter: Parameter) -> int | None:
    if isinstance(parameter, UniformInt):
        return parameter.high
    return parameter.last if isinstance(parameter, Sequence) and parameter.first == 1 else None


def _parameters(workload: Workload) -> Iterator[Parameter]:
    for transaction in workload.transactions:
        yield from transaction.parameters.values()
        for statement in transaction.statements:
            yield from statement.parameters.values()
