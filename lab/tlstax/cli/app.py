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
from typer.core import TyperGroup
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
from tlstax.cli.options import Json, RunName, Verbose
from tlstax.cli.pages_app import pages_app
from tlstax.cli.predict_app import predict_app
from tlstax.cli.run_app import run_app
from tlstax.cli.runs_app import runs_app
from tlstax.cli.specimens_app import specimens_app
from tlstax.cli.streams import remember, tell
from tlstax.cli.study_app import study_app
from tlstax.guests import given_password
from tlstax.support import temporary
from tlstax.support.errors import TlstaxError
from tlstax.support.plain_words import plain

GROUPS = {
    "Measure": ("run", "study", "ab", "storm", "memory", "library-bench", "self-bench"),
    "Look at a server": ("inspect", "advise", "predict", "drivers"),
    "Read what was measured": (
        *("report", "compare", "check", "explain", "flames", "runs", "watch", "explore"),
        *("pack", "open", "publish"),
    ),
    "This machine": ("doctor", "specimens", "machines", "bundle", "completion"),
}
"""The commands in the order that the help and the manual page have them, by what they are for."""


class _Program(TyperGroup):
    """All commands, in the help by what they are for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the library's)
        order = [name for names in GROUPS.values() for name in names]
        return sorted(self.commands, key=lambda name: order.index(name) if name in order else -1)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (the library's)
        longest = max(len(name) for names in GROUPS.values() for name in names)
        for title, names in GROUPS.items():
            with formatter.section(title):
                shown = [(name, self.commands[name]) for name in names]
                width = formatter.width - 6 - longest
                formatter.write_dl(
                    [(name.ljust(longest), command.get_short_help_str(width)) for name, command in shown]
                )


app = typer.Typer(
    name="tlstax",
    cls=_Program,
    help="What does TLS cost this database? Measured, with proof of what ran and an interval on every ratio.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
HELP = ["--help", "-h"]
"""What asks for help, of the program and of each command."""

_UsageError: Any = typer.BadParameter.__base__
"""The library's own, or click's where an older one is built on that."""

app.add_typer(run_app)
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
    command.context_settings = {**command.context_settings, "help_option_names": HELP}
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
        status = command_line()(_as_meant(arguments), prog_name="tlstax", obj=password, standalone_mode=False)
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


def _as_meant(arguments: list[str]) -> list[str]:
    """The arguments as the library wants them: `help COMMAND` by its option, a run after each --resume.

    One that names no run means the last.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
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
