"""Who takes locks, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.document import RunDocument
from tlstax.topics.core.csv_row import Row, levels


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each function that takes locks in each case."""
    for found in document.locks:
        for taker in found.takers:
            beside = f"moved {taker.moved_per_op:.6g}, not free {taker.contended_per_op:.6g} an operation"
            yield {
                "role": "locks",
                "outcome": f"{taker.library}: {taker.function}: {taker.kind}",
                "unit": "1",
                **levels("case", found.case),
                "value": taker.per_op,
                "caveats": beside,
            }
