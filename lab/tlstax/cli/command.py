"""A command is a dataclass: each option is a field, told once, and the command gets them as one object.

A field is annotated with what it is on the command line (`typer.Option`, `typer.Argument`) and, where that
is so, with what it goes with (`With`). A field whose type is a dataclass of options itself brings those
along: that is how several commands have the same ones. Help, completion, manual page and refusals follow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import ArgumentInfo, ParameterInfo

from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class With:
    """An option means something only beside another one, named by its field; `remedy` says what to do."""

    option: str
    remedy: str = "leave it out"


class Group(TyperGroup):
    """Commands below one word, each with all of its first sentence however narrow a terminal is."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List them; the library would cut the sentences off."""
        self.write_list("Commands", self.list_commands(ctx), formatter)

    def write_list(self, title: str, names: Sequence[str], formatter: Any) -> None:
        """A heading and the commands of these names, all groups' in columns that are alike."""
        longest = max(len(name) for name, command in self.commands.items() if not command.hidden)
        shown = ((name.ljust(longest), self.commands[name]) for name in names)
        with formatter.section(title):
            formatter.write_dl(
                [
                    (name, (command.help or "").split("\n\n")[0])
                    for name, command in shown
                    if not command.hidden
                ]
            )


class FromEnvironment:
    """Annotates the field that gets the passwords of the environment, which are no option."""


Options = TypeVar("Options")

Command = Callable[[Any], int]
"""Does what its options ask for; returns the exit status."""


def command(app: typer.Typer, name: str | None = None, **more: Any) -> Callable[[Command], Command]:
    """Add a function of one object, a dataclass of options, to `app` as a command.

    Its name is the function's where none is given, its help the function's docstring.
    """

    def added(do: Command) -> Command:
        (options,) = (hint for parameter, hint in get_type_hints(do).items() if parameter != "return")

        def call(invocation: typer.Context, **typed: Any) -> None:
            raise typer.Exit(do(_assembled(options, typed, invocation.obj)))

        own = inspect.Parameter(
            "invocation", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
        parameters = [own, *_parameters(options)]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        call.__name__, call.__doc__ = do.__name__, do.__doc__
        app.command(name, **more)(call)
        return do

    return added


def _parameters(options: type) -> Iterator[inspect.Parameter]:
    """The parameters by which the library knows the options of a dataclass, those of its parts in place."""
    hints = get_type_hints(options, include_extras=True)
    for each in _in_order(options):
        hint = hints[each.name]
        if is_dataclass(hint):
            yield from _parameters(hint)  # type: ignore[arg-type]
        elif _is_typed(hint):
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            yield inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )


def _in_order(options: type) -> Iterator[Field[Any]]:
    """The fields of a dataclass, its own before those that it inherits."""
    known = {each.name: each for each in fields(options)}
    names = (name for base in options.__mro__ for name in vars(base).get("__annotations__", ()))
    yield from (known[name] for name in dict.fromkeys(names) if name in known)


def _assembled(options: type, typed: Mapping[str, Any], password: object) -> Any:
    """The dataclass of what was typed, checked."""
    hints = get_type_hints(options, include_extras=True)
    values: dict[str, Any] = {}
    for each in fields(options):
        hint = hints[each.name]
        if is_dataclass(hint):
            values[each.name] = _assembled(hint, typed, password)  # type: ignore[arg-type]
        elif _is_typed(hint):
            values[each.name] = typed[each.name]
        elif FromEnvironment in get_args(hint) and password is not None:
            values[each.name] = password
    return checked(options(**values))


def checked(options: Options) -> Options:
    """The same options. UserMistake for one that was given without the one that it goes with."""
    own = fields(options)  # type: ignore[arg-type]
    given = {each.name for each in own if getattr(options, each.name) != _default(each)}
    hints = get_type_hints(type(options), include_extras=True)
    for each in own:
        for beside in get_args(hints[each.name]) if each.name in given else ():
            if isinstance(beside, With) and beside.option not in given:
                raise UserMistake(
                    f"{_spelled(each.name)} goes with {_spelled(beside.option)}", remedy=beside.remedy
                )
    return options


def words_of(options: Any) -> list[str]:
    """A dataclass of options as it would be typed: arguments first, and no option that is as by default."""
    arguments: list[str] = []
    typed: list[str] = []
    hints = get_type_hints(type(options), include_extras=True)
    for each in _in_order(type(options)):
        hint, value = hints[each.name], getattr(options, each.name)
        if is_dataclass(hint):
            typed += words_of(value)
        elif _is_typed(hint) and value is not None:
            (known,) = (part for part in get_args(hint) if isinstance(part, ParameterInfo))
            values = value if isinstance(value, list) else [value]
            if isinstance(known, ArgumentInfo):
                arguments += map(str, values)
            elif value != _default(each):
                name, _, negated = _name_of(known, each.name).partition("/")
                for one in values:
                    typed += [name] if one is True else [negated] if one is False else [name, str(one)]
    return [*arguments, *typed]


def _name_of(option: ParameterInfo, field: str) -> str:
    """The first name that an option was given, else the one that its field gives it.

    As an annotation it has its first name where a default would be.
    """
    named = (option.default, *(option.param_decls or ()))
    return next((name for name in named if isinstance(name, str)), _spelled(field))


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _is_typed(hint: Any) -> bool:
    """Whether the field is an option or an argument."""
    return any(isinstance(part, ParameterInfo) for part in get_args(hint))


def _spelled(field: str) -> str:
    """The option of a field as it is typed."""
    return f"--{field.strip('_').replace('_', '-')}"
