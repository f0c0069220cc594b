"""The commands and their options; each hands over to a module that is imported only when it is used."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from tlstax import __version__
from tlstax.cli import examples
from tlstax.cli.ab_app import ab_app
from tlstax.cli.benches_app import benches_app
from tlstax.cli.bundle_app import bundle_app
from tlstax.cli.compare_app import compare_app
from tlstax.cli.drivers_app import drivers_app
from tlstax.cli.exit import guarded
from tlstax.cli.inspect_app import inspect_app
from tlstax.cli.options import (
    AllowPlaintext,
    BesideOthers,
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
    Profile,
    Ray,
    RunName,
    ServerCpus,
    ServerHost,
    ServerOn,
    SslCa,
    SslCert,
    SslKey,
    SslMode,
    TrustNetwork,
    Verbose,
)
from tlstax.cli.pages_app import pages_app
from tlstax.cli.predict_app import predict_app
from tlstax.cli.runs_app import runs_app
from tlstax.cli.specimens_app import specimens_app
from tlstax.cli.streams import remember, tell
from tlstax.cli.study_app import study_app
from tlstax.guests import given_password
from tlstax.support import temporary
from tlstax.support.errors import TlstaxError
from tlstax.support.plain_words import plain

app = typer.Typer(
    name="tlstax",
    help="What does TLS cost this database? Measured, with proof of what ran and an interval on every ratio.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_UsageError: Any = typer.BadParameter.__base__
"""The library's own, or click's where an older one is built on that."""

app.add_typer(compare_app)
app.add_typer(ab_app)
app.add_typer(bundle_app)
app.add_typer(inspect_app)
app.add_typer(predict_app)
app.add_typer(benches_app)
app.add_typer(pages_app)
app.add_typer(study_app, name="study")
app.add_typer(runs_app, name="runs")
app.add_typer(specimens_app, name="specimens")
app.add_typer(drivers_app, name="drivers")


@cache
def command_line() -> Any:
    """All commands as the library has them; values are called as people call them, not by Python's types.

    They are made once: what one is given it keeps in a context of its own.
    """
    command = get_command(app)
    _name_values(command)
    return command


def _name_values(command: Any) -> None:
    for parameter in command.params:
        is_flag = parameter.param_type_name == "option" and parameter.is_flag
        if parameter.metavar is None and not is_flag:
            name = parameter.name.strip("_").removesuffix("_name")
            parameter.metavar = name.upper().replace("_", "-")
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda **_: ""  # Its name says what it is, not Python's type.
    for below in getattr(command, "commands", {}).values():
        _name_values(below)


def main() -> int:
    """Run the command line and return its exit status (see `tlstax.cli.exit`).

    A password in the environment is handed to the command that wants it, and to no process that is started.
    """
    password = given_password.take()
    with suppress(TlstaxError):  # A cache by a name that will not do is said where it is used.
        temporary.clear()
    return guarded(lambda: _obey(sys.argv[1:], password))


def _obey(arguments: list[str], password: bytes | None) -> None:
    """Carry a command out. SystemExit with its status; what the library says of a mistake has no password."""
    remember(arguments)
    given_password.refuse_arguments(arguments)
    try:
        status = command_line()(
            _with_last_run(arguments), prog_name="tlstax", obj=password, standalone_mode=False
        )
    except _UsageError as mistake:
        mistake.message = plain(mistake.message)
        text = StringIO()
        mistake.show(text)
        for line in text.getvalue().splitlines():
            tell(line)
        raise SystemExit(mistake.exit_code) from None
    except typer.Abort:
        tell("Aborted!")
        raise SystemExit(1) from None
    raise SystemExit(status or 0)


def _with_last_run(arguments: list[str]) -> list[str]:
    """The arguments, with `last` after a --resume that names no run: the library wants a value there."""
    completed = []
    for argument, after in pairwise([*arguments, ""]):
        completed.append(argument)
        if argument == "--resume" and not re.fullmatch(r"last|\d[\da-f-]*", after):
            completed.append("last")
    return completed


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tlstax {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure what TLS costs a database."""


@app.command(hidden=True)
def node() -> None:
    """What a run over many machines starts on each: orders on standard input, reports on standard output."""
    from tlstax.machines.node import main as work

    raise typer.Exit(work())


@app.command("client-node", hidden=True)
def client_node() -> None:
    """What runs on each machine that the load comes from: it listens until its standard input ends."""
    from tlstax.machines.client_node import main as work

    raise typer.Exit(work())


