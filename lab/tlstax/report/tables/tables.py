"""All tables of a run: what `runs export` writes, and what the store's views show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tlstax.records.trial import StoredRun
from tlstax.report.tables.finding_table import FINDINGS, finding_rows
from tlstax.report.tables.observation_table import OBSERVATIONS, observation_rows
from tlstax.report.tables.run_table import RUNS, run_row
from tlstax.report.tables.slice_table import SLICES, slice_rows
from tlstax.report.tables.trial_table import TRIALS, trial_rows
from tlstax.results.document import RunDocument
from tlstax.results.exported_run import ExportedRun
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported
from tlstax.topics.core.columns import Table
from tlstax.topics.core.csv_row import Row

TABLES: Mapping[str, Table] = {table.name: table for table in (RUNS, TRIALS, SLICES, FINDINGS, OBSERVATIONS)}


@dataclass(frozen=True)
class Tabulated:
    """A run whose rows are asked for, table by table; `known` is what it shows, where that is known."""

    stored: StoredRun
    known: RunDocument | None = None

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of the table of that name. MachineFault where a stored histogram cannot be decoded."""
        return TABLES[table].checked(_ROWS[table](self))

    @cached_property
    def run(self) -> ExportedRun:
        """The run with all its trials, as one document."""
        return exported(self.stored)

    @cached_property
    def found(self) -> RunDocument:
        """What it shows."""
        return self.known or document(self.stored)


_ROWS: Mapping[str, Callable[[Tabulated], Iterator[dict[str, object]]]] = {
    "runs": lambda one: iter([run_row(one.run)]),
    "trials": lambda one: trial_rows(one.run),
    "slices": lambda one: slice_rows(one.run),
    "findings": lambda one: finding_rows(one.found),
    "observations": lambda one: observation_rows(one.run),
}
