"""The command line as plain data: every command with its options, read from the definitions that run it.

Completions and the manual page are made from it, so that neither can name what is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tlstax.cli.app import command_line
from tlstax.cli.examples import examples_in


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
