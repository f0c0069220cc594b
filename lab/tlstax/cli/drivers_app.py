"""The commands below `tlstax drivers` and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import AllowPlaintext, BesideOthers, Json, LoginOptions, OverBudget

drivers_app = typer.Typer(
    help="What database drivers do by default, and what it costs.", no_args_is_help=True
)


@drivers_app.command("list")
def drivers_list(json: Json = False) -> None:
    """Every driver that is known: its version, whether it is built, what building it lacks here."""
    from tlstax.cli.drivers_command import list_command

    raise typer.Exit(list_command(as_json=json))


@dataclass(frozen=True)
class ProbeOptions:
    """The options of `tlstax drivers probe` as they were typed."""

    names: Annotated[list[str] | None, typer.Argument(help="Names from the list; none: all.")] = None
    server: Annotated[
        str | None,
        typer.Option(
            help="The server to log in to, such as mysql-8.0.33 or mysql://user@host:port/schema. "
            "Default: a private MySQL 9.7."
        ),
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time to spend on measuring costs, such as 60s or 5m (5m; longer for many drivers)."
        ),
    ] = None
    over_budget: OverBudget = False
    no_costs: Annotated[
        bool, typer.Option("--no-costs", help="Only what they do, without measuring what it costs.")
    ] = False
    option: Annotated[
        list[str] | None,
        typer.Option(help="One of the driver's own, such as useSSL=false; may be given several times."),
    ] = None
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks", help="Also take TLS away from them, and ask for the password, on a private server."
        ),
    ] = False
    beside_others: BesideOthers = False
    login: LoginOptions = field(default_factory=LoginOptions)
    allow_plaintext: AllowPlaintext = False
    json: Json = False


@command(drivers_app, "probe")
def probe(options: ProbeOptions) -> int:
    """What each driver does by default, how it logs in, what it sends by itself, and what that costs."""
    from tlstax.cli.drivers_command import probe_command

    return probe_command(options)
