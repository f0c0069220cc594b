"""The table `findings`: what the run shows, ratios with their intervals; the rows of the report's CSV."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.formats.csv_table import finding_rows as rows_of_the_report
from tlstax.report.tables.case_columns import LABEL, RUN, Side, case_columns, case_values, label_of
from tlstax.results.document import RunDocument
from tlstax.study import Level
from tlstax.topics.core.columns import Column, Table
from tlstax.topics.core.csv_row import Row
from tlstax.topics.index import own_columns

FINDINGS = Table(
    name="findings",
    one_row="a finding: an outcome of a case beside what it is compared with",
    key=("run", "finding"),
    columns=(
        RUN,
        Column("finding", "INTEGER", "its number in the run's report, from 0"),
        Column("study", "TEXT", "the study's name"),
        Column("topic", "TEXT", "the topic of the report that has it; empty: a case beside its baseline"),
        Column(
            "role",
            "TEXT",
            "what kind of row it is: baseline, control and treatment are cases beside the baseline; "
            "contrast, pooled, storm, distance and others as in `report --format csv`",
        ),
        LABEL,
        Column("outcome", "TEXT", "what is compared; `trials` has a column of this name for most of them"),
        Column("unit", "TEXT", "the unit of value and baseline_value"),
        *case_columns("case"),
        *case_columns("baseline"),
        Column(
            "value",
            "REAL",
            "the case's value: baseline_value times ratio where there is one, else as a rule the geometric "
            "mean over blocks",
            "that of `unit`",
        ),
        Column("value_low", "REAL", "the low end of its interval, where it has one", "that of `unit`"),
        Column("value_high", "REAL", "the high end of it", "that of `unit`"),
        Column("baseline_value", "REAL", "the same of what it is compared with", "that of `unit`"),
        Column("ratio", "REAL", "how many times the baseline's it is", "1"),
        Column("ratio_low", "REAL", "the low end of the ratio's interval; empty: one block", "1"),
        Column("ratio_high", "REAL", "the high end of it", "1"),
        Column("difference", "REAL", "how much more it is than the baseline's", "that of `unit`"),
        Column("difference_low", "REAL", "the low end of its interval", "that of `unit`"),
        Column("difference_high", "REAL", "the high end of it", "that of `unit`"),
        Column("confidence", "REAL", "the confidence of the interval: 0.95 is 95 %", "1"),
        Column("blocks", "INTEGER", "from how many blocks it is"),
        Column(
            "noise_floor", "REAL", "the relative difference below which nothing can be told: 0.02 is 2 %", "1"
        ),
        Column("judgement", "TEXT", "higher, lower, alike (within the study's alike_within) or inconclusive"),
        Column("negotiated", "TEXT", "what the case's trials negotiated"),
        Column("caveats", "TEXT", "what to bear in mind, joined by “; ”"),
        *own_columns(),
    ),
)


def finding_rows(found: RunDocument) -> Iterator[dict[str, object]]:
    """A row for each finding, in the report's order."""
    for number, row in enumerate(rows_of_the_report(found)):
        case, baseline = _levels("case", row), _levels("baseline", row)
        rest = {name: value for name, value in row.items() if not name.startswith(("case_", "baseline_"))}
        yield {
            "finding": number,
            **{name: None if value == "" else value for name, value in rest.items()},
            "baseline_value": row.get("baseline_value"),
            "label": label_of(case, str(row["role"]), found.design) if case else None,
            **case_values("case", case),
            **case_values("baseline", baseline),
        }


def _levels(side: Side, row: Row) -> dict[str, Level]:
    beginning = f"{side}_"
    return {
        name.removeprefix(beginning): value
        for name, value in row.items()
        if name.startswith(beginning) and name != "baseline_value" and value is not None
    }
