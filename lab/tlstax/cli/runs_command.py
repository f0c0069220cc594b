"""`tlstax runs`: what is kept, whole or deleted."""

from __future__ import annotations

from typing import Literal, get_args

from tlstax.cli.asked_outcomes import asked_outcomes
from tlstax.cli.kept import open_store
from tlstax.cli.streams import show, show_json
from tlstax.findings.core.blocks import block_rows
from tlstax.report.formats.blocks_csv import blocks_csv
from tlstax.store.listing import RunListing
from tlstax.store.store import Store
from tlstax.support.errors import UserMistake

ExportFormat = Literal["json", "csv"]


def list_command(*, as_json: bool) -> int:
    """Every run, the newest first."""
    with open_store() as store:
        runs = store.runs()
    if as_json:
        show_json(RunListing(runs=tuple(runs)).model_dump_json(indent=2) + "\n")
        return 0
    if not runs:
        show("There are no runs yet; `tlstax run` makes one.\n")
        return 0
    show(f"{'run':22}{'study':18}{'status':13}{'trials':>7}  {'invalid':>7}  stopped because\n")
    for run in runs:
        trials = run.valid + run.invalid + run.unknown
        show(
            f"{run.run:22}{run.study:18}{run.status:13}{trials:7}  {run.invalid + run.unknown:7}  "
            f"{run.stopped_because}\n"
        )
    return 0


def export_command(run_name: str, format_name: str, outcomes: str | None) -> int:
    """A run with all its trials, as one JSON document or as a CSV with a row for each case and block.

    `outcomes` are the names of the CSV's, with commas between; None: the deciding one, and the server's CPU
    time.
    """
    if format_name not in get_args(ExportFormat):
        raise UserMistake(
            f"--format: {format_name!r} is not a format of an export",
            remedy=f"choose one of {', '.join(get_args(ExportFormat))}",
        )
    if format_name == "json" and outcomes is not None:
        raise UserMistake("--outcomes is for --format csv alone: the JSON has every outcome")
    with open_store() as store:
        if format_name == "json":
            show_json(store.export(run_name) + "\n")
        else:
            show(_csv(store, run_name, outcomes))
    return 0


def _csv(store: Store, run_name: str, outcomes: str | None) -> str:
    stored = store.load(run_name)
    names = asked_outcomes(outcomes, stored.header.study)
    return blocks_csv(block_rows(stored, names), names)


def delete_command(run_name: str) -> int:
    """Delete a run, and say which one it was."""
    with open_store() as store:
        deleted = store.delete(run_name)
    show(f"deleted run {deleted}\n")
    return 0
