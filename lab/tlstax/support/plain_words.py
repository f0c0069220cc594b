"""What libraries and the system say of a mistake, in words for users: the one place that knows theirs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

_OF_VALUES = tuple(
    (re.compile(theirs, re.DOTALL), ours)
    for theirs, ours in (
        (r"Input should be a valid integer.*", "it must be a whole number"),
        (r"Input should be a valid number.*", "it must be a number"),
        (r"Input should be a valid string.*", "it must be a text"),
        (r"Input should be a valid boolean.*", "it must be true or false"),
        (r"Input should be a valid (?:list|tuple|array|set).*", "it must be a list"),
        (r"Input should be (?:a valid dictionary|an object).*", "it must be a table"),
        (r"Input should be greater than or equal to (.+)", r"it must be \1 or more"),
        (r"Input should be less than or equal to (.+)", r"it must be \1 or less"),
        (r"Input should be (.+)", r"it must be \1"),
        (r"(?:String|List|Tuple|Dictionary|Value) should (.+)", r"it must \1"),
        (r"Field required", "it is missing"),
        (r"Extra inputs are not permitted", "there is no such name"),
        (r"Unable to extract tag.*", "its kind is not said"),
        (r"Invalid JSON: .* at line (\d+) column (\d+)", r"it is no JSON from line \1, column \2 on"),
        (r"Invalid JSON.*", "it is no JSON"),
        (r"(?:Value|Assertion) error, (.*)", r"\1"),
    )
)
"""Messages of pydantic (its documentation, Validation Errors), and what is said instead."""

_TOML_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")


def plain(message: str) -> str:
    """What a library says of a value that will not do, as a clause of ours; other words stay as they are."""
    for theirs, ours in _OF_VALUES:
        if found := theirs.fullmatch(message.strip()):
            return found.expand(ours)
    return message


def reason(error: Exception) -> str:
    """Why the system or a reader of text refused something, without numbers and names of errors."""
    if isinstance(error, OSError):
        return error.strerror or "for no reason given"
    limit_s = getattr(error, "timeout", None)
    if isinstance(limit_s, int | float):  # subprocess.TimeoutExpired, which pure rooms do not import.
        return f"it did not end within {limit_s:g} s"
    if isinstance(error, UnicodeError):
        return "it is no text in UTF-8"
    return plain(str(error))


def first_mistake(error: ValidationError) -> str:
    """Where a document cannot be read, and why: "endpoint.port: it must be a whole number"."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {plain(first['msg'])}"


def place_in_toml(error: ValueError) -> str:
    """Where a TOML document cannot be read, by what tomllib says: "line 3, column 5"."""
    found = _TOML_PLACE.search(str(error))
    return found[1] if found else "its first line"
