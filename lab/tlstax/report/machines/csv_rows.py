"""What each of several machines shows by itself, and how busy load made them, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.document import RunDocument
from tlstax.results.machines import MachineRatios, OwnRatio
from tlstax.topics.core.csv_row import Row, amount, levels, sides


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each machine of every ratio that is told of each."""
    if document.machines is not None:
        for found in document.machines.ratios:
            yield from (_own(found, one) for one in found.own)


def load_rows(document: RunDocument) -> Iterator[Row]:
    """A row for each case: how busy its clients were, and its server beside them."""
    if document.load is not None:
        for one in document.load.limits:
            yield {
                "role": "load",
                "outcome": "busy",
                "unit": "of the CPUs' time",
                **levels("case", one.case),
                "value": one.clients_busy,
                "baseline_value": one.server_busy,
                "judgement": one.limit,
            }


def _own(found: MachineRatios, one: OwnRatio) -> Row:
    differ = "; machines differ beyond chance" if found.differ else ""
    return {
        "role": "machine",
        "outcome": found.outcome,
        "unit": found.unit,
        **sides(found.case, found.baseline),
        **amount(one.ratio, "ratio"),
        "caveats": f"on {one.machine}{differ}",
    }
