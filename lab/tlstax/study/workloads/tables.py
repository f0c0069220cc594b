"""The tables that workloads work on, by shape."""

from __future__ import annotations

from typing import Literal

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
