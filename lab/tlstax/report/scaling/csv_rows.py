"""How throughput grows, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.document import RunDocument
from tlstax.topics.core.csv_row import Row, amount, levels


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each parameter of each law."""
    for found in document.scaling:
        sizes = ", ".join(map(str, found.sizes))
        for outcome, value, unit in (
            ("throughput of one", found.single_per_s, "1/s"),
            ("contention", found.contention, "1"),
            ("coherence", found.coherence, "1"),
        ):
            yield {
                "role": "scaling",
                "outcome": outcome,
                "unit": unit,
                **levels("case", found.case),
                **amount(value),
                "caveats": f"{found.factor}: {sizes}; off by {found.misfit:.3g} at most",
            }
