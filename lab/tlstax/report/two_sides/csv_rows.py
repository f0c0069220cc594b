"""What one of two sides changes beside the other, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.two_sides.words import twin_label
from tlstax.results.document import RunDocument
from tlstax.topics.core.csv_row import Row, amount, levels


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each outcome of each group, and one for each of its twins."""
    for effect in document.two_sides:
        common: Row = {"outcome": effect.outcome, "unit": effect.unit, **levels("case", effect.case)}
        yield {
            **common,
            "role": "sides",
            "value": effect.b,
            "baseline_value": effect.a,
            **amount(effect.change, "ratio"),
            "judgement": effect.judgement,
        }
        for place, twin in enumerate(effect.twins):
            if twin is not None:
                yield {**common, "role": "twin", **amount(twin, "ratio"), "caveats": twin_label(place)}
