"""A table's rows as text: CSV (RFC 4180) or JSON, every number to its last digit."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from io import StringIO

from tlstax.report.formats.csv_table import harmless
from tlstax.topics.core.columns import Table
from tlstax.topics.core.csv_row import Row


def rows_csv(table: Table, rows: Iterable[Row]) -> str:
    """A line of names, then one for each row; what is not there is empty."""
    text = StringIO()
    writer = csv.DictWriter(text, [column.name for column in table.columns], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: harmless(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def rows_json(rows: Iterable[Row]) -> str:
    """A list with an object for each row, each on a line of its own."""
    return "[\n" + ",\n".join(line.decode() for line in json_lines(rows)) + "\n]\n"


def json_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """An object for each row, without line ends."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
