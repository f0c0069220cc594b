r"""Option files as the mysql client reads them: my.cnf and, deciphered, the login file.

Source of the rules: MySQL's manual, "Using Option Files", and its reader, mysys/my_default.cc. Groups stand
in brackets; `name = value` takes hyphens and underscores alike; a value may be quoted; comments go from `#`
or `;` at the start of a line, or from `#` outside quotes; the escapes are \b \t \n \r \\ \s \" \'. `!include`
and `!includedir` are not followed.
"""

from __future__ import annotations

import re
from pathlib import Path

from tlstax.errors import UserMistake

Groups = dict[str, dict[str, str]]

ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " ", '"': '"', "'": "'"}


def read(path: Path) -> Groups:
    """The groups of a file; UserMistake when it cannot be read or is no option file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserMistake(f"the option file {path} is not UTF-8 text") from error
    except OSError as error:
        raise UserMistake(f"the option file {path} cannot be read ({error.strerror})") from error
    return parse(text, str(path))


def parse(text: str, where: str) -> Groups:
    """The groups of a text; a later line wins over an earlier one, an option without a value is empty."""
    groups: Groups = {}
    group: dict[str, str] | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;!":
            continue
        if line[0] == "[":
            group = groups.setdefault(line[1:].partition("]")[0].strip(), {})
        elif group is None:
            raise UserMistake(f"line {number} of the option file {where} stands before any [group]")
        else:
            name, _, value = _without_comment(line).partition("=")
            group[name.strip().lower().replace("_", "-")] = _value(value.strip())
    return groups


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
