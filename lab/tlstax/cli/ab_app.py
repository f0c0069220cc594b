"""The command `ab` and its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import (
    BesideOthers,
    Budget,
    ClientCpus,
    ExternalOptions,
    Json,
    LimitOptions,
    Live,
    OverBudget,
    ServerCpus,
    Settings,
    Verbose,
)

ab_app = typer.Typer()


@dataclass(frozen=True)
class AbOptions:
    """The options of `tlstax ab` as they were typed; `settings` are factor=levels that both sides have."""

    a: Annotated[
        list[str],
        typer.Option("--a", help="What is known: factor=level, such as server=mysql-9.7; repeatable."),
    ]
    b: Annotated[
        list[str],
        typer.Option("--b", help="What is beside it: factor=level, such as server=my-build; repeatable."),
    ]
    limits: LimitOptions = field(default_factory=LimitOptions)
    tls: Annotated[str | None, typer.Option(help="Of both sides; default: 1.3.")] = None
    workload: Annotated[str | None, typer.Option(help="Of both sides; default: point-select,reconnect.")] = (
        None
    )
    connections: Annotated[str | None, typer.Option(help="Of both sides; default: 8.")] = None
    settings: Settings = None
    budget: Budget = None
    over_budget: OverBudget = False
    precision: Annotated[
        str | None,
        typer.Option(help="Stop when B beside A is known to within this; default: 1%."),
    ] = None
    alike_within: Annotated[
        str | None,
        typer.Option(help="Call what differs by less than this alike, where the interval proves it (5%)."),
    ] = None
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of the table.")] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None
    server_cpus: ServerCpus = None
    client_cpus: ClientCpus = None
    report: Annotated[
        Path | None, typer.Option(help="Write the report here: .html, or as of `report`.", dir_okay=False)
    ] = None
    external: ExternalOptions = field(default_factory=ExternalOptions)
    beside_others: BesideOthers = False
    live: Live = False
    verbose: Verbose = False
    json: Json = False


@command(ab_app)
def ab(options: AbOptions) -> int:
    """What B changes beside A: both in one run, in turns, each of two processes that every block has anew.

    A server may be an external one, mysql://user@host:port/db, which goes on as it is. With limits the exit
    status is that of `check`.
    """
    from tlstax.cli.ab_command import ab_command

    return ab_command(options)
