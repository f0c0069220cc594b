"""A table of text: what topics return and each format writes in its own markup."""

from __future__ import annotations

from dataclasses import dataclass

INDENT = "  "
"""Before the name of a row that belongs to the row above it."""


@dataclass(frozen=True)
class Table:
    """Its title, heads (of a line or two), rows of a name and cells, what to know of it.

    `of` is what the names are of.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    of: str = "case"
