"""Findings as CSV (RFC 4180): one row a finding, for spreadsheets and statistics programs.

Columns: run, study, outcome, unit, role (baseline, control, treatment); a column `case_FACTOR` and
`baseline_FACTOR` for each factor of the study; value and baseline_value (geometric means over the same
blocks, in the unit); ratio, ratio_low, ratio_high (its interval; empty for one block), confidence,
blocks; noise_floor (relative; empty without control); judgement; negotiated; caveats (joined by "; ").
Contrasts and ratios pooled over connections follow, with the roles "contrast" and "pooled": their baseline
is the case in the `baseline_FACTOR` columns, and a pooled one has no number of connections.
What sampling costs (profiled to unprofiled trials, over all cases) has the role "profiling" and no case.
Published figures have the role "published": value is the published one, `case_FACTOR` the case that stands in
for it here, ratio that of this case to the one that stands in for the figure's reference, which the caveats
name.
Published tables have roles that begin with "table, ": "published" and "measured" have a row for each cell
(the caveats name table, part, side and time), "difference" one for each difference and part, "claim" and
"fault" one for each thing that a text says of its table and that is wrong in a table.
Storms have the role "storm": value is the mean of connections a second over all rounds, the caveats have
their standard deviation. What was counted of connects and queries has the role "counted", a row for each
phase.
What connections and statements take at a distance has the role "distance", a claim that this grows "claim of
distance", and when a tunnel is worth it in place of TLS (the baseline) "tunnel".
Of drivers, "driver default" says what one did when nothing was said of TLS (value: statements an operation),
"driver split" has a row for each part of what an operation takes longer than with the older driver, and
"driver split share" its share of the whole; "warm-up" has the CPU per operation of the first slice, and as
baseline_value that of a warm driver (medians over trials).
Of a run that was sampled, each component has two rows, its outcome "SIDE: COMPONENT": with the role
"component" what it costs in the case and in the baseline (µs per operation), with "component extra" the
difference, its interval in value_low and value_high; both are arithmetic means.
What HelloRetryRequests cost has the roles "hello retry" (value of baseline_value handshakes were retried),
"hello retry cost" (a cost of the retried case, and of the case in the `baseline_FACTOR` columns, which avoids
the retry) and "hello retry extra" (the difference, its interval in value_low and value_high); all are
arithmetic means.
What a tap saw of a case has the role "captured", a row for each number; judgement is that trial's verdict.
An outcome that the baseline does not have has the columns from baseline_value to ratio empty, and its
interval is that of the value: value_low, value_high.
"""

from __future__ import annotations

import csv
from collections import ChainMap
from collections.abc import Iterator
from io import StringIO
from itertools import chain

from tlstax.report.connect import captures
from tlstax.report.connect.csv_rows import connecting_rows
from tlstax.report.core.untrusted import printable
from tlstax.report.distance.csv_rows import reached_rows
from tlstax.report.drivers.csv_rows import driver_rows
from tlstax.report.hello_retry import section as hello_retry
from tlstax.report.published.csv_rows import table_rows
from tlstax.results.document import (
    ContrastFinding,
    Finding,
    PooledRatio,
    PublishedFigure,
    RunDocument,
    Unpaired,
)
from tlstax.results.explanation import Explanation
from tlstax.results.interval import Interval
from tlstax.study import Levels
from tlstax.study.outcomes import UNITS

FORMULA_STARTS = ("=", "+", "-", "@")
"""A text that begins with one of these is run as a formula by spreadsheets."""

Value = str | int | float | None


def csv_table(document: RunDocument) -> str:
    """All findings of the document."""
    factors = list(document.design.levels_of())
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=_columns(factors))
    writer.writeheader()
    for row in _rows(document, factors):
        writer.writerow({name: _harmless(value) for name, value in row.items()})
    return text.getvalue()


def _columns(factors: list[str]) -> list[str]:
    cases = [f"{side}_{factor}" for side in ("case", "baseline") for factor in factors]
    numbers = ["value", "value_low", "value_high", "baseline_value", "ratio", "ratio_low", "ratio_high"]
    judged = ["confidence", "blocks", "noise_floor", "judgement", "negotiated", "caveats"]
    return ["run", "study", "outcome", "unit", "role", *cases, *numbers, *judged]