@app.command()
def run(
    context: typer.Context,
    server: Annotated[
        str | None,
        typer.Option(
            help="Servers: names of specimens, such as mysql-8.0.33, and external ones by their addresses, "
            "mysql://user@host:port/db; comma-separated. Default: a private MySQL 9.7."
        ),
    ] = None,
    tls_library: Annotated[
        str | None,
        typer.Option(help="TLS libraries to run the server on, such as openssl-1.1.1l; comma-separated."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            help="Load clients: engine, sysbench, floor, mysqlslap-8.0.33, mysqlslap-9.7, or drivers "
            "(`tlstax drivers list`); comma-separated."
        ),
    ] = None,
    client_tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries to run the load client on; comma-separated.")
    ] = None,
    tls: Annotated[
        str | None,
        typer.Option(help="Levels: off, 1.2, 1.3, default, 1.2-resumed, 1.3-resumed; comma-separated."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="Such as point-select, reconnect, storm, insert, oltp-read-write, or a file with one of "
            "your own; with commas."
        ),
    ] = None,
    connections: Annotated[
        str | None, typer.Option(help="How many each case has at once, such as 8 or 1,8,64 (8).")
    ] = None,
    max_connections: MaxConnections = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="With --server: read keys of a table that is there, such as orders.id, and make none."
        ),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(help="With --server: the share of the time in which it is at work for tlstax (100%)."),
    ] = None,
    full_load: Annotated[
        bool,
        typer.Option(
            "--full-load",
            help="With --server: as much load as on an idle server, whoever else is at work there.",
        ),
    ] = False,
    address: Annotated[
        str | None,
        typer.Option(
            help="With --server: other ways to it, such as direct,proxy=proxy.example:6033,tunnel=[::1]:3307."
        ),
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Price this file of authorities (PEM) beside one with those that are needed alone.",
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(
            help="What carries the bytes, besides direct: unix-socket, ssh-aes256-ctr, stunnel, haproxy, "
            "router-passthrough and others; comma-separated."
        ),
    ] = None,
    rtt_ms: Annotated[
        str | None,
        typer.Option(help="Round trip times to put between client and server, such as 0,45,170 (0)."),
    ] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows in the table (100,000).")] = None,
    server_cpus: ServerCpus = None,
    client_cpus: ClientCpus = None,
    budget: Annotated[
        str | None, typer.Option(help="Time to spend on trials, such as 60s or 5m (60s).")
    ] = None,
    over_budget: OverBudget = False,
    precision: Annotated[
        str | None, typer.Option(help="Stop when every ratio is known to within this, such as 2% (2%).")
    ] = None,
    alike_within: Annotated[
        str | None,
        typer.Option(help="Call what differs by less than this alike, where the interval proves it (5%)."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Open loop: operations a second over all connections, such as 5000."),
    ] = None,
    arrivals: Annotated[
        str | None, typer.Option(help="With --rate: poisson or uniform, how operations are spaced (poisson).")
    ] = None,
    profile: Profile = False,
    capture: Capture = False,
    count: Count = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write the report here: .html, or as of `report`. Default: beside the store.", dir_okay=False
        ),
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
    """Measure what TLS costs a server: the built-in study `tax`."""
    from tlstax.cli.quantities import check_levels

    check_levels("tax", context.params)
    from tlstax.cli.asked_cluster import asked_cluster
    from tlstax.cli.external_servers import external_options
    from tlstax.cli.run_command import RunOptions, run_command

    raise typer.Exit(
        run_command(
            RunOptions(
                server=server,
                tls_library=tls_library,
                client=client,
                client_tls_library=client_tls_library,
                tls=tls,
                workload=workload,
                connections=connections,
                table=table,
                share=share,
                full_load=full_load,
                address=address,
                trust=trust,
                path=path,
                rtt_ms=rtt_ms,
                rows=rows,
                server_cpus=server_cpus,
                client_cpus=client_cpus,
                budget=budget,
                over_budget=over_budget,
                precision=precision,
                alike_within=alike_within,
                rate=rate,
                arrivals=arrivals,
                profile=profile,
                capture=capture,
                count=count,
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
        )
    )


@app.command()
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


@app.command()
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
    """Where the extra cost goes, by component and function: of a run made with --profile or --count."""
    from tlstax.cli.explain_command import explain_command

    raise typer.Exit(explain_command(run_name, case, against, as_json=json))


@app.command()
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
    """Where CPU time went in a profiled run, function by function: a flame graph (SVG)."""
    from tlstax.cli.flames_command import flames_command

    raise typer.Exit(flames_command(run_name, case, against, side, folded=folded, output=output))


@app.command()
def machines(
    ray: Annotated[
        str,
        typer.Option(
            "--ray", metavar="ADDRESS", help="The head of a Ray cluster, as host:port.", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """The machines of a Ray cluster: what each is and can measure, their clocks, how far they are apart."""
    from tlstax.cli.asked_cluster import check_can_supply

    check_can_supply()
    from tlstax.cli.machines_command import machines_command

    raise typer.Exit(machines_command(ray, as_json=json))


@app.command()
def doctor(json: Json = False) -> None:
    """What this machine can and cannot measure, and what would help."""
    from tlstax.cli.doctor_command import doctor_command

    raise typer.Exit(doctor_command(as_json=json))


@app.command()
def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """The script by which a shell completes commands, options, names of servers, studies and runs."""
    from tlstax.cli.completion_command import completion_command

    raise typer.Exit(completion_command(shell))


examples.attach(app)
