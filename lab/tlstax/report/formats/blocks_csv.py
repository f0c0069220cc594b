"""A run as a small CSV: one row a case and block, with its outcomes and their ratios to the baseline."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from tlstax.findings.core.series import BlockRow

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
