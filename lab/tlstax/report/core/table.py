"""A table of text: what topics return and each format writes in its own markup."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tlstax.report.core.figures import NOTHING

GAP = 2
NAMES_AT_LEAST = 16
"""How many characters the names of rows have at least, where columns are many: longer ones are broken."""

INDENT = "  "
"""Before the name of a row that belongs to the row above it, or a line of a cell to the line above it."""


@dataclass(frozen=True)
class Table:
    """Its title, heads (of a line or two), rows of a name and cells, what to know of it.

    `of` is what the names are of. A table that is shown `where_it_fits` is named alone where it does not. One
    `of_words` has sentences in its cells more than figures, and heads that may be names. Names and heads of a
    `literal` one are shown as they are; if it is of words, its cells too, which may have several lines.
    `over` names what stands over several heads, each with their number; such a table is set small, and its
    last row is the mean of the others.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    of: str = "case"
    where_it_fits: bool = False
    of_words: bool = False
    literal: bool = False
    over: tuple[tuple[str, int], ...] = ()

    def width(self) -> int:
        """How many columns of characters it takes, columns set `GAP` apart."""
        return self._names_width() + sum(self._widths())

    def fitting(self, width: int) -> list[list[int]]:
        """Its columns as they fit beside the names, which may be broken: all at once, or some below others.

        A column that is too wide even by itself stands by itself.
        """
        room = width - min(self._names_width(), max(NAMES_AT_LEAST, width // 3))
        return side_by_side(self._widths(), room)

    def _names_width(self) -> int:
        return max((len(row[0]) for row in self.rows), default=0)

    def _widths(self) -> list[int]:
        """What each column takes, with the gap before it."""
        heads = [max(map(len, head.split("\n"))) for head in self.heads]
        cells = [max((len(row[place + 1]) for row in self.rows), default=0) for place in range(len(heads))]
        return [GAP + max(both) for both in zip(heads, cells, strict=True)]


def side_by_side(widths: Iterable[int], room: int) -> list[list[int]]:
    """The places of things of these widths, as many beside each other as there is room for."""
    bundles: list[list[int]] = [[]]
    left = room
    for place, needed in enumerate(widths):
        if needed > left and bundles[-1]:
            bundles.append([])
            left = room
        bundles[-1].append(place)
        left -= needed
    return bundles


def lines(texts: Iterable[str]) -> str:
    """A cell with these lines; a dash where there are none."""
    return "\n".join(texts) or NOTHING
