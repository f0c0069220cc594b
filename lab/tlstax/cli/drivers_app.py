"""The commands below `tlstax drivers` and their options."""

from __future__ import annotations

from typing import Annotated

import typer

from tlstax.cli.options import BesideOthers, Json, OverBudget

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
    names: Annotated[list[str] | None, typer.Argument(help="Names from the list; none: all.")] = None,
    server: Annotated[
        str | None, typer.Option(help="The server to log in to, such as mysql-8.0.33. Default: MySQL 9.7.")
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
    json: Json = False,
) -> None:
    """What each driver does by default, what it sends of its own accord, and what that costs."""
    from tlstax.cli.drivers_command import ProbeOptions, probe_command

    options = ProbeOptions(
        names or [],
        server=server,
        budget=budget,
        over_budget=over_budget,
        costs=not no_costs,
        option=option or [],
        beside_others=beside_others,
        attacks=attacks,
        json=json,
    )
    raise typer.Exit(probe_command(options))
