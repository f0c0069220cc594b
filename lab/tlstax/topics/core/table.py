"""A table of text: what topics return and each format writes in its own markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tlstax.results.interval import Interval
from tlstax.results.rows import Row, RowSet
from tlstax.stats.wording import capitalised, set_ends
from tlstax.topics.core.columns import GROUP
from tlstax.topics.core.figures import NOTHING, UNKNOWN, change, interval, significant

GAP = 2
NAMES_AT_LEAST = 16
"""How many characters the names of rows have at least, where columns are many: longer ones are broken."""

INDENT = "  "
"""Before the name of a row that belongs to the row above it, or a line of a cell to the line above it."""


@dataclass(frozen=True)
class Number:
    """A cell that is a number, with what is known of it; each format prints it in the room that it has.

    `said` is how a number is written. The ends stand beside it always (`is_whole`) or where there is room;
    `between` has them where they are not said as the number is. One that is not `is_sure` to differ from
    nothing is marked.
    """

    point: float | None
    low: float | None = None
    high: float | None = None
    said: Callable[[float], str] = significant
    is_whole: bool = False
    is_sure: bool = True
    between: str = ""

    def text(self, *, roomy: bool) -> str:
        """The number, with its ends where they are shown; a dash for none."""
        if self.point is None:
            return NOTHING
        point = self.said(self.point) if self.is_sure else f"{UNKNOWN} {self.said(self.point)}"
        if self.low is None or self.high is None or not (roomy or self.is_whole):
            return point
        return f"{point} {self.between or set_ends(self.said(self.low), self.said(self.high), '[…]')}"


def number(
    found: Interval | None, said: Callable[[float], str] = significant, *, is_whole: bool = False
) -> Number:
    """An interval as a cell; none as a cell without a number."""
    if found is None:
        return Number(None)
    return Number(found.point, found.low, found.high, said, is_whole)


def ratio(found: Interval | None) -> Number:
    """A ratio as the change that it is, and its ends as changes."""
    if found is None:
        return Number(None)
    return Number(found.point, found.low, found.high, lambda _: change(found), between=interval(found))


Cell = str | Number
"""What stands in a table: words, or a number."""


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
    rows: Sequence[Sequence[Cell]]
    notes: tuple[str, ...]
    of: str = "case"
    where_it_fits: bool = False
    of_words: bool = False
    literal: bool = False
    over: tuple[tuple[str, int], ...] = ()

    def lines(self, *, roomy: bool) -> list[list[str]]:
        """The rows as text, numbers with their ends where the format has room for them."""
        return [[_text(cell, roomy=roomy) for cell in row] for row in self.rows]

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
        return max((len(name) for name, *_ in self.lines(roomy=False)), default=0)

    def _widths(self) -> list[int]:
        """What each column takes, with the gap before it."""
        heads = [max(map(len, head.split("\n"))) for head in self.heads]
        rows = self.lines(roomy=False)
        cells = [max((len(row[place + 1]) for row in rows), default=0) for place in range(len(heads))]
        return [GAP + max(both) for both in zip(heads, cells, strict=True)]


def _text(cell: Cell, *, roomy: bool) -> str:
    return cell if isinstance(cell, str) else cell.text(roomy=roomy)


def pivot(
    title: str, rows: Iterable[Row], over: str, cell: Callable[[Row], Cell], heads: str = "{:,}"
) -> Table:
    """A table of a topic's rows: a line for each label, a column for each number that they have of `over`."""
    by_place = {(row.label, row.number(over) or 0.0): row for row in rows}
    numbers = sorted({number for _, number in by_place})
    lines = [
        (label, *(cell(own) if (own := by_place.get((label, number))) else NOTHING for number in numbers))
        for label in dict.fromkeys(label for label, _ in by_place)
    ]
    return Table(title, tuple(heads.format(round(number)) for number in numbers), lines, ())


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


MOST_ROWS = 12
"""The most lines that are shown where room is short; the page, the CSV and the JSON document have all."""


@dataclass(frozen=True)
class Line:
    """What a table says of a case, and the group that the case is in."""

    group: str
    label: str
    cells: tuple[Cell, ...]


Columns = Sequence[tuple[str, Callable[[RowSet], Cell]]]
"""The heads of a table's columns, and what each has of a case, from all its rows."""


@dataclass(frozen=True)
class Lines:
    """A table that may be taken apart: its title, heads, lines in their order, and what to know of it."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, title: str, columns: Columns, cases: Iterable[RowSet], *notes: str) -> Lines:
        """A line for each case, in the group that its rows name."""
        lines = (
            Line(case.rows[0].word(GROUP.name), case.rows[0].label, tuple(cell(case) for _, cell in columns))
            for case in cases
        )
        return cls(title, tuple(head for head, _ in columns), tuple(lines), notes)

    def whole(self) -> Table:
        """One table; where there are several groups, a line with the name of each before its cases."""
        return Table(self.title, self.heads, tuple(self._with_groups()), self.notes)

    def by_group(self, most: int | None = None) -> Iterator[Table]:
        """A table for each group, of at most N lines together; notes come once, below the last.

        They stand in a section of this title, and are called by their group where there are several.
        """
        shown = self.lines[:most]
        left = len(self.lines) - len(shown)
        more = (f"{left} more are on the page, in the CSV and in the JSON document.",) if left else ()
        groups = list(dict.fromkeys(line.group for line in shown))
        for group in groups:
            title = capitalised(group) if self._has_several_groups() else ""
            rows = tuple((line.label, *line.cells) for line in shown if line.group == group)
            yield Table(title, self.heads, rows, (*self.notes, *more) if group == groups[-1] else ())

    def _has_several_groups(self) -> bool:
        return len({line.group for line in self.lines}) > 1

    def _with_groups(self) -> Iterator[tuple[Cell, ...]]:
        several, last = self._has_several_groups(), ""
        for line in self.lines:
            if several and line.group != last:
                yield (line.group, *[""] * len(self.heads))
            last = line.group
            yield (f"{INDENT}{line.label}" if several else line.label, *line.cells)
