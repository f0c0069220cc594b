"""The tables as a page for people: each column with its type, its unit and its meaning."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.tables.tables import TABLES
from tlstax.topics.core.columns import Column, Table

BEGINNING = """\
# Tables

Written from the definitions by `python -m tlstax.cli.documents` in `lab/`; do not edit it. These are the
columns of the store's SQL views and of `tlstax runs export --rows` ([store.md](store.md)). Units are the
last word of a name; what is empty was not measured, or does not apply. TEXT is UTF-8, INTEGER whole
numbers of 64 bits, REAL floating-point numbers of 64 bits; yes and no are 1 and 0.
"""


def page() -> str:
    """The page's text."""
    return "\n".join([BEGINNING, *(_section(table) for table in TABLES.values())])


def _section(table: Table) -> str:
    key = ", ".join(f"`{name}`" for name in table.key)
    rows = "\n".join(_lines(table.columns))
    return f"## {table.name}\n\nA row is {table.one_row}; its key is {key}.\n\n{rows}\n"


def _lines(columns: tuple[Column, ...]) -> Iterator[str]:
    yield "| column | type | unit | meaning |"
    yield "|---|---|---|---|"
    for column in columns:
        meaning = column.meaning.replace("|", r"\|").replace("<", r"\<")
        yield f"| `{column.name}` | {column.type} | {column.unit} | {meaning} |"
