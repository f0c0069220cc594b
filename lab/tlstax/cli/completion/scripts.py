"""The script of each shell: a file that knows no command, with the tables of commands filled in.

The tables are lists of words by a key, written in each shell's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources

from tlstax.cli.command_tree import Command, Parameter
from tlstax.cli.completion.kinds import KINDS, Kind, kind_of
from tlstax.cli.completion.names import WORD
from tlstax.support.errors import UserMistake

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


def script(shell: str, tree: Command) -> str:
    """What `tlstax completion` prints of these commands; UserMistake for a shell that is not known."""
    if shell not in SHELLS:
        raise UserMistake(f"there is no completion for {shell!r}", remedy=f"name one of {', '.join(SHELLS)}")
    file = resources.files("tlstax.cli.completion") / f"tlstax.{shell}"
    return (
        file.read_text(encoding="utf-8")
        .replace("@WORD@", WORD)
        .replace("@TABLES@", _functions(shell, tables(tree)))
    )


def _functions(shell: str, known: Tables) -> str:
    """Each table as a function that prints the lines of a key."""
    write = SHELLS[shell]
    found: Mapping[str, Table] = {field.name: getattr(known, field.name) for field in fields(known)}
    return "\n".join(
        write(name, {key: lines for key, lines in one.items() if lines}) for name, one in found.items()
    )


def _posix(name: str, table: Table) -> str:
    cases = (f"    '{key}') {_print(lines)} ;;" for key, lines in table.items())
    return "\n".join((f"_tlstax_{name}() {{", '    case "$1" in', *cases, "    esac", "}"))


def _fish(name: str, table: Table) -> str:
    cases = (f"        case '{key}'\n            {_print(lines)}" for key, lines in table.items())
    return "\n".join((f"function __tlstax_{name}", '    switch "$argv[1]"', *cases, "    end", "end"))


def _print(lines: Iterable[str]) -> str:
    """No line has a quotation mark or a backslash in it (`tables.py`), so tabs may be written as escapes."""
    return "printf '%b\\n' " + " ".join("'{}'".format(line.replace("\t", "\\t")) for line in lines)


SHELLS: dict[str, Callable[[str, Table], str]] = {"bash": _posix, "zsh": _posix, "fish": _fish}
"""How each shell writes a table."""
