"""Findings as CSV (RFC 4180): one row a finding, for spreadsheets and statistics programs.

Columns: run, study, topic, outcome, unit, role (baseline, control, treatment); a column `case_FACTOR` and
`baseline_FACTOR` for each factor of the study; baseline_value (a geometric mean over blocks, in the unit) and
value (that times the ratio); ratio, ratio_low, ratio_high (its interval; empty for one block), confidence,
blocks; noise_floor (relative; empty without control); judgement; negotiated; caveats (joined by "; "); then
the columns that topics have of their own (docs/tables.md), where they have anything. Contrasts and ratios
pooled over connections follow, with the roles "contrast" and "pooled": their baseline is the case in the
`baseline_FACTOR` columns, and a pooled one has no number of connections. What sampling costs (profiled to
unprofiled trials, over all cases) has the role "profiling" and no case. Storms have the role "storm": value
is the mean of connections a second over all rounds, the caveats have their standard deviation. What was
counted of connects and queries has the role "counted", a row for each phase. What connections and statements
take at a distance has the role "distance", a claim that this grows "claim of distance", and when a tunnel is
worth it in place of TLS (the baseline) "tunnel". How throughput grows has the role "scaling", a row for each
parameter of the law; the caveats have the sizes. Bytes a second and their costs have the role "bulk"; the
caveats have the payload and the length of rows. What B changes beside A has the role "sides" (value is B's,
baseline_value A's), how far two processes of one side differ "twin". Of a run that was sampled, each
component has two rows, its outcome "SIDE: COMPONENT": with the role "component" what it costs in the case and
in the baseline (µs per operation), with "component extra" the difference, its interval in value_low and
value_high; both are arithmetic means. What HelloRetryRequests cost has the roles "hello retry" (value of
baseline_value handshakes were retried), "hello retry cost" (a cost of the retried case, and of the case in
the `baseline_FACTOR` columns, which avoids the retry) and "hello retry extra" (the difference, its interval
in value_low and value_high); all are arithmetic means. What each of several machines shows by itself has the
role "machine": ratio is its own, the caveats name the machine and say where machines differ beyond chance.
Where load came from other machines, "load" has for each case how busy the CPUs of the busiest client were
(value), and the server's (baseline_value); judgement is which side was the limit. What a tap saw of a case
has the role "captured", a row for each number; judgement is that trial's verdict. Of a server whose locks are
counted, "locks" has a row for each function that takes them: value is how many it takes for each operation.
An outcome that the baseline does not have has the columns from baseline_value to ratio empty, and its
interval is that of the value: value_low, value_high.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from io import StringIO

from tlstax.report.bulk import csv_rows as bulk
from tlstax.report.connect import csv_rows as connect
from tlstax.report.distance import csv_rows as distance
from tlstax.report.explain import csv_rows as explain
from tlstax.report.hello_retry import csv_rows as hello_retry
from tlstax.report.locks import csv_rows as locks
from tlstax.report.machines import csv_rows as machines
from tlstax.report.scaling import csv_rows as scaling
from tlstax.report.two_sides import csv_rows as two_sides
from tlstax.results.document import Finding, RunDocument
from tlstax.results.rows import Row as TopicRow
from tlstax.results.rows import text_of
from tlstax.study.outcomes import UNITS
from tlstax.topics.core.csv_row import Row, Value, amount, sides
from tlstax.topics.core.untrusted import printable
from tlstax.topics.index import own_columns

FORMULA_STARTS = ("=", "+", "-", "@")
"""A text that begins with one of these is run as a formula by spreadsheets."""


def csv_table(document: RunDocument) -> str:
    """All findings of the document."""
    text = StringIO()
    rows = list(finding_rows(document))
    own = [column.name for column in own_columns() if any(row.get(column.name) is not None for row in rows)]
    writer = csv.DictWriter(text, fieldnames=[*_columns(list(document.design.levels_of())), *own])
    writer.writeheader()
    for row in rows:
        writer.writerow({name: harmless(value) for name, value in row.items()})
    return text.getvalue()


def finding_rows(document: RunDocument) -> Iterator[Row]:
    """The rows themselves, topic after topic, as values."""
    common: Row = {"run": document.run, "study": document.study}
    for topic in TOPICS:
        for row in topic(document):
            yield common | row


def _columns(factors: list[str]) -> list[str]:
    cases = [f"{side}_{factor}" for side in ("case", "baseline") for factor in factors]
    numbers = ["value", "value_low", "value_high", "baseline_value", "ratio", "ratio_low", "ratio_high"]
    numbers += ["difference", "difference_low", "difference_high"]
    judged = ["confidence", "blocks", "noise_floor", "judgement", "negotiated", "caveats"]
    return ["run", "study", "topic", "outcome", "unit", "role", *cases, *numbers, *judged]


def told_rows(document: RunDocument) -> Iterator[Row]:
    """The rows of all topics."""
    for name, told in document.topics.items():
        for row in told.rows:
            yield {"topic": name, "role": row.role or name, **_told_row(row)}


def _told_row(row: TopicRow) -> Row:
    interval = row.interval
    return {
        "outcome": row.outcome,
        "unit": row.unit,
        **sides(row.case, row.baseline),
        "value": row.value,
        "baseline_value": row.baseline_value,
        **amount(interval, row.of),
        "blocks": row.blocks,
        "noise_floor": row.noise_floor,
        "judgement": row.judgement,
        "negotiated": row.negotiated,
        "caveats": "; ".join(row.caveats),
        **{name: text_of(value) if isinstance(value, tuple) else value for name, value in row.more.items()},
    }


def _compared(document: RunDocument) -> Iterator[Row]:
    """Findings, contrasts, ratios pooled over connections."""
    for found in document.findings:
        noted: Row = {
            "role": found.role,
            "negotiated": found.negotiated,
            "caveats": "; ".join(found.caveats),
        }
        yield _beside_another(found) | _values(found) | noted


def _beside_another(found: Finding) -> Row:
    return {
        "outcome": found.outcome,
        "unit": found.unit,
        **sides(found.case, found.baseline),
        **amount(found.ratio, "ratio"),
        "noise_floor": found.noise_floor,
        "judgement": found.judgement,
    }


def _values(found: Finding) -> Row:
    return {"value": found.value, "baseline_value": found.baseline_value}


def _sampling(document: RunDocument) -> Iterator[Row]:
    """What sampling costs."""
    for outcome, ratio in document.profiling.costs.items() if document.profiling else ():
        yield {"outcome": outcome, "unit": UNITS[outcome], "role": "profiling", **amount(ratio, "ratio")}


def harmless(value: Value) -> Value:
    """The value; text from a server or a client must not become a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


TOPICS: tuple[Callable[[RunDocument], Iterator[Row]], ...] = (
    _compared,
    _sampling,
    connect.rows,
    distance.rows,
    scaling.rows,
    bulk.rows,
    told_rows,
    two_sides.rows,
    connect.captured_rows,
    locks.rows,
    hello_retry.rows,
    machines.rows,
    machines.load_rows,
    explain.rows,
)
"""In the order of the rows."""
