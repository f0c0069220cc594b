"""The commands below `tlstax drivers` and their options."""

from __future__ import annotations

from typing import Annotated

import typer

from tlstax.cli.options import (
    AllowPlaintext,
    BesideOthers,
    DefaultsFile,
    Json,
    LoginPath,
    OverBudget,
    SslCa,
    SslCert,
    SslKey,
    SslMode,
)

drivers_app = typer.Typer(
    help="What database drivers do by default, and what it costs.", no_args_is_help=True
)


@drivers_app.command("list")
def drivers_list(json: Json = False) -> None:
    """Every driver that is known: its version, whether it is built, what building it lacks here."""
    from tlstax.cli.drivers_command import list_command

    raise typer.Exit(list_command(as_json=json))


@drivers_app.command("probe")
def drivers_probe(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="Names from the list; none: all.")] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="The server to log in to, such as mysql-8.0.33 or mysql://user@host:port/schema. "
            "Default: a private MySQL 9.7."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time to spend on measuring costs, such as 60s or 5m (5m; longer for many drivers)."
        ),
    ] = None,
    over_budget: OverBudget = False,
    no_costs: Annotated[
        bool, typer.Option("--no-costs", help="Only what they do, without measuring what it costs.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(help="One of the driver's own, such as useSSL=false; may be given several times."),
    ] = None,
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks", help="Also take TLS away from them, and ask for the password, on a private server."
        ),
    ] = False,
    beside_others: BesideOthers = False,
    ssl_mode: SslMode = None,
    ssl_ca: SslCa = None,
    ssl_cert: SslCert = None,
    ssl_key: SslKey = None,
    allow_plaintext: AllowPlaintext = False,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    json: Json = False,
) -> None:
    """What each driver does by default, how it logs in, what it sends by itself, and what that costs."""
    from tlstax.cli.drivers_command import ProbeOptions, probe_command
    from tlstax.guests.access import GuestOptions

    guest = GuestOptions(
        url="",
        ssl_mode=ssl_mode,
        ssl_ca=ssl_ca,
        ssl_cert=ssl_cert,
        ssl_key=ssl_key,
        defaults_file=defaults_file,
        login_path=login_path,
        given_password=context.obj,
    )
    options = ProbeOptions(
        names or [],
        server=server,
        guest=guest,
        allow_plaintext=allow_plaintext,
        budget=budget,
        over_budget=over_budget,
        costs=not no_costs,
        option=option or [],
        beside_others=beside_others,
        attacks=attacks,
        json=json,
    )
    raise typer.Exit(probe_command(options))