def _rows(document: RunDocument, factors: list[str]) -> Iterator[dict[str, Value]]:
    for finding in document.findings:
        yield {
            **_common(document, finding, factors),
            **_levels("baseline", finding.baseline, factors),
            "baseline_value": finding.baseline_value,
            "ratio": finding.ratio.point,
            "ratio_low": finding.ratio.low,
            "ratio_high": finding.ratio.high,
            "confidence": finding.ratio.confidence,
            "blocks": finding.ratio.blocks,
            "noise_floor": finding.noise_floor,
            "judgement": finding.judgement,
            "caveats": "; ".join(finding.caveats),
        }
    compared: tuple[ContrastFinding | PooledRatio, ...] = (*document.contrasts, *document.pooled)
    for found in compared:
        yield _compared(document, found, factors)
    for outcome, ratio in document.profiling.costs.items() if document.profiling else ():
        yield _sampling(document, outcome, ratio)
    yield from (_published(document, figure, factors) for figure in document.published)
    for row in table_rows(document.tables) if document.tables is not None else ():
        yield {"run": document.run, "study": document.study, **row}
    connected = chain(connecting_rows(document), reached_rows(document), driver_rows(document))
    for row in chain(connected, captures.rows(document.captures)):
        yield {"run": document.run, "study": document.study, **row}
    for sides, row in hello_retry.rows(document.hello_retries) if document.hello_retries else ():
        levels = [_levels(side, found, factors) for side, found in sides.items()]
        yield {"run": document.run, "study": document.study, **dict(ChainMap(*levels)), **row}
    for explanation in document.explanations:
        yield from _explained(document, explanation, factors)
    for unpaired in document.unpaired:
        yield {
            **_common(document, unpaired, factors),
            "value_low": unpaired.low,
            "value_high": unpaired.high,
            "confidence": unpaired.confidence,
            "blocks": unpaired.blocks,
        }


def _sampling(document: RunDocument, outcome: str, ratio: Interval) -> dict[str, Value]:
    return {
        "run": document.run,
        "study": document.study,
        "outcome": outcome,
        "unit": UNITS[outcome],
        "role": "profiling",
        "ratio": ratio.point,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "confidence": ratio.confidence,
        "blocks": ratio.blocks,
    }


def _explained(document: RunDocument, found: Explanation, factors: list[str]) -> Iterator[dict[str, Value]]:
    common: dict[str, Value] = {
        "run": document.run,
        "study": document.study,
        "unit": "us",
        **_levels("case", found.case, factors),
        **_levels("baseline", found.baseline, factors),
    }
    for part in found.components:
        extra = part.extra_us_per_op
        yield {
            **common,
            "role": "component",
            "outcome": f"{part.side}: {part.name}",
            "value": part.us_per_op,
            "baseline_value": part.baseline_us_per_op,
            "blocks": extra.blocks,
        }
        yield {
            **common,
            "role": "component extra",
            "outcome": f"{part.side}: {part.name}",
            "value": extra.point,
            "value_low": extra.low,
            "value_high": extra.high,
            "confidence": extra.confidence,
            "blocks": extra.blocks,
        }


def _compared(
    document: RunDocument, found: ContrastFinding | PooledRatio, factors: list[str]
) -> dict[str, Value]:
    values: dict[str, Value] = {}
    if isinstance(found, ContrastFinding):
        values = {"value": found.value, "baseline_value": found.baseline_value}
    return {
        "run": document.run,
        "study": document.study,
        "outcome": found.outcome,
        "unit": found.unit,
        "role": "contrast" if isinstance(found, ContrastFinding) else "pooled",
        **_levels("case", found.case, factors),
        **_levels("baseline", found.baseline, factors),
        **values,
        "ratio": found.ratio.point,
        "ratio_low": found.ratio.low,
        "ratio_high": found.ratio.high,
        "confidence": found.ratio.confidence,
        "blocks": found.ratio.blocks,
        "noise_floor": found.noise_floor,
        "judgement": found.judgement,
        "caveats": f"noise floor from {found.noise_from}" if found.noise_from else "",
    }


def _published(document: RunDocument, figure: PublishedFigure, factors: list[str]) -> dict[str, Value]:
    """A published figure; what was measured beside it stands in the row of its case."""
    ratio = figure.ratio
    against = (
        f"against {figure.against}: published {figure.published_ratio:.3g}" if figure.published_ratio else ""
    )
    measured: dict[str, Value] = {}
    if ratio is not None:
        measured = {
            "ratio": ratio.point,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "confidence": ratio.confidence,
            "blocks": ratio.blocks,
        }
    return {
        "run": document.run,
        "study": document.study,
        "outcome": figure.outcome,
        "unit": figure.unit,
        "role": "published",
        **_levels("case", figure.beside, factors),
        "value": figure.value,
        **measured,
        "caveats": "; ".join(
            part for part in (figure.label, against, figure.comparable, figure.verdict) if part
        ),
    }


def _common(document: RunDocument, found: Finding | Unpaired, factors: list[str]) -> dict[str, Value]:
    return {
        "run": document.run,
        "study": document.study,
        "outcome": found.outcome,
        "unit": found.unit,
        "role": found.role,
        **_levels("case", found.case, factors),
        "value": found.value,
        "negotiated": found.negotiated,
    }


def _levels(side: str, levels: Levels, factors: list[str]) -> dict[str, Value]:
    return {f"{side}_{factor}": levels[factor] for factor in factors if factor in levels}


def _harmless(value: Value) -> Value:
    """Text from a server or a client must not become a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
