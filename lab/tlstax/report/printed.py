"""What a terminal will show, as text: the same on every machine, whatever its terminal can do. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, RenderableType


def printed(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    """The parts below each other, `width` columns wide, without blanks at the ends of lines."""
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
        console.print(part)
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))
