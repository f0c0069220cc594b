"""The commands and their options; each hands over to a module that is imported only when it is used."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from tlstax import __version__
from tlstax.cli.exit import guarded

app = typer.Typer(
    name="tlstax",
    help="What does TLS cost this database? Measured, with proof of what ran and an interval on every ratio.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
study_app = typer.Typer(help="Studies: what is compared with what, as files.", no_args_is_help=True)
app.add_typer(study_app, name="study")
runs_app = typer.Typer(help="The runs that are kept.", no_args_is_help=True)
app.add_typer(runs_app, name="runs")
specimens_app = typer.Typer(
    help="What can be measured: servers and TLS libraries, fetched, built or added.", no_args_is_help=True
)
app.add_typer(specimens_app, name="specimens")

Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")
]
StudyName = Annotated[str, typer.Argument(help="A built-in study, or a TOML file.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Other levels: factor=a,b. May be given more than once.")
]
Budget = Annotated[str | None, typer.Option(help="Time to spend on trials, such as 60s, 5m or 2h.")]
Precision = Annotated[str | None, typer.Option(help="Stop when every ratio is known to this, such as 2%.")]
Rate = Annotated[str | None, typer.Option(help="Open loop: so many operations a second.")]
Arrivals = Annotated[str | None, typer.Option(help="With --rate: poisson or uniform (poisson).")]
RunName = Annotated[str, typer.Argument(help="A run's name, the beginning of it, or `last`.")]


def main() -> int:
    """Run the command line and return its exit status (see `tlstax.cli.exit`)."""
    return guarded(lambda: app(_with_last_run(sys.argv[1:]), prog_name="tlstax"))


def _with_last_run(arguments: list[str]) -> list[str]:
    """The arguments, with `last` after a --resume that names no run: the library wants a value there."""
    completed = []
    for argument, after in zip(arguments, [*arguments[1:], ""], strict=True):
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


@app.command()
def run(
    server: Annotated[
        str | None,
        typer.Option(
            help="Names of specimens, such as mysql-8.0.33, with commas; or mysql://user@host:port/db, a "
            "server that is not ours. Default: MySQL 9.7 of our own."
        ),
    ] = None,
    tls_library: Annotated[
        str | None,
        typer.Option(help="TLS libraries to put under the server, such as openssl-1.1.1l; with commas."),
    ] = None,
    client_tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries to put under the load client; with commas.")
    ] = None,
    tls: Annotated[
        str | None,
        typer.Option(help="Levels: off, 1.2, 1.3, default, 1.2-resumed, 1.3-resumed; with commas."),
    ] = None,
    workload: Annotated[str | None, typer.Option(help="point-select, reconnect; with commas.")] = None,
    connections: Annotated[str | None, typer.Option(help="How many at once, such as 8 or 1,8,64.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows in the table (100,000).")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time to spend on trials, such as 60s or 5m (60s).")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="Stop when every ratio is known to this, such as 2% (2%).")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Open loop: so many operations a second over all connections, such as 5000."),
    ] = None,
    arrivals: Annotated[
        str | None, typer.Option(help="With --rate: poisson or uniform, how operations are spaced (poisson).")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the HTML report here. Default: beside the store.", dir_okay=False),
    ] = None,
    ssl_mode: Annotated[
        str | None, typer.Option(help="With --server: PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY.")
    ] = None,
    ssl_ca: Annotated[str | None, typer.Option(help="With --server: trusted certificates (PEM).")] = None,
    ssl_cert: Annotated[str | None, typer.Option(help="With --server: a client certificate (PEM).")] = None,
    ssl_key: Annotated[str | None, typer.Option(help="With --server: its key (PEM).")] = None,
    defaults_file: Annotated[
        Path | None,
        typer.Option(help="With --server: a my.cnf whose [client] section has user and password."),
    ] = None,
    login_path: Annotated[
        str | None, typer.Option(help="With --server: a login path of mysql_config_editor.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure what TLS costs a server: the built-in study `tax`."""
    from tlstax.cli.run_command import RunOptions, run_command
    from tlstax.guests.access import GuestOptions

    is_guest = server is not None and "://" in server
    raise typer.Exit(
        run_command(
            RunOptions(
                server=None if is_guest else server,
                tls_library=tls_library,
                client_tls_library=client_tls_library,
                tls=tls,
                workload=workload,
                connections=connections,
                rows=rows,
                budget=budget,
                precision=precision,
                rate=rate,
                arrivals=arrivals,
                seed=seed,
                report=report,
                json=json,
                guest=GuestOptions(
                    url=server if server and is_guest else "",
                    ssl_mode=ssl_mode,
                    ssl_ca=ssl_ca,
                    ssl_cert=ssl_cert,
                    ssl_key=ssl_key,
                    defaults_file=defaults_file,
                    login_path=login_path,
                ),
            )
        )
    )


@app.command()
def report(
    run_name: Annotated[str, typer.Argument(metavar="[RUN]", help="A run, or `last`.")] = "last",
    format_name: Annotated[
        str, typer.Option("--format", help="terminal, html, md, csv or json.")
    ] = "terminal",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file.", dir_okay=False)
    ] = None,
) -> None:
    """Show a run that was measured before, in any format."""
    from tlstax.cli.report_command import report_command

    raise typer.Exit(report_command(run_name, format_name, output))


@app.command()
def doctor(json: Json = False) -> None:
    """What this machine can and cannot measure, and what would help."""
    from tlstax.cli.doctor_command import doctor_command

    raise typer.Exit(doctor_command(as_json=json))


