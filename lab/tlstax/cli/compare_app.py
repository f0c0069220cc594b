"""The commands for runs that travel: `compare`, `check`, `pack`, `open`, `publish`; and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import Json, LimitOptions

compare_app = typer.Typer()


@compare_app.command("compare")
def compare(
    runs: Annotated[
        list[str], typer.Argument(help="Two runs or more: their names, or files that `pack` wrote.")
    ],
    outcomes: Annotated[
        str | None,
        typer.Option(help="Comma-separated; default: the one that decided, and the server's CPU time."),
    ] = None,
    json: Json = False,
) -> None:
    """Which differences between runs are real, and what is different between them: each beside the first."""
    from tlstax.cli.compare_command import compare_command

    raise typer.Exit(compare_command(runs, outcomes, as_json=json))


@dataclass(frozen=True)
class CheckOptions:
    """The options of `tlstax check` as they were typed."""

    run: Annotated[str, typer.Argument(help="The run to be checked; `last` is the newest.")]
    limits: LimitOptions = field(default_factory=LimitOptions)
    against: Annotated[
        str | None,
        typer.Option(
            help="The run that it is checked against, or a file that `pack` wrote. Without it a run of "
            "`tlstax ab` is checked by itself: B against A."
        ),
    ] = None
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute",
            help="Check the values themselves, with the machine's speed in them, not their ratios.",
        ),
    ] = False
    json: Json = False


@command(compare_app)
def check(options: CheckOptions) -> int:
    """Whether a run keeps to limits beside an earlier one: 0 passed, 4 failed, 5 inconclusive."""
    from tlstax.cli.compare_command import check_command

    return check_command(options)


@compare_app.command("pack")
def pack(
    run: Annotated[str, typer.Argument(help="The run; `last` is the newest.")] = "last",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file; default: RUN.tlstax, here.", dir_okay=False),
    ] = None,
    with_names: Annotated[
        bool, typer.Option("--with-names", help="Leave hosts, accounts, schemas and directories in it.")
    ] = False,
) -> None:
    """A run as one file for others: all its trials with their proof, checksummed, without names."""
    from tlstax.cli.pack_command import pack_command

    raise typer.Exit(pack_command(run, output, with_names=with_names))


@compare_app.command("open")
def open_(
    file: Annotated[Path, typer.Argument(help="A file that `tlstax pack` wrote.", dir_okay=False)],
) -> None:
    """Keep a run from a file among one's own, every byte of it checked, and show it."""
    from tlstax.cli.pack_command import open_command

    raise typer.Exit(open_command(file))


@compare_app.command("publish")
def publish(
    directory: Annotated[
        Path, typer.Argument(help="Where the site goes; an earlier one there is replaced.", file_okay=False)
    ],
    packs: Annotated[
        list[Path], typer.Argument(metavar="PACK…", help="Files that `pack` wrote.", dir_okay=False)
    ],
) -> None:
    """A static site from packs: servers, libraries and machines, each figure one click from its proof."""
    from tlstax.cli.publish_command import publish_command

    raise typer.Exit(publish_command(directory, packs))
