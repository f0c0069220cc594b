"""The commands below `tlstax runs` and their options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import Group, command
from tlstax.cli.options import Json, RunName

runs_app = typer.Typer(
    cls=Group, help="The runs that are kept, and what becomes of them.", no_args_is_help=True
)


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
class WatchOptions:
    """The options of `tlstax runs watch` as they were typed."""

    run_name: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run, or `last`. Default: the one under way.")
    ] = None


@command(runs_app)
def watch(options: WatchOptions) -> int:
    """Show a run as it goes, on a page of this machine.

    For a browser, until Ctrl-C.
    """
    from tlstax.cli.pages_command import watch_command

    return watch_command(options.run_name)


@dataclass(frozen=True)
class ExploreOptions:
    """The options of `tlstax runs explore` as they were typed."""

    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0: any free one.")] = 0


@command(runs_app)
def explore(options: ExploreOptions) -> int:
    """The runs in a browser, with charts; read-only.

    Views, and the README's questions; on this machine alone.
    """
    from tlstax.cli.pages_command import explore_command

    return explore_command(options.port)


@dataclass(frozen=True)
class PackOptions:
    """The options of `tlstax runs pack` as they were typed."""

    run: Annotated[str, typer.Argument(help="The run; `last` is the newest.")] = "last"
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file; default: RUN.tlstax, here.", dir_okay=False),
    ] = None
    with_names: Annotated[
        bool, typer.Option("--with-names", help="Leave hosts, accounts, schemas and directories in it.")
    ] = False


@command(runs_app)
def pack(options: PackOptions) -> int:
    """A run as one file for others, without names.

    All its trials with their proof, checksummed.
    """
    from tlstax.cli.export_command import pack_command

    return pack_command(options.run, options.output, with_names=options.with_names)


@dataclass(frozen=True)
class OpenOptions:
    """The options of `tlstax runs open` as they were typed."""

    file: Annotated[Path, typer.Argument(help="A file that `runs pack` wrote.", dir_okay=False)]


@command(runs_app, "open")
def open_(options: OpenOptions) -> int:
    """Keep a run from a file among one's own, and show it.

    Every byte of it is checked.
    """
    from tlstax.cli.export_command import open_command

    return open_command(options.file)


@dataclass(frozen=True)
class PublishOptions:
    """The options of `tlstax runs publish` as they were typed."""

    directory: Annotated[
        Path, typer.Argument(help="Where the site goes; an earlier one there is replaced.", file_okay=False)
    ]
    packs: Annotated[
        list[Path], typer.Argument(metavar="PACK…", help="Files that `runs pack` wrote.", dir_okay=False)
    ]


@command(runs_app)
def publish(options: PublishOptions) -> int:
    """A static site from packs.

    Servers, libraries and machines, each figure one click from its proof.
    """
    from tlstax.cli.export_command import publish_command

    return publish_command(options.directory, options.packs)


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
    """A run with all its trials: as one JSON document, or a table."""
    from tlstax.cli.export_command import export_command

    return export_command(options)


@runs_app.command("tabulate")
def runs_tabulate() -> None:
    """Write the rows of the store's views for runs without any.

    These are runs of older versions, or cut off.
    """
    from tlstax.cli.runs_command import tabulate_command

    raise typer.Exit(tabulate_command())


@runs_app.command("delete")
def runs_delete(
    run_name: Annotated[str, typer.Argument(help="A run's name, or the beginning of it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a run, its trials and its report; asks first."""
    from tlstax.cli.runs_command import delete_command

    raise typer.Exit(delete_command(run_name, is_agreed=yes))
