"""How progress is drawn: its lines, and the last lines of a terminal rewritten in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import terminal_size
from typing import TextIO

from rich.cells import cell_len
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tlstax.results.live import KnownRatio
from tlstax.stats.stopping import Progress, most_telling
from tlstax.stats.wording import percent
from tlstax.support.untrusted import printable
from tlstax.topics.core.figures import change
from tlstax.topics.core.printed import printed

USUAL_SIZE = os.terminal_size((80, 24))

Size = Callable[[], os.terminal_size]


class InPlace:
    """Lines at the end of what a terminal shows; the cursor stays at the end of the last one."""

    def __init__(self, stream: TextIO, size: Size | None = None) -> None:
        self._stream = stream
        self._read_size = size or (lambda: os.get_terminal_size(stream.fileno()))
        self._shown_columns: list[int] = []

    def size(self) -> os.terminal_size:
        """How large the terminal is now; the usual size where it does not say."""
        try:
            columns, lines = self._read_size()
        except (OSError, ValueError):
            return USUAL_SIZE
        return os.terminal_size((columns or USUAL_SIZE.columns, lines or USUAL_SIZE.lines))

    def show(self, lines: Sequence[str], above: str = "") -> None:
        """Put these lines, each narrower than the terminal, in the place of those before.

        `above` is text, its lines ended, that stays above them.
        """
        text = self._erasing() + above + "\n".join(lines)
        self._shown_columns = [Text.from_ansi(line).cell_len for line in lines]
        self._stream.write(text)
        self._stream.flush()

    def erase(self) -> None:
        """Leave nothing of the lines, and the cursor where they began."""
        if self._shown_columns:
            self.show(())

    def _erasing(self) -> str:
        """From the cursor back to the first line's beginning, and erase what follows (ECMA-48: CUU, ED).

        A terminal that has become narrower since has broken the lines, each into as many rows as it takes.
        """
        if not self._shown_columns:
            return ""
        columns = self.size().columns
        rows = sum(max(1, -(-shown // columns)) for shown in self._shown_columns)
        return f"\r\x1b[{rows - 1}A\x1b[J" if rows > 1 else "\r\x1b[J"


MOST_RATIOS = 8
"""How many are taken in at a glance; the report has all."""

LONGEST_BAR = 50
WIDE = 59
"""From here on, as in a terminal of 60 columns, there is room for an indent and for the mark in words."""

WIDER, WIDER_SHORT = "noisy", "?"
"""After a ratio that is not known as precisely as is wanted."""
FEW, FEW_SHORT = "few blocks", "?"
"""After one that is, or has no interval yet: what it lacks are blocks."""
"""Marks a ratio that is not yet known as well as is wanted."""

GAP = 2
LEAST_OF_A_PART = 4


@dataclass(frozen=True)
class Moment:
    """What goes on: in words, how much is done (None: not known), how long the rest takes, what is known."""

    words: str
    share: float | None = None
    left: str = ""
    progress: Progress | None = None


def view(moment: Moment, elapsed: str, size: terminal_size, *, colour: bool) -> list[str]:
    """The moment as lines narrower than the terminal, and fewer than it has.

    Where there is room for little, what is done now goes first, then the bar, then the most telling ratios.
    """
    width, room = max(1, size.columns - 1), max(1, size.lines - 1)
    indent = " " * (cell_len(elapsed) + GAP if width >= WIDE else GAP)
    if moment.share is None or room == 1:
        parts: list[RenderableType] = [_cut(Text(f"{elapsed}  {printable(moment.words)}"), width)]
    else:
        parts = [_bar(elapsed, moment.share, moment.left, width)]
        parts.append(_cut(Text(f"{indent}{printable(moment.words)}"), width))
    if moment.progress is not None:
        parts += _ratios(moment.progress, indent, width, room - len(parts))
    return printed(parts, width=width, colour=colour).splitlines()


def _bar(elapsed: str, share: float, left: str, width: int) -> RenderableType:
    tail = f"{100 * share:.0f} %" + (f" · {left} left" if left else "")
    room = width - cell_len(elapsed) - cell_len(tail) - 2 * GAP
    if room < GAP:
        return _cut(Text(f"{elapsed}  {tail}"), width)
    bar = ProgressBar(
        completed=100 * share,
        width=min(room, LONGEST_BAR),
        style="bright_black",
        complete_style="cyan",
        finished_style="cyan",
    )
    line = Table.grid(padding=(0, GAP, 0, 0))
    line.add_row(Text(elapsed, no_wrap=True), bar, Text(tail, no_wrap=True))
    return line


def _ratios(progress: Progress, indent: str, width: int, room: int) -> Iterator[RenderableType]:
    """The ratios below their heading, and how many more there are, in at most `room` lines."""
    most = min(MOST_RATIOS, room - 1)
    if len(progress.known) > most:
        most = min(MOST_RATIOS, room - 2)
    shown = most_telling(progress.known, most)
    if not shown:
        return
    blocks = "1 block" if progress.blocks == 1 else f"{progress.blocks} blocks"
    heading = Text(f"{indent}{progress.outcome} against {progress.baseline}, {blocks}", style="bold")
    wanted = Text(f" (wanted: ±{percent(progress.wanted)})")
    fits = heading.cell_len + wanted.cell_len <= width
    yield _cut(heading + wanted if fits else heading, width)
    yield from _rows(shown, progress.wanted, indent, width)
    if more := len(progress.known) - len(shown):
        yield _cut(Text(f"{indent}and {more:,} more"), width)


def _rows(shown: Sequence[KnownRatio], wanted: float, indent: str, width: int) -> Iterator[Text]:
    cells = [
        (change(entry.now), _known_to(entry), _lacks(entry, wanted, is_wide=width >= WIDE)) for entry in shown
    ]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(3)]
    numbers = sum(GAP + column for column in widths if column)
    longest = max(cell_len(printable(entry.label)) for entry in shown)
    room = max(1, min(longest, width - len(indent) - numbers))
    for entry, (changed, known, mark) in zip(shown, cells, strict=True):
        label = Text(_shortened(printable(entry.label), room))
        label.truncate(room, overflow="ellipsis", pad=True)
        row = Text(indent) + label
        row.append(f"{'':{GAP}}{changed:>{widths[0]}}", style="bold" if entry.precise else "")
        row.append(f"{'':{GAP}}{known:>{widths[1]}}" if widths[1] else "")
        row.append(f"{'':{GAP}}{mark}")
        yield _cut(row, width)


def _shortened(label: str, room: int) -> str:
    """The label with its longest parts cut until it fits: cut at its end alone, it would look like others."""
    parts = label.split(", ")
    kept = [len(part) for part in parts]
    between = 2 * (len(parts) - 1)
    while sum(kept) + between > room and max(kept) > LEAST_OF_A_PART:
        kept[kept.index(max(kept))] -= 1
    return ", ".join(
        part if len(part) <= most else f"{part[: most - 1].rstrip()}…"
        for part, most in zip(parts, kept, strict=True)
    )


def _lacks(one: KnownRatio, wanted: float, *, is_wide: bool) -> str:
    """Why a ratio is not yet known as is wanted; empty for one that is."""
    if one.precise:
        return ""
    if one.now.half_width is None or one.now.half_width <= wanted:
        return FEW if is_wide else FEW_SHORT
    return WIDER if is_wide else WIDER_SHORT


def _known_to(one: KnownRatio) -> str:
    half_width = one.now.half_width
    if half_width is None:
        return ""
    return f"±{percent(half_width)}" if half_width <= 1 else ">±100 %"


def _cut(line: Text, width: int) -> Text:
    line.no_wrap = True
    line.truncate(width, overflow="ellipsis")
    return line
