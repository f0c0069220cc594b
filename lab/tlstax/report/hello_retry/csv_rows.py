"""What HelloRetryRequests cost, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.document import RunDocument
from tlstax.results.hello_retry import Retried, RetryCost
from tlstax.study.labels import offered_words
from tlstax.topics.core.csv_row import Row, amount, sides


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each kind of handshake, and two for each cost of a retried case beside one without."""
    found = document.hello_retries
    if found is None:
        return
    yield from map(_kind, found.kinds)
    for one in found.cases:
        for avoided in one.avoided:
            for cost in avoided.costs:
                words = f"avoided by the {avoided.by}: {avoided.label}"
                yield from ({**sides(one.case, avoided.case), **row} for row in _costs(cost, words))


def _kind(kind: Retried) -> Row:
    return {
        "role": "hello retry",
        "outcome": "resumed_handshakes_retried" if kind.resumed else "full_handshakes_retried",
        "unit": "1",
        "value": kind.retried,
        "baseline_value": kind.handshakes,
        "negotiated": f"{kind.version} {kind.group}",
        "caveats": f"{kind.server}, {kind.client_library or 'client'}, {offered_words(kind.offered)}",
    }


def _costs(cost: RetryCost, words: str) -> Iterator[Row]:
    common: Row = {"outcome": cost.cost, "unit": cost.unit}
    yield {
        **common,
        "role": "hello retry cost",
        "value": cost.retried,
        "baseline_value": cost.avoided,
        "blocks": cost.extra.blocks,
        "noise_floor": cost.noise_floor / cost.avoided if cost.noise_floor and cost.avoided else None,
        "judgement": cost.judgement,
        "caveats": words,
    }
    yield {**common, "role": "hello retry extra", **amount(cost.extra)}
