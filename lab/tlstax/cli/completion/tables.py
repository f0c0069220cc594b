"""What every shell's script knows of the commands: lists of words by a key, written in that shell's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlstax.cli.command_tree import Command, Parameter
from tlstax.cli.completion.kinds import KINDS, Kind, kind_of

Table = Mapping[str, Sequence[str]]
"""Lines by a key. Behind a tab in a line is what it means, for shells that show that."""

LONGEST = 70


@dataclass(frozen=True)
class Tables:
    """The tables, by the command's words with blanks between.

    `commands` are the words that may follow, `options` the options. `values` are the kinds that options
    take, by command and option, those of an argument by the command and a colon; empty where any value will
    do. `words` are the words of a kind, and `traits` what else is to be known of one: asked, files, list.
    """

    commands: Table
    options: Table
    values: Table
    words: Table
    traits: Table


def tables(tree: Command) -> Tables:
    """The tables of all commands."""
    commands = list(tree.walk())
    return Tables(
        commands={
            _key(one): [f"{c.words[-1]}\t{_short(c.summary)}" for c in one.commands] for one in commands
        },
        options={_key(one): _options(one) for one in commands},
        values={key: [kind] for one in commands for key, kind in _values(one).items()},
        words={name: kind.words for name, kind in KINDS.items() if kind.words},
        traits={name: _traits(kind) for name, kind in KINDS.items()},
    )


def _key(command: Command) -> str:
    return " ".join(command.words)


def _options(command: Command) -> list[str]:
    own = [f"{name}\t{_short(option.help)}" for option in command.options for name in option.names]
    return [*own, "--help\tShow the help and exit."]


def _values(command: Command) -> dict[str, str]:
    """Kinds by what takes them. Every option that takes a value has one, be it empty."""
    taking = [option for option in command.options if option.metavar]
    found = {f"{_key(command)} {name}": _or_any(command, one) for one in taking for name in one.names}
    for argument in command.arguments[:1]:
        found[f"{_key(command)} :"] = _or_any(command, argument)
    return found


def _or_any(command: Command, parameter: Parameter) -> str:
    return kind_of(command, parameter) or "any"


def _traits(kind: Kind) -> list[str]:
    said = {"asked": kind.asked, "files": kind.files, "list": kind.is_list}
    return [name for name, holds in said.items() if holds]


def _short(text: str) -> str:
    """A sentence that fits beside a word, without what would have to be quoted."""
    plain = " ".join(text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").replace("\\", "").split())
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1].rstrip()}…"
