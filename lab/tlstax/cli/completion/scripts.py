"""The script of each shell: a file that knows no command, with the tables of commands filled in.

The tables are lists of words by a key, written in each shell's words. Which names a value is completed with
follows from its parameter, by the tables that check it when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from typing import get_args

from tlstax.cli.app import Command, Parameter
from tlstax.cli.completion.names import WORD
from tlstax.cli.export_command import ExportFormat
from tlstax.report.formats.render import FORMATS, OF_BENCHES
from tlstax.specimens.catalogue import RECIPES
from tlstax.study.changes import RESUMED
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.factor import Factor
from tlstax.study.factors import FACTORS
from tlstax.study.files import built_in_studies
from tlstax.study.level_names import OWN
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class Kind:
    """Names of one kind: those that are known beforehand, and where others come from.

    With `asked` the program prints more of them (`names.py`), with `files` paths of files are some too.
    Those of a list stand with commas between.
    """

    words: tuple[str, ...] = ()
    asked: bool = False
    files: bool = False
    is_list: bool = False


def _specimens(kind: str) -> tuple[str, ...]:
    return tuple(name for name, recipe in RECIPES.items() if recipe.kind == kind)


_LIBRARIES = _specimens("tls_library")


def _levels(factor: Factor) -> Kind | None:
    """The names of a factor's levels; None where they are numbers or any words."""
    if factor.name == "server":
        return Kind(_specimens("server"), asked=True, is_list=True)
    if factor.name == "tls" and factor.levels:
        return Kind((*factor.levels, f"1.2{RESUMED}", f"1.3{RESUMED}"), is_list=True)
    if factor.form == "specimen":
        return Kind((OWN, *_LIBRARIES), is_list=True)
    return Kind(factor.levels, is_list=True) if factor.levels else None


def _settings() -> tuple[str, ...]:
    """What --set takes: each factor with its names, one at a time, or without where it takes numbers."""
    found = {name: _levels(factor) for name, factor in FACTORS.items()}
    return tuple(f"{name}={word}" for name, kind in found.items() for word in (kind.words if kind else ("",)))


KINDS: dict[str, Kind] = {
    "runs": Kind(("last",), asked=True),
    "packs": Kind(("last",), asked=True, files=True),
    "studies": Kind(built_in_studies(), files=True),
    "settings": Kind(_settings()),
    "outcomes": Kind(tuple(OUTCOMES), is_list=True),
    "drivers": Kind(tuple(DRIVERS)),
    "specimens": Kind(tuple(RECIPES)),
    "libraries": Kind(_LIBRARIES, is_list=True),
    "formats": Kind(tuple(FORMATS)),
    "bench-formats": Kind(OF_BENCHES),
    "export-formats": Kind(get_args(ExportFormat)),
    "spacings": Kind(("poisson", "uniform")),
    "files": Kind(files=True),
} | {f"factor-{name}": kind for name, factor in FACTORS.items() if (kind := _levels(factor))}
"""By the names that scripts know them by."""

_BY_PARAMETER = {
    "run_name": "runs",
    "run": "runs",
    "beside": "runs",
    "resume": "runs",
    "runs": "packs",
    "settings": "settings",
    "outcomes": "outcomes",
    "library": "libraries",
    "arrivals": "spacings",
    "format_name": "bench-formats",
    "format_": "export-formats",
    "server_host": "",
    **dict.fromkeys(
        (
            "report",
            "output",
            "file",
            "ssl_ca",
            "trust",
            "ssl_cert",
            "ssl_key",
            "defaults_file",
            "mysqld",
            "libssl",
        ),
        "files",
    ),
}
_BY_PLACE = {
    ("report", "format_name"): "formats",
    ("ab", "a"): "settings",
    ("ab", "b"): "settings",
    ("study", "name"): "studies",
    ("specimens", "names"): "specimens",
    ("drivers", "names"): "drivers",
    ("inspect", "server"): "",
    ("advise", "server"): "",
}
"""Where a parameter's own name does not say it: by the first word that leads to the command as well."""


def kind_of(command: Command, parameter: Parameter) -> str:
    """The kind in KINDS by which a parameter's value is completed; empty where nothing is known of it."""
    placed = _BY_PLACE.get((command.words[0], parameter.name)) if command.words else None
    if placed is not None:
        return placed
    factor = f"factor-{parameter.name}"
    return _BY_PARAMETER.get(parameter.name, factor if factor in KINDS else "")


def named_parameters() -> frozenset[str]:
    """The parameters that are spoken of here, all of which there should be."""
    return frozenset({*_BY_PARAMETER, *(name for _, name in _BY_PLACE)})


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
