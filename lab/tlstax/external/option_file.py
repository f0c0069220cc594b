r"""Option files as the mysql client reads them: my.cnf and, deciphered, the login file.

Source of the rules: MySQL's manual, "Using Option Files", its reader, mysys/my_default.cc, and what mysql 9.7
and its my_print_defaults were seen to do. Groups stand in brackets, in letters of either case;
`name = value` takes hyphens and underscores alike; a value may be quoted; comments go from `#` or `;` at the
start of a line, or from `#` outside quotes; the escapes are \b \t \n \r \\ \s \" \'. Lines end at \n alone.
`!include` names another file, `!includedir` a directory of files in .cnf.

In one thing it is wiser: mysql takes the byte A0 for a blank, and so cuts a value that ends with "à".
"""

from __future__ import annotations

import re
import shlex
import stat
from pathlib import Path

from tlstax.support.errors import UserMistake

Groups = dict[str, dict[str, str | None]]
"""Options by their group, in small letters. None is an option without `=`, which is not an empty one.

Bytes that are not UTF-8 stand as surrogates, as in Python's file names (PEP 383).
"""

MARIADB_GROUPS = ("client-server", "client-mariadb")
"""Groups that MariaDB's clients read beside [client] (its documentation, "Option Groups")."""

PROGRAM_GROUPS = ("mysql", "mariadb-client")
"""Groups of the programs `mysql` and `mariadb` alone."""

ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " ", '"': '"', "'": "'"}

_BLANKS = " \t\n\v\f\r"
_DIRECTIVE = re.compile(r"!\s*(include|includedir)(?:[ \t\v\f\r]+(.*))?", re.DOTALL)
_DEEPEST = 10
"""How far files may include one another, as in mysql."""

_ALIASES = {"password1": "password"}


def read(path: Path) -> Groups:
    """The groups of a file and of those that it includes; UserMistake when one cannot be read or is none.

    What is in the groups for MariaDB's clients counts as of [client] too: of all these the last line wins.
    """
    groups: Groups = {}
    _read_into(groups, path, deep=0)
    return groups


def parse(text: str, where: str) -> Groups:
    """The groups of a text, in which nothing is included; a later line wins over an earlier one."""
    groups: Groups = {}
    _parse_into(groups, text, where, deep=None)
    return groups


def _read_into(groups: Groups, path: Path, deep: int) -> None:
    try:
        mode = path.stat().st_mode
        text = path.read_bytes().decode(errors="surrogateescape")
    except (OSError, ValueError) as error:
        raise UserMistake(f"the option file {path} cannot be read ({_why(error)})") from error
    if stat.S_ISREG(mode) and mode & stat.S_IWOTH:
        # The clients pass over it with a warning (my_default.cc).
        raise UserMistake(
            f"the option file {path} can be written by all users, so it is not used",
            remedy=f"run chmod o-w {shlex.quote(str(path))}",
        )
    _parse_into(groups, text, str(path), deep)


def _parse_into(groups: Groups, text: str, where: str, deep: int | None) -> None:
    """`deep` says how many files lead here; None includes none."""
    group: list[dict[str, str | None]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        if not line or line[0] in "#;":
            continue
        place = f"line {number} of the option file {where}"
        if line[0] == "!":
            if deep is not None:
                _include(groups, line, place, deep)
        elif line[0] == "[":
            name, bracket, _ = line[1:].partition("]")
            if not bracket:
                raise UserMistake(f"{place} opens a [group] and does not close it")
            lower = name.rstrip(_BLANKS).lower()
            names = (lower, "client") if lower in MARIADB_GROUPS and deep is not None else (lower,)
            group = [groups.setdefault(name, {}) for name in names]
        elif not group:
            raise UserMistake(f"{place} stands before any [group]")
        else:
            for options in group:
                _set(options, _without_comment(line))


def _include(groups: Groups, line: str, place: str, deep: int) -> None:
    """What `!include FILE` or `!includedir DIRECTORY` names; anything else with a `!` means nothing."""
    directive = _DIRECTIVE.fullmatch(line)
    if directive is None:
        return
    if not directive[2]:
        raise UserMistake(f"{place} does not say what to include")
    if deep >= _DEEPEST:
        raise UserMistake(f"{place} includes a file that includes another, more than {_DEEPEST} times")
    path = Path(directive[2])
    if directive[1] == "include":
        _read_into(groups, path, deep + 1)
        return
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".cnf")
    except (OSError, ValueError) as error:
        raise UserMistake(f"{place} includes {path}, which cannot be read ({_why(error)})") from error
    for file in files:
        _read_into(groups, file, deep + 1)


def _why(error: OSError | ValueError) -> str:
    """A name with a null byte is not even asked for."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _set(group: dict[str, str | None], line: str) -> None:
    name, equals, value = line.partition("=")
    option = name.rstrip(_BLANKS).replace("_", "-").removeprefix("loose-")
    if option == "skip-password":
        group["password"] = ""
    else:
        group[_ALIASES.get(option, option)] = _value(value.strip(_BLANKS)) if equals else None


def _without_comment(line: str) -> str:
    """The line up to a `#` that stands outside quotes; in quotes a backslash protects a quote."""
    quote, escaped = "", False
    for position, character in enumerate(line):
        if character in "\"'" and not escaped:
            quote = character if not quote else ("" if quote == character else quote)
        if character == "#" and not quote:
            return line[:position]
        escaped = bool(quote) and character == "\\" and not escaped
    return line


def _value(text: str) -> str:
    """Without the quotes, if it begins and ends with the same one, and with its escapes resolved."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text)
