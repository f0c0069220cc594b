"""The formats that `self-bench` and `library-bench` print their documents in."""

from __future__ import annotations

from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

FORMATS = ("terminal", "md", "json")


def format_of(named: str, *, json: bool) -> str:
    """The format that was asked for, by --format or by --json. UserMistake for one that there is not."""
    if named not in FORMATS:
        raise UserMistake(
            f"--format: there is no format {named!r}{closest(named, FORMATS)}",
            remedy=f"the formats are {', '.join(FORMATS)}",
        )
    return "json" if json else named
