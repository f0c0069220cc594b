"""What a terminal will show, as text: the same on every machine, whatever its terminal can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tlstax.support.untrusted import printable, printable_lines
from tlstax.topics.core.table import GAP

WIDEST_NAME = 36


def printed(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    """The parts below each other, `width` columns wide, without blanks at the ends of lines.

    Nothing in it steers a terminal but the colours of the parts' styles, whatever their texts hold.
    """
    written = StringIO()
    console = Console(
        file=written,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    for part in parts:
        console.print(_Harmless(part), crop=not isinstance(part, Pasted))
    return "\n".join(line.rstrip() for line in written.getvalue().split("\n"))


def styled(words: str, style: str = "", *, overflow: Literal["fold"] | None = None) -> Text:
    """Text of which nothing can steer the terminal, whoever it is from."""
    return Text(printable(words), style=style, overflow=overflow)


def grid() -> Table:
    """A table without lines, its columns `GAP` apart."""
    return Table.grid(padding=(0, GAP, 0, 0))


Kind = Literal["name", "words", "figure", "figures"]
"""Of a column: what is never broken, what is anywhere, and the same at the right."""

_KINDS: dict[Kind, dict[str, Any]] = {
    "name": {"no_wrap": True},
    "words": {"overflow": "fold"},
    "figure": {"justify": "right", "no_wrap": True},
    "figures": {"justify": "right", "overflow": "fold"},
}


def aligned(kinds: Sequence[Kind], rows: Iterable[Iterable[str | Text]]) -> Table:
    """Rows below each other, their columns of these kinds."""
    table = grid()
    for kind in kinds:
        table.add_column(**_KINDS[kind])
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else styled(cell) for cell in row))
    return table


def pairs(rows: Iterable[tuple[Text, Text]]) -> Table:
    """Names and what is said of them; a name that takes too much room is broken into lines."""
    lines = list(rows)
    room = min(max((cell_len(name.plain) for name, _ in lines), default=0), WIDEST_NAME)
    table = grid()
    table.add_column(overflow="fold", min_width=room, max_width=room)
    table.add_column(overflow="fold")
    for row in lines:
        table.add_row(*row)
    return table


def bullets(items: Iterable[str]) -> Iterator[Table]:
    """The items with hanging bullets."""
    for item in items:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(Text("\N{BULLET}", style="dim"), styled(item))
        yield table


@dataclass(frozen=True)
class Pasted:
    """Lines to be pasted, behind an indent and never broken: a break would be pasted too.

    A terminal that is narrower goes on in its next row, and copies them whole.
    """

    lines: tuple[str, ...]
    indent: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            yield Segment(" " * self.indent + printable(line))
            yield Segment.line()


@dataclass(frozen=True)
class _Harmless:
    """A part of which every text is printable; what makes the colours comes after this."""

    part: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.part, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)
