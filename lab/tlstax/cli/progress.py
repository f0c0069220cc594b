"""What is shown on standard error while a run works: steps, warnings, and the moment in place."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import terminal_size
from typing import TextIO

from rich.cells import cell_len
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tlstax.results.live import KnownRatio, LiveRun
from tlstax.run.progress import Step
from tlstax.stats.stopping import Progress, most_telling
from tlstax.stats.wording import percent
from tlstax.support.text import time_left
from tlstax.support.untrusted import printable
from tlstax.topics.core.figures import change
from tlstax.topics.core.printed import printed

_MOST_SHOWN = 1.0
"""A width that two blocks give may be beyond all measure; it only says that it is early."""
MANY_RATIOS = 20
_QUIET_EVERY_S = 10.0
"""Where nothing can be rewritten, a line this often is enough."""
_NO_CURSOR = ("dumb", "unknown")
"""Terminals that cannot move their cursor, by TERM (terminfo's names)."""
_PLAIN = str.maketrans("━╸╺…\N{MINUS SIGN}", "=- ~-")
"""What is written to a terminal whose encoding lacks these."""


class ProgressLine:
    """Steps as lines; trials in the terminal's last lines, which are rewritten; no thread disturbs a trial.

    Where standard error is no terminal, or one that cannot move its cursor, all are plain lines. `quiet`
    shows nothing but warnings. `size` gives the terminal's size, None where the stream itself does.
    """

    def __init__(
        self, *, quiet: bool = False, stream: TextIO | None = None, size: Size | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        rewrites = self._stream.isatty() and os.environ.get("TERM", "dumb") not in _NO_CURSOR
        self._terminal = InPlace(self._stream, size) if rewrites else None
        self._colour = not os.environ.get("NO_COLOR")
        self._moment: Moment | None = None
        self._started = time.monotonic()
        self._last_line_at = float("-inf")

    def step(self, text: str) -> None:
        """Something begins that may take a while; what was going on until now has ended."""
        if not self._quiet:
            self._moment = None
            self._line(f"{self._elapsed()}  ", text)

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        self._line("tlstax: ", text)

    def trial(self, step: Step) -> None:
        """A trial begins. In a plain line, what is left comes before what is measured, which may be long."""
        when = f"block {step.block + 1}" if step.block >= 0 else "beforehand"
        place, left = f"{when}, trial {step.place} of {step.of}", time_left(step.left_s)
        share = step.share if step.block >= 0 else None
        self._show(
            Moment(f"{place}: {step.label}", share, left, step.progress),
            f"{place} · {_known(step.progress)}{left} left · {step.label}",
        )

    def noted(self, live: LiveRun) -> None:
        """What is known between blocks is shown with the next trial."""

    def now(self, words: str, *, share: float | None = None, left_s: float | None = None) -> None:
        """What is going on at this moment; it takes the place of what was said so before.

        `share` is how much of all that is to be done is done, `left_s` how long the rest may take; None where
        that is not known.
        """
        left = "" if left_s is None else time_left(left_s)
        self._show(Moment(words, share, left), f"{words} · {left} left" if left else words)

    def close(self) -> None:
        """The work has ended: leave nothing of the moment."""
        self._moment = None
        if self._terminal is not None:
            self._terminal.erase()

    def _show(self, moment: Moment, plain: str) -> None:
        if self._quiet:
            return
        if self._terminal is not None:
            self._moment = moment
            self._terminal.show(self._view(moment, self._terminal))
        elif time.monotonic() - self._last_line_at >= _QUIET_EVERY_S:
            self._last_line_at = time.monotonic()
            self._line(f"{self._elapsed()}  ", plain)

    def _view(self, moment: Moment | None, terminal: InPlace) -> list[str]:
        if moment is None:
            return []
        return [
            self._writable(line)
            for line in view(moment, self._elapsed(), terminal.size(), colour=self._colour)
        ]

    def _line(self, beginning: str, text: str) -> None:
        """A line that stays, above the moment where one is shown."""
        text = printable(text)
        if self._terminal is None:
            self._stream.write(f"{beginning}{text}\n")
            self._stream.flush()
            return
        folded = textwrap.fill(
            text,
            max(1, self._terminal.size().columns - 1),
            initial_indent=beginning,
            subsequent_indent=" " * len(beginning),
            break_long_words=False,
            break_on_hyphens=False,
        )
        self._terminal.show(self._view(self._moment, self._terminal), above=f"{folded}\n")

    def _writable(self, line: str) -> str:
        """The line in what the stream's encoding has, each character in one place as before."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            line.encode(encoding)
        except UnicodeEncodeError:
            return line.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
        return line

    def _elapsed(self) -> str:
        elapsed_s = int(time.monotonic() - self._started)
        return f"{elapsed_s // 60:3d}:{elapsed_s % 60:02d}"


def _known(progress: Progress | None) -> str:
    """How far the ratios are from what is wanted; nothing in the first blocks.

    Of a few, the widest interval counts; of many, one is always wide, so half of them do.
    """
    if progress is None:
        return ""
    many = progress.ratios > MANY_RATIOS
    width = progress.median_half_width if many else progress.worst_half_width
    if width is None or width > _MOST_SHOWN:
        return ""
    known = f"half of {progress.ratios} ratios" if many else "known"
    return f"{known} to ±{width:.1%} (wanted ±{progress.wanted:.1%}) · "


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
