"""The commands and their options; each hands over to a module that is imported only when it is used.

The command line is plain data as well: every command with its options, read from the definitions that run it.
Completions and the manual page are made from that, so that neither can name what is not there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from io import StringIO
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.main import get_command

from tlstax import __version__
from tlstax.cli import examples
from tlstax.cli.benches_app import benches_app
from tlstax.cli.command import Group
from tlstax.cli.examples import examples_in
from tlstax.cli.exit import guarded
from tlstax.cli.machine_app import machine_app, specimens_app
from tlstax.cli.measure_app import measure_app, study_app
from tlstax.cli.old_spellings import NOW, old_app
from tlstax.cli.read_app import read_app
from tlstax.cli.runs_app import runs_app
from tlstax.cli.server_app import drivers_app, predict_app, server_app
from tlstax.cli.streams import remember, tell
from tlstax.external import given_password
from tlstax.external.given_password import GivenPassword
from tlstax.support import temporary
from tlstax.support.errors import TlstaxError
from tlstax.support.plain_words import plain

GROUPS = {
    "Measure": ("run", "study", "ab", "storm", "library-bench"),
    "Look at a server": ("inspect", "advise", "predict", "drivers"),
    "Read what was measured": ("report", "compare", "explain", "flames", "runs"),
    "This machine": ("doctor", "specimens", "machines", "bundle", "completion"),
}
"""The commands in the order that the help and the manual page have them, by what they are for."""


_UsageError: Any = typer.BadParameter.__base__
"""The library's own, or click's where an older one is built on that."""


class _Program(Group):
    """All commands, in the help by what they are for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "suggest_commands": False})

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the library's)
        order = [name for names in GROUPS.values() for name in names]
        return sorted(self.commands, key=lambda name: order.index(name) if name in order else -1)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command. A mistake names those that are spelt like it, old spellings by their new ones."""
        try:
            return super().resolve_command(ctx, args)
        except _UsageError as mistake:
            shown = {name: name for names in GROUPS.values() for name in names} | NOW
            near = dict.fromkeys(shown[name] for name in get_close_matches(args[0], shown))
            if near:
                names = ", ".join(f"{name!r}" for name in near)
                mistake.message = f"{mistake.message.rstrip('.')}. Did you mean {names}?"
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (the library's)
        for title, names in GROUPS.items():
            self.write_list(title, names, formatter)


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

for _part in (measure_app, benches_app, server_app, predict_app, read_app, machine_app, old_app):
    app.add_typer(_part)
app.add_typer(study_app, name="study")
app.add_typer(drivers_app, name="drivers")
app.add_typer(runs_app, name="runs")
app.add_typer(specimens_app, name="specimens")


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


def _obey(arguments: list[str], password: GivenPassword) -> None:
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
    from tlstax.machines.node import client_main as work

    raise typer.Exit(work())


@app.command("live-page", hidden=True)
def live_page() -> None:
    """What `run --live` starts beside itself: the run's page, until the run is gone."""
    from tlstax.cli.pages_command import inherited_command

    raise typer.Exit(inherited_command())


examples.attach(app)


@dataclass(frozen=True)
class Parameter:
    """An option or an argument: its names on the command line (none for an argument), its own and its help.

    `metavar` stands for its value in usage, empty for an option without one.
    """

    name: str
    names: tuple[str, ...]
    metavar: str
    help: str
    required: bool
    is_repeated: bool


@dataclass(frozen=True)
class Command:
    """A command or a group of them: the words that lead to it, without the program's name, and its help."""

    words: tuple[str, ...]
    help: str
    examples: tuple[str, ...]
    options: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...]
    commands: tuple[Command, ...]

    def walk(self) -> Iterator[Command]:
        """The command itself and all below it, groups before what is in them."""
        yield self
        for command in self.commands:
            yield from command.walk()

    @property
    def summary(self) -> str:
        """The first sentence of its help."""
        return self.help.split("\n\n")[0].replace("\n", " ")


def command_tree() -> Command:
    """All commands that are no secret, from the program down."""
    return _command((), command_line())


def _command(words: tuple[str, ...], command: Any) -> Command:
    parameters = [_parameter(given) for given in command.params if not getattr(given, "hidden", False)]
    names = command.list_commands(None) if hasattr(command, "commands") else ()
    inside = [(name, command.commands[name]) for name in names]
    return Command(
        words=words,
        help=(command.help or "").strip(),
        examples=examples_in(command.epilog or ""),
        options=tuple(one for one in parameters if one.names),
        arguments=tuple(one for one in parameters if not one.names),
        commands=tuple(_command((*words, name), one) for name, one in inside if not one.hidden),
    )


def _parameter(given: Any) -> Parameter:
    is_option = given.param_type_name == "option"
    takes_value = not (is_option and given.is_flag)
    metavar = (given.metavar or given.name.strip("_").replace("_", "-").upper()) if takes_value else ""
    return Parameter(
        name=given.name,
        names=(*given.opts, *given.secondary_opts) if is_option else (),
        metavar=metavar.strip("[]"),
        help=given.help or "",
        required=bool(given.required),
        is_repeated=given.nargs == -1 or bool(getattr(given, "multiple", False)),
    )
