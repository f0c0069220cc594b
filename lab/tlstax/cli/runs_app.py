"""The commands below `tlstax runs` and their options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import Json, RunName

runs_app = typer.Typer(help="The runs that are kept.", no_args_is_help=True)


@runs_app.command("list")
def runs_list(json: Json = False) -> None:
    """Every run that is kept, the newest first."""
    from tlstax.cli.runs_command import list_command

    raise typer.Exit(list_command(as_json=json))


@runs_app.command("show")
def runs_show(run_name: RunName = "last") -> None:
    """A run's results again, on the terminal."""
    from tlstax.cli.report_command import report_command

    raise typer.Exit(report_command(run_name, "terminal", None))


@dataclass(frozen=True)
class ExportOptions:
    """The options of `tlstax runs export` as they were typed."""

    run_name: RunName = "last"
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="json (every trial with its proof, or the rows), csv or parquet. Default: as the file's "
            "name ends, else json.",
        ),
    ] = None
    rows: Annotated[
        str | None,
        typer.Option(
            help="trials, slices, findings, observations, runs; with csv also blocks: a row for each case "
            "and block, with ratios to the baseline (default with csv; with parquet: trials)."
        ),
    ] = None
    outcomes: Annotated[
        str | None,
        typer.Option(help="The outcomes of the CSV's blocks, with commas between.", metavar="NAME[,NAME…]"),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write to this file. Parquet's default: RUN-ROWS.parquet.", dir_okay=False
        ),
    ] = None


@command(runs_app, "export")
def export(options: ExportOptions) -> int:
    """A run with all its trials: everything as one JSON document, or a table of it."""
    from tlstax.cli.export_command import export_command

    return export_command(options)


@runs_app.command("tabulate")
def runs_tabulate() -> None:
    """Write the rows of the store's SQL views for runs that have none: of older versions, or cut off."""
    from tlstax.cli.tabulate import tabulate_command

    raise typer.Exit(tabulate_command())


@runs_app.command("delete")
def runs_delete(
    run_name: Annotated[str, typer.Argument(help="A run's name, or the beginning of it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a run, its trials and its report; asks first."""
    from tlstax.cli.runs_command import delete_command

    raise typer.Exit(delete_command(run_name, is_agreed=yes))
