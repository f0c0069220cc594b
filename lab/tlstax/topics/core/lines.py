"""Lines of cases that are told in one table, or in a table for each group where room is short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlstax.findings.core.wording import capitalised
from tlstax.topics.core.table import INDENT, Cell, Table

MOST_ROWS = 12
"""So many lines are shown where room is short; the page, the CSV and the JSON document have all."""


@dataclass(frozen=True)
class Line:
    """What a table says of a case, and the group that the case is in."""

    group: str
    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Lines:
    """A table that may be taken apart: its title, heads, lines in their order, and what to know of it."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    def whole(self) -> Table:
        """One table; where there are several groups, a line with the name of each before its cases."""
        return Table(self.title, self.heads, tuple(self._with_groups()), self.notes)

    def by_group(self, most: int | None = None) -> Iterator[Table]:
        """A table for each group, of at most so many lines together; notes come once, below the last.

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
