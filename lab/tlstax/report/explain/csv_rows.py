"""What components cost, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.document import RunDocument
from tlstax.topics.core.csv_row import Row, amount, sides


def rows(document: RunDocument) -> Iterator[Row]:
    """Two rows for each component of an explained case: what it costs, and the difference."""
    for found in document.explanations:
        case = sides(found.case, found.baseline)
        for part in found.components:
            common: Row = {"unit": "us", **case, "outcome": f"{part.side}: {part.name}"}
            yield {
                **common,
                "role": "component",
                "value": part.us_per_op,
                "baseline_value": part.baseline_us_per_op,
                "blocks": part.extra_us_per_op.blocks,
            }
            yield {**common, "role": "component extra", **amount(part.extra_us_per_op)}
