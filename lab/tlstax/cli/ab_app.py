"""The command `ab` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.options import (
    AllowPlaintext,
    BesideOthers,
    Budget,
    ClientCpus,
    DefaultsFile,
    Json,
    Least,
    Live,
    LoginPath,
    MaxConnections,
    MaxRegression,
    Most,
    OverBudget,
    ServerCpus,
    ServerHost,
    Settings,
    SslCa,
    SslCert,
    SslKey,
    SslMode,
    Verbose,
)

ab_app = typer.Typer()


@ab_app.command("ab")
def ab(
    context: typer.Context,
    a: Annotated[
        list[str],
        typer.Option("--a", help="What is known: factor=level, such as server=mysql-9.7; repeatable."),
    ],
    b: Annotated[
        list[str],
        typer.Option("--b", help="What is beside it: factor=level, such as server=my-build; repeatable."),
    ],
    max_regression: MaxRegression = None,
    most: Most = None,
    least: Least = None,
    tls: Annotated[str | None, typer.Option(help="Of both sides; default: 1.3.")] = None,
    workload: Annotated[
        str | None, typer.Option(help="Of both sides; default: point-select,reconnect.")
    ] = None,
    connections: Annotated[str | None, typer.Option(help="Of both sides; default: 8.")] = None,
    settings: Settings = None,
    budget: Budget = None,
    over_budget: OverBudget = False,
    precision: Annotated[
        str | None,
        typer.Option(help="Stop when B beside A is known to within this; default: 1%."),
    ] = None,
    alike_within: Annotated[
        str | None,
        typer.Option(help="Call what differs by less than this alike, where the interval proves it (5%)."),
    ] = None,
    max_connections: MaxConnections = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of the table.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    server_cpus: ServerCpus = None,
    client_cpus: ClientCpus = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the report here: .html, or as of `report`.", dir_okay=False)
    ] = None,
    ssl_mode: SslMode = None,
    allow_plaintext: AllowPlaintext = False,
    ssl_ca: SslCa = None,
    ssl_cert: SslCert = None,
    ssl_key: SslKey = None,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    server_host: ServerHost = None,
    beside_others: BesideOthers = False,
    live: Live = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """What B changes beside A: both in one run, in turns, each of two processes that every block has anew.

    A server may be an external one, mysql://user@host:port/db, which goes on as it is. With limits the exit
    status is that of `check`.
    """
    from tlstax.cli.ab_command import AbOptions, ab_command
    from tlstax.cli.asked_outcomes import TypedLimits
    from tlstax.cli.external_servers import external_options

    options = AbOptions(
        a=a,
        b=b,
        limits=TypedLimits(most=most or (), least=least or (), regression=max_regression or ()),
        tls=tls,
        workload=workload,
        connections=connections,
        settings=settings or [],
        budget=budget,
        over_budget=over_budget,
        precision=precision,
        alike_within=alike_within,
        rows=rows,
        seed=seed,
        server_cpus=server_cpus,
        client_cpus=client_cpus,
        report=report,
        beside_others=beside_others,
        live=live,
        verbose=verbose,
        json=json,
        external=external_options(
            ssl_mode,
            ssl_ca,
            ssl_cert,
            ssl_key,
            defaults_file,
            login_path,
            server_host,
            max_connections,
            context.obj,
            allow_plaintext=allow_plaintext,
        ),
    )
    raise typer.Exit(ab_command(options))
