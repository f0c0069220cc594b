"""The commands that read runs: `report`, `compare`, `explain`, `flames`; and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import Json, LimitOptions, RunName, Verbose

read_app = typer.Typer()


@read_app.command()
def report(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="A run, or `last`.")] = "last",
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="terminal, html, md, csv or json; for tools that follow figures from run to run: bencher, "
            "openmetrics, and smaller-is-better or bigger-is-better for github-action-benchmark. Default: "
            "as the file's name ends, else terminal.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write to this file: .html, .md, .csv, .json, .prom or .txt.",
            dir_okay=False,
        ),
    ] = None,
    outcomes: Annotated[
        str | None,
        typer.Option(help="The outcomes that such a tool follows; comma-separated.", metavar="NAME[,NAME…]"),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show a run that was measured before, in any format."""
    from tlstax.cli.report_command import report_command

    raise typer.Exit(report_command(run_name, format_name, output, outcomes, verbose=verbose))


@dataclass(frozen=True)
class CompareOptions:
    """The options of `tlstax compare` as they were typed."""

    runs: Annotated[
        list[str],
        typer.Argument(
            help="Two runs or more, each beside the first: their names, or files that `runs pack` wrote. "
            "With a limit two; or one of `ab`, for B beside A."
        ),
    ]
    outcomes: Annotated[
        str | None,
        typer.Option(help="Comma-separated; default: the one that decided, and the server's CPU time."),
    ] = None
    limits: LimitOptions = field(default_factory=LimitOptions)
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute",
            help="With a limit: check the values themselves, with the machine's speed in them, not their "
            "ratios.",
        ),
    ] = False
    json: Json = False


@command(read_app)
def compare(options: CompareOptions) -> int:
    """Which differences between runs are real; a gate with --max.

    Each run is set beside the first, with what else is different between them. With limits: whether the
    second run keeps to them beside the first; 0 passed, 4 failed, 5 inconclusive.
    """
    from tlstax.cli.compare_command import compare_command

    return compare_command(options)


@read_app.command()
def explain(
    run_name: RunName = "last",
    case: Annotated[
        str | None,
        typer.Option(
            help="The case, by its levels: tls=1.3,resumption=off,workload=reconnect; or control,… for "
            "a control."
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="What to compare it with, in the same way. Default: its own baseline.")
    ] = None,
    json: Json = False,
) -> None:
    """Where the extra cost goes, by component and function.

    Of a run made with --profile or --count.
    """
    from tlstax.cli.flames_command import explain_command

    raise typer.Exit(explain_command(run_name, case, against, as_json=json))


@read_app.command()
def flames(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="A run, or `last`.")] = "last",
    case: Annotated[
        str | None,
        typer.Option(
            help="Such as tls=1.3,resumption=off,workload=reconnect. Default: the costliest, and its "
            "baseline."
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="The difference from this case; `baseline` is the case's own.")
    ] = None,
    side: Annotated[str, typer.Option(help="server or client.")] = "server",
    folded: Annotated[
        bool, typer.Option("--folded", help="Folded stacks instead of a picture: ns per operation.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write to this file: .svg, or .txt or .folded for folded stacks.",
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Where CPU time went, function by function: a flame graph.

    Of a run made with --profile; an SVG, or folded stacks.
    """
    from tlstax.cli.flames_command import flames_command

    raise typer.Exit(flames_command(run_name, case, against, side, folded=folded, output=output))
