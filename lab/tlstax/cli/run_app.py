"""The command `run` and its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import (
    Arrivals,
    BesideOthers,
    Capture,
    ClientCpus,
    ClusterOptions,
    Count,
    ExternalOptions,
    Json,
    Live,
    OverBudget,
    Profile,
    ServerCpus,
    Verbose,
)

run_app = typer.Typer()


@dataclass(frozen=True)
class RunOptions:
    """The options of `tlstax run` as they were typed.

    `server` has names of specimens and addresses of external servers, which `external` is about.
    """

    server: Annotated[
        str | None,
        typer.Option(
            help="Servers: names of specimens, such as mysql-8.0.33, and external ones by their addresses, "
            "mysql://user@host:port/db; comma-separated. Default: a private MySQL 9.7."
        ),
    ] = None
    tls_library: Annotated[
        str | None,
        typer.Option(help="TLS libraries to run the server on, such as openssl-1.1.1l; comma-separated."),
    ] = None
    client: Annotated[
        str | None,
        typer.Option(
            help="Load clients: engine, sysbench, mysqlslap-8.0.33, mysqlslap-9.7, or drivers "
            "(`tlstax drivers list`); comma-separated."
        ),
    ] = None
    client_tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries to run the load client on; comma-separated.")
    ] = None
    tls: Annotated[
        str | None,
        typer.Option(help="Levels: off, 1.2, 1.3, default, 1.2-resumed, 1.3-resumed; comma-separated."),
    ] = None
    workload: Annotated[
        str | None,
        typer.Option(
            help="Such as point-select, reconnect, storm, insert, oltp-read-write, or a file with one of "
            "your own; with commas."
        ),
    ] = None
    connections: Annotated[
        str | None, typer.Option(help="How many each case has at once, such as 8 or 1,8,64 (8).")
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            help="With --server: read keys of a table that is there, such as orders.id, and make none."
        ),
    ] = None
    share: Annotated[
        str | None,
        typer.Option(help="With --server: the share of the time in which it is at work for tlstax (100%)."),
    ] = None
    full_load: Annotated[
        bool,
        typer.Option(
            "--full-load",
            help="With --server: as much load as on an idle server, whoever else is at work there.",
        ),
    ] = False
    address: Annotated[
        str | None,
        typer.Option(
            help="With --server: other ways to it, such as direct,proxy=proxy.example:6033,tunnel=[::1]:3307."
        ),
    ] = None
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Price this file of authorities (PEM) beside one with those that are needed alone.",
        ),
    ] = None
    path: Annotated[
        str | None,
        typer.Option(
            help="What carries the bytes, besides direct: unix-socket, ssh-aes256-ctr, stunnel, haproxy, "
            "router-passthrough and others; comma-separated."
        ),
    ] = None
    rtt_ms: Annotated[
        str | None,
        typer.Option(help="Round trip times to put between client and server, such as 0,45,170 (0)."),
    ] = None
    rows: Annotated[int | None, typer.Option(min=1, help="Rows in the table (100,000).")] = None
    server_cpus: ServerCpus = None
    client_cpus: ClientCpus = None
    budget: Annotated[str | None, typer.Option(help="Time to spend on trials, such as 60s or 5m (60s).")] = (
        None
    )
    over_budget: OverBudget = False
    precision: Annotated[
        str | None, typer.Option(help="Stop when every ratio is known to within this, such as 2% (2%).")
    ] = None
    alike_within: Annotated[
        str | None,
        typer.Option(help="Call what differs by less than this alike, where the interval proves it (5%)."),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(help="Open loop: operations a second over all connections, such as 5000."),
    ] = None
    arrivals: Arrivals = None
    profile: Profile = False
    capture: Capture = False
    count: Count = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write the report here: .html, or as of `report`. Default: beside the store.", dir_okay=False
        ),
    ] = None
    external: ExternalOptions = field(default_factory=ExternalOptions)
    beside_others: BesideOthers = False
    live: Live = False
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    verbose: Verbose = False
    json: Json = False


@command(run_app)
def run(options: RunOptions) -> int:
    """Measure what TLS costs a server: the built-in study `tax`."""
    from tlstax.cli.quantities import check_levels

    check_levels("tax", vars(options))
    from tlstax.cli.run_command import run_command

    return run_command(options)
