"""Options and arguments that several commands have, with their help; and commands that are a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, TypeVar, get_type_hints

import typer

Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="All that is known, not what fits a screen."),
]
StudyName = Annotated[str, typer.Argument(help="A built-in study, or a TOML file.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Other levels: factor=a,b. May be given more than once.")
]
Budget = Annotated[str | None, typer.Option(help="Time to spend on trials, such as 60s, 5m or 2h.")]
Precision = Annotated[
    str | None, typer.Option(help="Stop when every ratio is known to within this, such as 2%.")
]
Rate = Annotated[str | None, typer.Option(help="Open loop: operations a second.")]
Arrivals = Annotated[str | None, typer.Option(help="With --rate: poisson or uniform (poisson).")]
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
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Spread the blocks over all machines of the Ray cluster whose head is at this host:port.",
    ),
]
ServerOn = Annotated[
    str | None,
    typer.Option(
        "--server-on",
        metavar="NAME",
        help="With --ray and --clients-on: the machine that the private servers run on.",
    ),
]
ClientsOn = Annotated[
    str | None,
    typer.Option(
        "--clients-on",
        metavar="NAMES",
        help="With --ray: the machines that the load comes from, together, comma-separated.",
    ),
]
TrustNetwork = Annotated[
    bool,
    typer.Option(
        "--trust-network",
        help="With --clients-on: nobody else is on the network between the machines (docs/machines.md).",
    ),
]
On = Annotated[
    str | None,
    typer.Option("--on", help="With --ray: only these of its machines, comma-separated (`tlstax machines`)."),
]

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
SslMode = Annotated[
    str | None,
    typer.Option(help="At an external server: PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY."),
]
AllowPlaintext = Annotated[
    bool,
    typer.Option(
        "--allow-plaintext",
        help="Where --ssl-mode demands TLS: log in without it too, for the comparison.",
    ),
]
SslCa = Annotated[str | None, typer.Option(help="For an external server: trusted certificates (PEM).")]
SslCert = Annotated[str | None, typer.Option(help="For an external server: a client certificate (PEM).")]
SslKey = Annotated[str | None, typer.Option(help="For an external server: its key (PEM).")]
DefaultsFile = Annotated[
    Path | None,
    typer.Option(help="For an external server: a my.cnf whose [client] section has user and password."),
]
LoginPath = Annotated[
    str | None, typer.Option(help="For an external server: a login path of mysql_config_editor.")
]

MaxRegression = Annotated[
    list[str] | None,
    typer.Option(
        help="By how much outcomes may become worse, whichever way that is: 5% for the main ones, or "
        "'ops_per_s 5%'; repeatable."
    ),
]
Most = Annotated[
    list[str] | None,
    typer.Option("--max", help="By how much an outcome may rise: 'server_cpu_us_per_op +5%'; repeatable."),
]
Least = Annotated[
    list[str] | None,
    typer.Option("--min", help="By how much an outcome must rise, or may fall: 'ops_per_s -5%'; repeatable."),
]


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


@dataclass(frozen=True, kw_only=True)
class ExternalOptions:
    """How to get into an external server. `given_password` is what TLSTAX_PASSWORD held, and no option."""

    max_connections: MaxConnections = None
    ssl_mode: SslMode = None
    ssl_ca: SslCa = None
    ssl_cert: SslCert = None
    ssl_key: SslKey = None
    defaults_file: DefaultsFile = None
    login_path: LoginPath = None
    given_password: bytes | None = field(default=None, repr=False)


Options = TypeVar("Options")


def command_of(options: type[Options], run: Callable[[Options], int]) -> Callable[..., None]:
    """A command for typer whose options are the dataclass's fields, and whose help is its docstring.

    Its own fields come before those that it inherits. A field without an option gets what the program was
    given besides (`context.obj`). `run` gets the options as they were typed, and gives the exit status.
    """

    def command(invocation: typer.Context, **typed: object) -> None:
        given = {name: invocation.obj for name in names if name not in typed}
        raise typer.Exit(run(options(**typed, **given)))

    names = {each.name: each for each in fields(options)}  # type: ignore[arg-type]
    hints = get_type_hints(options, include_extras=True)
    order = dict.fromkeys(name for base in options.__mro__ for name in vars(base).get("__annotations__", {}))
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("invocation", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
            *(
                Parameter(name, Parameter.KEYWORD_ONLY, annotation=hints[name], default=names[name].default)
                for name in order
                if hasattr(hints[name], "__metadata__")
            ),
        ]
    )
    command.__doc__ = options.__doc__
    return command
