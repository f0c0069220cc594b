"""The commands that look at a server or at drivers, or ahead: `inspect`, `advise`, `drivers`, `predict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import Group, With, command
from tlstax.cli.options import (
    AllowPlaintext,
    BesideOthers,
    Json,
    LoginOptions,
    OverBudget,
    ServerHost,
    Verbose,
)

server_app = typer.Typer()
drivers_app = typer.Typer(
    cls=Group, help="What database drivers do by default, and what it costs.", no_args_is_help=True
)

Url = Annotated[
    str | None,
    typer.Argument(
        help="mysql://user@host:port/schema or postgres://user@host/database; or a specimen such as "
        "mysql-8.0.33, started privately. Default: a private MySQL 9.7.",
        metavar="URL",
    ),
]
Watch = Annotated[str, typer.Option(help="How long its counters are watched, such as 5s or 1m.")]


@dataclass(frozen=True)
class InspectOptions:
    """The options of `tlstax inspect` as they were typed."""

    server: Url = None
    login: LoginOptions = field(default_factory=LoginOptions)
    watch: Watch = "5s"
    client: Annotated[
        str | None,
        typer.Option(
            help="Drivers such as go-sql-driver-1.9, separated by commas: whether they could connect, and "
            "every line that mends it. Default: all that are known, in short."
        ),
    ] = None
    verbose: Verbose = False
    json: Json = False


@command(server_app)
def inspect(options: InspectOptions) -> int:
    """How a server's TLS is from outside, and what is unsafe.

    That takes a few dozen connections, one at a time.
    """
    from tlstax.cli.server_command import inspect_command

    return inspect_command(options)


@dataclass(frozen=True)
class AdviseOptions:
    """The options of `tlstax advise` as they were typed.

    `redact` None redacts the page alone, which is there to be shared.
    """

    server: Url = None
    connects: Annotated[
        str | None, typer.Option(help="Connections a second, such as 200/s, where that is not to be seen.")
    ] = None
    queries: Annotated[int | None, typer.Option(min=1, help="Statements on each connection.")] = None
    bytes: Annotated[str | None, typer.Option("--bytes", help="Bytes of each answer, such as 2k.")] = None
    budget: Annotated[
        str, typer.Option(help="How long to measure on a private server like it; off leaves it out.")
    ] = "2m"
    there: Annotated[
        str, typer.Option(help="How long to measure at the server itself, one connection at a time; or off.")
    ] = "60s"
    share: Annotated[
        str, typer.Option(help="For how much of that time one processor there may be at work for it.")
    ] = "10%"
    login: LoginOptions = field(default_factory=LoginOptions)
    server_host: ServerHost = None
    watch: Watch = "5s"
    report: Annotated[
        Path | None, typer.Option(help="Write the advice here as an HTML page.", dir_okay=False)
    ] = None
    redact: Annotated[
        bool | None,
        typer.Option(
            "--redact/--no-redact",
            help="Leave names of hosts, certificates and programs out. By default in the page alone.",
        ),
    ] = None
    json: Json = False


@command(server_app)
def advise(options: AdviseOptions) -> int:
    """What to change at a server so that TLS costs less.

    With what each change would save, and how it is made.
    """
    from tlstax.cli.server_command import advise_command

    return advise_command(options)


@drivers_app.command("list")
def drivers_list(json: Json = False) -> None:
    """Every driver that is known, and whether it is built here.

    With its version, and what building it lacks.
    """
    from tlstax.cli.drivers_command import list_command

    raise typer.Exit(list_command(as_json=json))


@dataclass(frozen=True)
class ProbeOptions:
    """The options of `tlstax drivers probe` as they were typed."""

    names: Annotated[
        list[str] | None, typer.Argument(help="Names from the list; none: all of the server's.")
    ] = None
    server: Annotated[
        str | None,
        typer.Option(
            help="The server to log in to, such as mysql-8.0.33, postgresql-18 or "
            "mysql://user@host:port/schema. Default: a private MySQL 9.7, or PostgreSQL 18 for its drivers."
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
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write it here as well: .json or .txt; of PostgreSQL's drivers .md or .csv, too.",
            dir_okay=False,
        ),
    ] = None
    json: Json = False


@command(drivers_app, "probe")
def probe(options: ProbeOptions) -> int:
    """What each driver does by default, and what that costs.

    How it logs in, and what it sends by itself.
    """
    from tlstax.cli.drivers_command import probe_command

    return probe_command(options)


predict_app = typer.Typer()


VALIDATING = With("validate")


@dataclass(frozen=True)
class PredictOptions:
    """The options of `tlstax predict` as they were typed; `run` names the run whose parts are used."""

    connects: Annotated[
        str | None, typer.Option(help="Connections a second, such as 200/s; without, one is looked at.")
    ] = None
    queries: Annotated[int, typer.Option(min=1, help="Statements on each connection.")] = 1
    bytes: Annotated[str, typer.Option("--bytes", help="Bytes of each answer, such as 120 or 2k.")] = "120"
    rtt_ms: Annotated[float, typer.Option(help="Round trip time between client and server.")] = 0.0
    tls: Annotated[str, typer.Option(help="1.3, 1.2 or off; 1.3-direct at PostgreSQL.")] = "1.3"
    certificate: Annotated[str, typer.Option(help="The server's key, such as rsa-4096 or ec-p256.")] = (
        "rsa-2048"
    )
    chain: Annotated[
        int, typer.Option(help="How many certificates the server sends: its own, and those up to the root.")
    ] = 1
    client_certificate: Annotated[
        str, typer.Option(help="on where clients prove themselves by a certificate, else off.")
    ] = "off"
    group: Annotated[
        str, typer.Option(help="The clients' first group: P-256, or default for what the client puts first.")
    ] = "P-256"
    resumption: Annotated[str, typer.Option(help="on where clients resume sessions, else off.")] = "off"
    auth: Annotated[
        str,
        typer.Option(help="The plugin or method of the clients' account, or default for the server's own."),
    ] = "default"
    path: Annotated[
        str, typer.Option(help="With --tls off: what carries the bytes, such as stunnel or haproxy-tls.")
    ] = "direct"
    compression: Annotated[
        str, typer.Option(help="The protocol's own, of answers that it halves: zlib or zstd, else off.")
    ] = "off"
    protocol: Annotated[
        str, typer.Option(help="How statements travel: text, or prepared once a connection (PostgreSQL).")
    ] = "text"
    server: Annotated[
        str | None, typer.Option(help="Which server's costs, such as mysql-8.0.33 or postgresql-18.")
    ] = None
    run: Annotated[
        str | None,
        typer.Option(help="The run of components or postgres-components that it is computed from."),
    ] = None
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration/--no-calibration",
            help="Without a run of the parts' study: measure for half a minute, once, or answer at once.",
        ),
    ] = True
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure that half minute again, and use it.")
    ] = False
    validate: Annotated[
        bool, typer.Option("--validate", help="Measure mixes drawn at random, and show how far off it is.")
    ] = False
    mixes: Annotated[int, typer.Option(help="With --validate: how many are drawn."), VALIDATING] = 24
    budget: Annotated[str, typer.Option(help="With --validate: how long to measure."), VALIDATING] = "10m"
    seed: Annotated[int | None, typer.Option(help="With --validate: draw the same again."), VALIDATING] = None
    near: Annotated[
        bool,
        typer.Option("--near", help="With --validate: no distances, so that all else is measured longer."),
        VALIDATING,
    ] = False
    json: Json = False


@command(predict_app)
def predict(options: PredictOptions) -> int:
    """What a way of using a server would cost, and what would be cheaper: computed from measured parts."""
    from tlstax.cli.predict_command import predict_command, validate_command

    return validate_command(options) if options.validate else predict_command(options)
