"""Options and arguments that several commands have, with their help; and commands that are a dataclass."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tlstax.cli.command import FromEnvironment, With
from tlstax.external.given_password import GivenPassword

if TYPE_CHECKING:
    from tlstax.external.access import AccessOptions

Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="All that is known, not what fits a screen."),
]
StudyName = Annotated[str, typer.Argument(help="A built-in study, or a TOML file.")]
Rows = Annotated[int | None, typer.Option(min=1, help="Rows in the table (100,000).")]
AlikeWithin = Annotated[
    str | None,
    typer.Option(help="Call what differs by less than this alike, where the interval proves it (5%)."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Other levels: factor=a,b. May be given more than once.")
]
Budget = Annotated[str | None, typer.Option(help="Time to spend on trials, such as 60s, 5m or 2h.")]
Precision = Annotated[
    str | None, typer.Option(help="Stop when every ratio is known to within this, such as 2%.")
]
Rate = Annotated[str | None, typer.Option(help="Open loop: operations a second.")]
Arrivals = Annotated[
    str | None,
    typer.Option(help="With --rate: poisson or uniform, how operations are spaced (poisson)."),
    With("rate", "say how many operations a second, or leave it out"),
]
Profile = Annotated[
    bool,
    typer.Option(
        "--profile", help="Run every case once more in each block, sampled: where the CPU time goes."
    ),
]
Capture = Annotated[
    bool,
    typer.Option("--capture", help="First run every case once through a tap: show what crosses the wire."),
]
Count = Annotated[
    str | None,
    typer.Option(
        metavar="locks",
        help="First run every case twice on a server whose locks are counted.",
    ),
]
OverBudget = Annotated[
    bool,
    typer.Option("--over-budget", help="Run at least one block even where the budget has no room for two."),
]
BesideOthers = Annotated[
    bool,
    typer.Option(
        "--beside-others", help="Do not wait for another run that is measuring here; the report says so."
    ),
]
Live = Annotated[
    bool,
    typer.Option("--live", help="Show the run as it goes on a page for a browser of this machine, too."),
]
ServerCpus = Annotated[
    str | None,
    typer.Option(help="CPUs for the server, such as 0-11 or 0,2,4-7; what is left is the client's."),
]
ClientCpus = Annotated[
    str | None, typer.Option(help="CPUs for the load client, such as 12-15; what is left is the server's.")
]
RunName = Annotated[str, typer.Argument(help="A run's name, the beginning of it, or `last`.")]
WHOSE = With("ray", "say which cluster's machines they are, or leave it out")
LOADED_BY = With("clients_on", "say which machines the load comes from, or leave it out")


@dataclass(frozen=True)
class ClusterOptions:
    """Which machines a run is spread over, or which load a server."""

    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Spread the blocks over all machines of the Ray cluster whose head is at this host:port.",
        ),
    ] = None
    on: Annotated[
        str | None,
        typer.Option(help="With --ray: only these of its machines, comma-separated (`tlstax machines`)."),
        WHOSE,
    ] = None
    server_on: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --ray and --clients-on: the machine that the private servers run on.",
        ),
        WHOSE,
        LOADED_BY,
    ] = None
    clients_on: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With --ray: the machines that the load comes from, together, comma-separated.",
        ),
        WHOSE,
    ] = None
    trust_network: Annotated[
        bool,
        typer.Option(
            "--trust-network",
            help="With --clients-on: nobody else is on the network between the machines (docs/machines.md).",
        ),
        LOADED_BY,
    ] = False


ServerHost = Annotated[
    str | None,
    typer.Option(
        help="Where an external server runs, such as ssh://db.example: its CPU time is read there, over "
        "your own ssh."
    ),
]
MaxConnections = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many connections an external server gets at once, all in all (a quarter of those that are "
        "free).",
    ),
]
AllowPlaintext = Annotated[
    bool,
    typer.Option(
        "--allow-plaintext",
        help="Where --ssl-mode demands TLS: log in without it too, for the comparison.",
    ),
]


@dataclass(frozen=True)
class LoginOptions:
    """How to get into an external server, as the mysql client names it."""

    ssl_mode: Annotated[
        str | None,
        typer.Option(
            help="At an external server: PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY; at PostgreSQL "
            "also libpq's words."
        ),
    ] = None
    ssl_ca: Annotated[
        str | None, typer.Option(help="For an external server: trusted certificates (PEM).")
    ] = None
    ssl_cert: Annotated[
        str | None, typer.Option(help="For an external server: a client certificate (PEM).")
    ] = None
    ssl_key: Annotated[str | None, typer.Option(help="For an external server: its key (PEM).")] = None
    defaults_file: Annotated[
        Path | None,
        typer.Option(
            help="For an external MySQL or MariaDB: a my.cnf whose [client] section has user and password."
        ),
    ] = None
    login_path: Annotated[
        str | None,
        typer.Option(help="For an external MySQL or MariaDB: a login path of mysql_config_editor."),
    ] = None
    given_password: Annotated[GivenPassword, FromEnvironment] = field(default_factory=GivenPassword)

    def access(self, url: str = "", server_host: str | None = None) -> AccessOptions:
        """The same about the server at this address, whose process is looked at on `server_host`."""
        from tlstax.external.access import AccessOptions

        return AccessOptions(url=url, server_host=server_host, **vars(self))


@dataclass(frozen=True)
class ExternalOptions:
    """What options say of all external servers of a run: how to get in, and what they are promised."""

    max_connections: MaxConnections = None
    allow_plaintext: AllowPlaintext = False
    login: LoginOptions = field(default_factory=LoginOptions)
    server_host: ServerHost = None

    @property
    def access(self) -> AccessOptions:
        """How to get in, of no server yet."""
        return self.login.access(server_host=self.server_host)

    def given(self) -> list[str]:
        """The options that were given, by their names."""
        own = {
            "--allow-plaintext": self.allow_plaintext or None,
            "--max-connections": self.max_connections,
        }
        return [*self.access.given(), *(name for name, value in own.items() if value is not None)]


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """What is the same wherever a study is measured, be it `tax`, a file or two sides."""

    over_budget: OverBudget = False
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None
    server_cpus: ServerCpus = None
    client_cpus: ClientCpus = None
    external: ExternalOptions = field(default_factory=ExternalOptions)
    beside_others: BesideOthers = False
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write the report here: .html, or as of `report`. Default: beside the store.", dir_okay=False
        ),
    ] = None
    live: Live = False
    verbose: Verbose = False
    json: Json = False


@dataclass(frozen=True)
class LimitOptions:
    """What outcomes may change by, one text each as it was typed."""

    max_regression: Annotated[
        list[str] | None,
        typer.Option(
            help="By how much outcomes may become worse, whichever way that is: 5% for the main ones, or "
            "'ops_per_s 5%'; repeatable."
        ),
    ] = None
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--max", help="By how much an outcome may rise: 'server_cpu_us_per_op +5%'; repeatable."
        ),
    ] = None
    least: Annotated[
        list[str] | None,
        typer.Option(
            "--min", help="By how much an outcome must rise, or may fall: 'ops_per_s -5%'; repeatable."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What a bench shows and where, and whether it waits for others: the same for all of them."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write it here as well: .json, .md, .csv or .txt.", dir_okay=False
        ),
    ] = None
    format_name: Annotated[str, typer.Option("--format", help="terminal, md, csv or json.")] = "terminal"
    beside_others: BesideOthers = False
    json: Json = False