@app.command("self-bench")
def self_bench(
    workload: Annotated[str | None, typer.Option(help="point-select, reconnect; with commas.")] = None,
    tls: Annotated[str | None, typer.Option(help="off, 1.3, 1.3-resumed; with commas.")] = None,
    connections: Annotated[str | None, typer.Option(help="How many at once (1,8,64,512).")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time to spend on trials, such as 2m (10m); at least one block is run.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the JSON document here as well.", dir_okay=False),
    ] = None,
    client_tls_library: Annotated[
        Path | None,
        typer.Option(help="A libssl.so for the engine and the floor; sysbench keeps its own."),
    ] = None,
    hold: Annotated[
        int | None,
        typer.Option(min=2, help="Instead: hold so many connections with one engine, in an open loop."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="With --hold: queries a second over all of them (one each)."),
    ] = None,
    show: Annotated[
        Path | None,
        typer.Option("--show", help="Measure nothing, show what --output wrote before.", dir_okay=False),
    ] = None,
    format_name: Annotated[str, typer.Option("--format", help="terminal, md or json.")] = "terminal",
    json: Json = False,
) -> None:
    """The engine against sysbench and against the bare floor, on a private server in one run."""
    from tlstax.cli.self_bench_command import SelfBenchOptions, self_bench_command

    raise typer.Exit(
        self_bench_command(
            SelfBenchOptions(
                workload=workload,
                tls=tls,
                connections=connections,
                budget=budget,
                seed=seed,
                output=output,
                show=show,
                format_name=format_name,
                json=json,
                client_tls_library=client_tls_library,
                hold=hold,
                rate=rate,
            )
        )
    )


@runs_app.command("list")
def runs_list(json: Json = False) -> None:
    """Every run that is kept, the newest first."""
    from tlstax.cli.runs_command import list_command

    raise typer.Exit(list_command(as_json=json))


@runs_app.command("show")
def runs_show(run_name: RunName = "last") -> None:
    """A run's results again, on the terminal."""
    from tlstax.cli.report_command import report_command

    raise typer.Exit(report_command(run_name, "terminal", None))


@runs_app.command("export")
def runs_export(run_name: RunName = "last") -> None:
    """A run with all its trials as one JSON document."""
    from tlstax.cli.runs_command import export_command

    raise typer.Exit(export_command(run_name))


@runs_app.command("delete")
def runs_delete(
    run_name: Annotated[str, typer.Argument(help="A run's name, or the beginning of it.")],
) -> None:
    """Delete a run with its trials."""
    from tlstax.cli.runs_command import delete_command

    raise typer.Exit(delete_command(run_name))


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
    cases: Annotated[bool, typer.Option("--cases", help="List every case, however many.")] = False,
    json: Json = False,
) -> None:
    """What running a study would mean: its cases, trials and time."""
    from tlstax.cli.study_command import plan_command
    from tlstax.records import Changes

    changes = Changes(
        set=tuple(settings or ()), budget=budget, precision=precision, rate=rate, arrivals=arrivals
    )
    raise typer.Exit(plan_command(name, changes, every_case=cases, as_json=json))


@study_app.command("run")
def study_run(
    name: StudyName,
    settings: Settings = None,
    budget: Budget = None,
    precision: Precision = None,
    rate: Rate = None,
    arrivals: Arrivals = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="Bring a run that was cut off to its end: the last one of this study, or the one named.",
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the HTML report here.", dir_okay=False)] = None,
    json: Json = False,
) -> None:
    """Run a study: start its servers, measure in blocks, say what was found."""
    from tlstax.cli.study_command import StudyRunOptions, run_command
    from tlstax.records import Changes

    changes = Changes(
        set=tuple(settings or ()), budget=budget, precision=precision, rate=rate, arrivals=arrivals
    )
    options = StudyRunOptions(changes=changes, resume=resume, seed=seed, report=report, json=json)
    raise typer.Exit(run_command(name, options))


@specimens_app.command("list")
def specimens_list(json: Json = False) -> None:
    """Every specimen that is known: what it is, whether it is here, what its TLS can do."""
    from tlstax.cli.specimens_command import list_command

    raise typer.Exit(list_command(as_json=json))


@specimens_app.command("fetch")
def specimens_fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Names from the list.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All that there are, which takes a while.")
    ] = False,
) -> None:
    """Fetch or build specimens, checked against their checksums or signatures."""
    from tlstax.cli.specimens_command import fetch_command

    raise typer.Exit(fetch_command(names or [], everything=everything))


@specimens_app.command("verify")
def specimens_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Names; none: all that are here.")] = None,
) -> None:
    """Check every file of what is here, and that it runs."""
    from tlstax.cli.specimens_command import verify_command

    raise typer.Exit(verify_command(names or []))


@specimens_app.command("remove")
def specimens_remove(names: Annotated[list[str], typer.Argument(help="Names from the list.")]) -> None:
    """Remove specimens from the cache; one that was added is forgotten, and its files stay."""
    from tlstax.cli.specimens_command import remove_command

    raise typer.Exit(remove_command(names))


@specimens_app.command("add")
def specimens_add(
    name: Annotated[str, typer.Argument(help="What it is to be called, such as percona-8.4.")],
    mysqld: Annotated[Path, typer.Option(help="The path of its mysqld or mariadbd.", dir_okay=False)],
    libssl: Annotated[
        Path | None, typer.Option(help="The directory of its libssl, where it does not find it.")
    ] = None,
) -> None:
    """Give a server of this machine a name, so that it can be measured like the others."""
    from tlstax.cli.specimens_command import add_command

    raise typer.Exit(add_command(name, mysqld, libssl))
