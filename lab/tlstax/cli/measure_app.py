"""The commands that measure servers: `run`, `study` with what is below it, `ab`; and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from tlstax.cli.command import Group, command
from tlstax.cli.options import (
    AlikeWithin,
    Arrivals,
    Budget,
    Capture,
    ClusterOptions,
    Count,
    Json,
    LimitOptions,
    MeasuringOptions,
    Precision,
    Profile,
    Rate,
    Rows,
    Settings,
    StudyName,
)

if TYPE_CHECKING:
    from tlstax.records.trial import Changes

measure_app = typer.Typer()
study_app = typer.Typer(
    cls=Group, help="Studies: what is compared with what, as files.", no_args_is_help=True
)


@dataclass(frozen=True, kw_only=True)
class RunOptions(MeasuringOptions):
    """The options of `tlstax run` as they were typed.

    `server` has names of specimens and addresses of external servers, which `external` is about.
    """

    server: Annotated[
        str | None,
        typer.Option(
            help="Servers: names of specimens, such as mysql-8.0.33, mariadb-11.8 or postgresql-18, and "
            "external ones by their addresses, mysql://user@host:port/db; comma-separated. Default: a "
            "private MySQL 9.7."
        ),
    ] = None
    tls_library: Annotated[
        str | None,
        typer.Option(help="TLS libraries to run the server on, such as openssl-1.1.1l; comma-separated."),
    ] = None
    client: Annotated[
        str | None,
        typer.Option(
            help="Load clients: engine; sysbench, mysqlslap-8.0.33, mysqlslap-9.7, or drivers (`tlstax "
            "drivers list`) of MySQL and MariaDB; pgbench of PostgreSQL; comma-separated."
        ),
    ] = None
    client_tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries to run the load client on; comma-separated.")
    ] = None
    tls: Annotated[
        str | None,
        typer.Option(
            help="Levels: off, 1.2, 1.3, default, 1.2-resumed, 1.3-resumed, and 1.3-direct from PostgreSQL "
            "17 on; comma-separated."
        ),
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
    rows: Rows = None
    budget: Annotated[str | None, typer.Option(help="Time to spend on trials, such as 60s or 5m (60s).")] = (
        None
    )
    precision: Annotated[
        str | None, typer.Option(help="Stop when every ratio is known to within this, such as 2% (2%).")
    ] = None
    alike_within: AlikeWithin = None
    rate: Annotated[
        str | None,
        typer.Option(help="Open loop: operations a second over all connections, such as 5000."),
    ] = None
    arrivals: Arrivals = None
    profile: Profile = False
    capture: Capture = False
    count: Count = None
    cluster: ClusterOptions = field(default_factory=ClusterOptions)


@command(measure_app)
def run(options: RunOptions) -> int:
    """Measure what TLS costs a server: the built-in study `tax`."""
    from tlstax.cli.quantities import check_levels

    check_levels("tax", vars(options))
    from tlstax.cli.run_command import run_command

    return run_command(options)


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


@dataclass(frozen=True)
class StudyOptions:
    """A study, and what options change of it, as they were typed."""

    name: StudyName
    settings: Settings = None
    budget: Budget = None
    blocks: Annotated[
        int | None,
        typer.Option(min=1, help="End with this block, however long they take, in place of a budget."),
    ] = None
    precision: Precision = None
    rate: Rate = None
    arrivals: Arrivals = None
    profile: Profile = False
    capture: Capture = False
    count: Count = None

    def changes(self, server_cpus: str | None = None, client_cpus: str | None = None) -> Changes:
        """The same as a run keeps it."""
        from tlstax.records.trial import Changes

        return Changes(
            set=tuple(self.settings or ()),
            budget=self.budget,
            blocks=self.blocks,
            precision=self.precision,
            rate=self.rate,
            arrivals=self.arrivals,
            profile=self.profile,
            capture=self.capture,
            count=self.count,
            server_cpus=server_cpus,
            client_cpus=client_cpus,
        )


@dataclass(frozen=True)
class PlanOptions:
    """The options of `tlstax study plan` as they were typed."""

    study: StudyOptions
    cases: Annotated[bool, typer.Option("--cases", help="List every case, however many.")] = False
    json: Json = False


@command(study_app, "plan")
def study_plan(options: PlanOptions) -> int:
    """What running a study would mean: its cases, trials and time."""
    from tlstax.cli.study_command import plan_command

    return plan_command(options)


@dataclass(frozen=True, kw_only=True)
class StudyRunOptions(MeasuringOptions):
    """The options of `tlstax study run` as they were typed; `resume` is a run, or `last`."""

    study: StudyOptions
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="Finish a run that was cut off: the last one of this study, or the one named.",
        ),
    ] = None
    cluster: ClusterOptions = field(default_factory=ClusterOptions)

    @property
    def changes(self) -> Changes:
        """What options change of the study, and the CPUs that were asked for."""
        return self.study.changes(self.server_cpus, self.client_cpus)


@command(study_app, "run")
def study_run(options: StudyRunOptions) -> int:
    """Run a study: measure in blocks, report what was found.

    Servers that are there already are named by their addresses: --set server=mysql://user@host:port/db.
    """
    from tlstax.cli.study_command import run_command

    return run_command(options)


@dataclass(frozen=True, kw_only=True)
class AbOptions(MeasuringOptions):
    """The options of `tlstax ab` as they were typed; `settings` are factor=levels that both sides have."""

    a: Annotated[
        list[str],
        typer.Option("--a", help="What is known: factor=level, such as server=mysql-9.7; repeatable."),
    ]
    b: Annotated[
        list[str],
        typer.Option("--b", help="What is beside it: factor=level, such as server=my-build; repeatable."),
    ]
    limits: LimitOptions = field(default_factory=LimitOptions)
    tls: Annotated[str | None, typer.Option(help="Of both sides; default: 1.3.")] = None
    workload: Annotated[str | None, typer.Option(help="Of both sides; default: point-select,reconnect.")] = (
        None
    )
    connections: Annotated[str | None, typer.Option(help="Of both sides; default: 8.")] = None
    settings: Settings = None
    budget: Budget = None
    precision: Annotated[
        str | None,
        typer.Option(help="Stop when B beside A is known to within this; default: 1%."),
    ] = None
    alike_within: AlikeWithin = None
    rows: Rows = None


@command(measure_app)
def ab(options: AbOptions) -> int:
    """What B changes beside A, both in one run and in turns.

    Each is two processes that every block has anew. A server may be an external one,
    mysql://user@host:port/db, which goes on as it is. With limits the exit status is that of `compare`.
    """
    from tlstax.cli.ab_command import ab_command

    return ab_command(options)
