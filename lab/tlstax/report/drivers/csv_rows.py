"""Drivers as rows for spreadsheets: defaults, the parts of an upgrade, warm-ups."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.drivers.words import PARTS, default_words
from tlstax.results.document import RunDocument
from tlstax.results.drivers import DriverSplit
from tlstax.topics.core.csv_row import Row, amount, levels, sides


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each default, each part of a split with its share, the whole of it, and each warm-up."""
    drivers = document.drivers
    if drivers is None:
        return
    for found in drivers.defaults:
        yield {
            "role": "driver default",
            "outcome": "statements_per_op",
            "unit": "1",
            **levels("case", found.case),
            "value": found.statements_per_op,
            "blocks": found.trials,
            "negotiated": ", ".join(found.negotiated) or "plaintext",
            "caveats": default_words(found),
        }
    for split in drivers.splits:
        yield from _split(split)
    for warmup in drivers.warmups:
        yield {
            "role": "warm-up",
            "outcome": "cold_us_per_op",
            "unit": "us",
            **levels("case", warmup.case),
            "value": warmup.cold_us_per_op,
            "baseline_value": warmup.warm_us_per_op,
            "ratio": warmup.times_slower,
            "blocks": warmup.trials,
            "caveats": f"steady in {warmup.steady_trials} of {warmup.trials} trials",
        }


def _split(split: DriverSplit) -> Iterator[Row]:
    common: Row = {"role": "driver split", "unit": "us", **sides(split.case, split.baseline)}
    for part in split.parts:
        published = part.published_share
        yield {
            **common,
            "outcome": PARTS[part.kind],
            **amount(part.extra_us_per_op),
            "caveats": f"{part.labels[0]} less {part.labels[1]}",
        }
        if part.share is not None:
            yield {
                **common,
                "role": "driver split share",
                "outcome": PARTS[part.kind],
                "unit": "1",
                **amount(part.share),
                "caveats": "" if published is None else f"published: {published:.3g}",
            }
    if split.extra_us_per_op is not None:
        yield {
            **common,
            "outcome": "together",
            **amount(split.extra_us_per_op),
            "caveats": split.sentence,
        }
