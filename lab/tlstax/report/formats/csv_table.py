"""What a run shows as one table, and as CSV (RFC 4180) for spreadsheets and statistics programs.

A row is an outcome of a case. First come cases beside their baseline (`role`: baseline, control, treatment),
then the rows of every topic, whose `role` is the topic's name where it has but one kind. A column
`case_FACTOR` and `baseline_FACTOR` has the level of each factor of the study. Numbers are values with their
unit, ratios, or differences, each with its interval; columns that a topic has of its own stand last, where
they have anything. docs/tables.md has every column.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO

from tlstax.report.published.csv_rows import amount, levels
from tlstax.report.published.csv_rows import rows as rows_of_published_tables
from tlstax.results.document import RunDocument
from tlstax.results.rows import More, Row, text_of
from tlstax.study import Level
from tlstax.study.labels import CONTROL_MARK
from tlstax.topics.core.columns import Value, Values
from tlstax.topics.core.untrusted import printable
from tlstax.topics.index import own_columns

FORMULA_STARTS = ("=", "+", "-", "@")
"""A text that begins with one of these is run as a formula by spreadsheets."""

NUMBERS = (
    *("value", "value_low", "value_high", "baseline_value"),
    *("ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
)
JUDGED = ("confidence", "blocks", "noise_floor", "judgement", "negotiated", "caveats")


def csv_table(document: RunDocument) -> str:
    """All that the document shows."""
    rows = list(finding_rows(document))
    factors = [f"{side}_{name}" for side in ("case", "baseline") for name in document.design.levels_of()]
    own = [column.name for column in own_columns() if any(row.get(column.name) is not None for row in rows)]
    text = StringIO()
    names = ["run", "study", "topic", "outcome", "unit", "role", *factors, *NUMBERS, *JUDGED, *own]
    writer = csv.DictWriter(text, fieldnames=names)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: harmless(value) for name, value in row.items() if value is not None})
    return text.getvalue()


def finding_rows(document: RunDocument) -> Iterator[Values]:
    """The rows themselves, as values by the names of their columns; what is not there is None or left out."""
    common: Values = {"run": document.run, "study": document.study}
    for finding in document.findings:
        known = finding.model_dump(include=set(Row.model_fields) - {"case", "baseline", "interval"})
        row = Row(**known, case=finding.case, baseline=finding.baseline, interval=finding.ratio, of="ratio")
        yield {**common, "topic": "", **_values(row)}
    for values in rows_of_published_tables(document):
        yield {**common, **values}
    for name, told in document.topics.items():
        for row in told.rows:
            yield {**common, "topic": name, **_values(row), "role": row.role or name}


def _values(row: Row) -> Values:
    return {
        "outcome": row.outcome,
        "unit": row.unit,
        "role": row.role,
        **levels("case", _without_mark(row.case)),
        **levels("baseline", _without_mark(row.baseline)),
        "value": row.value,
        "baseline_value": row.baseline_value,
        **amount(row.interval, row.of),
        "blocks": row.blocks,
        "noise_floor": row.noise_floor,
        "judgement": row.judgement,
        "negotiated": row.negotiated,
        "caveats": "; ".join(row.caveats),
        **{name: _cell(value) for name, value in row.more.items() if value is not None},
    }


def _without_mark(case: Mapping[str, Level]) -> dict[str, Level]:
    """The levels without the mark of a control, which has no column."""
    return {name: level for name, level in case.items() if name not in CONTROL_MARK}


def _cell(value: More) -> Value:
    """What stands in a topic's own column: several numbers as text, yes and no as 1 and 0."""
    if isinstance(value, bool):
        return int(value)
    return text_of(value) if isinstance(value, tuple) else value


def harmless(value: Value) -> Value:
    """The value; text from a server or a client must not become a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
