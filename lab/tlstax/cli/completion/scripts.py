"""The script of each shell: a file that knows no command, with the tables of commands filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from importlib import resources

from tlstax.cli.completion.names import WORD
from tlstax.cli.completion.tables import Table, Tables


def script(shell: str, tables: Tables) -> str:
    """What `tlstax completion` prints for one of SHELLS."""
    file = resources.files("tlstax.cli.completion") / f"tlstax.{shell}"
    return (
        file.read_text(encoding="utf-8")
        .replace("@WORD@", WORD)
        .replace("@TABLES@", _functions(shell, tables))
    )


def _functions(shell: str, tables: Tables) -> str:
    """Each table as a function that prints the lines of a key."""
    write = SHELLS[shell]
    found: Mapping[str, Table] = {field.name: getattr(tables, field.name) for field in fields(tables)}
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
