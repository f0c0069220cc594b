"""The formats that `self-bench` and `library-bench` print and write their documents in."""

from __future__ import annotations

from pathlib import Path

from tlstax.cli.output_file import check_writable, format_of_name
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

FORMATS = ("terminal", "md", "json")
BY_SUFFIX = {".json": "json", ".md": "md", ".txt": "terminal"}


def format_of(named: str, *, json: bool) -> str:
    """The format that was asked for, by --format or by --json. UserMistake for one that there is not."""
    if named not in FORMATS:
        raise UserMistake(
            f"--format: there is no format {named!r}{closest(named, FORMATS)}",
            remedy=f"the formats are {', '.join(FORMATS)}",
        )
    return "json" if json else named


def format_of_output(output: Path | None) -> str:
    """The format that --output is written in: by its name, else JSON. UserMistake where it cannot be."""
    if output is None:
        return "json"
    form = format_of_name(output, BY_SUFFIX, "json", what="a bench")
    check_writable(output)
    return form
