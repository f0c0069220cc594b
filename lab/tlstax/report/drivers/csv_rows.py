"""Drivers as rows for spreadsheets: defaults, the parts of an upgrade, warm-ups."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.drivers.words import PARTS, default_words
from tlstax.results.document import RunDocument
from tlstax.results.drivers import DriverSplit
from tlstax.results.interval import Interval
from tlstax.study import Levels

Row = dict[str, str | int | float | None]


def driver_rows(document: RunDocument) -> Iterator[Row]:
    """A row for each default, each part of a split with its share, the whole of it, and each warm-up."""
    drivers = document.drivers
    if drivers is None:
        return
    for found in drivers.defaults:
        yield {
            "role": "driver default",
            "outcome": "statements_per_op",
            "unit": "1",
            **_case("case", found.case),
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
            **_case("case", warmup.case),
            "value": warmup.cold_us_per_op,
            "baseline_value": warmup.warm_us_per_op,
            "ratio": warmup.times_slower,
            "blocks": warmup.trials,
            "caveats": f"steady in {warmup.steady_trials} of {warmup.trials} trials",
        }


def _split(split: DriverSplit) -> Iterator[Row]:
    sides = {**_case("case", split.case), **_case("baseline", split.baseline)}
    for part in split.parts:
        published = part.published_share
        yield {
            "role": "driver split",
            "outcome": PARTS[part.kind],
            "unit": "us",
            **sides,
            **_amount(part.extra_us_per_op),
            "caveats": f"{part.labels[0]} less {part.labels[1]}",
        }
        if part.share is not None:
            yield {
                "role": "driver split share",
                "outcome": PARTS[part.kind],
                "unit": "1",
                **sides,
                **_amount(part.share),
                "caveats": "" if published is None else f"published: {published:.3g}",
            }
    if split.extra_us_per_op is not None:
        yield {
            "role": "driver split",
            "outcome": "together",
            "unit": "us",
            **sides,
            **_amount(split.extra_us_per_op),
            "caveats": split.sentence,
        }


def _amount(amount: Interval) -> Row:
    return {
        "value": amount.point,
        "value_low": amount.low,
        "value_high": amount.high,
        "confidence": amount.confidence,
        "blocks": amount.blocks,
    }


def _case(side: str, levels: Levels) -> Row:
    return {f"{side}_{factor}": level for factor, level in levels.items() if factor != "control"}
