"""The commands below `tlstax study` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.options import (
    AllowPlaintext,
    Arrivals,
    BesideOthers,
    Budget,
    Capture,
    ClientCpus,
    ClientsOn,
    Count,
    DefaultsFile,
    Json,
    Live,
    LoginPath,
    MaxConnections,
    On,
    OverBudget,
    Precision,
    Profile,
    Rate,
    Ray,
    ServerCpus,
    ServerHost,
    ServerOn,
    Settings,
    SslCa,
    SslCert,
    SslKey,
    SslMode,
    StudyName,
    TrustNetwork,
    Verbose,
)

study_app = typer.Typer(help="Studies: what is compared with what, as files.", no_args_is_help=True)


@study_app.command("list")
def study_list() -> None:
    """The built-in studies and their questions."""
    from tlstax.cli.study_command import list_command

    raise typer.Exit(list_command())


@study_app.command("show")
def study_show(name: StudyName) -> None:
    """A study with all its factors, levels and defaults."""
    from tlstax.cli.study_command import show_command

    raise typer.Exit(show_command(name))


@study_app.command("plan")
def study_plan(
    name: StudyName,
    settings: Settings = None,
    budget: Budget = None,
    precision: Precision = None,
    rate: Rate = None,
    arrivals: Arrivals = None,
    profile: Profile = False,
    capture: Capture = False,
    count: Count = None,
    cases: Annotated[bool, typer.Option("--cases", help="List every case, however many.")] = False,
    json: Json = False,
) -> None:
    """What running a study would mean: its cases, trials and time."""
    from tlstax.cli.study_command import plan_command
    from tlstax.records.trial import Changes

    changes = Changes(
        set=tuple(settings or ()),
        budget=budget,
        precision=precision,
        rate=rate,
        arrivals=arrivals,
        profile=profile,
        capture=capture,
        count=count,
    )
    raise typer.Exit(plan_command(name, changes, every_case=cases, as_json=json))


@study_app.command("run")
def study_run(
    context: typer.Context,
    name: StudyName,
    settings: Settings = None,
    budget: Budget = None,
    over_budget: OverBudget = False,
    precision: Precision = None,
    rate: Rate = None,
    arrivals: Arrivals = None,
    profile: Profile = False,
    capture: Capture = False,
    count: Count = None,
    max_connections: MaxConnections = None,
    server_cpus: ServerCpus = None,
    client_cpus: ClientCpus = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="Finish a run that was cut off: the last one of this study, or the one named.",
        ),
    ] = None,
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
    ray: Ray = None,
    on: On = None,
    server_on: ServerOn = None,
    clients_on: ClientsOn = None,
    trust_network: TrustNetwork = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Run a study: start its servers, measure in blocks, report what was found.

    Servers that are there already are named by their addresses: --set server=mysql://user@host:port/db.
    """
    from tlstax.cli.asked_cluster import asked_cluster
    from tlstax.cli.external_servers import external_options
    from tlstax.cli.study_command import StudyRunOptions, run_command
    from tlstax.records.trial import Changes

    changes = Changes(
        set=tuple(settings or ()),
        budget=budget,
        precision=precision,
        rate=rate,
        arrivals=arrivals,
        profile=profile,
        capture=capture,
        count=count,
        server_cpus=server_cpus,
        client_cpus=client_cpus,
    )
    options = StudyRunOptions(
        changes=changes,
        over_budget=over_budget,
        resume=resume,
        seed=seed,
        report=report,
        beside_others=beside_others,
        live=live,
        cluster=asked_cluster(ray, on, server_on, clients_on, trust_network=trust_network),
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
    raise typer.Exit(run_command(name, options))
