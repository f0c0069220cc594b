"""The table `slices`: a row for each slice in which a case took its turn."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.records.slices import Slices
from tlstax.report.tables.case_columns import BLOCK, LABEL, POSITION, ROLE, RUN
from tlstax.report.tables.trial_table import trial_place
from tlstax.results.exported_run import ExportedRun
from tlstax.topics.core.columns import Column, Table

SLICES = Table(
    name="slices",
    one_row="a slice of a trial that took turns with others: some milliseconds",
    key=("run", "block", "position", "slice"),
    columns=(
        RUN,
        BLOCK,
        POSITION,
        Column("slice", "INTEGER", "the slice's number among the trial's own, from 0"),
        ROLE,
        LABEL,
        Column("verdict", "TEXT", "the trial's: valid, invalid or unknown"),
        Column("machine", "TEXT", "the machine that it ran on; empty where the run has one"),
        Column("sitting", "INTEGER", "trials of a block with the same one took turns"),
        Column("round", "INTEGER", "slices of one round are neighbours in time"),
        Column("lead_in", "INTEGER", "after how many operations what follows begins; empty: with the slice"),
        Column("length_s", "REAL", "how long the slice was to last", "s"),
        Column("operations", "REAL", "operations, by the part of each that lies within"),
        Column("finished", "INTEGER", "all operations that were finished, the slice's ends included"),
        Column("elapsed_s", "REAL", "how long it lasted; 0: over before it was at work", "s"),
        Column("latency_sum_s", "REAL", "the latencies of these operations, added up", "s"),
        Column("client_cpu_us", "REAL", "the client's CPU time", "us"),
        Column("server_cpu_us", "REAL", "the server's CPU time; empty: out of reach", "us"),
        Column("path_cpu_us", "REAL", "CPU time of the programs between them; empty: none", "us"),
        Column("round_s", "REAL", "the time of a storm's round, without closing; empty: no storm", "s"),
    ),
)

_LISTS = {
    "round": "rounds",
    "operations": "operations",
    "finished": "finished",
    "elapsed_s": "elapsed_s",
    "latency_sum_s": "latency_sum_s",
    "client_cpu_us": "client_cpu_us",
    "server_cpu_us": "server_cpu_us",
    "path_cpu_us": "path_cpu_us",
    "round_s": "rounds_s",
}
"""The columns, and the lists of `Slices` that hold them."""


def slice_rows(run: ExportedRun) -> Iterator[dict[str, object]]:
    """A row for each slice, trial after trial; none of trials that had the servers to themselves."""
    for trial in run.trials:
        if trial.slices is None:
            continue
        common = {
            **trial_place(run, trial),
            "sitting": trial.slices.sitting,
            "lead_in": trial.slices.lead_in,
            "length_s": trial.slices.length_s,
        }
        for number, measured in enumerate(_each(trial.slices)):
            yield {**common, "slice": number, **measured}


def _each(slices: Slices) -> Iterator[dict[str, float]]:
    lists = {name: getattr(slices, column) for name, column in _LISTS.items()}
    filled = {name: values for name, values in lists.items() if values}
    for values in zip(*filled.values(), strict=True):
        yield dict(zip(filled, values, strict=True))
