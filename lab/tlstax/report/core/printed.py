"""What a terminal will show, as text: the same on every machine, whatever its terminal can do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from tlstax.report.core.untrusted import printable_lines


def printed(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    """The parts below each other, `width` columns wide, without blanks at the ends of lines.

    Nothing in it steers a terminal but the colours of the parts' styles, whatever their texts hold.
    """
    text = StringIO()
    console = Console(
        file=text,
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
        console.print(_Harmless(part))
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))


@dataclass(frozen=True)
class _Harmless:
    """A part of which every text is printable; what makes the colours comes after this."""

    part: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.part, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)
