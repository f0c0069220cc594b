"""What a run shows as one table, and as CSV (RFC 4180) for spreadsheets and statistics programs.

A row is an outcome of a case. First come cases beside their baseline (`role`: baseline, control, treatment),
then the rows of every topic, whose `role` is the topic's name where it has but one kind. A column
`case_FACTOR` and `baseline_FACTOR` has the level of each factor of the study. Numbers are values with their
unit, ratios, or differences, each with its interval; columns that a topic has of its own stand last, where
they have anything. docs/tables.md has every column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tlstax.findings.core.series import BlockRow
from tlstax.results.bench import BenchDocument
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import More, Of, Row, text_of
from tlstax.study import Level
from tlstax.study.labels import without_mark
from tlstax.topics.core.columns import Column, Value, Values
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
    factors = [f"{side}_{name}" for side in ("case", "baseline") for name in document.design.levels_of()]
    return _table(shown_rows(document), ("run", "study", "topic"), factors, own_columns())


def bench_table(document: BenchDocument, columns: Iterable[Column]) -> str:
    """All rows of a bench, whose own columns are these."""
    rows = document.told.rows
    common: Values = {"bench": document.bench, "started_at": document.started_at}
    factors = [
        *dict.fromkeys(f"case_{name}" for row in rows for name in row.case),
        *dict.fromkeys(f"baseline_{name}" for row in rows for name in row.baseline),
    ]
    shown = ((row, {**common, **_values(row), "label": row.label}) for row in rows)
    return _table(shown, common, ("label", *factors), columns)


def _table(
    shown: Iterable[tuple[Row, Values]],
    first: Iterable[str],
    factors: Iterable[str],
    columns: Iterable[Column],
) -> str:
    """Rows below the names of their columns; of a topic's own columns those that have anything."""
    rows = [
        {**values, **_levels("case", row.case), **_levels("baseline", row.baseline)} for row, values in shown
    ]
    own = [column.name for column in columns if any(row.get(column.name) is not None for row in rows)]
    text = io.StringIO()
    names = [*first, "outcome", "unit", "role", *factors, *NUMBERS, *JUDGED, *own]
    writer = csv.DictWriter(text, fieldnames=names)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: harmless(value) for name, value in row.items() if value is not None})
    return text.getvalue()


def shown_rows(document: RunDocument) -> Iterator[tuple[Row, Values]]:
    """Each row, with its values by the names of their columns; what is not there is None or left out.

    The levels of its cases are not among them: each table has columns of its own for these.
    """
    common: Values = {"run": document.run, "study": document.study}
    for finding in document.findings:
        known = finding.model_dump(include=set(Row.model_fields) - {"case", "baseline", "interval"})
        row = Row(**known, case=finding.case, baseline=finding.baseline, interval=finding.ratio, of="ratio")
        yield row, {**common, "topic": "", **_values(row)}
    for name, told in document.topics.items():
        for row in told.rows:
            yield row, {**common, "topic": name, **_values(row), "role": row.role or name}


def _values(row: Row) -> Values:
    return {
        "outcome": row.outcome,
        "unit": row.unit,
        "role": row.role,
        "value": row.value,
        "baseline_value": row.baseline_value,
        **_amount(row.interval, row.of),
        "blocks": row.blocks,
        "noise_floor": row.noise_floor,
        "judgement": row.judgement,
        "negotiated": row.negotiated,
        "caveats": "; ".join(row.caveats),
        **{name: _cell(value) for name, value in row.more.items() if value is not None},
    }


def _levels(side: str, case: Mapping[str, Level]) -> Values:
    """A column for each level of a case, or of what it is compared with; the mark of a control has none."""
    return {f"{side}_{name}": level for name, level in without_mark(case).items()}


def _amount(known: Interval | None, of: Of) -> Values:
    """A figure, the ends of its interval and its confidence; nothing where there is none."""
    if known is None:
        return {}
    ends: Values = {of: known.point, f"{of}_low": known.low, f"{of}_high": known.high}
    return {**ends, "confidence": known.confidence}


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


DIGITS = 6
"""Significant digits: rounding is then far below the scatter of any trial."""


def blocks_csv(rows: Sequence[BlockRow], outcomes: Sequence[str]) -> str:
    """The rows with a column for each factor that varies among them, and two for each outcome.

    The second is named for the outcome with `_ratio`: to the baseline of the same block. What was not
    measured is empty. Blocks count from 1.
    """
    factors = _varying(rows)
    several = any(row.machine for row in rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [column for name in outcomes for column in (name, f"{name}_ratio")]
    writer.writerow(["role", *factors, *(["machine"] if several else []), "block", *columns])
    for row in rows:
        levels = [row.levels.get(factor, "") for factor in factors]
        machine = [row.machine] if several else []
        writer.writerow([row.role, *levels, *machine, row.block + 1, *_cells(row, outcomes)])
    return text.getvalue()


def _varying(rows: Sequence[BlockRow]) -> tuple[str, ...]:
    """The factors of which not all rows have the same level, by name."""
    names = sorted({name for row in rows for name in row.levels})
    return tuple(name for name in names if len({row.levels.get(name) for row in rows}) > 1)


def _cells(row: BlockRow, outcomes: Sequence[str]) -> Iterator[str]:
    for name in outcomes:
        for found in (row.values, row.ratios):
            yield f"{found[name]:.{DIGITS}g}" if name in found else ""
